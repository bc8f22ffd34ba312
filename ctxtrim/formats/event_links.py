"""Events that name their parent: which one is meant, and what is mended when some go and others come.

What is particular to a client, such as which events are live, it says in a `Lineage`.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from ctxtrim.formats.base import Insertion, Mended
from ctxtrim.model import Line, Span
from ctxtrim.text.records import document, split


class Event:
    """One event of a session and where it stands. `is_context`: it is sent to the model, as far as it tells itself."""

    __slots__ = ("is_context", "span", "uuid", "value")

    def __init__(self, value: dict[str, Any], span: Span) -> None:
        self.value = value
        self.span = span
        self.uuid = text(value.get("uuid"))
        self.is_context = False


def text(value: object) -> str | None:
    """A value that is a string, else None."""
    return value if isinstance(value, str) else None


class Family:
    """Finds events by uuid: the nearest one before, since resumed sessions write the same uuid again."""

    def __init__(self, events: Sequence[Event], above: str = "parentUuid") -> None:
        self._events = events
        self._above = above
        self._places: dict[str, list[int]] = {}
        for index, event in enumerate(events):
            if event.uuid is not None:
                self._places.setdefault(event.uuid, []).append(index)

    def find(self, index: int, field: str) -> int | None:
        """The event that a field of an event names: the nearest before it, else the first after it."""
        uuid = text(self._events[index].value.get(field))
        places = self._places.get(uuid) if uuid is not None else None
        return places[max(bisect_left(places, index) - 1, 0)] if places else None

    def parent(self, index: int) -> int | None:
        """The index of an event's parent. An event without the field, as old versions wrote, follows the one before."""
        if self._above in self._events[index].value:
            return self.find(index, self._above)
        return index - 1 if index else None

    @property
    def is_linked(self) -> bool:
        """Whether any event names a parent that is there; old files are a plain row of events."""
        return any(self.find(index, self._above) is not None for index in range(len(self._events)))

    def walk(self, last: int) -> Iterator[int]:
        """An event, its parent and so on up to the root; parents in a circle end it too."""
        seen: set[int] = set()
        index: int | None = last
        while index is not None and index not in seen:
            yield index
            seen.add(index)
            index = self.parent(index)


E = TypeVar("E", bound=Event)


@dataclass(frozen=True)
class Lineage(Generic[E]):
    """How a client's events hang together.

    `events`: those among the values of some lines; `event` makes one. `thread`: the indices of the live conversation,
    with what only links it. `home`: the span of the event that a span stands in. `links`: the fields that name another
    event, of which `above` is the parent; those in `lasting` stay as they are where nothing is left to name.
    """

    events: Callable[[Sequence[Any]], Iterable[E]]
    event: Callable[[dict[str, Any], Span], E]
    thread: Callable[[Sequence[E]], Set[int]]
    home: Callable[[Span], Span]
    links: tuple[str, ...] = ("parentUuid",)
    above: str = "parentUuid"
    lasting: tuple[str, ...] = ()

    def live(self, events: Sequence[E]) -> list[E]:
        """The events that make up the model's context, in the order of the file."""
        return [events[index] for index in sorted(self.thread(events)) if events[index].is_context]

    def mend(self, lines: Sequence[Line], removed: Set[Span], kept: Set[Span], inserted: Sequence[Insertion]) -> Mended:
        """What follows for the links when the events at some spans go and others come, while messages at others stay.

        An event of the live conversation whose parent goes is hung under the one before it, any other under its nearest
        ancestor that stays. An inserted event is hung under the one before it, and the one after it under the new one.
        An abandoned branch that would come alive, because it now ends the file, goes with what it was abandoned for.
        """
        records = [document(line.data) or split(line.data, 1)[0] for line in lines]
        events = list(self.events([record.value for record in records]))
        homes = {self.home(span) for span in kept}
        alive = {events[index].span for index in self.thread(events)}
        events, new = self._with_new(events, inserted)
        living = {index for index, event in enumerate(events) if event.span in alive or index in new}
        homes |= {events[index].span for index in new}
        gone = {index for index, event in enumerate(events) if event.span in removed}
        family = Family(events, self.above)
        while True:
            links = self._links(events, family, gone, living, set(new))
            rest = [
                self.event(event.value | links.get(index, {}), event.span)
                for index, event in enumerate(events)
                if index not in gone
            ]
            risen = {event.span for event in self.live(rest)} - homes
            if not risen:
                break
            gone |= {index for index, event in enumerate(events) if event.span in risen}
        values = {events[index].span: changes for index, changes in links.items() if index not in new}
        linked = {id(one): replace(one, value=one.value | links.get(index, {})) for index, one in new.items()}
        spans = frozenset(events[index].span for index in gone) | removed
        return Mended(values, spans, [linked.get(id(one), one) for one in inserted])

    def _with_new(self, events: Sequence[E], inserted: Sequence[Insertion]) -> tuple[list[E], dict[int, Insertion]]:
        """The events with those that are inserted among them, and which these are; blocks of an event are none."""
        places = {event.span: index for index, event in enumerate(events)}
        news = [one for one in inserted if one.where in places]
        order = sorted(
            [(index, 0, index, event) for index, event in enumerate(events)]
            + [
                (places[one.where], 1 if one.is_after else -1, number, self.event(one.value, Span(-1 - number)))
                for number, one in enumerate(news)
            ],
            key=lambda entry: entry[:3],
        )
        new = {place: news[entry[2]] for place, entry in enumerate(order) if entry[3].span.line < 0}
        return [entry[3] for entry in order], new

    def _links(
        self, events: Sequence[E], family: Family, gone: Set[int], alive: Set[int], new: Set[int]
    ) -> dict[int, dict[str, str | None]]:
        """The new values of the links of every event that stays and names one that goes, or follows a new one."""
        heirs: dict[int, str | None] = {}
        links: dict[int, dict[str, str | None]] = {}
        before: str | None = None  # the uuid of the last event of the live conversation that stays
        nearest: str | None = None  # and of the one before that
        follows_new = is_moved = False
        for index, event in enumerate(events):
            if index in gone:
                continue
            changes: dict[str, str | None] = {}
            for field in self.links:
                target = family.find(index, field)
                if target in gone:
                    heir = _heir(events, family, gone, target, heirs)
                    if heir is not None or field not in self.lasting:
                        changes[field] = heir
            if index in alive and event.uuid is not None and event.uuid == before:  # one more line of the same event
                if is_moved:
                    changes[self.above] = nearest
            elif index in alive:
                parent = family.parent(index)
                if index in new or follows_new:
                    changes[self.above] = before
                elif parent in gone:
                    changes[self.above] = before or changes.get(self.above)
                elif parent not in alive and before is not None:
                    changes[self.above] = before  # it was only held by what it answers
                follows_new, is_moved = index in new, self.above in changes
                if event.uuid is not None:
                    before, nearest = event.uuid, before
            if changes:
                links[index] = changes
        return links


def _heir(
    events: Sequence[Event], family: Family, gone: Set[int], index: int | None, known: dict[int, str | None]
) -> str | None:
    """The uuid of the nearest ancestor that stays; what was found on the way is remembered."""
    way: dict[int, None] = {}  # in order, so that parents in a circle end it
    while index is not None and index in gone and index not in known and index not in way:
        way[index] = None
        index = family.parent(index)
    heir = None
    if index is not None:
        heir = known.get(index) if index in gone else events[index].uuid
    known.update(dict.fromkeys(way, heir))
    return heir
