"""Edits of Kimi Code sessions: new records, and members that become empty."""

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from ctxtrim.formats.base import Edit, Insertion, Site
from ctxtrim.formats.fields import members
from ctxtrim.formats.message_lists import insert_elements
from ctxtrim.formats.message_parts import text_of
from ctxtrim.model import Message, Span
from ctxtrim.text.json_paths import Path

_COMPACTION = b'"context.apply_compaction"'
_TEXT_PATHS: tuple[Path, ...] = (("systemPrompt",), ("contextSummary",), ("summary",))
"""Members that become an empty text if their message is dropped: the record keeps its effect."""


def insert(run: Sequence[Message], site: Site) -> Sequence[Insertion]:
    """Each message as a record with the time of its neighbour."""
    neighbour = members(site.value_of(Span(site.neighbour.spans[0].line)))
    time = {key: neighbour[key] for key in ("time", "agentId") if key in neighbour}
    insertions = insert_elements(run, site, [_record(message, site) | time for message in run])
    return [replace(insertion, span=Span(insertion.span.line)) for insertion in insertions]


def _record(message: Message, site: Site) -> dict[str, Any]:
    """A message as a record: a result as its call was recorded."""
    text, result = text_of(message.parts), message.result
    body: dict[str, Any] = {
        "role": message.role,
        "content": [{"type": "text", "text": text}],
        "toolCalls": [],
    }
    if message.is_injected:  # else the program takes it for a prompt
        body["origin"] = {"kind": "injection", "variant": "ctxtrim"}
    if result is None:
        return {"type": "context.append_message", "message": body}
    if _is_in_step(result.call_id, site):
        event = {"type": "tool.result", "toolCallId": result.call_id, "result": {"output": text}}
        return {"type": "context.append_loop_event", "event": event}
    body["toolCallId"] = result.call_id
    return {"type": "context.append_message", "message": body}


def _is_in_step(call_id: str | None, site: Site) -> bool:
    """Whether the last call with an id, before a site, belongs to a step."""
    end = site.earlier.index if site.earlier is not None else None
    for message in reversed(site.messages[: None if end is None else end + 1]):
        if any(call.call_id == call_id for call in message.calls):
            line = members(site.value_of(Span(message.spans[0].line)))
            return line.get("type") == "context.append_loop_event"
    return False


def _kept_by_compactions(edit: Edit) -> Edit:
    """The edit with new messages before a compaction as prompts, which are all that it keeps."""
    if not edit.inserted:
        return edit
    lines = range(len(edit.lines))
    last_line = max((line for line in lines if edit.mentions(line, (_COMPACTION,))), default=-1)
    insertions = []
    for insertion in edit.inserted:
        record, line = insertion.value, insertion.span.line
        is_before = line < last_line or (line == last_line and not insertion.is_after)
        if is_before and "origin" in members(record.get("message")):
            message = {key: value for key, value in record["message"].items() if key != "origin"}
            insertion = replace(insertion, value=record | {"message": message})
        insertions.append(insertion)
    return replace(edit, inserted=insertions)


def relink(edit: Edit) -> Edit:
    """The edit with empty texts in the place of a dropped system prompt or summary, and with the
    new numbers of the lines that branches name.
    """
    from ctxtrim.formats.agents.kimi_branches import renumbered  # for edits only

    spans = {span for span in edit.removed if span.path in _TEXT_PATHS}
    edit = _kept_by_compactions(edit.with_value(spans, ""))
    return edit.with_members(renumbered(edit).items())
