"""Small conversations for tests that look at single rules."""

import json
from typing import Any

from harness import read

from ctxtrim.model import Transcript


def user(text: str) -> dict[str, Any]:
    """A user message."""
    return {"role": "user", "content": text}


def says(text: str) -> dict[str, Any]:
    """An assistant message with text."""
    return {"role": "assistant", "content": text}


def call(*ids: str, name: str = "bash", **arguments: Any) -> dict[str, Any]:
    """An assistant message with tool calls."""
    function = {"name": name, "arguments": json.dumps(arguments)}
    calls = [{"id": call_id, "type": "function", "function": function} for call_id in ids]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def result(of: str, text: str | list[dict[str, Any]]) -> dict[str, Any]:
    """A tool result."""
    return {"role": "tool", "tool_call_id": of, "content": text}


def step(
    of: str, text: str | list[dict[str, Any]], name: str = "bash", **arguments: Any
) -> list[dict[str, Any]]:
    """A call and its result."""
    return [call(of, name=name, **arguments), result(of, text)]


def steps(number: int, text: str) -> list[dict[str, Any]]:
    """A user message and some steps after it, all with the same result."""
    return [
        user("go on"),
        *(message for position in range(number) for message in step(f"c{position + 1}", text)),
    ]


def conversation(messages: list[dict[str, Any]], **envelope: Any) -> bytes:
    """A line of an OpenAI file."""
    return json.dumps({"messages": messages} | envelope).encode() + b"\n"


def contents(data: bytes | None) -> list[Any]:
    """The contents of all messages of the first conversation."""
    return [
        message.get("content") for message in json.loads((data or b"").split(b"\n")[0])["messages"]
    ]


def transcript(messages: list[dict[str, Any]], **envelope: Any) -> Transcript:
    """The same as values."""
    return read(conversation(messages, **envelope))[0].transcripts[0]
