"""How the events of a Claude Code session hang together: which are live, and what is mended when some go.

Every event names its parent. The live context is not the plain walk from the last message up to the root: results of
parallel calls hang beside the chain, and so do the other lines of a message that spread over several. So: walk up from
the last message, stop at the last compaction, then add the lines that share a message id with the chain and the
results that answer its calls.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from typing import Any

from ctxtrim.lines import document, split
from ctxtrim.model import Line, Span

LINKS = ("parentUuid", "logicalParentUuid", "sourceToolAssistantUUID", "leafUuid")
"""The fields that name another event by its uuid."""


class Event:
    """One event of the session: where it stands, and what is asked of it again and again, looked up once.

    `kind` is its type; a summary that carries a user message is that message. `message` is empty where it has none.
    `message_id` is what all lines of one message of the model share. `is_message`: a model could read it.
    """

    __slots__ = ("is_message", "is_sidechain", "kind", "message", "message_id", "span", "uuid", "value")

    def __init__(self, value: dict[str, Any], span: Span) -> None:
        self.value = value
        self.span = span
        self.uuid = _text(value.get("uuid"))
        self.is_sidechain = value.get("isSidechain") is True
        kind, message = value.get("type"), value.get("message")
        self.kind = "user" if kind == "summary" and message is not None else _text(kind)
        self.message: dict[str, Any] = message if isinstance(message, dict) else {}
        self.message_id = _text(self.message.get("id"))
        content = self.message.get("content") if self.kind in ("user", "assistant") else None
        self.is_message = isinstance(content, str) or (
            isinstance(content, list) and any(isinstance(block, dict) for block in content)
        )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def events_in(values: Sequence[Any]) -> Iterator[Event]:
    """The events among the values of some lines; a document holds them under `loglines`."""
    for line, value in enumerate(values):
        if isinstance(value, dict) and isinstance(value.get("loglines"), list):
            for index, item in enumerate(value["loglines"]):
                if isinstance(item, dict):
                    yield Event(item, Span(line, ("loglines", index)))
        elif isinstance(value, dict):
            yield Event(value, Span(line))


class Family:
    """Finds events by uuid: the nearest one before, since resumed sessions write the same uuid again."""

    def __init__(self, events: Sequence[Event]) -> None:
        self._places: dict[str, list[int]] = {}
        for index, event in enumerate(events):
            if event.uuid is not None:
                self._places.setdefault(event.uuid, []).append(index)

    def find(self, uuid: str | None, before: int) -> int | None:
        """The index of the event with a uuid, the nearest before an index, else the first after it."""
        places = self._places.get(uuid) if uuid is not None else None
        if not places:
            return None
        return places[max(bisect_left(places, before) - 1, 0)]

    def parent(self, events: Sequence[Event], index: int) -> int | None:
        """The index of an event's parent. An event without the field, as old versions wrote, follows the one before."""
        if "parentUuid" not in events[index].value:
            return index - 1 if index else None
        return self.find(_text(events[index].value.get("parentUuid")), index)


def live(events: Sequence[Event], is_context: Callable[[Event], bool]) -> list[Event]:
    """The events that make up the model's context, in the order of the file."""
    speaking = [index for index, event in enumerate(events) if event.is_message]
    main = [index for index in speaking if not events[index].is_sidechain] or speaking
    if not main:
        return []
    family = Family(events)
    if all(family.find(_text(event.value.get("parentUuid")), index) is None for index, event in enumerate(events)):
        chain = set(range(_after_compaction(events), len(events)))  # nothing is linked: the order is the chain
    else:
        chain = _walk(events, family, main[-1])
    side = events[main[-1]].is_sidechain
    chain = {index for index in chain if events[index].is_sidechain == side}
    ids = {events[index].message_id for index in chain if events[index].kind == "assistant"} - {None}
    chain.update(index for index in main if events[index].message_id in ids and events[index].kind == "assistant")
    calls = {name for index in chain for name in _named(events[index], "tool_use", "id")}
    chain.update(
        index
        for index in main
        if events[index].is_sidechain == side
        and not calls.isdisjoint(_named(events[index], "tool_result", "tool_use_id"))
    )
    return [events[index] for index in sorted(chain) if is_context(events[index])]


def _walk(events: Sequence[Event], family: Family, last: int) -> set[int]:
    chain: set[int] = set()
    index: int | None = last
    while index is not None and index not in chain:
        if _is_compaction(events[index]):
            break
        chain.add(index)
        index = family.parent(events, index)
    return chain


def _is_compaction(event: Event) -> bool:
    return event.value.get("subtype") == "compact_boundary"


def _after_compaction(events: Sequence[Event]) -> int:
    return max((index + 1 for index, event in enumerate(events) if _is_compaction(event)), default=0)


def _named(event: Event, kind: str, field: str) -> list[str]:
    """The names that blocks of a kind give in a field."""
    content = event.message.get("content")
    if not isinstance(content, list):
        return []
    names = (block.get(field) for block in content if isinstance(block, dict) and block.get("type") == kind)
    return [name for name in names if isinstance(name, str)]


def mend(lines: Sequence[Line], removed: Set[Span]) -> Mapping[Span, str | None]:
    """New values for the links that name an event that goes: its nearest ancestor that stays, else null.

    A leaf of a summary that has no such ancestor stays as it is: it may name another session's event anyway.
    """
    records = [document(line.data) or split(line.data, 1)[0] for line in lines]
    events = list(events_in([record.value for record in records]))
    gone = {index for index, event in enumerate(events) if event.span in removed}
    family = Family(events)
    mended: dict[Span, str | None] = {}
    for index, event in enumerate(events):
        if index in gone:
            continue
        for field in LINKS:
            target = family.find(_text(event.value.get(field)), index)
            if target in gone:
                heir = _heir(events, family, gone, target)
                if heir is not None or field != "leafUuid":
                    mended[event.span.inside(field)] = heir
    return mended


def _heir(events: Sequence[Event], family: Family, gone: Set[int], index: int | None) -> str | None:
    """The uuid of the nearest ancestor that stays."""
    seen: set[int] = set()
    while index is not None and index in gone and index not in seen:
        seen.add(index)
        index = family.parent(events, index)
    return events[index].uuid if index is not None and index not in gone else None
