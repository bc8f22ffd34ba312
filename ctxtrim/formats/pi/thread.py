"""The live entries of a pi session, and their links after removals and insertions.

Every entry names its parent. The live entries are those on the path from the last entry to the
root. Old sessions have no ids: each entry follows the one before. The context starts at the newest
compaction on the path::

    entries   a  b  c  d  compaction(summary, first kept: c)  e  f
    context   summary  c  d  e  f

A compaction names the first kept entry by id or position, or contains the kept messages as its
`retainedTail`. A reset of openclaw is a compaction without a summary. openclaw also writes entries
next to the path (`appendMode`); none of them is its end.
"""

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from msgspec.structs import replace

from ctxtrim.formats.base import Edit, Insertion
from ctxtrim.formats.event_links import EventEdit, EventGraph, EventIndex, SessionEvent
from ctxtrim.formats.fields import members, string
from ctxtrim.formats.message_parts import event_id
from ctxtrim.model import Span
from ctxtrim.text.records import BLANK, NOT_JSON, dump

_LINKS = ("targetId", "fromId")
"""Fields, besides `parentId`, that name another entry: of labels, leaves, edits and summaries of
branches.
"""
_STARTS = ("compaction", "reset")
"""The kinds of entries at which the context starts."""


class PiEntry(SessionEvent, eq=False, gc=False):
    """One entry of a session and its span.

    `kind` is its type; None for other values among the entries. Every JSON value of the file is an
    entry, because compactions count all of them.
    """

    kind: str | None = None

    @property
    def is_linked(self) -> bool:
        """Whether the entry is part of the tree. Headers and foreign lines are not."""
        return self.kind is not None and self.kind != "session"

    @property
    def may_be_last(self) -> bool:
        """Whether the path may end at the entry, or at the one that it names."""
        return self.is_linked and (self.kind == "leaf" or self.value.get("appendMode") != "side")


def _entry(value: Any, span: Span) -> PiEntry:
    """A JSON value as an entry."""
    fields = members(value)
    entry = PiEntry(fields, span, string(fields.get("id")), bool(fields))
    entry.kind = string(fields.get("type"))
    return entry


class EntryIndex(EventIndex):
    """Finds entries by id, only before the entry that names them.

    An entry with an unknown parent or none follows the entry before it; a root has a null parent.
    """

    def __init__(self, events: Sequence[SessionEvent], above: str = "parentId") -> None:
        super().__init__(events, above)

    def find(self, index: int, field: str) -> int | None:
        """The nearest entry before another one with the id in a field of that one."""
        target = super().find(index, field)
        if target is not None and target < index:
            return target
        is_child = field == "parentId" and self._events[index].value.get(field, "") is not None
        return index - 1 if is_child and index else None

    def parent(self, index: int) -> int | None:
        """The index of an entry's parent."""
        return self.find(index, "parentId")


def entries_in(values: Sequence[Any]) -> list[PiEntry]:
    """The entries among the values of some lines."""
    return [
        _entry(value, Span(line))
        for line, value in enumerate(values)
        if value is not BLANK and value is not NOT_JSON
    ]


class Thread:
    """The live entries, as indices in file order.

    `path`: all of them. `start`: the newest compaction or reset on the path, or None. `kept`:
    entries before it that are still in the context. `after`: entries after it, or all entries
    without one. `leaf`: an entry that only points to the last entry of the path.
    """

    def __init__(self, entries: Sequence[PiEntry]) -> None:
        lookup = EntryIndex(entries)
        last = max(
            (index for index, entry in enumerate(entries) if entry.may_be_last), default=None
        )
        self.leaf = last if last is not None and entries[last].kind == "leaf" else None
        if self.leaf is not None:
            last = lookup.find(self.leaf, "targetId")
        self.path = [] if last is None else list(lookup.walk(last))[::-1]
        self.start = max(
            (index for index in self.path if entries[index].kind in _STARTS), default=None
        )
        self.kept: list[int] = []
        self.after = self.path
        if self.start is not None:
            first = _first_kept(entries, lookup, self.start)
            if first in self.path:
                self.kept = [index for index in self.path if first <= index < self.start]
            self.after = [index for index in self.path if index > self.start]


def _first_kept(entries: Sequence[PiEntry], lookup: EntryIndex, index: int) -> int | None:
    """The first entry that a compaction keeps; None if it keeps no earlier entries."""
    value = entries[index].value
    if isinstance(value.get("retainedTail"), list):
        return None
    first = value.get("firstKeptEntryIndex")
    if "firstKeptEntryId" in value:
        first = lookup.find(index, "firstKeptEntryId")
    return first if type(first) is int and 0 <= first < index else None


GRAPH = EventGraph(
    _entry,
    entries_in,
    lambda entries: set(Thread(entries).path),
    links=("parentId", *_LINKS),
    above="parentId",
    lasting=_LINKS,
    is_path=False,
    index=EntryIndex,
)


def entry_of(body: dict[str, Any], neighbour: dict[str, Any], number: int = 0) -> dict[str, Any]:
    """An entry with the envelope of its neighbour, without links, and an id derived from its
    content and position.
    """
    value: dict[str, Any] = {"type": body["type"]}
    if "id" in neighbour:
        value |= {"id": event_id(neighbour["id"], dump(body), number), "parentId": None}
    if "timestamp" in neighbour:
        value["timestamp"] = neighbour["timestamp"]
    return value | body


def compaction_of(summary: str, neighbour: dict[str, Any]) -> dict[str, Any]:
    """A compaction that keeps no earlier entries."""
    value = entry_of({"type": "compaction", "summary": summary}, neighbour)
    kept = {"firstKeptEntryId": value["id"]} if "id" in value else {"firstKeptEntryIndex": 0}
    return value | kept | {"tokensBefore": 0}


def relink(edit: Edit) -> Edit:
    """The edit with updated links.

    See `EventEdit.links`. If the first kept entry of a compaction is removed, the compaction keeps
    the next one. The compaction at the start of the context always stays, because the entries
    before it would otherwise be live again. If it is dropped, its summary becomes empty, or is
    replaced by a new one. An abandoned branch is removed if no live entry follows it.
    """
    entries = entries_in(edit.values)
    thread = Thread(entries)
    if thread.start is not None and entries[thread.start].kind == "compaction":
        edit = _with_summary(edit, entries, thread, entries[thread.start])
    events = EventEdit(GRAPH, entries, thread.path, edit)
    if thread.leaf is None:
        last = max(events.alive - events.dropped, default=-1)
        events.drop(
            entry.span
            for index, entry in enumerate(events.events)
            if index > last and index not in events.alive and entry.may_be_last
        )
    links: dict[int, dict[str, Any]] = {}
    if any(entry.id is not None and entry.is_linked for entry in entries):
        links = events.links()
        last = max(events.alive - events.dropped, default=-1)
        if thread.leaf is not None and last in events.new:
            leaf = events.places[entries[thread.leaf].span]
            links.setdefault(leaf, {})["targetId"] = events.events[last].id
    _keep(entries, events, links)
    return events.edited(links)


def _with_summary(
    edit: Edit, entries: Sequence[PiEntry], thread: Thread, compaction: PiEntry
) -> Edit:
    """The edit in which a compaction stays and takes over the summary of a new one.

    If its own summary is kept, it becomes a message after the new summary and the messages inserted
    between them.
    """
    is_dropped = compaction.span in edit.removed
    result = replace(edit, removed=edit.removed - {compaction.span})
    new = next((insertion for insertion in edit.inserted if _is_compaction(insertion)), None)
    if new is None:
        return replace(result, members={compaction.span: {"summary": ""}}) if is_dropped else result
    rest = [insertion for insertion in edit.inserted if insertion is not new]
    if compaction.value.get("summary") and not is_dropped:
        rest = _with_old_summary(rest, edit, entries, thread, compaction)
    changes = {key: new.value[key] for key in ("summary", "timestamp") if key in new.value}
    return replace(result, inserted=rest, members={compaction.span: changes})


def _with_old_summary(
    inserted: Sequence[Insertion],
    edit: Edit,
    entries: Sequence[PiEntry],
    thread: Thread,
    compaction: PiEntry,
) -> list[Insertion]:
    """The insertions with the summary of a compaction as a message before the kept entries."""
    message = {
        "role": "compactionSummary",
        "summary": compaction.value["summary"],
        "tokensBefore": compaction.value.get("tokensBefore", 0),
    }
    between = [
        insertion
        for insertion in inserted
        if insertion.span == compaction.span and not insertion.is_after
    ]
    rest = [insertion for insertion in inserted if insertion not in between]
    if isinstance(compaction.value.get("retainedTail"), list):
        tail = compaction.span.inside("retainedTail", 0)
        messages = [*(insertion.value["message"] for insertion in between), message]
        return [*(Insertion(value, tail) for value in messages), *rest]
    first = next(
        (entries[index] for index in thread.kept if entries[index].span not in edit.removed), None
    )
    neighbour = first or compaction
    bodies = [
        *(insertion.value for insertion in between),
        entry_of({"type": "message", "message": message}, neighbour.value),
    ]
    return [*(Insertion(value, neighbour.span, is_after=first is None) for value in bodies), *rest]


def _is_compaction(insertion: Insertion) -> bool:
    return not insertion.span.path and insertion.value.get("type") == "compaction"


def _keep(
    old_entries: Sequence[PiEntry], events: EventEdit[PiEntry], links: dict[int, dict[str, Any]]
) -> None:
    """Update the first kept entry of each compaction or reset: the next kept live entry, or a new
    entry before it.
    """
    entries, dropped, alive = events.events, events.dropped, events.alive
    counts_before = list(  # of kept entries
        accumulate((index not in dropped for index in range(len(entries))), initial=0)
    )
    lookup = EntryIndex(old_entries)
    newest = max((index for index in alive if entries[index].kind in _STARTS), default=None)
    for old_position, entry in enumerate(old_entries):
        index, value = events.places[entry.span], entry.value
        if entry.kind not in _STARTS or index in dropped:
            continue
        old_first = _first_kept(old_entries, lookup, old_position)
        start = index if old_first is None else events.places[old_entries[old_first].span]
        for first in range(start, index + 1):
            if first == index or (first not in dropped and (first in alive or index not in alive)):
                break
        if index == newest:
            first = min((position for position in events.new if position < first), default=first)
        position = value.get("firstKeptEntryIndex")
        if type(position) is int and position != counts_before[first]:
            links.setdefault(index, {})["firstKeptEntryIndex"] = counts_before[first]
        if first != start and "firstKeptEntryId" in value:
            links.setdefault(index, {})["firstKeptEntryId"] = entries[first].id
    for index in events.new:
        if "firstKeptEntryIndex" in entries[index].value:
            links.setdefault(index, {})["firstKeptEntryIndex"] = counts_before[index]
