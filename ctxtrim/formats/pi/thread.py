"""The live entries of a pi session.

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
from typing import Any

from ctxtrim.formats.event_links import EventIndex, SessionEvent
from ctxtrim.formats.fields import members, string
from ctxtrim.model import Span
from ctxtrim.text.records import BLANK, NOT_JSON

STARTS = ("compaction", "reset")
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


def entry_in(value: Any, span: Span) -> PiEntry:
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
        entry_in(value, Span(line))
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
            (index for index in self.path if entries[index].kind in STARTS), default=None
        )
        self.kept: list[int] = []
        self.after = self.path
        if self.start is not None:
            first = first_kept(entries, lookup, self.start)
            if first in self.path:
                self.kept = [index for index in self.path if first <= index < self.start]
            self.after = [index for index in self.path if index > self.start]


def first_kept(entries: Sequence[PiEntry], lookup: EntryIndex, index: int) -> int | None:
    """The first entry that a compaction keeps; None if it keeps no earlier entries."""
    value = entries[index].value
    if isinstance(value.get("retainedTail"), list):
        return None
    first = value.get("firstKeptEntryIndex")
    if "firstKeptEntryId" in value:
        first = lookup.find(index, "firstKeptEntryId")
    return first if type(first) is int and 0 <= first < index else None
