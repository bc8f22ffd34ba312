"""Inserts items into item lists."""

from collections.abc import Sequence
from typing import Any

from ctxtrim.formats.base import Insertion, Site
from ctxtrim.formats.message_lists import insert_elements
from ctxtrim.formats.message_parts import text_of
from ctxtrim.formats.openai.item_kinds import call_id_in, kind_of
from ctxtrim.model import Message, Span


def insert_items(run: Sequence[Message], site: Site) -> list[Insertion]:
    """Each message as an item."""
    neighbour = (site.earlier or site.last).spans[-1]

    def spell(message: Message) -> dict[str, Any]:
        result = message.result
        call = _call_item(result.call_id, neighbour, site) if result else None
        return _json_value(message, call)

    return insert_elements(run, site, map(spell, run))


def _call_item(call_id: str | None, neighbour: Span, site: Site) -> dict[str, Any] | None:
    """The call with an id, searched backwards from an item or its line."""
    path = neighbour.path
    if path and isinstance(path[-1], int):
        places = (neighbour.outer.inside(index) for index in range(path[-1], -1, -1))
    else:
        places = (Span(index) for index in range(neighbour.line, -1, -1))
    for place in places:
        item = _item(site.value_of(place))
        if isinstance(item, dict) and call_id_in(item) == call_id and kind_of(item) == "call":
            return item
    return None


def _item(value: Any) -> Any:
    """The item in a line of Codex; any other value is returned as it is."""
    return value.get("payload", value) if isinstance(value, dict) else value


def _json_value(message: Message, call: dict[str, Any] | None) -> dict[str, Any]:
    """A message as an item. `call` is the item of the call that a result answers, if known."""
    text = text_of(message.parts)
    result = message.result
    if result is None:
        kind = "output_text" if message.role == "assistant" else "input_text"
        return {"type": "message", "role": message.role, "content": [{"type": kind, "text": text}]}
    if result.call_id is None:
        return {"type": "tool_result", "name": result.name, "result": text}
    if call is not None and "callId" in call:
        names = {"name": result.name, "callId": result.call_id, "status": "completed"}
        output = {"type": "text", "text": text}
        return {"type": "function_call_result", **names, "output": output}
    is_custom = call is not None and call.get("type") == "custom_tool_call"
    kind = "custom_tool_call" if is_custom else "function_call"
    return {"type": f"{kind}_output", "call_id": result.call_id, "output": text}
