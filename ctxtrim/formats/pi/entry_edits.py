"""Edits of pi sessions: new entries, links, and the entries that compactions keep."""

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from msgspec.structs import replace

from ctxtrim.formats.base import Edit, Insertion, Site
from ctxtrim.formats.event_links import EventEdit, EventGraph
from ctxtrim.formats.fields import members
from ctxtrim.formats.message_parts import event_id, text_of
from ctxtrim.formats.pi import messages
from ctxtrim.formats.pi.messages import json_value
from ctxtrim.formats.pi.thread import (
    STARTS,
    EntryIndex,
    PiEntry,
    Thread,
    entries_in,
    entry_in,
    first_kept,
)
from ctxtrim.model import VISIBLE, Message, Span
from ctxtrim.text.records import dump

_SPEAKING = ("message", "message_end", "custom_message", "branch_summary", "compaction")
_LINKS = ("targetId", "fromId")
"""Fields, besides `parentId`, that name another entry: of labels, leaves, edits and summaries of
branches.
"""
_GRAPH = EventGraph(
    entry_in,
    entries_in,
    lambda entries: set(Thread(entries).path),
    above="parentId",
    links=_LINKS,
    lasting=_LINKS,
    is_path=False,
    index=EntryIndex,
)


def insert(run: Sequence[Message], site: Site) -> Sequence[Insertion]:
    """Each message as an entry; a summary at the start as a compaction.

    Between two messages inside a compaction, a message is inserted into the compaction.
    """
    last_entry = _entry_at(site.last.spans[0], site)
    if last_entry.get("type") not in _SPEAKING:
        return messages.insert(run, site)
    if site.earlier is not None and site.earlier.spans[0].path[-1:] == ("systemMessage",):
        site = replace(site, earlier=None)  # the summary is next to it, in the same compaction
    is_after = site.follows(run)
    neighbour = (site.earlier or site.last) if is_after else site.neighbour
    span = neighbour.spans[0]
    entry, line = _entry_at(span, site), Span(span.line)
    is_stream = last_entry["type"] == "message_end"
    insertions: list[Insertion] = []
    if site.earlier is None and not is_stream:
        is_compaction = entry.get("type") == "compaction"
        is_summary = run[0].role == "user" and (is_compaction or _is_visible_summary(run[0]))
        if is_summary or (is_compaction and not span.path):
            time = {key: last_entry[key] for key in ("timestamp",) if key in last_entry}
            text = text_of(run[0].parts) if is_summary else ""
            insertions.append(Insertion(_compaction_of(text, entry | time), line, is_after))
            run = run[1:] if is_summary else run
    if span.path[:1] == ("retainedTail",):
        tail_message = site.value_of(span)
        values = [_message_of(message, tail_message, site) for message in run]
        return [*insertions, *(Insertion(value, span, is_after) for value in values)]
    kind = "message_end" if is_stream else "message"
    for number, message in enumerate(run):
        body = {"type": kind, "message": _message_of(message, entry.get("message"), site)}
        insertions.append(Insertion(_entry_of(body, entry, number), line, is_after))
    return insertions


def _entry_at(span: Span, site: Site) -> dict[str, Any]:
    """The entry that contains a span; an empty one if there is none."""
    return members(site.value_of(Span(span.line)))


def _message_of(message: Message, neighbour: Any, site: Site) -> dict[str, Any]:
    value = json_value(message, members(neighbour), site)
    if not _is_visible_summary(message):
        return value
    del value["content"]
    text = text_of(message.parts)
    return value | {"role": "compactionSummary", "summary": text, "tokensBefore": 0}


def _is_visible_summary(message: Message) -> bool:
    return message.is_summary and message.visibility == VISIBLE


def _entry_of(body: dict[str, Any], neighbour: dict[str, Any], number: int = 0) -> dict[str, Any]:
    """An entry with the envelope of its neighbour, without links, and an id derived from its
    content and position.
    """
    value: dict[str, Any] = {"type": body["type"]}
    if "id" in neighbour:
        value |= {"id": event_id(neighbour["id"], dump(body), number), "parentId": None}
    if "timestamp" in neighbour:
        value["timestamp"] = neighbour["timestamp"]
    return value | body


def _compaction_of(summary: str, neighbour: dict[str, Any]) -> dict[str, Any]:
    """A compaction that keeps no earlier entries."""
    value = _entry_of({"type": "compaction", "summary": summary}, neighbour)
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
    events = EventEdit(_GRAPH, entries, thread.path, edit)
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
        _entry_of({"type": "message", "message": message}, neighbour.value),
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
    entries, alive = events.events, events.alive
    kept = set(range(len(entries))) - events.dropped
    live = kept & alive
    counts_before = list(accumulate((index in kept for index in range(len(entries))), initial=0))
    lookup = EntryIndex(old_entries)
    newest = max((index for index in alive if entries[index].kind in STARTS), default=None)
    for old_position, entry in enumerate(old_entries):
        index, value = events.places[entry.span], entry.value
        if entry.kind not in STARTS or index not in kept:
            continue
        old_first = first_kept(old_entries, lookup, old_position)
        start = index if old_first is None else events.places[old_entries[old_first].span]
        if index in alive and start not in alive:
            start = index  # it keeps nothing, as `Thread` reads it
        candidates = live if index in alive else kept
        first = next((place for place in range(start, index) if place in candidates), index)
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
