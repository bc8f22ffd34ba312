"""Messages of LangChain, as `messages_to_dict`, `dumps` and states of LangGraph write them."""

from collections.abc import Sequence
from typing import Any

from writers.langsmith import message

Talk = Sequence[dict[str, Any]]


def state(talk: Talk, number: int = 0) -> dict[str, Any]:
    """A state of LangGraph."""
    return {"values": {"messages": messages(talk, number)}, "next": []}


def messages(talk: Talk, number: int = 0) -> list[dict[str, Any]]:
    """A chat history; the form of all messages depends on the number."""
    return [message(plain, number) for plain in talk]
