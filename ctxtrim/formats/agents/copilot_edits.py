"""Edits of sessions of Copilot CLI: new events, their links, and texts that become empty."""

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from ctxtrim.errors import NotEditableError
from ctxtrim.formats.base import BEFORE_SUMMARY, Edit, Insertion, Site
from ctxtrim.formats.event_links import EventGraph, session_event, session_events
from ctxtrim.formats.fields import members
from ctxtrim.formats.message_lists import insert_elements
from ctxtrim.formats.message_parts import event_id, text_of
from ctxtrim.model import Message, Span

_REST = {"summaryContent": " ", "content": ""}
"""What is left of a text whose message is dropped: the event keeps its effect. A compaction with an
empty summary would have none."""
_REFUSALS = {
    ("data", "summaryContent"): BEFORE_SUMMARY,
    ("data", "initialMessage"): "no message can come before the first message of a cleared context",
}


def insert(run: Sequence[Message], site: Site) -> Sequence[Insertion]:
    """Each message as an event with the time of its neighbour.

    Raises a `NotEditableError` before a summary or a message that replaces all events before it.
    """
    if site.later is not None and site.later.spans[0].path in _REFUSALS:
        raise NotEditableError(_REFUSALS[site.later.spans[0].path])
    neighbour = members(site.value_of(Span(site.neighbour.spans[0].line)))
    values = [_json_value(message, neighbour, number) for number, message in enumerate(run)]
    insertions = insert_elements(run, site, values)
    return [replace(insertion, span=Span(insertion.span.line)) for insertion in insertions]


def _json_value(message: Message, neighbour: dict[str, Any], number: int) -> dict[str, Any]:
    kind, data = _type_and_data(message)
    name = event_id(neighbour.get("id"), text_of(message.parts), number)
    around = {key: neighbour.get(key) for key in ("timestamp", "parentId")}
    return {"type": kind, "data": data, "id": name} | around


def _type_and_data(message: Message) -> tuple[str, dict[str, Any]]:
    """The type and the data of an event."""
    text, result = text_of(message.parts), message.result
    if result is not None:
        success = not result.is_error
        data = {"toolCallId": result.call_id, "success": success, "result": {"content": text}}
        return "tool.execution_complete", data
    if message.role == "assistant":
        return "assistant.message", {"content": text, "toolRequests": []}
    if message.role == "system":
        return "system.message", {"content": text}
    return "user.message", {"content": text, "transformedContent": text, "attachments": []}


_GRAPH = EventGraph(
    session_event,
    session_events,
    lambda events: set(range(len(events))),
    above="parentId",
)


def relink(edit: Edit) -> Edit:
    """The edit with updated `parentId` links.

    A dropped system prompt becomes an empty text, a dropped summary a space.
    """
    for key, rest in _REST.items():
        spans = {span for span in edit.removed if span.path[-1:] == (key,)}
        edit = edit.with_value(spans, rest)
    return _GRAPH.relink(edit)
