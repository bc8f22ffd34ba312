"""Messages of OpenTelemetry's GenAI conventions: `{"role", "parts": [{"type", "content"}]}`.

Each `tool_call_response` is a tool result; each run of other parts is a message. Langfuse puts the
system instructions before the messages, as `{"role", "content"}`.
[langfuse/langfuse, `packages/shared/src/server/otel/OtelIngestionProcessor.ts`]
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

from ctxtrim.formats.base import Insertion, Site, parts_owner
from ctxtrim.formats.fields import elements, members, role_in, string
from ctxtrim.formats.media_blocks import inline_media, media_of, sealed_media
from ctxtrim.formats.message_lists import Dialect, Element, ListContents, element_of, insert_around
from ctxtrim.formats.message_parts import content_parts, function_call, result_parts, text_of
from ctxtrim.model import Media, Message, Part, PartKind, Role, Span
from ctxtrim.text.records import dump

ROLES: dict[object, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "model": "assistant",
    "tool": "tool",
}
_TEXTS: dict[str, PartKind] = {
    "text": "text",
    "reasoning": "reasoning",
    "thinking": "reasoning",
    "compaction": "text",  # the summary of the messages before it
}
_MODALITIES = {"image": "image", "audio": "audio", "video": "video", "document": "document"}


def knows(value: object) -> bool:
    """Whether a value is a message with typed parts."""
    if role_in(value, "role", ROLES) is None:
        return False
    parts = members(value).get("parts")
    return isinstance(parts, list) and all(
        isinstance(members(part).get("type"), str) for part in parts
    )


def read(items: Iterable[Element], contents: ListContents) -> None:
    """Read the messages of each element; none of an element without parts or a text."""
    for value, span, whole in items:
        role = role_in(value, "role", ROLES)
        if role is None:
            contents.uncounted += "role" in members(value)
            continue
        if "parts" not in value and "content" in value:
            _add_text(role, value, span, whole, contents)
            continue
        runs = list(_runs(elements(value.get("parts")), span.inside("parts")))
        for is_result, blocks, parts in runs:
            kind: Role = "user" if role == "tool" else role
            if is_result:
                kind = "tool"
            spans = (whole,) if len(runs) == 1 else tuple(blocks)
            result = value if len(runs) == 1 else value["parts"][blocks[0].path[-1]]
            contents.add(kind, parts, *spans, value=result)


def _add_text(
    role: Role, value: dict[str, Any], span: Span, whole: Span, contents: ListContents
) -> None:
    """Add a message with a text in place of parts; another content, or a result, is not counted."""
    text = value["content"]
    if role == "tool" or not isinstance(text, str):
        contents.uncounted += 1
        return
    contents.add(role, [Part("text", text, span=span.inside("content"))], whole)


def _runs(parts: Sequence[Any], span: Span) -> Iterator[tuple[bool, list[Span], list[Part]]]:
    """The parts of each message: whether it is a result, the spans of its parts, and the parts."""

    def message_of(index: int) -> int:
        """The same number for the parts of a message."""
        return index if _is_result(parts[index]) else -1

    for number, run in groupby(range(len(parts)), message_of):
        indices = list(run)
        blocks = [span.inside(index) for index in indices]
        if number >= 0:
            yield True, blocks, list(_result(members(parts[number]), blocks[0]))
        else:
            yield False, blocks, [_part(parts[index], span.inside(index)) for index in indices]


def _is_result(part: Any) -> bool:
    return members(part).get("type") == "tool_call_response"


def _result(part: dict[str, Any], block: Span) -> Sequence[Part]:
    """The parts of a tool result. Only a text can be edited."""
    key = "response" if "response" in part else "result"
    value, span = part.get(key), block.inside(key)
    if isinstance(value, str):
        texts = [Part("text", value, span=span)]
    elif isinstance(value, list) and value and all(map(_is_text_block, value)):
        # the content of a result of Converse or MCP
        # [strands-agents/sdk-python, `telemetry/tracer.py`]
        texts = [
            Part("text", item["text"], span=span.inside(index, "text"), block=span.inside(index))
            for index, item in enumerate(value)
        ]
    else:
        texts = [Part("text", "" if value is None else dump(value))]
    return result_parts(texts, string(part.get("id")))


def _is_text_block(value: Any) -> bool:
    """Whether a value is a text in an object: `{"text": …}`, also with a type."""
    block = members(value)
    return isinstance(block.get("text"), str) and block.keys() <= {"type", "text"}


def parts_of(content: Any, span: Span) -> tuple[Part, ...]:
    """The parts of system instructions: a text, or a list of parts.

    LiteLLM writes a list of messages. [`integrations/opentelemetry.py` of BerriAI/litellm]
    """
    if not isinstance(content, list) or not all(map(knows, content)):
        return content_parts(content, span, _part)
    return tuple(
        _part(part, span.inside(index, "parts", number))
        for index, message in enumerate(content)
        for number, part in enumerate(message["parts"])
    )


def _part(value: Any, block: Span) -> Part:
    part = members(value)
    kind, content = part.get("type"), part.get("content")
    if isinstance(kind, str) and kind in _TEXTS and isinstance(content, str):
        return Part(_TEXTS[kind], content, span=block.inside("content"), block=block)
    if kind == "compaction":  # encrypted
        return Part("attachment", media=sealed_media(None), source=block)
    if kind == "tool_call":
        return function_call(part, part.get("id"), block, block)
    if kind in ("blob", "uri", "file", "file_data"):
        mime = part.get("mime_type")
        modality = _MODALITIES.get(str(part.get("modality")))
        media: Media | None = inline_media(content, mime)
        if modality and not isinstance(mime, str):
            media = media_of({"type": modality, "data": content})
        return Part("attachment", media=media, block=block, text_block=_text_part)
    return Part("text", dump(value), block=block, stored=isinstance(value, dict))


def _text_part(text: str) -> dict[str, Any]:
    return {"type": "text", "content": text}


def insert(run: Sequence[Message], site: Site) -> list[Insertion]:
    """Each message as an element; an element that contains both neighbours is split."""
    return insert_around(
        run, site, _element, lambda message, neighbour, number: _json_value(message)
    )


def _element(span: Span) -> Span:
    return element_of(span, ("parts",))


def _json_value(message: Message) -> dict[str, Any]:
    text, result = text_of(message.parts), message.result
    if result is None:
        return {"role": message.role, "parts": [_text_part(text)]}
    part = {"type": "tool_call_response", "id": result.call_id, "response": text}
    return {"role": "tool", "parts": [part]}


DIALECT = Dialect("opentelemetry", knows, read, insert, owner=parts_owner)
