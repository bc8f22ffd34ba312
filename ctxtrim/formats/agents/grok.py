"""Sessions of Grok CLI (`chat_history.jsonl`): one item per line, whose `type` is the role.

Reasoning and calls that the provider ran itself are lines before the answer that they belong to.
Older versions write the reasoning into the answer.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from ctxtrim.formats.base import Format, Layout, session
from ctxtrim.formats.fields import elements, first_string, members, string
from ctxtrim.formats.media_blocks import sealed_media, text_or_block
from ctxtrim.formats.message_lists import ListContents, each_as
from ctxtrim.formats.message_parts import content_parts, listed_calls, result_parts, text_of
from ctxtrim.model import Line, Message, Part, Role, Span, Transcript
from ctxtrim.text.json_paths import Path
from ctxtrim.text.records import JsonRecord, dump

_ROLES: dict[object, Role] = {
    "system": "system",
    "user": "user",
    "assistant": "assistant",
    "tool_result": "tool",
}
_OTHERS = ("role", "message", "id", "uuid", "turn", "sessionId", "session_id", "timestamp")
"""Members of messages with a `type` in other formats."""
_HUMAN = (None, "", "human")
_MACHINE = "<user_info>"
"""How the first user message of a session begins: the machine, the folder and the rules."""


def sniff(value: object) -> Layout | None:
    """Whether a value is an item that no other format writes."""
    if not isinstance(value, dict) or takes(value) is None:
        return None
    kind, content = value["type"], value.get("content")
    is_sure = (
        kind == "backend_tool_call"
        or (kind == "tool_result" and isinstance(value.get("tool_call_id"), str))
        or (kind == "assistant" and "model_id" in value)
        or (kind == "user" and isinstance(content, list))
    )
    return "events" if is_sure else None


def takes(value: object) -> Layout | None:
    """The same, and items that other formats could also contain."""
    if not isinstance(value, dict):
        return None
    kind = value.get("type")
    if kind == "reasoning":
        return "events" if isinstance(value.get("summary"), list) else None
    if kind == "backend_tool_call":
        return "events" if isinstance(value.get("kind"), dict) else None
    is_message = isinstance(kind, str) and kind in _ROLES and "content" in value
    return "events" if is_message and not any(key in value for key in _OTHERS) else None


def read(records: Iterable[JsonRecord], lines: Sequence[Line]) -> list[Transcript]:
    """The one conversation of the session."""
    contents = ListContents()
    model: str | None = None
    parts: list[Part] = []  # of the answer that follows
    spans: list[Span] = []
    for line, record in enumerate(records):
        if takes(record.value) is None:
            continue
        value, span = members(record.value), Span(line)
        role = _ROLES.get(value["type"], "assistant")
        if role != "assistant" and spans:
            contents.add("assistant", parts, None, *spans)
            parts, spans = [], []
        parts.extend(_parts(value, span))
        spans.append(span)
        if value["type"] in _ROLES:
            model = first_string((value.get("model_id"), model))
            is_injected = role == "user" and _is_client(value, parts)
            contents.add(role, parts, value, *spans, is_injected=is_injected)
            parts, spans = [], []
    if spans:
        contents.add("assistant", parts, None, *spans)
    return session(contents.messages, lines, model=model)


def _is_client(value: Mapping[str, Any], parts: Sequence[Part]) -> bool:
    """Whether the program wrote a user message: it says so, or it describes the machine.

    [inference-sh/agentprotocol, `transcript/grok/chat.go`]
    """
    is_own = value.get("synthetic_reason") not in _HUMAN
    return is_own or (bool(parts) and parts[0].text.startswith(_MACHINE))


def _parts(value: dict[str, Any], span: Span) -> Iterator[Part]:
    """The parts of an item."""
    kind = value["type"]
    if kind == "reasoning":
        yield from _thoughts(value.get("content")) or _thoughts(value["summary"])
        yield from _sealed(value.get("encrypted_content"))
    elif kind == "backend_tool_call":
        yield Part("text", dump(value["kind"]), source=span)
    else:
        reasoning = members(value.get("reasoning"))
        if string(reasoning.get("text")):
            yield Part("reasoning", reasoning["text"])
        yield from _sealed(reasoning.get("encrypted"))
        yield from _content(value, span)


def _thoughts(blocks: Any) -> list[Part]:
    """The texts of the blocks of a reasoning, which a summary repeats in fewer words."""
    texts = [string(members(block).get("text")) for block in elements(blocks)]
    return [Part("reasoning", text) for text in texts if text]


def _sealed(text: object) -> Iterator[Part]:
    """Encrypted reasoning."""
    if isinstance(text, str) and text:
        yield Part("reasoning", media=sealed_media(text))


def _content(value: dict[str, Any], span: Span) -> Iterator[Part]:
    """The content of a message, and its calls."""
    parts = content_parts(value["content"] or None, span.inside("content"), text_or_block)
    if value["type"] == "tool_result":
        images = elements(value.get("images"))
        parts += tuple(
            replace(text_or_block(image, span.inside("images", index)), text_block=None)
            for index, image in enumerate(images)  # their list has no place for a text
        )
        parts = result_parts(parts, string(value.get("tool_call_id")))
    yield from parts
    yield from listed_calls(value.get("tool_calls"), span.inside("tool_calls"), "arguments")


def owner(array: Path) -> Path | None:
    """An item is removed with the last block of its content."""
    return () if array == ("content",) else None


def _json_value(message: Message) -> dict[str, Any]:
    text, result = text_of(message.parts), message.result
    if result is not None:
        return {"type": "tool_result", "tool_call_id": result.call_id, "content": text}
    content = [{"type": "text", "text": text}] if message.role == "user" else text
    return {"type": message.role, "content": content}


FORMAT = Format("grok-cli", sniff, read, each_as(_json_value), owner=owner, takes=takes)
