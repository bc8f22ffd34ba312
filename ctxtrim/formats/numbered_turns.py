"""Context windows of numbered turns: results without calls, which name the trace with their full
text.

A message is `{"id", "type": "user" | "assistant" | "tool_result" | "spec_refresh", "content",
"turn", "traceId"?, "toolName"?}`, one per line or in a conversation `{"messages": […], "model"?,
"id"?}`. `turn` is the number of its turn. `traceId`, required on tool results, is the call id. A
refresh of the specification is a system message, so it is never dropped. Calls are not recorded, so
results without calls are valid.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ctxtrim.formats.base import Insertion, Site
from ctxtrim.formats.fields import member_names, role_in, string
from ctxtrim.formats.message_lists import Dialect, Element, ListContents, insert_elements
from ctxtrim.formats.message_parts import event_id, text_of
from ctxtrim.model import Message, Part, Role, Span

ROLES: dict[object, Role] = {
    "user": "user",
    "assistant": "assistant",
    "tool_result": "tool",
    "spec_refresh": "system",
}


def knows(value: object) -> bool:
    """Whether a value is a message of one of the four types, with a text and a turn number."""
    return (
        isinstance(value, dict)
        and type(value.get("turn")) is int
        and isinstance(value.get("content"), str)
        and role_in(value, "type", ROLES) is not None
    )


def claims(items: Sequence[Any], around: Mapping[str, Any]) -> bool:
    """Whether there is any such message. An empty list may belong to any format."""
    return "turn" in member_names(items) and any(map(knows, items))


def read(elements: Iterable[Element], contents: ListContents) -> None:
    """Read one message per element. Elements without a text or a turn are counted as unknown."""
    for value, span, whole in elements:
        if knows(value):
            role = ROLES[value["type"]]
            part = _part(role, value, span.inside("content"))
            contents.add(role, [part], whole, value=value, turn=value["turn"])
        else:
            contents.uncounted += isinstance(value, dict) and "type" in value


def _part(role: Role, value: dict[str, Any], span: Span) -> Part:
    if role != "tool":
        return Part("text", value["content"], span=span)
    trace, name = string(value.get("traceId")), string(value.get("toolName"))
    return Part("tool_result", value["content"], trace, name, span=span)


def insert(run: Sequence[Message], site: Site) -> Sequence[Insertion]:
    """Each message as an element with the turn of its neighbour and a derived id."""
    neighbour = site.value_of(site.neighbour.spans[0])
    values = [_json_value(message, neighbour, number) for number, message in enumerate(run)]
    return insert_elements(run, site, values)


def _json_value(message: Message, neighbour: dict[str, Any], number: int) -> dict[str, Any]:
    text, result = text_of(message.parts), message.result
    kind = next(name for name, role in ROLES.items() if role == message.role)
    value = {
        "id": event_id(neighbour.get("id"), text, number),
        "type": kind,
        "content": text,
        "turn": neighbour["turn"],
    }
    if result is not None and result.call_id is not None:
        value["traceId"] = result.call_id
    if result is not None and result.name is not None:
        value["toolName"] = result.name
    return value


DIALECT = Dialect(
    "context", knows, read, insert, takes_empty=True, claims=claims, records_calls=False
)
