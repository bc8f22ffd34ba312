"""Duplicate tool results."""

from ctxtrim.conversation.tool_results import result_text, tool_name
from ctxtrim.conversation.turns import Shape
from ctxtrim.evidence.errors import is_abridged

_LEAST = 20  # characters; short texts such as "ok" and "done" repeat by chance


def copies(shape: Shape) -> dict[int, int]:
    """Older results with the same text as a newer one of the same tool: from their position to the
    newest.

    Abridged results are no copies, because different results can have equal clips; nor are hidden
    results, because the model does not read them.
    """
    messages = shape.messages
    newest_positions: dict[tuple[str, str], int] = {}
    newer_copies = {}
    for position in range(len(messages) - 1, -1, -1):
        message = messages[position]
        if message.role != "tool" or not message.agent_visible:
            continue
        text = result_text(message)
        if len(text.strip()) < _LEAST:
            continue
        tool = tool_name(message.result, shape.call[position])
        newest_position = newest_positions.setdefault((tool, text), position)
        if newest_position != position and not is_abridged(message):
            newer_copies[position] = newest_position
    return newer_copies
