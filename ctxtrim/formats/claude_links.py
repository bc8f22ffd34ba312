"""How the events of a Claude Code session hang together: which are live, and what is mended when some go.

Every event names its parent. The live context is not the plain walk from the last message up to the root: results of
parallel calls hang beside the chain, and so do the other lines of a message that spread over several. So: walk up from
the last message, stop at the last compaction, then add the lines that share a message id with the chain and the
results that answer its calls.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence, Set
from dataclasses import replace
from typing import Any

from ctxtrim.formats.format import Insertion, Mended
from ctxtrim.lines import document, split
from ctxtrim.model import Line, Span

LINKS = ("parentUuid", "logicalParentUuid", "sourceToolAssistantUUID", "leafUuid")
"""The fields that name another event by its uuid."""

ENVELOPE = (
    "isSidechain", "userType", "cwd", "sessionId", "session_id", "version", "gitBranch", "slug", "entrypoint",
    "agentId", "sessionKind", "timestamp",
)  # fmt: skip
"""The keys that an inserted event takes over from the one beside it, so that no clock is read."""

SYNTHETIC = "<synthetic>"
"""The model name of a message that the client made up, which is never sent."""

# Attachments that the model is sent.
_VISIBLE = (
    "file", "queued_command", "edited_text_file", "nested_memory", "skill_listing", "invoked_skills", "plan_mode",
    "hook_additional_context", "hook_blocking_error", "todo_reminder", "task_reminder", "compact_file_reference",
    "total_tokens_reminder", "selected_lines_in_ide", "opened_file_in_ide", "diagnostics", "mcp_resource",
)  # fmt: skip


class Event:
    """One event of the session: where it stands, and what is asked of it again and again, looked up once.

    `kind` is its type; a summary that carries a user message is that message. `message` is empty where it has none.
    `message_id` is what all lines of one message of the model share. `speaks`: it holds something a model could read;
    `is_context`: and it is sent to the model, as far as the event alone can tell.
    """

    __slots__ = ("is_context", "is_sidechain", "kind", "message", "message_id", "span", "speaks", "uuid", "value")

    def __init__(self, value: dict[str, Any], span: Span) -> None:
        self.value = value
        self.span = span
        self.uuid = _text(value.get("uuid"))
        self.is_sidechain = value.get("isSidechain") is True
        kind, message = value.get("type"), value.get("message")
        self.kind = "user" if kind == "summary" and message is not None else _text(kind)
        self.message: dict[str, Any] = message if isinstance(message, dict) else {}
        self.message_id = _text(self.message.get("id"))
        if self.kind == "attachment":
            attachment = value.get("attachment")
            self.speaks = self.is_context = isinstance(attachment, dict) and attachment.get("type") in _VISIBLE
            return
        content = self.message.get("content") if self.kind in ("user", "assistant") else None
        self.speaks = isinstance(content, str) or (
            isinstance(content, list) and any(isinstance(block, dict) for block in content)
        )
        is_hidden = value.get("isVisibleInTranscriptOnly") and not value.get("isCompactSummary")
        self.is_context = self.speaks and self.message.get("model") != SYNTHETIC and not is_hidden


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
        self._events = events
        self._places: dict[str, list[int]] = {}
        for index, event in enumerate(events):
            if event.uuid is not None:
                self._places.setdefault(event.uuid, []).append(index)

    def find(self, index: int, field: str) -> int | None:
        """The event that a field of an event names: the nearest before it, else the first after it."""
        uuid = _text(self._events[index].value.get(field))
        places = self._places.get(uuid) if uuid is not None else None
        return places[max(bisect_left(places, index) - 1, 0)] if places else None

    def parent(self, index: int) -> int | None:
        """The index of an event's parent. An event without the field, as old versions wrote, follows the one before."""
        if "parentUuid" in self._events[index].value:
            return self.find(index, "parentUuid")
        return index - 1 if index else None

    @property
    def is_linked(self) -> bool:
        """Whether any event names a parent that is there; old files are a plain row of events."""
        return any(self.find(index, "parentUuid") is not None for index in range(len(self._events)))


def live(events: Sequence[Event]) -> list[Event]:
    """The events that make up the model's context, in the order of the file."""
    return [events[index] for index in sorted(_thread(events)) if events[index].is_context]


def _thread(events: Sequence[Event]) -> set[int]:
    """The events of the live conversation: those that make up the context, and others that link them."""
    speaking = [index for index, event in enumerate(events) if event.speaks]
    main = [index for index in speaking if not events[index].is_sidechain] or speaking
    if not main:
        return set()
    family = Family(events)
    chain = _walk(events, family, main[-1]) if family.is_linked else set(range(_after_compaction(events), len(events)))
    side = events[main[-1]].is_sidechain
    chain = {index for index in chain if events[index].is_sidechain == side}
    main = [index for index in main if index > min(chain, default=0)]  # what was compacted stays so, whatever its ids
    ids = {events[index].message_id for index in chain if events[index].kind == "assistant"} - {None}
    chain.update(index for index in main if events[index].message_id in ids and events[index].kind == "assistant")
    calls = {name for index in chain for name in _named(events[index], "tool_use", "id")}
    chain.update(index for index in main if not calls.isdisjoint(_named(events[index], "tool_result", "tool_use_id")))
    return chain


def _walk(events: Sequence[Event], family: Family, last: int) -> set[int]:
    chain: set[int] = set()
    index: int | None = last
    while index is not None and index not in chain:
        if _is_compaction(events[index]):
            break
        chain.add(index)
        index = family.parent(index)
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


def mend(lines: Sequence[Line], removed: Set[Span], kept: Set[Span], inserted: Sequence[Insertion]) -> Mended:
    """What follows for the links when the events at some spans go and others come, while the messages at others stay.

    An event of the live conversation whose parent goes is hung under the one before it, any other under its nearest
    ancestor that stays. An inserted event is hung under the one before it, and the one after it under the new one. An
    abandoned branch that would come alive, because it now ends the file, goes with what it was abandoned for.
    """
    records = [document(line.data) or split(line.data, 1)[0] for line in lines]
    events = list(events_in([record.value for record in records]))
    homes = {Span(span.line, span.path[:2] if span.path[:1] == ("loglines",) else ()) for span in kept}
    alive = {events[index].span for index in _thread(events)}
    events, new = _with_new(events, inserted)
    living = {index for index, event in enumerate(events) if event.span in alive or index in new}
    homes |= {events[index].span for index in new}
    gone = {index for index, event in enumerate(events) if event.span in removed}
    family = Family(events)
    while True:
        links = _links(events, family, gone, living, set(new))
        rest = [
            Event(event.value | links.get(index, {}), event.span)
            for index, event in enumerate(events)
            if index not in gone
        ]
        risen = {event.span for event in live(rest)} - homes
        if not risen:
            break
        gone |= {index for index, event in enumerate(events) if event.span in risen}
    values = {events[index].span: changes for index, changes in links.items() if index not in new}
    linked = {id(one): replace(one, value=one.value | links.get(index, {})) for index, one in new.items()}
    spans = frozenset(events[index].span for index in gone) | removed
    return Mended(values, spans, [linked.get(id(one), one) for one in inserted])


def _with_new(events: Sequence[Event], inserted: Sequence[Insertion]) -> tuple[list[Event], dict[int, Insertion]]:
    """The events with those that are inserted among them, and which these are; blocks of an event are none."""
    places = {event.span: index for index, event in enumerate(events)}
    news = [one for one in inserted if one.where in places]
    order = sorted(
        [(index, 0, index, event) for index, event in enumerate(events)]
        + [
            (places[one.where], 1 if one.is_after else -1, number, Event(one.value, Span(-1 - number)))
            for number, one in enumerate(news)
        ],
        key=lambda entry: entry[:3],
    )
    new = {place: news[entry[2]] for place, entry in enumerate(order) if entry[3].span.line < 0}
    return [entry[3] for entry in order], new


def _links(
    events: Sequence[Event], family: Family, gone: Set[int], alive: Set[int], new: Set[int]
) -> dict[int, dict[str, str | None]]:
    """The new values of the links of every event that stays and names one that goes, or follows a new one.

    A leaf of a summary that has no ancestor left stays as it is: it may name another session's event anyway.
    """
    heirs: dict[int, str | None] = {}
    links: dict[int, dict[str, str | None]] = {}
    before: str | None = None  # the uuid of the last event of the live conversation that stays
    follows_new = False
    for index, event in enumerate(events):
        if index in gone:
            continue
        changes: dict[str, str | None] = {}
        for field in LINKS:
            target = family.find(index, field)
            if target in gone:
                heir = _heir(events, family, gone, target, heirs)
                if heir is not None or field != "leafUuid":
                    changes[field] = heir
        if index in alive:
            parent = family.parent(index)
            if index in new or follows_new:
                changes["parentUuid"] = before
            elif parent in gone:
                changes["parentUuid"] = before or changes.get("parentUuid")
            elif parent not in alive and before is not None:
                changes["parentUuid"] = before  # it was only held by what it answers
            before = event.uuid or before
            follows_new = index in new
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
