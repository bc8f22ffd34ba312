"""A plain conversation as a context window of numbered turns."""

from typing import Any

TYPES = {"system": "spec_refresh", "user": "user", "assistant": "assistant", "tool": "tool_result"}


def context_messages(talk: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The messages; calls are not recorded."""
    turn = 0
    values = []
    for position, message in enumerate(talk):
        turn += message["role"] == "user"
        value = {
            "id": f"m{position}",
            "type": TYPES[message["role"]],
            "content": "\n".join(message["texts"]),
            "turn": turn,
        }
        values.append(value | ({"traceId": message["id"]} if message["role"] == "tool" else {}))
    return values


def conversation(talk: list[dict[str, Any]], number: int = 0) -> dict[str, Any]:
    """A conversation as a value."""
    return {"id": str(number), "messages": context_messages(talk), "extra": 1.10}
