"""LLaMA-Factory: `{"messages": [{role, content: [{type, value}]}], "tools"?}`.

`tools` is JSON as a string. Preference data has two lists, `chosen_messages` and
`rejected_messages`: two conversations. A `tool_call` block contains `{"name", "arguments"}` as a
JSON string. There are no ids, and one `tool` message may answer all calls of the message before it.
"""

from collections.abc import Sequence
from typing import Any

from ctxtrim.conversation.tool_results import METADATA
from ctxtrim.formats.base import Insertion, Site
from ctxtrim.formats.media_blocks import media_of
from ctxtrim.formats.message_lists import Dialect, Element, Envelope, Found, insert_elements
from ctxtrim.formats.sharegpt import calls_in, tools_in
from ctxtrim.model import Message, Part, Role, Span
from ctxtrim.text.json_paths import Path
from ctxtrim.text.records import dump

ROLES: dict[object, Role] = {
    "system": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
}


def knows(value: object) -> bool:
    """Whether a value is a message of blocks with their text under `value`."""
    if (
        not isinstance(value, dict)
        or not isinstance(value.get("role"), str)
        or value["role"] not in ROLES
    ):
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


def read(elements: Sequence[Element], found: Found) -> None:
    """Read one message per element."""
    for value, span, whole in elements:
        name = value.get("role") if isinstance(value, dict) else None
        role = ROLES.get(name) if isinstance(name, str) else None
        if role is None:
            found.uncounted += name is not None
            continue
        content, inner_span = value.get("content"), span.inside("content")
        parts = [Part("text", content, span=inner_span)] if isinstance(content, str) else []
        for index, block in enumerate(content if isinstance(content, list) else ()):
            parts += _parts(block, inner_span.inside(index), role)
        metadata: tuple[tuple[str, int], ...] = ()
        if role == "tool":
            if not any(part.kind == "tool_result" for part in parts):
                parts.insert(0, Part("tool_result"))
            metadata = tuple((key, value[key]) for key in METADATA if type(value.get(key)) is int)
        index = len(found.messages)
        found.messages.append(
            Message(role, tuple(parts), metadata=metadata, index=index, spans=(whole,))
        )


def _parts(block: Any, span: Span, role: Role) -> list[Part]:
    """The parts of a block.

    A block is one part, except that one string may contain several calls.
    """
    kind, value = (
        (block.get("type"), block.get("value")) if isinstance(block, dict) else (None, None)
    )
    if isinstance(value, str):
        if kind == "tool_call" and role == "assistant":
            return calls_in(value, span.inside("value"), span)
        if kind == "reasoning" and role == "assistant":
            return [Part("reasoning", value, span=span.inside("value"), block=span)]
        if kind == "text":
            return [
                Part(
                    "tool_result" if role == "tool" else "text",
                    value,
                    span=span.inside("value"),
                    block=span,
                )
            ]
    media = media_of(block) if isinstance(block, dict) else None
    if media is not None:
        return [Part("attachment", media=media, block=span, text_block=_text_block)]
    return [Part("tool_result" if role == "tool" else "text", dump(block), block=span)]


def envelope(value: dict[str, Any], span: Span) -> Envelope:
    """The tools and id next to the messages."""
    name = value.get("id")
    return Envelope(tools_in(value.get("tools")), id=name if isinstance(name, str) else None)


def owner(array: Path) -> Path | None:
    """A message is removed with the last block of its content."""
    return array[:-1] if array[-1] == "content" else None


def insert(run: Sequence[Message], site: Site) -> Sequence[Insertion]:
    """Each message as a separate element."""
    return insert_elements(run, site, _json_value)


def _json_value(message: Message) -> dict[str, Any]:
    text = "".join(part.text for part in message.parts if part.kind in ("text", "tool_result"))
    return {"role": message.role, "content": [_text_block(text)]}


def _text_block(text: str) -> dict[str, Any]:
    return {"type": "text", "value": text}


DIALECT = Dialect(
    "llamafactory",
    knows,
    read,
    envelope,
    owner,
    insert,
    places=(
        "messages", "[*].messages", "chosen_messages", "[*].chosen_messages", "rejected_messages",
        "[*].rejected_messages", "",
    ),
)  # fmt: skip
