"""How the entries of a pi session hang together: which are live, and what is mended when some go.

Every entry names its parent; the live ones are those on the way from the last one up. Old sessions have no ids: each
entry follows the one before. The newest compaction on the way is where the context begins::

    entries   a  b  c  d  compaction(summary, first kept: c)  e  f
    context   summary  c  d  e  f

A compaction names the first entry it keeps by its id, by its place in the file, or holds what it keeps as its
`retainedTail`.
"""

from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from itertools import accumulate
from typing import Any

from ctxtrim.formats.base import Insertion, Mended
from ctxtrim.formats.ids import made_id
from ctxtrim.model import Line, Span
from ctxtrim.text.records import BLANK, NOT_JSON, document, dump, split

_LINKS = ("targetId", "fromId")
"""The fields besides `parentId` that name another entry by its id: of labels and leaves, and of branch summaries."""


class Entry:
    """One entry of a session and where it stands; `kind` is its type, None where it is no entry but stands among them.

    Every JSON value of the file is one: compactions count them all.
    """

    __slots__ = ("id", "kind", "span", "value")

    def __init__(self, value: Any, span: Span) -> None:
        self.value: dict[str, Any] = value if isinstance(value, dict) else {}
        self.span = span
        self.id = _text(self.value.get("id"))
        self.kind = _text(self.value.get("type"))


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def entries_in(values: Sequence[Any]) -> list[Entry]:
    """The entries among the values of some lines."""
    return [
        Entry(value, Span(line)) for line, value in enumerate(values) if value is not BLANK and value is not NOT_JSON
    ]


class Thread:
    """The live entries, as indices in the order of the file.

    `path`: all of them. `compaction`: the newest compaction among them, None where there is none. `kept`: those before
    it that are still in the context, `after`: those after it, or all where there is none. `leaf`: an entry that only
    points at the last of them.
    """

    def __init__(self, entries: Sequence[Entry]) -> None:
        parents = _parents(entries)
        index = next((place for place in range(len(entries) - 1, -1, -1) if _is_linked(entries[place])), None)
        self.leaf = index if index is not None and entries[index].kind == "leaf" else None
        if index is not None and index == self.leaf:
            index = _named(entries, index, "targetId")
        path: list[int] = []
        while index is not None:
            path.append(index)
            index = parents[index]
        self.path = path[::-1]
        self.compaction = next((index for index in path if entries[index].kind == "compaction"), None)
        self.kept: list[int] = []
        self.after = self.path
        if self.compaction is not None:
            first = first_kept(entries, self.compaction)
            if first in path:
                self.kept = [index for index in self.path if first <= index < self.compaction]
            self.after = [index for index in self.path if index > self.compaction]


def _is_linked(entry: Entry) -> bool:
    """Whether it takes part in the tree: the header and foreign lines do not."""
    return entry.kind is not None and entry.kind != "session"


def _parents(entries: Sequence[Entry]) -> list[int | None]:
    """The parent of each entry: the nearest before it with the id it names, else the one before it."""
    seen: dict[str, int] = {}
    found: list[int | None] = []
    for index, entry in enumerate(entries):
        name = entry.value.get("parentId", "")
        before = index - 1 if index else None
        found.append(None if name is None else seen.get(name, before) if isinstance(name, str) else before)
        if entry.id is not None:
            seen[entry.id] = index
    return found


def _named(entries: Sequence[Entry], index: int, field: str) -> int | None:
    """The nearest entry before another one that has the id which a field of that one names."""
    name = entries[index].value.get(field)
    if not isinstance(name, str):
        return None
    return next((place for place in range(index - 1, -1, -1) if entries[place].id == name), None)


def first_kept(entries: Sequence[Entry], index: int) -> int | None:
    """The first entry that a compaction keeps, None where it keeps none of those before it."""
    value = entries[index].value
    if isinstance(value.get("retainedTail"), list):
        return None
    place = value.get("firstKeptEntryIndex")
    first = _named(entries, index, "firstKeptEntryId") if "firstKeptEntryId" in value else place
    return first if type(first) is int and 0 <= first < index else None


def entry_of(body: dict[str, Any], near: dict[str, Any], number: int = 0) -> dict[str, Any]:
    """An entry with the envelope of the one beside it, links apart; its id is made of what it says and where."""
    value: dict[str, Any] = {"type": body["type"]}
    if "id" in near:
        value |= {"id": made_id(near["id"], dump(body), number), "parentId": None}
    if "timestamp" in near:
        value["timestamp"] = near["timestamp"]
    return value | body


def compaction_of(text: str, near: dict[str, Any]) -> dict[str, Any]:
    """A compaction that keeps nothing of what stands before it."""
    value = entry_of({"type": "compaction", "summary": text}, near)
    kept = {"firstKeptEntryId": value["id"]} if "id" in value else {"firstKeptEntryIndex": 0}
    return value | kept | {"tokensBefore": 0}


def mend(lines: Sequence[Line], removed: Set[Span], kept: Set[Span], inserted: Sequence[Insertion]) -> Mended:
    """What follows for the links when the entries at some spans go and others come.

    An entry whose parent goes is hung under its nearest ancestor that stays, one that follows an inserted one under
    that. A compaction whose first kept entry goes keeps the next one. The compaction that the context begins with
    stays in any case, since what it stands for would come alive; its summary is empty when it goes, or a new one's.
    What was abandoned goes where nothing live is left after it, since it would come alive.
    """
    records = [document(line.data) or split(line.data, 1)[0] for line in lines]
    old = entries_in([record.value for record in records])
    thread = Thread(old)
    values: dict[Span, dict[str, Any]] = {}
    if thread.compaction is not None:
        home = old[thread.compaction]
        inserted = _taken_over(old, thread, home, removed, inserted, values)
        removed -= {home.span}
    entries, new = _with_new(old, inserted)
    places = {entry.span: index for index, entry in enumerate(entries)}
    live = sorted({places[old[index].span] for index in thread.path} | set(new))
    gone = {index for index, entry in enumerate(entries) if entry.span in removed}
    if thread.leaf is None:
        last = max((index for index in live if index not in gone), default=-1)
        alive = set(live)
        gone |= {index for index in range(last + 1, len(entries)) if index not in alive and _is_linked(entries[index])}
    changes: dict[int, dict[str, Any]] = {}
    if any(entry.id is not None and _is_linked(entry) for entry in old):
        changes = _links(entries, live, gone, new, places[old[thread.leaf].span] if thread.leaf is not None else None)
    _keep(old, entries, places, live, gone, new.keys(), changes)
    for index, members in changes.items():
        if index not in new:
            values.setdefault(entries[index].span, {}).update(members)
    linked = {id(one): replace(one, value=one.value | changes.get(index, {})) for index, one in new.items()}
    spans = removed | {entries[index].span for index in gone}
    return Mended(values, spans, [linked.get(id(one), one) for one in inserted])


def _taken_over(
    entries: Sequence[Entry],
    thread: Thread,
    home: Entry,
    removed: Set[Span],
    inserted: Sequence[Insertion],
    values: dict[Span, dict[str, Any]],
) -> list[Insertion]:
    """What is left to insert after a compaction has taken over the summary of a new one.

    Its own summary, where that stays, becomes a message after the new one and all that is put between the two.
    """
    new = next((one for one in inserted if not one.where.path and one.value.get("type") == "compaction"), None)
    rest = [one for one in inserted if one is not new]
    if new is None:
        if home.span in removed:
            values[home.span] = {"summary": ""}
        return rest
    values[home.span] = {key: new.value[key] for key in ("summary", "timestamp") if key in new.value}
    text = home.value.get("summary")
    if home.span in removed or not text:
        return rest
    message = {"role": "compactionSummary", "summary": text, "tokensBefore": home.value.get("tokensBefore", 0)}
    between = [one for one in rest if one.where == home.span and not one.is_after]  # after the new one, before its own
    rest = [one for one in rest if one not in between]
    if isinstance(home.value.get("retainedTail"), list):
        place = home.span.inside("retainedTail", 0)
        return [*(Insertion(value, place) for value in (*(one.value["message"] for one in between), message)), *rest]
    first = next((entries[index] for index in thread.kept if entries[index].span not in removed), None)
    value = entry_of({"type": "message", "message": message}, (first or home).value)
    news = (*(one.value for one in between), value)
    return [*(Insertion(one, (first or home).span, is_after=first is None) for one in news), *rest]


def _with_new(entries: Sequence[Entry], inserted: Sequence[Insertion]) -> tuple[list[Entry], dict[int, Insertion]]:
    """The entries with those that are inserted among them, and which these are; elements of an entry are none."""
    around: dict[tuple[Span, bool], list[Insertion]] = {}
    for one in inserted:
        if not one.where.path:
            around.setdefault((one.where, one.is_after), []).append(one)
    found: list[Entry] = []
    new: dict[int, Insertion] = {}

    def add(news: Sequence[Insertion]) -> None:
        for one in news:
            new[len(found)] = one
            found.append(Entry(one.value, Span(-1 - len(new))))

    for entry in entries:
        add(around.get((entry.span, False), ()))
        found.append(entry)
        add(around.get((entry.span, True), ()))
    return found, new


def _links(
    entries: Sequence[Entry], live: Sequence[int], gone: Set[int], new: dict[int, Insertion], leaf: int | None
) -> dict[int, dict[str, Any]]:
    """The new values of the fields that name another entry."""
    parents = _parents(entries)
    heirs: list[str | None] = []  # of each entry: its own id, or that of its nearest ancestor that stays
    for index, entry in enumerate(entries):
        parent = parents[index]
        heirs.append(entry.id if index not in gone else heirs[parent] if parent is not None else None)
    changes: dict[int, dict[str, Any]] = {}
    for index in range(len(entries)):
        parent = parents[index]
        if index in gone or not entries[index].value:  # a line that is no object has no links
            continue
        if parent is not None and parent in gone:
            changes[index] = {"parentId": heirs[parent]}
        for field in _LINKS:
            target = _named(entries, index, field) if field in entries[index].value else None
            if target is not None and target in gone and heirs[target] is not None:
                changes.setdefault(index, {})[field] = heirs[target]
    before: int | None = None
    for index in live:
        if index in gone or not entries[index].value:
            continue
        if index in new or before in new:
            changes.setdefault(index, {})["parentId"] = None if before is None else entries[before].id
        before = index
    if leaf is not None and before in new:
        changes.setdefault(leaf, {})["targetId"] = entries[before].id
    return changes


def _keep(
    old: Sequence[Entry],
    entries: Sequence[Entry],
    places: Mapping[Span, int],
    live: Sequence[int],
    gone: Set[int],
    new: Set[int],
    changes: dict[int, dict[str, Any]],
) -> None:
    """Note what each compaction keeps first: the next live entry where that one went, or what is new before it."""
    position = list(accumulate((index not in gone for index in range(len(entries))), initial=0))
    newest = next((index for index in reversed(live) if entries[index].kind == "compaction"), None)
    alive = set(live)
    for place, entry in enumerate(old):
        index, value = places[entry.span], entry.value
        if entry.kind != "compaction" or index in gone:
            continue
        first = first_kept(old, place)
        start = index if first is None else places[old[first].span]
        there = (one for one in range(start, index) if one not in gone and (one in alive or index not in alive))
        kept = next(there, index)
        if index == newest:
            kept = min((one for one in new if one < kept), default=kept)
        if type(value.get("firstKeptEntryIndex")) is int and value["firstKeptEntryIndex"] != position[kept]:
            changes.setdefault(index, {})["firstKeptEntryIndex"] = position[kept]
        if kept != start and "firstKeptEntryId" in value:
            changes.setdefault(index, {})["firstKeptEntryId"] = entries[kept].id
    for index in new:
        if "firstKeptEntryIndex" in entries[index].value:
            changes.setdefault(index, {})["firstKeptEntryIndex"] = position[index]
