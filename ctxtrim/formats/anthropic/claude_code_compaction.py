"""The messages that a compaction of Claude Code preserves, as the client loads them.

A boundary may name older events that stay in the context. They keep their lines before it. When
the client resumes a session, it moves them behind the `anchorUuid`, mostly the summary::

    lines     a  b  c  boundary(preserved: b c)  summary  d
    context   boundary  summary  b  c  d

[Claude Code 2.1.274; `anthropics/claude-code` issues 46603, 92089 and 92849]
"""

from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any

from msgspec.structs import replace

from ctxtrim.formats.anthropic.claude_code_events import PRESERVED, ClaudeEvent
from ctxtrim.formats.base import Edit
from ctxtrim.formats.event_links import EventEdit
from ctxtrim.formats.fields import elements, members, string
from ctxtrim.model import Span

_LIST, _SEGMENT = PRESERVED
_ANCHOR, _LOGICAL, _PARENT = "anchorUuid", "logicalParentUuid", "parentUuid"


def in_context_order(events: list[ClaudeEvent], place: int) -> list[ClaudeEvent]:
    """The events in the order of the context, with the parents that the client gives them.

    `place` is the index of the boundary. If an event that it names is missing, the client ignores
    the whole list, so the events stay as they are.
    """
    boundary = events[place]
    earlier_events = {event.id: event for event in events[:place] if event.id is not None}
    names = list(dict.fromkeys(_preserved(boundary.compaction, earlier_events)))
    anchor = string(_details(boundary.compaction).get(_ANCHOR))
    later_ids = [event.id for event in events[place:]]
    is_known = earlier_events.keys() >= set(names) and anchor in later_ids and anchor not in names
    if not names or not is_known:
        return events
    preserved_events = [earlier_events[name] for name in names]
    _move_parents(events, place, anchor, preserved_events)
    spans = {event.span for event in preserved_events}
    rest = [event for event in events if event.span not in spans]
    end = rest.index(events[place + later_ids.index(anchor)]) + 1
    return [*rest[:end], *preserved_events, *rest[end:]]


def _move_parents(
    events: Sequence[ClaudeEvent],
    place: int,
    anchor: object,
    preserved_events: Sequence[ClaudeEvent],
) -> None:
    """Set the parents of the preserved events, and of events that follow them from now on."""
    tail = preserved_events[-1].id
    spans = {event.span for event in preserved_events}
    compacted_ids = {event.id for event in events[:place] if event.span not in spans} - {None}
    for event in events:
        if event.span in spans:
            continue
        is_message = event.kind in ("user", "assistant")
        is_orphan = is_message and event.span > events[place].span and event.parent in compacted_ids
        if is_orphan or event.parent == anchor:
            event.line_parent, event.parent = event.parent, tail
    for event in preserved_events:
        event.line_parent, event.parent = event.parent, anchor
        anchor = event.id


def _details(compaction: Mapping[str, Any]) -> dict[str, Any]:
    """The list of the preserved events, or their segment; an empty object without either."""
    return members(compaction.get(_LIST) or compaction.get(_SEGMENT))


def _preserved(compaction: Mapping[str, Any], events: Mapping[str, ClaudeEvent]) -> Iterator[str]:
    """The ids of the preserved events, in order."""
    if compaction.get(_LIST):
        names = elements(members(compaction[_LIST]).get("uuids"))
        yield from (name for name in names if isinstance(name, str))
    else:
        yield from reversed(_segment(members(compaction.get(_SEGMENT)), events))


def _segment(segment: Mapping[str, Any], events: Mapping[str, ClaudeEvent]) -> list[str]:
    """The ids of the events from the tail to the head; none if the parents do not lead there."""
    head, name = segment.get("headUuid"), segment.get("tailUuid")
    names: dict[str, None] = {}
    while isinstance(name, str) and name in events and name not in names:
        names[name] = None
        if name == head:
            return list(names)
        name = events[name].parent
    return []


def with_preserved(events: EventEdit[ClaudeEvent], edit: Edit) -> Edit:
    """The edit in which boundaries name the preserved events that are left, and new ones next to
    them. No line names a removed parent.
    """
    updates = {span: dict(changes) for span, changes in edit.members.items()}
    removed_ids = {events.events[index].id for index in events.dropped} - {None}
    removed_spans = set(edit.removed)
    for index, event in enumerate(events.events):
        if index in events.dropped:
            continue
        if event.line_parent in removed_ids:
            updates.setdefault(event.span, {}).setdefault(_PARENT, event.parent)
        if event.compaction:
            removed_spans |= _update_boundary(events, event, updates)
    return replace(edit, members=updates, removed=removed_spans)


def _update_boundary(
    events: EventEdit[ClaudeEvent], boundary: ClaudeEvent, updates: dict[Span, dict[str, Any]]
) -> set[Span]:
    """Update the links of one boundary, and return the spans of its lists if no event is left."""
    links = boundary.compaction
    by_id = {event.id: event for event in events.events if event.id is not None}
    names = list(_preserved(links, by_id))
    if not names or not by_id.keys() >= set(names):
        return set()
    ids = _remaining_ids(events, set(names))
    new_links = _new_links(events, boundary, ids) if ids else {}
    metadata_span = boundary.span.inside("compactMetadata")
    updates[metadata_span] = {key: value for key, value in new_links.items() if value != links[key]}
    if _LOGICAL in updates.get(boundary.span, {}):
        first_event = by_id[names[0]]
        updates[boundary.span][_LOGICAL] = ids[-1] if ids else first_event.line_parent
    return {metadata_span.inside(key) for key in links if key not in new_links}


def _remaining_ids(events: EventEdit[ClaudeEvent], names: Set[object]) -> list[str]:
    """The ids of the kept events among some, and those of new events next to them, in order."""
    ids: dict[str, None] = {}
    for index, event in enumerate(events.events):
        neighbour = event
        if index in events.new:
            neighbour = events.events[events.places[events.new[index].span]]
        if neighbour.id in names and event.id is not None and index not in events.dropped:
            ids[event.id] = None
    return list(ids)


def _new_links(
    events: EventEdit[ClaudeEvent], boundary: ClaudeEvent, ids: Sequence[str]
) -> dict[str, Any]:
    """The list and the segment of a boundary, for the ids that are left."""
    new_links: dict[str, Any] = {}
    if _LIST in boundary.compaction:
        new_links[_LIST] = dict(boundary.compaction[_LIST])
        for key in ("uuids", "allUuids"):
            if key in new_links[_LIST]:
                new_links[_LIST][key] = _new_list(events, new_links[_LIST][key])
    if _SEGMENT in boundary.compaction:
        ends = {"headUuid": ids[0], "tailUuid": ids[-1]}
        new_links[_SEGMENT] = boundary.compaction[_SEGMENT] | ends
    for links in new_links.values():
        links[_ANCHOR] = _new_anchor(events, boundary, links.get(_ANCHOR))
    return new_links


def _new_list(events: EventEdit[ClaudeEvent], names: Sequence[object]) -> list[object]:
    """A list of ids as it was if the same events are left, else in the order of the context."""
    ids = _remaining_ids(events, set(names))
    return list(names) if set(ids) == set(names) else list(ids)


def _new_anchor(events: EventEdit[ClaudeEvent], boundary: ClaudeEvent, anchor: object) -> object:
    """The anchor, or its nearest kept ancestor if it is removed; at the latest the boundary."""
    place = next((index for index in events.dropped if events.events[index].id == anchor), None)
    return anchor if place is None else events.kept_ancestor(place) or boundary.id
