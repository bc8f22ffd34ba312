"""Duplicate tool results."""

from collections.abc import Sequence

from ctxtrim.conversation.tool_results import result_text, tool_of
from ctxtrim.conversation.turns import Shape
from ctxtrim.model import Message

_LEAST = 20  # characters; short texts such as "ok" and "done" repeat by chance


def copies(messages: Sequence[Message], shape: Shape) -> dict[int, int]:
    """Older results with the same text as a newer one of the same tool: from their position to the
    newest.
    """
    newest: dict[tuple[str | None, str], int] = {}
    newer_copies = {}
    for position in range(len(messages) - 1, -1, -1):
        message = messages[position]
        if message.role != "tool":
            continue
        text = result_text(message)
        if len(text.strip()) < _LEAST:
            continue
        newest_position = newest.setdefault(
            (tool_of(message, shape.call[position]), text), position
        )
        if newest_position != position:
            newer_copies[position] = newest_position
    return newer_copies
