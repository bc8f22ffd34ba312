"""Replays the log of a Gemini CLI session to its final messages.

::

    {"id": "a", …}                       a message, or its new version if the id exists
    {"$rewindTo": "a"}                   drops that message and all after it
    {"$set": {"messages": […]}}          replaces all messages

A message keeps the position of its first version. Removing it also removes its older versions,
which would otherwise be read again.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ctxtrim.formats.base import Edit
from ctxtrim.formats.gemini.parts import call_of, part_of
from ctxtrim.formats.message_lists import Element
from ctxtrim.model import Part, Span


class LoggedMessage(Struct):
    """The final version of a message, its span, and all lines that contain a version of it."""

    value: dict[str, Any]
    span: Span
    lines: list[Span]


def replayed(elements: Sequence[Element]) -> list[LoggedMessage]:
    """The final messages of a log. The elements of a list are returned as they are."""
    entries: dict[object, LoggedMessage] = {}
    for number, (value, span, whole) in enumerate(elements):
        if not isinstance(value, dict):
            continue
        name = value.get("id")
        if whole.path or not isinstance(name, str):
            _change(entries, value, span, number)
        elif name in entries:
            entries[name].value, entries[name].span = value, span
            entries[name].lines.append(whole)
        else:
            entries[name] = LoggedMessage(value, span, [whole])
    return list(entries.values())


def _change(
    entries: dict[object, LoggedMessage], value: dict[str, Any], span: Span, number: int
) -> None:
    """Apply an element of a list, or a log line that changes other messages."""
    update, target = value.get("$set"), value.get("$rewindTo")
    if isinstance(target, str):
        names = list(entries)
        for name in names[names.index(target) if target in entries else 0 :]:
            del entries[name]
    elif isinstance(update, dict) and isinstance(update.get("messages"), list):
        entries.clear()
        for index, item in enumerate(update["messages"]):
            inner_span = span.inside("$set", "messages", index)
            if isinstance(item, dict):
                name = item["id"] if isinstance(item.get("id"), str) else (number, index)
                entries[name] = LoggedMessage(item, inner_span, [inner_span])
    elif "type" in value:
        entries[number] = LoggedMessage(value, span, [span])


def relink(edit: Edit) -> Edit:
    """The edit including older versions of removed messages.

    Insertions go to the first version's position. Removing a call also removes its copy in the
    content of its message.
    """
    messages = replayed(
        [Element(value, Span(line), Span(line)) for line, value in enumerate(edit.values)]
    )
    more = {span for message in messages if message.span in edit.removed for span in message.lines}
    for span in edit.removed:
        if span.path[-2:-1] == ("toolCalls",):
            more |= set(_same_call(edit.values[span.line], span))
    first = {message.span: message.lines[0] for message in messages}
    inserted = [
        replace(insertion, span=first.get(insertion.span, insertion.span))
        for insertion in edit.inserted
    ]
    return replace(edit, removed=edit.removed | more, inserted=inserted)


def _same_call(value: Any, call: Span) -> Iterator[Span]:
    """The span of the copy of a call in the content of its message."""
    for key in call.path[:-2]:
        value = value[key]
    target = call_of(value["toolCalls"][call.path[-1]], call)
    content = value.get("content")
    for position, part in enumerate(content if isinstance(content, list) else ()):
        other = part_of(part, call, True)
        if other.kind == "tool_call" and is_same(other, target):
            yield Span(call.line, (*call.path[:-2], "content", position))
            return


def is_same(call: Part, other: Part) -> bool:
    """Whether a call in a content and one in `toolCalls` are the same."""
    if call.call_id is not None:
        return call.call_id == other.call_id
    return (call.name, call.text) == (other.name, other.text)
