"""Compactions of Droid's sessions, the links of their lines, and reasoning next to the content.

A `compaction_state` line has a summary. Droid sends it, then the messages after `anchorMessage`,
without the results whose calls the summary replaces. The last such line counts. Answers of Chat
Completions have their reasoning as a member, those of Responses have it encrypted.
[inference-sh/agentprotocol, `transcript/droid/droid.go`; Droid 0.215]
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from ctxtrim.formats.anthropic import DROID_SEALED, DROID_TEXT, NumberedElement, is_compaction
from ctxtrim.formats.event_links import EventGraph, SessionEvent, session_event, session_events
from ctxtrim.formats.fields import members, string
from ctxtrim.formats.message_lists import ListContents
from ctxtrim.model import Message, Part, Span

_TEXTS = ("summaryText", "systemInfoText")


def compact(contents: ListContents, rows: Sequence[NumberedElement]) -> None:
    """Replace the messages before the last compaction of some rows by its summary.

    The summary carries the spans of all rows before it: without it they would be live again.
    """
    last = max(index for index, (element, _) in enumerate(rows) if is_compaction(element.value))
    (value, span, whole), _ = rows[last]
    first = _first_kept(value, rows, last, contents.messages)
    compactions = [row for row in rows[:last] if is_compaction(row[0].value)]
    before = dict.fromkeys(element.whole for element, _ in (*rows[:first], *compactions))
    start, cut = rows[0][1], rows[first][1]
    parts = tuple(_parts(value, span))
    summary = Message("user", parts, is_injected=True, is_summary=True, spans=(whole, *before))
    messages = [summary, *contents.messages[cut:]]
    contents.usages.clear()
    contents.messages[start:] = [
        replace(message, index=index) for index, message in enumerate(messages, start)
    ]


def with_reasoning(
    messages: Iterable[Message], answer: Mapping[str, Any], span: Span
) -> Iterator[Message]:
    """The messages in the content of an answer, with the reasoning next to it.

    A text that a thinking block repeats counts once, and goes with it. Encrypted reasoning is never
    removed alone: the answer has its id.
    """
    text, sealed = string(answer.get(DROID_TEXT)), string(answer.get(DROID_SEALED))
    for message in messages:
        parts = message.parts
        if text:
            is_repeated = any(part.text == text for part in parts if part.kind == "reasoning")
            copy = Part("reasoning", "" if is_repeated else text, block=span.inside(DROID_TEXT))
            parts = (copy, *parts)
        if sealed:
            parts = (Part("reasoning", sealed=len(sealed)), *parts)
        yield replace(message, parts=parts)


def _parts(value: dict[str, Any], span: Span) -> Iterator[Part]:
    for key in _TEXTS:
        if isinstance(value.get(key), str) and (value[key] or key == _TEXTS[0]):
            yield Part("text", value[key], span=span.inside(key))


def _first_kept(
    value: dict[str, Any], rows: Sequence[NumberedElement], last: int, messages: Sequence[Message]
) -> int:
    """The position of the first row that a compaction keeps.

    A compaction without an anchor begins a session and keeps all its messages. So does one whose
    anchor is not in the file.
    """
    name = string(members(value.get("anchorMessage")).get("id"))
    ids = [element.value.get("id") for element, _ in rows[:last]]
    if name not in ids:
        return 0
    first = ids.index(name) + 1
    for position in range(first, last):
        row_messages = messages[rows[position][1] : rows[position + 1][1]]
        if any(message.role != "tool" for message in row_messages):
            break
        first = position + 1 if row_messages else first
    return first


def _is_link(event: SessionEvent) -> bool:
    """Whether others may name an event as their parent; Droid never names a compaction."""
    return event.id is not None and not is_compaction(event.value)


GRAPH = EventGraph(
    session_event,
    session_events,
    lambda events: {index for index, event in enumerate(events) if _is_link(event)},
    above="parentId",
    is_path=False,
)
"""The links of the lines of a session."""
