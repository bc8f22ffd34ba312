"""Sessions of Grok CLI (`chat_history.jsonl`): one item per line, whose `type` is the role.

Reasoning and calls that the provider ran itself are lines before the answer that they belong to.
Older versions write the reasoning into the answer. A rewind and a compaction rewrite the file,
so all of its items are sent. Checked against Grok Build
(`xai-grok-sampling-types/src/conversation.rs`, `xai-grok-compaction/src/code_compaction`).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from ctxtrim.formats.base import Format, layout_of_events, session
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
_HUMAN = (None, "", "human", "interjection")
"""Reasons of user messages that a person typed; an interjection while the model worked."""
_MACHINE = "<user_info>"
"""How the first user message of a session begins: the machine, the folder and the rules."""
_COMPACTION = "compaction_meta"
"""The reason of what a compaction writes: the summary, and the description of the machine."""
_SUMMARY = "This session is being continued from a previous conversation"
"""How the summary of a compaction begins."""


def knows(value: object) -> bool:
    """Whether a value is an item that no other format writes."""
    if not isinstance(value, dict) or not admits(value):
        return False
    kind, content = value["type"], value.get("content")
    return (
        kind == "backend_tool_call"
        or (kind == "tool_result" and isinstance(value.get("tool_call_id"), str))
        or (kind == "assistant" and "model_id" in value)
        or (kind == "user" and isinstance(content, list))
    )


def admits(value: object) -> bool:
    """The same, and items that other formats could also contain."""
    if not isinstance(value, dict):
        return False
    kind = value.get("type")
    if kind == "reasoning":
        return isinstance(value.get("summary"), list)
    if kind == "backend_tool_call":
        return isinstance(value.get("kind"), dict)
    is_message = isinstance(kind, str) and kind in _ROLES and "content" in value
    return is_message and not any(key in value for key in _OTHERS)


def read(records: Iterable[JsonRecord], lines: Sequence[Line]) -> list[Transcript]:
    """The one conversation of the session."""
    contents = ListContents()
    model: str | None = None
    parts: list[Part] = []  # of the answer that follows
    spans: list[Span] = []
    for line, record in enumerate(records):
        if not admits(record.value):
            continue
        value, span = members(record.value), Span(line)
        role = _ROLES.get(value["type"], "assistant")
        if role != "assistant" and spans:
            contents.add("assistant", parts, *spans)
            parts, spans = [], []
        parts.extend(_parts(value, span))
        spans.append(span)
        if value["type"] in _ROLES:
            model = first_string((value.get("model_id"), model))
            is_injected = role == "user" and _is_client(value, parts)
            is_summary = is_injected and _is_summary(value, parts)
            contents.add(
                role, parts, *spans, value=value, is_injected=is_injected, is_summary=is_summary
            )
            parts, spans = [], []
    if spans:
        contents.add("assistant", parts, *spans)
    return session(contents.messages, lines, model=model)


def _is_client(value: Mapping[str, Any], parts: Sequence[Part]) -> bool:
    """Whether the program wrote a user message: it says so, or it describes the machine.

    [inference-sh/agentprotocol, `transcript/grok/chat.go`]
    """
    is_own = value.get("synthetic_reason") not in _HUMAN
    return is_own or (bool(parts) and parts[0].text.startswith(_MACHINE))


def _is_summary(value: Mapping[str, Any], parts: Sequence[Part]) -> bool:
    """Whether a user message is the summary of a compaction."""
    is_compaction = value.get("synthetic_reason") == _COMPACTION
    return is_compaction and bool(parts) and parts[0].text.startswith(_SUMMARY)


def _parts(value: dict[str, Any], span: Span) -> Iterator[Part]:
    """The parts of an item."""
    kind = value["type"]
    if kind == "reasoning":
        yield from _reasoning(value)
    elif kind == "backend_tool_call":
        yield Part("text", dump(value["kind"]), source=span)
    else:
        yield from _older_reasoning(value)
        yield from _content(value, span)


def _reasoning(item: Mapping[str, Any]) -> Iterator[Part]:
    """The texts of a reasoning, else its summary, and its encrypted text."""
    yield from _thoughts(item.get("content")) or _thoughts(item.get("summary"))
    yield from _sealed(item.get("encrypted_content"))


def _older_reasoning(answer: Mapping[str, Any]) -> Iterator[Part]:
    """The reasoning that older versions write into an answer: the response, else one text."""
    if isinstance(answer.get("raw_output"), list):
        for item in map(members, answer["raw_output"]):
            if item.get("type") == "reasoning":
                yield from _reasoning(item)
        return
    reasoning = members(answer.get("reasoning"))
    if string(reasoning.get("text")):
        yield Part("reasoning", reasoning["text"])
    yield from _sealed(reasoning.get("encrypted"))


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
    if message.role != "user":
        return {"type": message.role, "content": text}
    item: dict[str, Any] = {"type": "user", "content": [{"type": "text", "text": text}]}
    if message.is_injected:  # else the program takes it for a prompt
        item["synthetic_reason"] = _COMPACTION
    return item


FORMAT = Format(
    "grok-cli",
    layout_of_events(knows),
    read,
    each_as(_json_value),
    owner=owner,
    takes=layout_of_events(admits),
)
