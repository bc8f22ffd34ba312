"""Links between session events: finds parents, and updates links after removals and insertions.

An `EventGraph` holds the details of one client, such as which events are live.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from msgspec.structs import replace

from ctxtrim.formats.base import Insertion, Relinked
from ctxtrim.model import Line, Span
from ctxtrim.text.records import document, split


class Event:
    """One event of a session and its span.

    `is_context`: the event alone shows that it is sent to the model.
    """

    __slots__ = ("is_context", "span", "uuid", "value")

    def __init__(self, value: dict[str, Any], span: Span) -> None:
        self.value = value
        self.span = span
        self.uuid = text(value.get("uuid"))
        self.is_context = False


def text(value: object) -> str | None:
    """The value if it is a string, else None."""
    return value if isinstance(value, str) else None


class EventIndex:
    """Finds events by uuid. Resumed sessions repeat uuids, so the nearest event before wins."""

    def __init__(self, events: Sequence[Event], above: str = "parentUuid") -> None:
        self._events = events
        self._above = above
        self._places: dict[str, list[int]] = {}
        for index, event in enumerate(events):
            if event.uuid is not None:
                self._places.setdefault(event.uuid, []).append(index)

    def find(self, index: int, field: str) -> int | None:
        """The event that a field names: the nearest before the event, else the first after it."""
        uuid = text(self._events[index].value.get(field))
        places = self._places.get(uuid) if uuid is not None else None
        return places[max(bisect_left(places, index) - 1, 0)] if places else None

    def parent(self, index: int) -> int | None:
        """The index of an event's parent.

        Old versions wrote no parent field; the parent is then the event before.
        """
        if self._above in self._events[index].value:
            return self.find(index, self._above)
        return index - 1 if index else None

    @property
    def is_linked(self) -> bool:
        """Whether any event names an existing parent; events of old files do not."""
        return any(self.find(index, self._above) is not None for index in range(len(self._events)))

    def walk(self, last: int) -> Iterator[int]:
        """An event, its parent and so on up to the root. Stops at a cycle."""
        seen: set[int] = set()
        index: int | None = last
        while index is not None and index not in seen:
            yield index
            seen.add(index)
            index = self.parent(index)


E = TypeVar("E", bound=Event)


@dataclass(frozen=True)
class EventGraph(Generic[E]):
    """The links between the events of one client's sessions.

    `events` finds the events among the values of some lines, `event` makes one. `thread`: the
    indices of the live conversation, including events that only link it. `home`: the span of the
    event that contains a span. `links`: the fields that name another event; `above` is the parent
    field. Fields in `lasting` keep their value if no event is left to name.
    """

    events: Callable[[Sequence[Any]], Iterable[E]]
    event: Callable[[dict[str, Any], Span], E]
    thread: Callable[[Sequence[E]], Set[int]]
    home: Callable[[Span], Span]
    links: tuple[str, ...] = ("parentUuid",)
    above: str = "parentUuid"
    lasting: tuple[str, ...] = ()

    def live(self, events: Sequence[E]) -> list[E]:
        """The events of the model's context, in file order."""
        return [events[index] for index in sorted(self.thread(events)) if events[index].is_context]

    def relink(
        self,
        lines: Sequence[Line],
        removed: Set[Span],
        kept: Set[Span],
        inserted: Sequence[Insertion],
    ) -> Relinked:
        """The edits with updated links, after events are removed and inserted.

        If the parent of a live event is removed, the event gets the live event before it as parent;
        any other event gets its nearest kept ancestor. An inserted event follows the event before
        it, and the next event follows the inserted one. An abandoned branch is removed if it would
        become live because it now ends the file.
        """
        records = [document(line.data) or split(line.data, 1)[0] for line in lines]
        events = list(self.events([record.value for record in records]))
        homes = {self.home(span) for span in kept}
        alive = {events[index].span for index in self.thread(events)}
        events, new = self._with_new(events, inserted)
        living = {
            index for index, event in enumerate(events) if event.span in alive or index in new
        }
        homes |= {events[index].span for index in new}
        dropped = {index for index, event in enumerate(events) if event.span in removed}
        lookup = EventIndex(events, self.above)
        while True:
            links = self._links(events, lookup, dropped, living, set(new))
            rest = [
                self.event(event.value | links.get(index, {}), event.span)
                for index, event in enumerate(events)
                if index not in dropped
            ]
            risen = {event.span for event in self.live(rest)} - homes
            if not risen:
                break
            dropped |= {index for index, event in enumerate(events) if event.span in risen}
        values = {
            events[index].span: changes for index, changes in links.items() if index not in new
        }
        linked = {
            id(insertion): replace(insertion, value=insertion.value | links.get(index, {}))
            for index, insertion in new.items()
        }
        spans = frozenset(events[index].span for index in dropped) | removed
        return Relinked(
            values, spans, [linked.get(id(insertion), insertion) for insertion in inserted]
        )

    def _with_new(
        self, events: Sequence[E], inserted: Sequence[Insertion]
    ) -> tuple[list[E], dict[int, Insertion]]:
        """The events including inserted ones, and the index of each insertion.

        Inserted blocks are not events.
        """
        places = {event.span: index for index, event in enumerate(events)}
        additions = [insertion for insertion in inserted if insertion.span in places]
        order = sorted(
            [(index, 0, index, event) for index, event in enumerate(events)]
            + [
                (
                    places[insertion.span],
                    1 if insertion.is_after else -1,
                    number,
                    self.event(insertion.value, Span(-1 - number)),
                )
                for number, insertion in enumerate(additions)
            ],
            key=lambda entry: entry[:3],
        )
        new = {
            position: additions[entry[2]]
            for position, entry in enumerate(order)
            if entry[3].span.line < 0
        }
        return [entry[3] for entry in order], new

    def _links(
        self,
        events: Sequence[E],
        lookup: EventIndex,
        dropped: Set[int],
        alive: Set[int],
        new: Set[int],
    ) -> dict[int, dict[str, str | None]]:
        """The new link values of every kept event that names a removed one or follows a new one."""
        kept_ancestors: dict[int, str | None] = {}
        links: dict[int, dict[str, str | None]] = {}
        before: str | None = None  # the uuid of the last kept event of the live conversation
        nearest: str | None = None  # the uuid of the kept event before that
        follows_new = is_moved = False
        for index, event in enumerate(events):
            if index in dropped:
                continue
            changes: dict[str, str | None] = {}
            for field in self.links:
                target = lookup.find(index, field)
                if target in dropped:
                    kept_ancestor = _kept_ancestor(events, lookup, dropped, target, kept_ancestors)
                    if kept_ancestor is not None or field not in self.lasting:
                        changes[field] = kept_ancestor
            if (
                index in alive and event.uuid is not None and event.uuid == before
            ):  # another line of the same event
                if is_moved:
                    changes[self.above] = nearest
            elif index in alive:
                parent = lookup.parent(index)
                if index in new or follows_new:
                    changes[self.above] = before
                elif parent in dropped:
                    changes[self.above] = before or changes.get(self.above)
                elif parent not in alive and before is not None:
                    changes[self.above] = before  # only its call linked it to the thread
                follows_new, is_moved = index in new, self.above in changes
                if event.uuid is not None:
                    before, nearest = event.uuid, before
            if changes:
                links[index] = changes
        return links


def _kept_ancestor(
    events: Sequence[Event],
    lookup: EventIndex,
    dropped: Set[int],
    index: int | None,
    cache: dict[int, str | None],
) -> str | None:
    """The uuid of the nearest kept ancestor; `known` caches the results."""
    way: dict[int, None] = {}  # ordered; stops at a cycle
    while index is not None and index in dropped and index not in cache and index not in way:
        way[index] = None
        index = lookup.parent(index)
    kept_ancestor = None
    if index is not None:
        kept_ancestor = cache.get(index) if index in dropped else events[index].uuid
    cache.update(dict.fromkeys(way, kept_ancestor))
    return kept_ancestor
