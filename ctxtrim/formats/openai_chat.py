"""OpenAI Chat Completions: a conversation per line, one message per line, or a whole document of either.

A conversation is `{"messages": […], "tools"?: […], "model"?, "id"?}`; a document may hold one, an array of them, or a
bare array of messages. Content is a string, a list of blocks, null or absent. The legacy `function_call` and the role
`function` are a call and a result without ids. A message of any other role is not ours and stays as it is.
"""

from collections.abc import Sequence
from typing import Any

from ctxtrim.formats.format import METADATA, Format, Layout
from ctxtrim.lines import Record, dump
from ctxtrim.model import Line, Message, Part, Path, Role, Source, Span, Transcript

ROLES: dict[object, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
}
_TEXTS = ("text", "input_text", "output_text")
_MEDIA = ("image_url", "input_audio", "file", "video_url", "image", "audio")
_FOREIGN = ("tool_use", "tool_result", "thinking", "redacted_thinking", "tool_call", "reasoning", "toolCall")


def sniff(value: object) -> Layout | None:
    """A conversation, an array of conversations or of messages, or a single message."""
    if isinstance(value, list):
        first = next((item for item in value if isinstance(item, dict)), None)
        return "conversation" if first is not None and (_is_conversation(first) or _is_message(first)) else None
    if _is_conversation(value):
        return "conversation"
    return "events" if _is_message(value) else None


def read(records: Sequence[Record], lines: tuple[Line, ...]) -> list[Transcript]:
    """Every conversation in the records; single messages together are one, the last."""
    found: list[Transcript] = []
    loose: list[Message] = []
    for line, record in enumerate(records):
        value = record.value
        if isinstance(value, list):
            if any(_is_conversation(item) for item in value):
                for index, item in enumerate(value):
                    if _is_conversation(item):
                        found.append(_conversation(item, lines, line, (index,)))
            elif sniff(value):
                found.append(_transcript(_messages(value, line, ()), lines, {}, ()))
        elif _is_conversation(value):
            found.append(_conversation(value, lines, line, ()))
        elif _is_message(value):
            message = _message(value, line, (), len(loose))
            if message is not None:
                loose.append(message)
    if loose:
        found.append(_transcript(loose, lines, {}, ()))
    return found


def owner(array: Path) -> Path | None:
    """A message goes when the last block of its content goes."""
    return array[:-1] if array[-1] == "content" else None


FORMAT = Format(sniff, read, owner)


def _is_conversation(value: object) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("messages"), list):
        return False
    messages = value["messages"]
    return any(_is_message(message) for message in messages[:8]) or not messages


def _is_message(value: object) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("role"), str):
        return False
    content = value.get("content")
    if isinstance(content, list):
        return not any(_is_foreign(block) for block in content)
    if value["role"] not in ROLES or isinstance(content, dict):
        return False
    return "content" in value or "tool_calls" in value or "function_call" in value


def _is_foreign(block: object) -> bool:
    if not isinstance(block, dict):
        return False
    kind = block.get("type")
    return kind in _FOREIGN or (kind in _TEXTS and not isinstance(block.get("text"), str))


def _conversation(value: dict[str, Any], lines: tuple[Line, ...], line: int, pointer: Path) -> Transcript:
    return _transcript(_messages(value["messages"], line, (*pointer, "messages")), lines, value, pointer)


def _transcript(
    messages: list[Message], lines: tuple[Line, ...], envelope: dict[str, Any], pointer: Path
) -> Transcript:
    tools = envelope.get("tools") or envelope.get("functions")
    model, name = envelope.get("model"), envelope.get("id")
    return Transcript(
        tuple(messages),
        Source(lines, tuple(messages)),
        dump(tools) if isinstance(tools, list) else None,
        model if isinstance(model, str) else None,
        name if isinstance(name, str) else None,
        pointer,
    )


def _messages(values: list[Any], line: int, base: Path) -> list[Message]:
    found: list[Message] = []
    for position, value in enumerate(values):
        if isinstance(value, dict):
            message = _message(value, line, (*base, position), len(found))
            if message is not None:
                found.append(message)
    return found


def _message(value: dict[str, Any], line: int, path: Path, index: int) -> Message | None:
    role = ROLES.get(value.get("role"))
    if role is None:
        return None
    spans = (Span(line, path),)
    name = value.get("name")
    if role == "tool":
        parts = _result(value, line, path)
        metadata = tuple((key, value[key]) for key in METADATA if isinstance(value.get(key), int))
        return Message(role, parts, None, False, metadata, index, spans)
    parts = _content(value.get("content"), line, (*path, "content"))
    if role == "assistant":
        reasoning = value.get("reasoning_content")
        if isinstance(reasoning, str):
            parts = (Part("reasoning", reasoning, span=Span(line, (*path, "reasoning_content"))), *parts)
        if isinstance(value.get("refusal"), str):
            parts = (*parts, Part("text", value["refusal"]))
        parts = (*parts, *_calls(value, line, path))
    return Message(role, parts, name if isinstance(name, str) else None, False, (), index, spans)


def _content(content: Any, line: int, path: Path) -> tuple[Part, ...]:
    if isinstance(content, str):
        return (Part("text", content, span=Span(line, path)),)
    if content is None:
        return ()
    if not isinstance(content, list):
        return (Part("text", dump(content)),)
    return tuple(_block(block, line, (*path, index)) for index, block in enumerate(content))


def _block(block: Any, line: int, path: Path) -> Part:
    where = Span(line, path)
    if isinstance(block, dict):
        kind = block.get("type")
        if kind in _TEXTS and isinstance(block.get("text"), str):
            return Part("text", block["text"], span=Span(line, (*path, "text")), block=where)
        if kind in _MEDIA:
            return Part("attachment", media=str(kind), block=where)
    return Part("text", dump(block), block=where)


def _result(value: dict[str, Any], line: int, path: Path) -> tuple[Part, ...]:
    call_id, name = value.get("tool_call_id"), value.get("name")
    call_id = call_id if isinstance(call_id, str) else None
    name = name if isinstance(name, str) else None
    parts = _content(value.get("content"), line, (*path, "content"))
    if not any(part.kind == "text" for part in parts):
        parts = (Part("text"), *parts)
    return tuple(
        Part("tool_result", part.text, call_id, name, None, None, part.span, part.block)
        if part.kind == "text"
        else Part("attachment", "", call_id, name, None, part.media, None, part.block)
        for part in parts
    )


def _calls(value: dict[str, Any], line: int, path: Path) -> tuple[Part, ...]:
    calls = value.get("tool_calls")
    found: list[Part] = []
    for index, call in enumerate(calls if isinstance(calls, list) else ()):
        if isinstance(call, dict):
            call_id = call.get("id")
            function, key = call.get("function"), "arguments"
            if not isinstance(function, dict):
                function, key = call.get("custom"), "input"
            where = (*path, "tool_calls", index, "function" if key == "arguments" else "custom", key)
            found.append(_call(function, key, call_id if isinstance(call_id, str) else None, Span(line, where)))
    legacy = value.get("function_call")
    if isinstance(legacy, dict):
        found.append(_call(legacy, "arguments", None, Span(line, (*path, "function_call", "arguments"))))
    return tuple(found)


def _call(function: Any, key: str, call_id: str | None, where: Span) -> Part:
    function = function if isinstance(function, dict) else {}
    arguments, name = function.get(key), function.get("name")
    name = name if isinstance(name, str) else None
    if isinstance(arguments, str):
        return Part("tool_call", arguments, call_id, name, span=where)
    return Part("tool_call", "" if arguments is None else dump(arguments), call_id, name)
