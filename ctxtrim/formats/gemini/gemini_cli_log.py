"""The log that Gemini CLI keeps of a session, replayed: what its messages are in the end.

::

    {"id": "a", …}                       a message, or what it is now, where the id is known
    {"$rewindTo": "a"}                   without that message and all after it
    {"$set": {"messages": […]}}          these messages in the place of all

A message stands where its id first did. The lines that said something of it before go with it, else they would speak.
"""

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any

from ctxtrim.formats.base import Insertion, Mended
from ctxtrim.formats.gemini.parts import call_of, part_of
from ctxtrim.formats.message_lists import Element
from ctxtrim.model import Line, Part, Span
from ctxtrim.text.records import document, split


@dataclass
class Entry:
    """A message as it is in the end, where that stands, and all lines that ever said something of it."""

    value: dict[str, Any]
    at: Span
    lines: list[Span]


def replayed(elements: Sequence[Element]) -> list[Entry]:
    """What a log says in the end; the elements of a list stand as they are."""
    entries: dict[object, Entry] = {}
    for number, (value, at, whole) in enumerate(elements):
        if not isinstance(value, dict):
            continue
        name = value.get("id")
        if whole.path or not isinstance(name, str):
            _change(entries, value, at, number)
        elif name in entries:
            entries[name].value, entries[name].at = value, at
            entries[name].lines.append(whole)
        else:
            entries[name] = Entry(value, at, [whole])
    return list(entries.values())


def _change(entries: dict[object, Entry], value: dict[str, Any], at: Span, number: int) -> None:
    """Take in an element of a list, or a line that is no message: it may change what others said."""
    update, target = value.get("$set"), value.get("$rewindTo")
    if isinstance(target, str):
        names = list(entries)
        for name in names[names.index(target) if target in entries else 0 :]:
            del entries[name]
    elif isinstance(update, dict) and isinstance(update.get("messages"), list):
        entries.clear()
        for index, item in enumerate(update["messages"]):
            where = at.inside("$set", "messages", index)
            if isinstance(item, dict):
                name = item["id"] if isinstance(item.get("id"), str) else (number, index)
                entries[name] = Entry(item, where, [where])
    elif "type" in value:
        entries[number] = Entry(value, at, [at])


def mend(lines: Sequence[Line], removed: Set[Span], kept: Set[Span], inserted: Sequence[Insertion]) -> Mended:
    """With a message of a log go the lines that said something of it before; what comes, comes where it first stood.

    With a call goes the same one in the content of its message.
    """
    values = [(document(line.data) or split(line.data, 1)[0]).value for line in lines]
    entries = replayed([Element(value, Span(line), Span(line)) for line, value in enumerate(values)])
    more = {span for entry in entries if entry.at in removed for span in entry.lines}
    for span in removed:
        if span.path[-2:-1] == ("toolCalls",):
            more |= set(_same_call(values[span.line], span))
    first = {entry.at: entry.lines[0] for entry in entries}
    return Mended({}, removed | more, [replace(one, where=first.get(one.where, one.where)) for one in inserted])


def _same_call(value: Any, call: Span) -> Iterator[Span]:
    """Where the content of a message holds a call that also stands at a span."""
    for key in call.path[:-2]:
        value = value[key]
    told = call_of(value["toolCalls"][call.path[-1]], call)
    content = value.get("content")
    for place, part in enumerate(content if isinstance(content, list) else ()):
        one = part_of(part, call, True)
        if one.kind == "tool_call" and is_same(one, told):
            yield Span(call.line, (*call.path[:-2], "content", place))
            return


def is_same(call: Part, other: Part) -> bool:
    """Whether a call in a content is one that stands beside it too."""
    if call.call_id is not None:
        return call.call_id == other.call_id
    return (call.name, call.text) == (other.name, other.text)
