"""Links between session events: finds parents, and updates links after removals and insertions.

An `EventGraph` holds the key names and exceptions of one client's sessions.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from itertools import chain
from typing import Any, Generic, Protocol, Self, TypeVar

from msgspec import UNSET, Struct
from msgspec.structs import replace

from ctxtrim.formats.base import Edit, Insertion
from ctxtrim.formats.fields import members, string
from ctxtrim.model import Span
from ctxtrim.text.json_paths import Path


class SessionEvent(Struct, eq=False, gc=False):
    """One event of a session, its id and its span.

    `value`: its JSON value, or some of its fields. `is_object`: it has fields, so that a link can
    be added; compactions of pi count other values, too. `is_context`: the event alone shows that it
    is sent to the model.
    """

    value: dict[str, Any]
    span: Span
    id: str | None
    is_object: bool = True
    is_context: bool = False

    def link(self, field: str) -> object:
        """The value of a field that names an event; `UNSET` without the field."""
        return self.value.get(field, UNSET)

    def linked(self, links: dict[str, Any]) -> Self:
        """The event with other values in fields that name events."""
        return replace(self, value=self.value | links)


class Sidechained(Protocol):
    """An event that may belong to the session of a subagent."""

    @property
    def is_sidechain(self) -> bool:
        """Whether it does."""
        ...


def main_session(events: Sequence[Sidechained], indices: Sequence[int]) -> Sequence[int]:
    """Those of some events that belong to no subagent, by index; all if there are only others."""
    return [index for index in indices if not events[index].is_sidechain] or indices


def session_event(value: Any, span: Span) -> SessionEvent:
    """An event with a JSON value, and its `id`."""
    fields = members(value)
    return SessionEvent(fields, span, string(fields.get("id")), bool(fields))


def session_events(values: Sequence[Any]) -> Iterator[SessionEvent]:
    """The events among the values of some lines."""
    for line, value in enumerate(values):
        if isinstance(value, dict):
            yield session_event(value, Span(line))


class EventIndex:
    """Finds events by id. Resumed sessions repeat ids, so the nearest event before wins."""

    def __init__(self, events: Sequence[SessionEvent], above: str = "parentUuid") -> None:
        self._events = events
        self._above = above
        self._first: dict[str, int] = {}
        self._places: dict[str, list[int]] = {}  # of the ids that several events have
        for index, event in enumerate(events):
            if event.id is not None and self._first.setdefault(event.id, index) != index:
                first = self._first[event.id]
                self._places.setdefault(event.id, [first]).append(index)

    def find(self, index: int, field: str) -> int | None:
        """The event that a field names: the nearest before the event, else the first after it."""
        name = self._events[index].link(field)
        if not isinstance(name, str):
            return None
        places = self._places.get(name)
        return places[max(bisect_left(places, index) - 1, 0)] if places else self._first.get(name)

    def parent(self, index: int) -> int | None:
        """The index of an event's parent.

        Old versions wrote no parent field; the parent is then the event before.
        """
        if self._events[index].link(self._above) is not UNSET:
            return self.find(index, self._above)
        return index - 1 if index else None

    @property
    def is_linked(self) -> bool:
        """Whether any event names an existing parent; events of old files do not."""
        return any(self.find(index, self._above) is not None for index in range(len(self._events)))

    def walk(self, last: int) -> Iterator[int]:
        """An event, its parent and so on up to the root. Stops at a cycle."""
        visited: set[int] = set()
        index: int | None = last
        while index is not None and index not in visited:
            yield index
            visited.add(index)
            index = self.parent(index)


E = TypeVar("E", bound=SessionEvent)


class EventGraph(Struct, Generic[E], frozen=True):
    """The links between the events of one client's sessions.

    - `event`: an inserted event of a JSON value and its span
    - `events`: the events among the values of some lines, in the order of the context, which may
      not be the order of the lines
    - `thread`: the indices of the live conversation, including events that only link it
    - `event_around`: the span of the event that contains a span
    - `above`: the field that names the parent; `links`: other fields that name an event
    - `lasting`: the links that keep their value if no event is left to name
    - `is_path`: every live event follows the live event before it; else a branch may be live too
    - `finish`: updates other links of an edit at its end
    """

    event: Callable[[Any, Span], E]
    events: Callable[[Sequence[Any]], Iterable[E]]
    thread: Callable[[Sequence[E]], Set[int]]
    event_around: Callable[[Span], Span] = lambda span: Span(span.line)
    above: str = "parentUuid"
    links: tuple[str, ...] = ()
    lasting: tuple[str, ...] = ()
    is_path: bool = True
    index: Callable[[Sequence[E], str], EventIndex] = EventIndex
    finish: "Callable[[EventEdit[E], Edit], Edit]" = lambda events, edit: edit

    def live(self, events: Sequence[E]) -> list[E]:
        """The events of the model's context, in order."""
        return [events[index] for index in sorted(self.thread(events)) if events[index].is_context]

    def relink(self, edit: Edit) -> Edit:
        """The edit with updated links. See `EventEdit.links`.

        An abandoned branch is removed if it would become live because it now ends the file.
        """
        known_events = (transcript.source.events or () for transcript in edit.transcripts)
        old = list(chain.from_iterable(known_events)) or list(self.events(edit.values))
        events = EventEdit(self, old, self.thread(old), edit)
        kept = {self.event_around(span) for span in edit.kept}
        kept |= {events.events[index].span for index in events.new}
        while True:
            links = events.links()
            rest = [
                event.linked(links[index]) if index in links else event
                for index, event in enumerate(events.events)
                if index not in events.dropped
            ]
            revived = {event.span for event in self.live(rest)} - kept
            if not revived:
                return self.finish(events, events.edited(links))
            events.drop(revived)


class EventEdit(Generic[E]):
    """An edit of the events of one session, as indices into all events, including inserted ones.

    `names_parents`: some have the parent field; if none has, each follows the one before. `new`:
    the insertions that are events. `alive`: the live events and the new ones. `dropped`: the
    removed events.
    """

    def __init__(
        self, graph: EventGraph[E], old: Sequence[E], thread: Iterable[int], edit: Edit
    ) -> None:
        self.graph = graph
        self.edit = edit
        self.events: list[E] = []
        self.new: dict[int, Insertion] = {}
        self.dropped: set[int] = set()
        around = edit.around
        for event in old:
            self._insert(around.get((event.span, False), ()))
            self.events.append(event)
            self._insert(around.get((event.span, True), ()))
        self.names_parents = any(event.link(graph.above) is not UNSET for event in self.events)
        self.places = {event.span: index for index, event in enumerate(self.events)}
        self.alive = {self.places[old[index].span] for index in thread} | self.new.keys()
        self.drop(edit.removed)
        self.lookup = graph.index(self.events, graph.above)
        self._kept_ancestors: dict[int, str | None] = {}

    def _insert(self, insertions: Iterable[Insertion]) -> None:
        for insertion in insertions:
            self.new[len(self.events)] = insertion
            self.events.append(self.graph.event(insertion.value, Span(-len(self.new))))

    def drop(self, spans: Iterable[Span]) -> None:
        """Remove the events at some spans."""
        self.dropped.update(self.places[span] for span in spans if span in self.places)
        self._kept_ancestors = {}

    def links(self) -> dict[int, dict[str, Any]]:
        """The new link values of the kept events.

        If the event that a field names is removed, its nearest kept ancestor replaces it. An
        inserted event follows the live event before it, and the next live event follows the
        inserted one. On a path, this also applies to events whose parent is removed or not live.
        """
        links: dict[int, dict[str, Any]] = {}
        for index, event in enumerate(self.events):
            changes = self._renamed(index) if index not in self.dropped and event.is_object else {}
            if changes:
                links[index] = changes
        if self.names_parents:
            self._add_parents(links)
        return links

    def _add_parents(self, links: dict[int, dict[str, Any]]) -> None:
        """Add the new parents of live events."""
        above = self.graph.above
        before: str | None = None  # the id of the last kept event of the live conversation
        nearest: str | None = None  # the id of the kept event before that
        follows_new = is_moved = False
        for index in sorted(self.alive - self.dropped):
            event = self.events[index]
            if not event.is_object:
                continue
            if event.id is not None and event.id == before:  # another line of the same event
                if is_moved:
                    links.setdefault(index, {})[above] = nearest
                continue
            if index in self.new or follows_new:
                links.setdefault(index, {})[above] = before
            elif self.graph.is_path and self._lost_parent(index, before):
                inherited = links.get(index, {}).get(above)
                links.setdefault(index, {})[above] = before or inherited
            follows_new, is_moved = index in self.new, above in links.get(index, {})
            if event.id is not None:
                before, nearest = event.id, before

    def _renamed(self, index: int) -> dict[str, Any]:
        """The fields of an event that name a removed event, with its nearest kept ancestor."""
        changes: dict[str, Any] = {}
        for field in (self.graph.above, *self.graph.links):
            target = self.lookup.find(index, field)
            if target in self.dropped:
                kept_ancestor = self.kept_ancestor(target)
                if kept_ancestor is not None or field not in self.graph.lasting:
                    changes[field] = kept_ancestor
        return changes

    def _lost_parent(self, index: int, before: str | None) -> bool:
        """Whether the parent of a live event is removed, or not live and so only linked by id."""
        parent = self.lookup.parent(index)
        return parent in self.dropped or (parent not in self.alive and before is not None)

    def kept_ancestor(self, index: int | None) -> str | None:
        """The id of the nearest kept ancestor of a removed event."""
        cache, dropped = self._kept_ancestors, self.dropped
        way: dict[int, None] = {}  # ordered; stops at a cycle
        while index is not None and index in dropped and index not in cache and index not in way:
            way[index] = None
            index = self.lookup.parent(index)
        kept_ancestor = None
        if index is not None:
            kept_ancestor = cache.get(index) if index in dropped else self.events[index].id
        for ancestor in way:
            cache[ancestor] = kept_ancestor
        return kept_ancestor

    def edited(self, links: dict[int, dict[str, Any]]) -> Edit:
        """The edit with new link values, by the index of their event."""
        changes = (
            (self.new.get(index, self.events[index].span), event_links)
            for index, event_links in links.items()
        )
        removed = self.edit.removed
        spans = (self.events[index].span for index in self.dropped)
        revived = {span for span in spans if span not in removed}
        if revived:  # a large session has one set of removed spans, and no copies of it
            removed = removed | revived
        return replace(self.edit.with_members(changes), removed=removed)


def with_parallel(edit: Edit, items: Path, entries: Path, entry: Any) -> Edit:
    """The edit with the array at `entries` kept parallel to the one at `items`, in every line.

    An entry is removed with its item, and each new item gets `entry`. Items beyond the end of the
    entries have none.
    """
    dropped = {span for span in edit.removed if span.path[:-1] == items}
    new = [insertion for insertion in edit.inserted if insertion.span.path[:-1] == items]
    lines = {span.line for span in (*dropped, *(insertion.span for insertion in new))}
    lengths = {line: _length(edit, Span(line, entries)) for line in lines}

    def entry_at(item: Span) -> Span:
        return Span(item.line, (*entries, item.path[-1]))

    removed = {entry_at(span) for span in dropped if int(span.path[-1]) < lengths[span.line]}
    added = [
        Insertion(entry, entry_at(insertion.span), insertion.is_after)
        for insertion in new
        if int(insertion.span.path[-1]) < lengths[insertion.span.line]
    ]
    return replace(edit, removed=edit.removed | removed, inserted=[*edit.inserted, *added])


def _length(edit: Edit, array: Span) -> int:
    """The length of an array, 0 if there is none."""
    value = edit.value_at(array.outer).get(array.path[-1])
    return len(value) if isinstance(value, list) else 0
