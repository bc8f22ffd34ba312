"""Windsurf: the transcripts that it hands to hooks (one step per line), and exports.

A step has a `status`, a `type`, and its content under the name of its type: `user_input`,
`planner_response`, `code_action`. The example in Windsurf's documentation of the hook
`post_cascade_response_with_transcript` shows only these three, and says that the steps may change
(https://docs.windsurf.com/windsurf/cascade/hooks, 2026). Windsurf does not document exports:
their form (`{"conversation": {"messages": […]}}`, with `role` and `content`, or `sender` and
`parts`) is that of files that programs for exporting write.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from ctxtrim.formats.base import Insertion, Site
from ctxtrim.formats.fields import members, role_in, string
from ctxtrim.formats.media_blocks import text_block, text_or_block
from ctxtrim.formats.message_lists import Dialect, Element, ListContents, insert_elements
from ctxtrim.formats.message_parts import content_parts, text_of
from ctxtrim.formats.openai import chat as openai_chat
from ctxtrim.model import Message, Part, Role, Span
from ctxtrim.text.json_paths import Path
from ctxtrim.text.records import dump

_ROLES: dict[object, Role] = {"user": "user", "assistant": "assistant", "system": "system"}
_TEXTS = {"user_input": "user_response", "planner_response": "response"}
"""The members that contain the text of a step, by its type."""


def knows(value: object) -> bool:
    """Whether a value is a step or a message that only Windsurf writes."""
    is_dated = isinstance(value, dict) and "createdAt" in value and openai_chat.knows(value)
    return _is_known(value) or _has_sender(value) or is_dated


def _is_step(value: object) -> bool:
    """Whether a value is a step of any type."""
    if not isinstance(value, dict) or not isinstance(value.get("type"), str):
        return False
    return "status" in value and isinstance(value.get(value["type"]), dict)


def _is_known(value: object) -> bool:
    """Whether a value is a step of a documented type."""
    return _is_step(value) and members(value)["type"] in (*_TEXTS, "code_action")


def _has_sender(value: object) -> bool:
    """Whether a value is a message of an export with a sender and parts."""
    has_parts = isinstance(value, dict) and isinstance(value.get("parts"), list)
    return has_parts and role_in(value, "sender", _ROLES) is not None


def read(elements: Iterable[Element], contents: ListContents) -> None:
    """Read one message from each element. Steps of other types are counted as unknown."""
    for element in elements:
        value, span, whole = element
        if _is_known(value):
            role: Role = "user" if value["type"] == "user_input" else "assistant"
            contents.add(role, [_step_part(value, span)], whole)
        elif _is_step(value):
            contents.uncounted += 1
        elif _has_sender(value):
            parts = content_parts(value["parts"], span.inside("parts"), text_or_block)
            contents.add(_ROLES[value["sender"]], parts, whole)
        else:
            openai_chat.read([element], contents)


def _step_part(value: dict[str, Any], span: Span) -> Part:
    """The text of a step; the JSON of a code action, which has neither a name nor a result."""
    kind = value["type"]
    inner, key = value[kind], _TEXTS.get(kind, "")
    if string(inner.get(key)) is None:
        return Part("text", dump(inner))
    return Part("text", inner[key], span=span.inside(kind, key))


def owner(array: Path) -> Path | None:
    """A message is removed with the last of its parts or blocks."""
    return array[:-1] if array[-1] == "parts" else openai_chat.DIALECT.owner(array)


def insert(run: Sequence[Message], site: Site) -> Sequence[Insertion]:
    """Each message in the form of its neighbour. Results have only one form."""
    neighbour = members(site.value_of(site.neighbour.spans[0]))
    return insert_elements(run, site, [_json_value(message, neighbour) for message in run])


def _json_value(message: Message, neighbour: dict[str, Any]) -> dict[str, Any]:
    text, result = text_of(message.parts), message.result
    if _is_step(neighbour):
        kind = "user_input" if message.role == "user" else "planner_response"
        return {"type": kind, "status": neighbour["status"], kind: {_TEXTS[kind]: text}}
    time = {"createdAt": neighbour["createdAt"]} if "createdAt" in neighbour else {}
    if result is not None:
        return {"role": "tool", "tool_call_id": result.call_id, "content": text, **time}
    if _has_sender(neighbour):
        return {"sender": message.role, "parts": [text_block(text)]}
    return {"role": message.role, "content": text, **time}


DIALECT = Dialect(
    "windsurf",
    knows,
    read,
    insert,
    owner=owner,
    places=("conversation.messages", "[*].conversation.messages"),
)
