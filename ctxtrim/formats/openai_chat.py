"""OpenAI Chat Completions: a conversation per line, one message per line, or a whole document of either.

A conversation is `{"messages": […], "tools"?: […], "model"?, "id"?}`; a document may hold one, an array of them, or a
bare array of messages. Content is a string, a list of blocks, null or absent. The legacy `function_call` and the role
`function` are a call and a result without ids. A message of any other role is not ours and stays as it is.
"""

from collections.abc import Sequence
from typing import Any

from ctxtrim.formats.format import METADATA, Format, Layout
from ctxtrim.formats.usage import openai_usage
from ctxtrim.lines import Record, dump
from ctxtrim.media import media_of
from ctxtrim.model import Line, Message, Part, Path, Role, Source, Span, Transcript, Usage

ROLES: dict[object, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
}
_TEXTS = ("text", "input_text", "output_text")
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
    loose: list[tuple[Any, int, Path]] = []
    for line, record in enumerate(records):
        value = record.value
        if isinstance(value, list):
            inside = [(index, item) for index, item in enumerate(value) if _has_messages(item)]
            found += (_transcript(_elements(item, line, (index,)), lines, item, (index,)) for index, item in inside)
            if not inside and any(_role(item) for item in value):
                found.append(_transcript([(item, line, (index,)) for index, item in enumerate(value)], lines, {}, ()))
        elif _has_messages(value):
            found.append(_transcript(_elements(value, line, ()), lines, value, ()))
        elif _role(value):
            loose.append((value, line, ()))
    if loose:
        found.append(_transcript(loose, lines, {}, ()))
    return found


def owner(array: Path) -> Path | None:
    """A message goes when the last block of its content goes."""
    return array[:-1] if array[-1] == "content" else None


FORMAT = Format(sniff, read, owner)


def _has_messages(value: object) -> bool:
    return isinstance(value, dict) and isinstance(value.get("messages"), list)


def _role(value: object) -> Role | None:
    role = value.get("role") if isinstance(value, dict) else None
    return ROLES.get(role) if isinstance(role, str) else None


def _is_conversation(value: Any) -> bool:
    """Looks at the first messages only: to tell a dialect, not to read it."""
    if not _has_messages(value):
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


def _elements(value: dict[str, Any], line: int, pointer: Path) -> list[tuple[Any, int, Path]]:
    base = (*pointer, "messages")
    return [(item, line, (*base, position)) for position, item in enumerate(value["messages"])]


def _transcript(
    elements: list[tuple[Any, int, Path]], lines: tuple[Line, ...], envelope: dict[str, Any], pointer: Path
) -> Transcript:
    messages: list[Message] = []
    uncounted = 0
    usages: list[Usage] = []
    for value, line, path in elements:
        role = _role(value)
        if role is not None:
            usage = openai_usage(value["usage"], len(messages)) if "usage" in value else None
            if usage is not None:
                usages.append(usage)
            messages.append(_message(role, value, line, path, len(messages)))
        else:
            uncounted += isinstance(value, dict)
    whole = openai_usage(envelope.get("usage"))
    tools = envelope.get("tools") or envelope.get("functions")
    model, name = envelope.get("model"), envelope.get("id")
    return Transcript(
        tuple(messages),
        Source(lines, tuple(messages)),
        dump(tools) if isinstance(tools, (list, dict)) else None,
        _choice(envelope),
        model if isinstance(model, str) else None,
        name if isinstance(name, str) else None,
        pointer,
        uncounted,
        tuple(usages) or ((whole,) if whole else ()),
    )


def _choice(envelope: dict[str, Any]) -> str | None:
    """The name of the tool that must be called, or a word like `auto` and `none`."""
    choice = envelope.get("tool_choice", envelope.get("function_call"))
    if isinstance(choice, dict):
        function = choice.get("function")
        choice = function.get("name") if isinstance(function, dict) else choice.get("name")
    return choice if isinstance(choice, str) else None


def _message(role: Role, value: dict[str, Any], line: int, path: Path, index: int) -> Message:
    spans = (Span(line, path),)
    name = value.get("name")
    name = name if isinstance(name, str) else None
    if role == "tool":
        metadata = tuple((key, value[key]) for key in METADATA if type(value.get(key)) is int)
        return Message(role, _result(value, name, line, path), name, metadata=metadata, index=index, spans=spans)
    parts = _content(value.get("content"), line, (*path, "content"))
    if role == "assistant":
        for key in ("reasoning_content", "reasoning"):
            if isinstance(value.get(key), str):
                parts = (Part("reasoning", value[key], span=Span(line, (*path, key))), *parts)
        if isinstance(value.get("refusal"), str):
            parts = (*parts, Part("text", value["refusal"]))
        parts = (*parts, *_calls(value, line, path))
    return Message(role, parts, name, index=index, spans=spans)


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
        media = media_of(block)
        if media is not None:
            return Part("attachment", media=media, block=where)
    return Part("text", dump(block), block=where)


def _result(value: dict[str, Any], name: str | None, line: int, path: Path) -> tuple[Part, ...]:
    call_id = value.get("tool_call_id")
    call_id = call_id if isinstance(call_id, str) else None
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
            inner = next((key for key in ("function", "custom") if isinstance(call.get(key), dict)), None)
            function = call[inner] if inner else call  # some write name and arguments beside the id
            key = "input" if inner == "custom" else "arguments"
            where = (*path, "tool_calls", index, *((inner,) if inner else ()), key)
            found.append(_call(function, key, call_id if isinstance(call_id, str) else None, Span(line, where)))
    legacy = value.get("function_call")
    if isinstance(legacy, dict):
        found.append(_call(legacy, "arguments", None, Span(line, (*path, "function_call", "arguments"))))
    return tuple(found)


def _call(function: dict[str, Any], key: str, call_id: str | None, where: Span) -> Part:
    arguments, name = function.get(key), function.get("name")
    name = name if isinstance(name, str) else None
    if isinstance(arguments, str):
        return Part("tool_call", arguments, call_id, name, span=where)
    return Part("tool_call", "" if arguments is None else dump(arguments), call_id, name)
