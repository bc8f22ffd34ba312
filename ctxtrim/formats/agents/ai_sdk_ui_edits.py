"""Edits of chats of the AI SDK's interface: new messages, and results in the parts of calls."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from ctxtrim.errors import NotEditableError
from ctxtrim.formats.agents import ui_tool
from ctxtrim.formats.agents.ai_sdk_ui import waits
from ctxtrim.formats.base import Edit, Insertion, Site
from ctxtrim.formats.block_messages import insert_blocks
from ctxtrim.formats.fields import members
from ctxtrim.formats.media_blocks import text_block
from ctxtrim.formats.message_parts import text_of
from ctxtrim.model import Message, Span


def insert(run: Sequence[Message], site: Site) -> list[Insertion]:
    """Each message as a message with one part, and each result in the part of its call."""
    results = [message for message in run if message.role == "tool"]
    others = [message for message in run if message.role != "tool"]
    insertions = [_result_insertion(message, site) for message in results]
    if not others:
        return insertions
    if site.later is not None and _is_listed(site.later):
        raise NotEditableError("no new message fits between the results of an answer")
    earlier = site.earlier and _whole(site.earlier)
    outer_site = replace(site, earlier=earlier, messages=[_whole(site.last)])
    return insertions + insert_blocks(others, outer_site, "parts", _json_value)


def _is_listed(message: Message) -> bool:
    """Whether a message is a result in `toolInvocations`."""
    return message.spans[-1].path[-2:-1] == ("toolInvocations",)


def _whole(message: Message) -> Message:
    """A message; a result in `toolInvocations` with the span of its element."""
    if not _is_listed(message):
        return message
    return replace(message, spans=(message.spans[-1].outer.outer,))


def _result_insertion(message: Message, site: Site) -> Insertion:
    """The part of a call with its new result, after the parts of the results before it."""
    result, earlier = message.result, site.earlier
    assert result is not None and earlier is not None
    span = _open_call(result.call_id, site, earlier)
    part, text = members(site.value_of(span)), text_of(message.parts)
    if part.get("type") == "tool-invocation":
        answer = members(part["toolInvocation"]) | {"state": "result", "result": text}
        value = part | {"toolInvocation": answer}
    elif "type" not in part:
        value = part | {"state": "result", "result": text}
    elif result.is_error:
        value = part | {"state": "output-error", "errorText": text}
    else:
        value = part | {"state": "output-available", "output": text}
    if earlier.role == "tool" and earlier.spans[-1] > span:
        return Insertion(value, earlier.spans[-1], is_after=True)
    return Insertion(value, span, replaces=True)


def _open_call(call_id: str | None, site: Site, earlier: Message) -> Span:
    """The part of the last call with an id and without a result, up to a message."""
    return next(
        call.block
        for message in reversed(site.messages[: (earlier.index or 0) + 1])
        for call in message.calls
        if call.call_id == call_id and call.block and waits(site.value_of(call.block))
    )


def relink(edit: Edit) -> Edit:
    """The edit without the old parts of calls that moved with their new results."""
    removals: set[Span] = set()
    for insertion in edit.inserted:
        name = ui_tool(members(insertion.value)).get("toolCallId")
        if name is not None and not insertion.replaces:
            home = insertion.span.outer
            parts = edit.value_at(home)[: int(insertion.span.path[-1])]
            spans = [
                home.inside(index)
                for index, part in enumerate(parts)
                if ui_tool(members(part)).get("toolCallId") == name and waits(part)
            ]
            removals.update(spans[-1:])
    return replace(edit, removed=edit.removed | removals) if removals else edit


def _json_value(message: Message, neighbour: Mapping[str, Any], name: str | None) -> dict[str, Any]:
    text = text_of(message.parts)
    value: dict[str, Any] = {} if name is None else {"id": name}
    value["role"] = message.role
    if "content" in neighbour:
        value["content"] = text
    return value | {"parts": [text_block(text)]}
