"""Small transcripts in the bytes that a test needs them in."""

import json
from typing import Any

PLACEHOLDER = b'"[content truncated - 6 steps ago]"'
"""The replacement of the first of seven results, as JSON."""


def step_text(number: int) -> str:
    """The result of a step: long enough to be truncated by age."""
    return f"result {number}: " + "several words and a few more " * 20


def messages(steps: int = 7) -> list[dict[str, Any]]:
    """A conversation of `steps` steps, each a call and its result."""
    values: list[dict[str, Any]] = [
        {"role": "user", "content": "Look at everything, one after the other."}
    ]
    for number in range(1, steps + 1):
        function = {"name": "look", "arguments": json.dumps({"at": number})}
        call = {"id": f"call_{number}", "type": "function", "function": function}
        values.append({"role": "assistant", "content": None, "tool_calls": [call]})
        values.append(
            {"role": "tool", "tool_call_id": f"call_{number}", "content": step_text(number)}
        )
    return values


def line(value: Any = None, more: str = "", end: str = "\n") -> bytes:
    """A conversation (by default of seven steps) as a line; `more` are members in JSON notation."""
    text = json.dumps(messages() if value is None else value)
    return f'{{"messages": {text}{", " + more if more else ""}}}{end}'.encode()


def shortened(data: bytes) -> bytes:
    """The bytes after `truncate`: of seven results the first is old, and nothing else differs."""
    old = json.dumps(step_text(1)).encode()
    assert data.count(old) == 1
    return data.replace(old, PLACEHOLDER)


def chat(text: str = "Good morning.") -> list[dict[str, Any]]:
    """A conversation without tools."""
    return [
        {"role": "user", "content": text},
        {"role": "assistant", "content": "And a good one to you."},
    ]


def long_chat(turns: int = 12) -> list[dict[str, Any]]:
    """A conversation of which `trim` can drop nearly all."""
    values: list[dict[str, Any]] = []
    for number in range(turns):
        values += [
            {"role": "user", "content": f"Question {number}?"},
            {"role": "assistant", "content": "An answer of some length. " * 12},
        ]
    return values


def oversized_chat() -> list[dict[str, Any]]:
    """A conversation that cannot be made to fit a small budget: its only question is long."""
    return [{"role": "user", "content": "a question without an end " * 200}]


def orphan() -> list[dict[str, Any]]:
    """A result without a call, and a call without a result that others follow."""
    call = {"id": "call_x", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    return [
        {"role": "user", "content": "Look."},
        {"role": "tool", "tool_call_id": "call_0", "content": "nobody asked"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "user", "content": "And?"},
    ]
