"""Threads of Amp: what it sends of a message.

::

    {"id": "T-…", "messages": [message, …]}
    message   {"role": "user" | "assistant" | "info", "messageId", "content": [block, …]}
              an answer also has {"state": {"type": "complete" | "cancelled" | …}}

Amp is closed source. What it sends is taken from a public reverse-engineered bundle of its command
line. [LIGHTYEARS/flitter, `amp-cli-reversed`]
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from ctxtrim.formats.fields import elements, members
from ctxtrim.model import Message


def sent(messages: Iterable[Message], element: Mapping[str, Any]) -> Iterator[Message]:
    """The messages of an element as Amp sends them.

    An answer without a sent block is not sent.
    """
    for message in messages:
        if message.role == "assistant" and "state" in element:
            message = _answer(message, element)
            if not message.parts:
                continue
        yield message


def _answer(message: Message, element: Mapping[str, Any]) -> Message:
    """An answer without the calls that Amp does not send, and without reasoning at its end."""
    blocks = enumerate(elements(element.get("content")))
    unsent = {index for index, block in blocks if _is_unsent(block)}
    if not unsent:
        return message
    parts = [
        part for part in message.parts if part.block is None or part.block.path[-1] not in unsent
    ]
    while parts and parts[-1].kind == "reasoning":
        parts.pop()
    return replace(message, parts=tuple(parts))


def _is_unsent(block: object) -> bool:
    """Whether a block is a call that the model did not complete, or one of a server tool."""
    call = members(block)
    is_incomplete = call.get("type") == "tool_use" and call.get("complete") is False
    return is_incomplete or call.get("type") == "server_tool_use"
