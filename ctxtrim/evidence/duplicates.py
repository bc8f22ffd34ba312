"""Results that came back again, letter for letter."""

from collections.abc import Sequence

from ctxtrim.conversation.tool_results import result_text, tool_of
from ctxtrim.conversation.turns import Shape
from ctxtrim.model import Message

_LEAST = 20  # characters: "ok" and "done" are the same every time, and say nothing of each other


def copies(messages: Sequence[Message], where: Shape) -> dict[int, int]:
    """Older results with the text of a newer one of the same tool: from their position to that of the newest."""
    newest: dict[tuple[str | None, str], int] = {}
    found = {}
    for position in range(len(messages) - 1, -1, -1):
        message = messages[position]
        if message.role != "tool":
            continue
        text = result_text(message)
        if len(text.strip()) < _LEAST:
            continue
        last = newest.setdefault((tool_of(message, where.call[position]), text), position)
        if last != position:
            found[position] = last
    return found
