"""Replays the log of a Gemini CLI session to its final messages.

::

    {"id": "a", …}                       a message, or its new version if the id exists
    {"$rewindTo": "a"}                   drops that message and all after it
    {"$set": {"messages": […]}}          replaces all messages, unless the list is empty
    {"$patch": {"id": "a", "content": …, "toolCalls": [{"id", "result"}]}}
    {"$patch": {"updates": [{"id", …}], "removeIds": […], "orderIds": […]}}

A patch replaces contents and results, drops messages, and moves those of an order to the end.
Lines, rewinds and `$set` are checked against google-gemini/gemini-cli
(packages/core/src/services/chatRecordingService.ts). The version that was read is older than
patches: they are replayed as other readers of such logs do. Each value is edited where its last
version is.

A message keeps the position of its first version. Removing it also removes its older versions,
which would otherwise be read again.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import count
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from ctxtrim.formats.base import Edit, Insertion
from ctxtrim.formats.fields import elements, members, string
from ctxtrim.formats.gemini.parts import call_of, part_of
from ctxtrim.formats.message_lists import Element
from ctxtrim.model import Part, Span


class LoggedMessage(Struct):
    """The final version of a message, its span, and all lines that contain a version of it.

    The value includes updates by patches. `content`: the span of a content that a patch replaced.
    `results`: the spans of results that a patch replaced, by the position of their call. `places`:
    the spans of its updates; those to remove with the message are among the lines, too. `calls`:
    the positions of its calls by id, once a patch needs them.
    """

    value: dict[str, Any]
    span: Span
    lines: list[Span]
    content: Span | None = None
    results: dict[int, Span] = field(default_factory=dict)
    places: list[Span] = field(default_factory=list)
    calls: dict[str, int] | None = None

    def renew(self, value: dict[str, Any], span: Span, whole: Span) -> None:
        """Replace the message by a new version."""
        self.value, self.span = value, span
        self.lines.append(whole)
        self.content, self.results, self.calls = None, {}, None

    def call(self, name: object) -> int | None:
        """The position of the first call with an id."""
        if self.calls is None:
            self.calls = {}
            for position, call in enumerate(elements(self.value.get("toolCalls"))):
                if isinstance(members(call).get("id"), str):
                    self.calls.setdefault(call["id"], position)
        return self.calls.get(name) if isinstance(name, str) else None


_UPDATE_FIELDS = ("content", "toolCalls")


def replayed(lines: Sequence[Element]) -> list[LoggedMessage]:
    """The final messages of a log. The elements of a list are returned as they are."""
    entries: dict[object, LoggedMessage] = {}
    for number, (value, span, whole) in enumerate(lines):
        if not isinstance(value, dict):
            continue
        name = value.get("id")
        if whole.path or not isinstance(name, str):
            _change(entries, value, span, number)
        elif name in entries:
            entries[name].renew(value, span, whole)
        else:
            entries[name] = LoggedMessage(value, span, [whole])
    return list(entries.values())


def _change(
    entries: dict[object, LoggedMessage], value: dict[str, Any], span: Span, number: int
) -> None:
    """Apply an element of a list, or a log line that changes other messages."""
    update, target, patch = value.get("$set"), value.get("$rewindTo"), value.get("$patch")
    if isinstance(target, str):
        while entries and entries.popitem()[0] != target:
            pass
    elif isinstance(patch, dict):
        _patch(entries, patch, span)
    elif isinstance(update, dict) and elements(update.get("messages")):
        entries.clear()
        for index, item in enumerate(update["messages"]):
            inner_span = span.inside("$set", "messages", index)
            if isinstance(item, dict):
                name = item["id"] if isinstance(item.get("id"), str) else (number, index)
                entries[name] = LoggedMessage(item, inner_span, [inner_span])
    elif "type" in value:
        entries[number] = LoggedMessage(value, span, [span])


def _patch(entries: dict[object, LoggedMessage], patch: dict[str, Any], span: Span) -> None:
    """Apply a patch: updates of messages, then removals, then the order of the last messages."""
    patch_span = span.inside("$patch")
    fields = [key for key in _UPDATE_FIELDS if key in patch]
    is_alone = patch.keys() <= {"id", *_UPDATE_FIELDS}
    spans = [span] if is_alone else [patch_span.inside(key) for key in fields]
    _update(entries, patch, patch_span, spans)
    for index, update in enumerate(elements(patch.get("updates"))):
        place = patch_span.inside("updates", index)
        _update(entries, members(update), place, [place])
    for name in filter(_is_id, elements(patch.get("removeIds"))):
        entries.pop(name, None)
    for name in filter(_is_id, elements(patch.get("orderIds"))):
        if name in entries:
            entries[name] = entries.pop(name)


def _is_id(name: object) -> bool:
    return isinstance(name, str)


def _update(
    entries: dict[object, LoggedMessage], update: dict[str, Any], place: Span, removed: list[Span]
) -> None:
    """Apply the update of a message at a place. `removed`: spans to remove with the message."""
    name = update.get("id")
    message = entries.get(name) if isinstance(name, str) else None
    if message is None:
        return
    message.places.append(place)
    message.lines += removed
    if "content" in update:
        message.value = message.value | {"content": update["content"]}
        message.content = place.inside("content")
    calls = list(elements(message.value.get("toolCalls")))
    for index, change in enumerate(map(members, elements(update.get("toolCalls")))):
        position = message.call(change.get("id"))
        if position is not None and "result" in change:
            calls[position] = calls[position] | {"result": change["result"]}
            message.results[position] = place.inside("toolCalls", index, "result")
    if calls:
        message.value = message.value | {"toolCalls": calls}


def relink(edit: Edit) -> Edit:
    """The edit including older versions and updates of removed messages.

    Insertions go to the first version's position, also in later orders. Removing a call also
    removes its copy in the content of its message.
    """
    messages = replayed(
        [Element(value, Span(line), Span(line)) for line, value in enumerate(edit.values)]
    )
    by_span = {message.span: message for message in messages}
    removed = [message for message in messages if message.span in edit.removed]
    removed += [message for message in messages if _is_emptied(message, edit)]
    spans = {span for message in removed for span in message.lines}
    for span in edit.removed:
        if span.path[-2:-1] == ("toolCalls",):
            place = span.outer.outer
            message = by_span.get(place) or LoggedMessage(edit.value_at(place), place, [place])
            spans |= set(_same_call(message, span))
    first_lines = {
        span: message.lines[0]
        for message in messages
        for span in (message.span, *message.lines, *message.places)
    }
    inserted = [
        replace(insertion, span=first_lines.get(insertion.span, insertion.span))
        for insertion in edit.inserted
    ]
    names = {message.lines[0]: message.value.get("id") for message in messages}
    orders = _orders(edit.values)
    order_insertions = [
        order
        for insertion in inserted
        for order in _ordered(insertion, names.get(insertion.span), orders)
    ]
    return replace(edit, removed=edit.removed | spans, inserted=[*inserted, *order_insertions])


def _is_emptied(message: LoggedMessage, edit: Edit) -> bool:
    """Whether all parts of a content that an update contains are removed, and none is new.

    A model message stays, as its calls are in its line.
    """
    place, parts = message.content, message.value.get("content")
    if place is None or message.value.get("type") != "user" or not elements(parts):
        return False
    has_new_part = any(
        insertion.span == place.inside(insertion.span.path[-1])
        for insertion in edit.inserted
        if insertion.span.path
    )
    spans = [place.inside(index) for index in range(len(elements(parts)))]
    return not has_new_part and all(span in edit.removed for span in spans)


def _orders(values: Iterable[Any]) -> dict[Span, dict[Any, int]]:
    """The positions of the ids in each order of a log, by the span of the order."""
    orders = {}
    for line, value in enumerate(values):
        order = elements(members(members(value).get("$patch")).get("orderIds"))
        if order:
            names = map(string, order)
            orders[Span(line, ("$patch", "orderIds"))] = dict(zip(names, count(), strict=False))
    return orders


def _ordered(
    insertion: Insertion, name: Any, orders: dict[Span, dict[Any, int]]
) -> Iterator[Insertion]:
    """The insertions of a new message's id next to the name of its neighbour, in all orders.

    Messages that an order does not name come first.
    """
    for span, positions in orders.items():
        if isinstance(name, str) and name in positions:
            place = span.inside(positions[name])
            yield Insertion(insertion.value["id"], place, insertion.is_after)


def _same_call(message: LoggedMessage, call: Span) -> Iterator[Span]:
    """The span of the copy of a call in the content of its message."""
    target = call_of(message.value["toolCalls"][call.path[-1]], call)
    content = message.content or message.span.inside("content")
    for index, part in enumerate(elements(message.value.get("content"))):
        other = part_of(part, call, calls=True)
        if other.kind == "tool_call" and _is_same(other, target):
            yield content.inside(index)
            return


def _is_same(call: Part, other: Part) -> bool:
    """Whether a call in a content and one in `toolCalls` are the same."""
    if call.call_id is not None:
        return call.call_id == other.call_id
    return (call.name, call.text) == (other.name, other.text)
