"""Results that the user quotes: what was said of them later shows that they still matter.

A later message that the person wrote names the call's id, contains a whole line of the result, or at least 40
consecutive characters of it. Naming a file is no quotation, so what counts has letters or digits beside paths.
"""

import re
from collections.abc import Sequence

from ctxtrim.conversation.tool_results import result_text
from ctxtrim.conversation.turns import Shape
from ctxtrim.evidence.quoted_lines import quoted_lines
from ctxtrim.evidence.quoted_runs import quoted_runs
from ctxtrim.evidence.tool_kinds import paths_of
from ctxtrim.model import Message

_MOST = 1 << 21  # the newest characters that the person wrote; what stands before is not looked at, to bound the memory
_WORD = re.compile(r"[^\s\"'`()<>\[\]{},;]+")
_ID = re.compile(r"(?=.*\d)(?:.{6}|.*[A-Za-z])", re.DOTALL)  # "12" and "search" are said of other things too


def quoted(messages: Sequence[Message], where: Shape) -> dict[int, tuple[int, int]]:
    """The positions of quoted results, each with what is quoted: (start, end), (0, 0) for the id of its call."""
    said = _said(messages)
    last = max(said, default=0)
    results = {
        position: result_text(messages[position])
        for position in range(len(messages))
        if messages[position].role == "tool"
    }
    asked = {position: text for position, text in results.items() if position < last}
    if not asked:
        return {}
    named = {position: paths_of(call) if (call := where.call[position]) else () for position in asked}
    found = dict.fromkeys(_by_id(messages, said, asked), (0, 0))
    for ranges in (quoted_lines(results, said, named), quoted_runs(asked, said, named)):
        for position, (start, end) in ranges.items():
            first, last = found.get(position, (0, 0))
            if end - start > last - first:  # what shows most of it
                found[position] = (start, end)
    return {position: found[position] for position in sorted(found)}


def _is_persons(message: Message) -> bool:
    return message.role == "user" and not message.is_injected and not message.is_summary


def _said(messages: Sequence[Message]) -> dict[int, str]:
    """What the person wrote, by position; no more than the newest of it."""
    said, size = {}, 0
    for position in range(len(messages) - 1, -1, -1):
        if size >= _MOST:
            break
        if _is_persons(messages[position]):
            text = "\n".join(part.text for part in messages[position].parts if part.kind == "text")
            said[position] = text[: _MOST - size]
            size += len(text)
    return said


def _by_id(messages: Sequence[Message], said: dict[int, str], asked: dict[int, str]) -> list[int]:
    """The results whose call id stands in a later message as a word."""
    last: dict[str, int] = {}
    for position, text in sorted(said.items()):
        last.update((word.strip(".:!?"), position) for word in _WORD.findall(text))
    ids = ((position, result.call_id) for position in asked if (result := messages[position].result))
    return [position for position, name in ids if name and _ID.match(name) and last.get(name, -1) > position]
