"""The live entries of a pi session, and their links after removals and insertions.

Every entry names its parent. The live entries are those on the path from the last entry to the
root. Old sessions have no ids: each entry follows the one before. The context starts at the newest
compaction on the path::

    entries   a  b  c  d  compaction(summary, first kept: c)  e  f
    context   summary  c  d  e  f

A compaction names the first kept entry by id or position, or contains the kept messages as its
`retainedTail`.
"""

from collections.abc import Mapping, Sequence, Set
from itertools import accumulate
from typing import Any

from msgspec.structs import replace

from ctxtrim.formats.base import Insertion, Relinked
from ctxtrim.formats.event_links import text
from ctxtrim.formats.ids import event_id
from ctxtrim.model import Line, Span
from ctxtrim.text.records import BLANK, NOT_JSON, document, dump, split

_LINKS = ("targetId", "fromId")
"""Fields, besides `parentId`, that name another entry: of labels, leaves and branch summaries."""


class Entry:
    """One entry of a session and its span.

    `kind` is its type; None for other values among the entries.

    Every JSON value of the file is an entry, because compactions count all of them.
    """

    __slots__ = ("id", "kind", "span", "value")

    def __init__(self, value: Any, span: Span) -> None:
        self.value: dict[str, Any] = value if isinstance(value, dict) else {}
        self.span = span
        self.id = text(self.value.get("id"))
        self.kind = text(self.value.get("type"))


def entries_in(values: Sequence[Any]) -> list[Entry]:
    """The entries among the values of some lines."""
    return [
        Entry(value, Span(line))
        for line, value in enumerate(values)
        if value is not BLANK and value is not NOT_JSON
    ]


class Thread:
    """The live entries, as indices in file order.

    `path`: all of them. `compaction`: the newest compaction on the path, or None. `kept`: entries
    before it that are still in the context. `after`: entries after it, or all entries without a
    compaction. `leaf`: an entry that only points to the last entry of the path.
    """

    def __init__(self, entries: Sequence[Entry]) -> None:
        parents = _parents(entries)
        index = next(
            (
                position
                for position in range(len(entries) - 1, -1, -1)
                if _is_linked(entries[position])
            ),
            None,
        )
        self.leaf = index if index is not None and entries[index].kind == "leaf" else None
        if index is not None and index == self.leaf:
            index = _find_named(entries, index, "targetId")
        path: list[int] = []
        while index is not None:
            path.append(index)
            index = parents[index]
        self.path = path[::-1]
        self.compaction = next(
            (index for index in path if entries[index].kind == "compaction"), None
        )
        self.kept: list[int] = []
        self.after = self.path
        if self.compaction is not None:
            first = first_kept(entries, self.compaction)
            if first in path:
                self.kept = [index for index in self.path if first <= index < self.compaction]
            self.after = [index for index in self.path if index > self.compaction]


def _is_linked(entry: Entry) -> bool:
    """Whether an entry is part of the tree. Headers and foreign lines are not."""
    return entry.kind is not None and entry.kind != "session"


def _parents(entries: Sequence[Entry]) -> list[int | None]:
    """The parent of each entry: the nearest before it with the named id, else the
    entry before it.
    """
    seen: dict[str, int] = {}
    found: list[int | None] = []
    for index, entry in enumerate(entries):
        name = entry.value.get("parentId", "")
        before = index - 1 if index else None
        found.append(
            None if name is None else seen.get(name, before) if isinstance(name, str) else before
        )
        if entry.id is not None:
            seen[entry.id] = index
    return found


def _find_named(entries: Sequence[Entry], index: int, field: str) -> int | None:
    """The nearest entry before another one with the id in a field of that one."""
    name = entries[index].value.get(field)
    if not isinstance(name, str):
        return None
    return next(
        (position for position in range(index - 1, -1, -1) if entries[position].id == name), None
    )


def first_kept(entries: Sequence[Entry], index: int) -> int | None:
    """The first entry that a compaction keeps; None if it keeps no earlier entries."""
    value = entries[index].value
    if isinstance(value.get("retainedTail"), list):
        return None
    position = value.get("firstKeptEntryIndex")
    first = (
        _find_named(entries, index, "firstKeptEntryId") if "firstKeptEntryId" in value else position
    )
    return first if type(first) is int and 0 <= first < index else None


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


def relink(
    lines: Sequence[Line], removed: Set[Span], kept: Set[Span], inserted: Sequence[Insertion]
) -> Relinked:
    """The edits with updated links.

    If the parent of an entry is removed, its nearest kept ancestor replaces it. An entry after an
    inserted entry follows that entry. If the first kept entry of a compaction is removed, the
    compaction keeps the next one. The compaction at the start of the context always stays, because
    the entries before it would otherwise be live again. If it is dropped, its summary becomes
    empty, or is replaced by a new one. An abandoned branch is removed if no live entry follows it.
    """
    records = [document(line.data) or split(line.data, 1)[0] for line in lines]
    old = entries_in([record.value for record in records])
    thread = Thread(old)
    values: dict[Span, dict[str, Any]] = {}
    if thread.compaction is not None:
        home = old[thread.compaction]
        inserted = _take_over_summary(old, thread, home, removed, inserted, values)
        removed -= {home.span}
    entries, new = _with_new(old, inserted)
    places = {entry.span: index for index, entry in enumerate(entries)}
    live = sorted({places[old[index].span] for index in thread.path} | set(new))
    dropped = {index for index, entry in enumerate(entries) if entry.span in removed}
    if thread.leaf is None:
        last = max((index for index in live if index not in dropped), default=-1)
        alive = set(live)
        for index in range(last + 1, len(entries)):
            if index not in alive and _is_linked(entries[index]):
                dropped.add(index)
    changes: dict[int, dict[str, Any]] = {}
    if any(entry.id is not None and _is_linked(entry) for entry in old):
        leaf = places[old[thread.leaf].span] if thread.leaf is not None else None
        changes = _links(entries, live, dropped, new, leaf)
    _keep(old, entries, places, live, dropped, new.keys(), changes)
    for index, members in changes.items():
        if index not in new:
            values.setdefault(entries[index].span, {}).update(members)
    linked = {}
    for index, insertion in new.items():
        linked[id(insertion)] = replace(insertion, value=insertion.value | changes.get(index, {}))
    spans = removed | {entries[index].span for index in dropped}
    return Relinked(values, spans, [linked.get(id(insertion), insertion) for insertion in inserted])


def _take_over_summary(
    entries: Sequence[Entry],
    thread: Thread,
    home: Entry,
    removed: Set[Span],
    inserted: Sequence[Insertion],
    values: dict[Span, dict[str, Any]],
) -> list[Insertion]:
    """The remaining insertions after a compaction took over the summary of a new one.

    If its own summary is kept, it becomes a message after the new summary and the messages inserted
    between them.
    """
    new = next((insertion for insertion in inserted if _is_compaction(insertion)), None)
    rest = [insertion for insertion in inserted if insertion is not new]
    if new is None:
        if home.span in removed:
            values[home.span] = {"summary": ""}
        return rest
    values[home.span] = {
        key: new.value[key] for key in ("summary", "timestamp") if key in new.value
    }
    summary = home.value.get("summary")
    if home.span in removed or not summary:
        return rest
    message = {
        "role": "compactionSummary",
        "summary": summary,
        "tokensBefore": home.value.get("tokensBefore", 0),
    }
    between = [
        insertion for insertion in rest if insertion.span == home.span and not insertion.is_after
    ]
    rest = [insertion for insertion in rest if insertion not in between]
    if isinstance(home.value.get("retainedTail"), list):
        tail = home.span.inside("retainedTail", 0)
        messages = [*(insertion.value["message"] for insertion in between), message]
        return [*(Insertion(value, tail) for value in messages), *rest]
    first = next(
        (entries[index] for index in thread.kept if entries[index].span not in removed), None
    )
    neighbour = first or home
    bodies = [
        *(insertion.value for insertion in between),
        entry_of({"type": "message", "message": message}, neighbour.value),
    ]
    return [*(Insertion(value, neighbour.span, is_after=first is None) for value in bodies), *rest]


def _is_compaction(insertion: Insertion) -> bool:
    return not insertion.span.path and insertion.value.get("type") == "compaction"


def _with_new(
    entries: Sequence[Entry], inserted: Sequence[Insertion]
) -> tuple[list[Entry], dict[int, Insertion]]:
    """The entries including inserted ones, and the index of each insertion.

    Elements of entries are left out.
    """
    around: dict[tuple[Span, bool], list[Insertion]] = {}
    for insertion in inserted:
        if not insertion.span.path:
            around.setdefault((insertion.span, insertion.is_after), []).append(insertion)
    found: list[Entry] = []
    new: dict[int, Insertion] = {}

    def add(additions: Sequence[Insertion]) -> None:
        for insertion in additions:
            new[len(found)] = insertion
            found.append(Entry(insertion.value, Span(-1 - len(new))))

    for entry in entries:
        add(around.get((entry.span, False), ()))
        found.append(entry)
        add(around.get((entry.span, True), ()))
    return found, new


def _links(
    entries: Sequence[Entry],
    live: Sequence[int],
    dropped: Set[int],
    new: dict[int, Insertion],
    leaf: int | None,
) -> dict[int, dict[str, Any]]:
    """The new values of the fields that name another entry."""
    parents = _parents(entries)
    kept_ancestors: list[
        str | None
    ] = []  # of each entry: its id, or that of its nearest kept ancestor
    for index, entry in enumerate(entries):
        parent = parents[index]
        inherited = None if parent is None else kept_ancestors[parent]
        kept_ancestors.append(inherited if index in dropped else entry.id)
    changes: dict[int, dict[str, Any]] = {}
    for index in range(len(entries)):
        parent = parents[index]
        if (
            index in dropped or not entries[index].value
        ):  # a line that is not an object has no links
            continue
        if parent is not None and parent in dropped:
            changes[index] = {"parentId": kept_ancestors[parent]}
        for field in _LINKS:
            target = _find_named(entries, index, field) if field in entries[index].value else None
            if target is not None and target in dropped and kept_ancestors[target] is not None:
                changes.setdefault(index, {})[field] = kept_ancestors[target]
    before: int | None = None
    for index in live:
        if index in dropped or not entries[index].value:
            continue
        if index in new or before in new:
            changes.setdefault(index, {})["parentId"] = (
                None if before is None else entries[before].id
            )
        before = index
    if leaf is not None and before in new:
        changes.setdefault(leaf, {})["targetId"] = entries[before].id
    return changes


def _keep(
    old: Sequence[Entry],
    entries: Sequence[Entry],
    places: Mapping[Span, int],
    live: Sequence[int],
    dropped: Set[int],
    new: Set[int],
    changes: dict[int, dict[str, Any]],
) -> None:
    """Update the first kept entry of each compaction: the next kept live entry, or a new entry
    before it.
    """
    kept_before = list(
        accumulate((index not in dropped for index in range(len(entries))), initial=0)
    )
    newest = next((index for index in reversed(live) if entries[index].kind == "compaction"), None)
    alive = set(live)
    for old_position, entry in enumerate(old):
        index, value = places[entry.span], entry.value
        if entry.kind != "compaction" or index in dropped:
            continue
        first = first_kept(old, old_position)
        start = index if first is None else places[old[first].span]
        for kept in range(start, index + 1):
            if kept == index or (kept not in dropped and (kept in alive or index not in alive)):
                break
        if index == newest:
            kept = min((position for position in new if position < kept), default=kept)
        if (
            type(value.get("firstKeptEntryIndex")) is int
            and value["firstKeptEntryIndex"] != kept_before[kept]
        ):
            changes.setdefault(index, {})["firstKeptEntryIndex"] = kept_before[kept]
        if kept != start and "firstKeptEntryId" in value:
            changes.setdefault(index, {})["firstKeptEntryId"] = entries[kept].id
    for index in new:
        if "firstKeptEntryIndex" in entries[index].value:
            changes.setdefault(index, {})["firstKeptEntryIndex"] = kept_before[index]
