"""LLaMA-Factory: `{"messages": [{role, content: [{type, value}]}], "tools"?}`.

`tools` is JSON as a string. Preference data has two lists, `chosen_messages` and
`rejected_messages`: two conversations. A `tool_call` block contains `{"name", "arguments"}` as a
JSON string. There are no ids, and one `tool` message may answer all calls of the message before it.
"""

from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from ctxtrim.formats.base import content_owner
from ctxtrim.formats.fields import elements, identifier, members, role_in
from ctxtrim.formats.media_blocks import block_part
from ctxtrim.formats.message_lists import Dialect, Element, Envelope, ListContents, each_as
from ctxtrim.formats.message_parts import text_of
from ctxtrim.formats.sharegpt import calls_in, tools_in
from ctxtrim.model import ROLES, Message, Part, PartKind, Role, Span

_ROLES: dict[object, Role] = {role: role for role in ROLES}


def knows(value: object) -> bool:
    """Whether a value is a message of blocks with their text under `value`."""
    if not isinstance(value, dict) or role_in(value, "role", _ROLES) is None:
        return False
    content = value.get("content")
    return isinstance(content, list) and bool(content) and all(map(_is_block, content))


def _is_block(value: object) -> bool:
    return (
        isinstance(value, dict)
        and isinstance(value.get("type"), str)
        and "value" in value
        and "text" not in value
    )


def read(items: Iterable[Element], contents: ListContents) -> None:
    """Read one message per element."""
    for value, span, whole in items:
        role = role_in(value, "role", _ROLES)
        if role is None:
            contents.uncounted += isinstance(value, dict) and value.get("role") is not None
            continue
        content, inner_span = value.get("content"), span.inside("content")
        parts = [Part("text", content, span=inner_span)] if isinstance(content, str) else []
        for index, block in enumerate(elements(content)):
            parts += _parts(block, inner_span.inside(index), role)
        if role == "tool" and not any(part.kind == "tool_result" for part in parts):
            parts.insert(0, Part("tool_result"))
        contents.add(role, parts, whole, value=value)


def _parts(block: Any, span: Span, role: Role) -> list[Part]:
    """The parts of a block.

    A block is one part, except that one string may contain several calls.
    """
    kind, value = (members(block).get(key) for key in ("type", "value"))
    text_kind: PartKind = "tool_result" if role == "tool" else "text"
    if isinstance(value, str):
        if kind == "tool_call" and role == "assistant":
            return calls_in(value, span.inside("value"), span)
        if kind == "reasoning" and role == "assistant":
            return [Part("reasoning", value, span=span.inside("value"), block=span)]
        if kind == "text":
            return [Part(text_kind, value, span=span.inside("value"), block=span)]
    part = block_part(block, span, _text_block)
    return [part if part.media else replace(part, kind=text_kind)]


def envelope(value: dict[str, Any], span: Span) -> Envelope:
    """The tools and id next to the messages."""
    return Envelope(tools_in(value.get("tools")), id=identifier(value.get("id")))


def _json_value(message: Message) -> dict[str, Any]:
    return {"role": message.role, "content": [_text_block(text_of(message.parts))]}


def _text_block(text: str) -> dict[str, Any]:
    return {"type": "text", "value": text}


DIALECT = Dialect(
    "llamafactory",
    knows,
    read,
    each_as(_json_value),
    envelope=envelope,
    owner=content_owner,
    places=(
        "messages", "[*].messages", "chosen_messages", "[*].chosen_messages", "rejected_messages",
        "[*].rejected_messages", "",
    ),
)  # fmt: skip
