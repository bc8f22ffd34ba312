"""Context windows of numbered turns: results without calls, which name the trace that has them in full.

A message is `{"id", "type": "user" | "assistant" | "tool_result" | "spec_refresh", "content", "turn", "traceId"?,
"toolName"?}`, one a line or in a conversation `{"messages": […], "model"?, "id"?}`. `turn` is the number of its turn;
`traceId`, which every tool result must have, is its call id. A refresh of the specification is a system message: what
the agent has to keep to, so it is never dropped. No calls are recorded, so no result lacks one.
"""

from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

from ctxtrim.conversation.tool_results import METADATA
from ctxtrim.formats.base import Insertion, Site
from ctxtrim.formats.ids import made_id
from ctxtrim.formats.message_lists import Dialect, Element, Envelope, Found, beside
from ctxtrim.model import Message, Part, Role, Span
from ctxtrim.text.json_paths import Path

ROLES: dict[object, Role] = {
    "user": "user",
    "assistant": "assistant",
    "tool_result": "tool",
    "spec_refresh": "system",
}


def knows(value: object) -> bool:
    """A message of one of the four types, with its text and the number of its turn."""
    return (
        isinstance(value, dict)
        and isinstance(value.get("type"), str)
        and value["type"] in ROLES
        and isinstance(value.get("content"), str)
        and type(value.get("turn")) is int
    )


def claims(items: Sequence[Any], around: Mapping[str, Any]) -> bool:
    """Whether there is any such message; an empty list may be anybody's."""
    return any(map(knows, items))


def read(elements: Sequence[Element], found: Found) -> None:
    """A message an element; one without a text or a turn is not understood."""
    for value, at, whole in elements:
        if knows(value):
            found.messages.append(_message(value, at, whole, len(found.messages)))
        else:
            found.uncounted += isinstance(value, dict) and "type" in value


def _message(value: dict[str, Any], at: Span, whole: Span, index: int) -> Message:
    role, place, turn = ROLES[value["type"]], at.inside("content"), value["turn"]
    if role != "tool":
        return Message(role, (Part("text", value["content"], span=place),), index=index, spans=(whole,), turn=turn)
    trace, name = value.get("traceId"), value.get("toolName")
    trace, name = (one if isinstance(one, str) else None for one in (trace, name))
    part = Part("tool_result", value["content"], trace, name, span=place)
    metadata = tuple((key, value[key]) for key in METADATA if type(value.get(key)) is int)
    return Message(role, (part,), metadata=metadata, index=index, spans=(whole,), turn=turn)


def envelope(value: dict[str, Any], at: Span) -> Envelope:
    """Model and id beside the messages."""
    model, name = value.get("model"), value.get("id")
    return Envelope(model=model if isinstance(model, str) else None, id=name if isinstance(name, str) else None)


def owner(array: Path) -> Path | None:
    """Contents are texts, so nothing becomes empty with its last block."""
    return None


def insert(run: Sequence[Message], site: Site) -> Sequence[Insertion]:
    """Each message as an element of its own, of the turn of its neighbour; its id is made of what it says and where."""
    near = site.value_of((site.later or site.earlier or site.any).spans[0])
    numbers = count()
    return beside(run, site, lambda message: _spelled(message, near, next(numbers)))


def _spelled(message: Message, near: dict[str, Any], number: int) -> dict[str, Any]:
    text, result = "".join(part.text for part in message.parts), message.result
    kind = next(name for name, role in ROLES.items() if role == message.role)
    value = {
        "id": made_id(near.get("id"), text, number),
        "type": kind,
        "content": text,
        "turn": near["turn"],
    }
    if result is None:
        return value
    trace = {"traceId": result.call_id} if result.call_id is not None else {}
    return value | trace | ({"toolName": result.name} if result.name is not None else {})


DIALECT = Dialect(
    "context", knows, read, envelope, owner, insert, ("messages", "[*].messages", ""), takes_empty=True, claims=claims,
    records_calls=False,
)  # fmt: skip
