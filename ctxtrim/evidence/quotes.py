"""Results that the user quotes later, which shows that they still matter.

A later typed message contains the call id, a whole line of the result, or at least 40 consecutive
characters of it. Mentioning a path does not count, so a quotation must contain letters or digits
outside of paths. Messages hidden from the model quote nothing and are not quoted.
"""

import re
from collections.abc import Sequence

from ctxtrim.conversation.tasks import is_typed
from ctxtrim.conversation.tool_results import result_text
from ctxtrim.conversation.turns import Shape
from ctxtrim.evidence.quoted_lines import quoted_lines
from ctxtrim.evidence.quoted_runs import quoted_runs
from ctxtrim.evidence.tool_kinds import paths_of
from ctxtrim.model import Message

_MAX_TYPED = 1 << 21  # typed characters that are searched, newest first, to limit memory
_WORD = re.compile(r"[^\s\"'`()<>\[\]{},;]+")
_DIGIT = re.compile(r"\d")  # which every id has
_FEW = 64  # call ids that are searched in a text before the text is split into words
# "12" and "search" have other meanings too
_ID = re.compile(r"(?=.*\d)(?:.{6}|.*[A-Za-z])", re.DOTALL)


def quoted(shape: Shape) -> dict[int, tuple[int, int]]:
    """The positions of quoted results with the quoted range (start, end), or (0, 0) for a quoted
    call id.
    """
    messages = shape.messages
    results = {
        position: result_text(message)
        for position, message in enumerate(messages)
        if message.role == "tool" and message.agent_visible
    }
    typed = _typed(messages, after=min(results, default=len(messages)))
    last = max(typed, default=0)
    older = {position: text for position, text in results.items() if position < last}
    if not older:
        return {}

    def named(position: int) -> tuple[str, ...]:
        call = shape.call[position]
        return paths_of(call) if call else ()

    ranges_by_position = dict.fromkeys(_by_id(messages, typed, older), (0, 0))
    for ranges in (quoted_lines(results, typed, named), quoted_runs(older, typed, named)):
        for position, (start, end) in ranges.items():
            first, last = ranges_by_position.get(position, (0, 0))
            if end - start > last - first:  # the longest quotation
                ranges_by_position[position] = (start, end)
    return {position: ranges_by_position[position] for position in sorted(ranges_by_position)}


def _typed(messages: Sequence[Message], after: int) -> dict[int, str]:
    """The text typed after a position, by position, limited to the newest characters."""
    typed, size = {}, 0
    for position in range(len(messages) - 1, after, -1):
        if size >= _MAX_TYPED:
            break
        message = messages[position]
        if message.role == "user" and message.agent_visible and is_typed(message):
            text = "\n".join(part.text for part in message.parts if part.kind == "text")
            typed[position] = text[: _MAX_TYPED - size]
            size += len(text)
    return typed


def _by_id(
    messages: Sequence[Message], typed: dict[int, str], results: dict[int, str]
) -> list[int]:
    """The results whose call id is a word of a later message."""
    typed = {position: text for position, text in typed.items() if _DIGIT.search(text)}
    if not typed:
        return []
    names: dict[str, list[int]] = {}
    for position in results:
        result = messages[position].result
        name = result.call_id if result else None
        if name and _ID.match(name):
            names.setdefault(name, []).append(position)
    last: dict[str, int] = {}
    for position, text in sorted(typed.items()):
        if len(names) > _FEW or any(map(text.__contains__, names)):
            words = [word.strip(".:!?") for word in _WORD.findall(text)]
            last.update(dict.fromkeys(words, position))
    return [
        position
        for name in names.keys() & last.keys()
        for position in names[name]
        if position < last[name]
    ]
