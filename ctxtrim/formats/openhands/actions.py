"""OpenHands events of version 0: an action is a request, an observation its outcome.

The model reads the answer that an action was made from (`tool_call_metadata.model_response`) if
recorded, else the action's own arguments; and the `content` of an observation. Other fields are for
the screen or the client.
"""

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from ctxtrim.formats.fields import elements, members, metadata_in, string
from ctxtrim.formats.media_blocks import inline_media
from ctxtrim.formats.message_parts import function_call
from ctxtrim.formats.openhands.commands import around_output
from ctxtrim.formats.openhands.event_kinds import MAIN_ARGUMENT, SILENT_ACTIONS
from ctxtrim.model import Message, Part, Role, Span
from ctxtrim.text.records import dump

# Fields that the client adds to an action's arguments.
_ASIDES = {
    "action", "action_risk", "args", "blocking", "cause", "confirmation_state", "hidden", "id",
    "impl_source", "is_confirmed", "is_static", "keep_prompt", "kernel_init_code", "llm_metrics",
    "message", "security_risk", "source", "thought", "timeout", "timestamp", "tool_call_metadata",
    "translated_ipython_code",
}  # fmt: skip


class Contents(Struct, frozen=True):
    """The contents of one event: a message, the model answer that it belongs to, and the usage of
    that answer.
    """

    message: Message
    response: str | None = None
    usage: Any = None
    model: str | None = None
    tools: str | None = None


def contents_of(value: dict[str, Any], span: Span) -> Contents | None:
    """The contents of an event that the model reads; None if there are none."""
    read = _action if isinstance(value.get("action"), str) else _observation
    return read(value, span)


def _action(value: dict[str, Any], span: Span) -> Contents | None:
    kind, source = value["action"], value.get("source")
    has_arguments = isinstance(value.get("args"), dict)
    arguments, inner_span = (value["args"], span.inside("args")) if has_arguments else (value, span)
    if kind == "system":
        return _system(arguments, inner_span)
    if kind in SILENT_ACTIONS:
        return None
    if kind == "message":
        waits = arguments.get("wait_for_response") is True
        is_agent = source == "agent" or (source is None and waits)
        role: Role = "assistant" if is_agent else "user"
        parts = (*_texts(arguments, inner_span, "content"), *_images(arguments, inner_span))
        return Contents(Message(role, parts, is_injected=source == "environment"))
    if kind == "finish":  # sent back as a text, because nothing answers it
        role = "user" if source == "user" else "assistant"
        return Contents(Message(role, (*_texts(arguments, inner_span, "thought"),)))
    if source == "user":
        texts = _texts(arguments, inner_span, MAIN_ARGUMENT.get(kind, "content"))
        return Contents(Message("user", tuple(texts)))
    answer = _answer(value, span)
    if answer is not None:
        return answer
    return Contents(Message("assistant", (*_plain(value, kind, arguments, inner_span),)))


def _system(arguments: dict[str, Any], span: Span) -> Contents:
    """The system prompt. It is removed without its event, which also contains the tools."""
    tools = arguments.get("tools")
    parts = tuple(part for part in _texts(arguments, span, "content") if part.text)
    message = Message("system", parts, spans=(span.inside("content"),) if parts else ())
    return Contents(message, tools=dump(tools) if tools else None)


def _texts(value: dict[str, Any], span: Span, key: str) -> Iterator[Part]:
    if isinstance(value.get(key), str):
        yield Part("text", value[key], span=span.inside(key))


def _images(arguments: dict[str, Any], span: Span) -> Iterator[Part]:
    for key in ("image_urls", "images_urls"):
        for index, url in enumerate(elements(arguments.get(key))):
            media = inline_media(url, None, "image")
            yield Part("attachment", media=media, block=span.inside(key, index))


def _answer(value: dict[str, Any], span: Span) -> Contents | None:
    """The model answer that an action was made from, with the call of this action."""
    call_metadata = members(value.get("tool_call_metadata"))
    response = members(call_metadata.get("model_response"))
    choices = elements(response.get("choices"))
    message = members(choices[0]).get("message") if choices else None
    if not isinstance(message, dict):
        return None
    inner_span = span.inside("tool_call_metadata", "model_response", "choices", 0, "message")
    parts = [part for part in _texts(message, inner_span, "content") if part.text]
    call_id = call_metadata.get("tool_call_id")
    for index, call in enumerate(elements(message.get("tool_calls"))):
        function = call.get("function") if isinstance(call, dict) else None
        if isinstance(function, dict) and call.get("id") == call_id:
            block = inner_span.inside("tool_calls", index)
            parts.append(function_call(function, call_id, block.inside("function"), block))
            break
    name, model = string(response.get("id")), string(response.get("model"))
    return Contents(Message("assistant", tuple(parts)), name, response.get("usage"), model)


def _plain(
    value: dict[str, Any], kind: str, arguments: dict[str, Any], span: Span
) -> Iterator[Part]:
    """An action without a recorded answer: its thought and its request."""
    name, call_id = _name_and_id(value, kind)
    key = "thought" if kind == "think" else MAIN_ARGUMENT.get(kind)
    if key is not None and kind != "think":
        yield from (part for part in _texts(arguments, span, "thought") if part.text)
    if key is None or key in arguments:  # in an unknown kind, the thought is an argument
        asides = _ASIDES - {"thought"} if key in (None, "thought") else _ASIDES
        request = {field: inner for field, inner in arguments.items() if field not in asides}
        block = None if key is None else span.inside(key)
        yield Part("tool_call", dump(request), call_id, name, block=block)


def _observation(value: dict[str, Any], span: Span) -> Contents | None:
    kind, call_metadata = value["observation"], value.get("tool_call_metadata")
    if kind == "recall":
        return _recall(value, span)
    if kind in SILENT_ACTIONS:
        return None
    content_span, text = span.inside("content"), string(value.get("content")) or ""
    is_caused = isinstance(call_metadata, dict) or "cause" in value or "id" not in value
    if not is_caused or value.get("source", "agent") != "agent":  # not the result of a call
        part = Part("text", text, span=content_span)
        return Contents(Message("user", (part,), is_injected=True, spans=(span,)))
    name, call_id = _name_and_id(value, kind)
    success = value.get("success")
    is_error: bool | None = None
    if kind == "error":
        is_error = True
    elif isinstance(success, bool):
        is_error = not success
    parts: tuple[Part, ...] = (
        Part("tool_result", text, call_id, name, is_error, span=content_span),
    )
    if kind == "run":
        prefix, suffix = around_output(members(value.get("extras")).get("metadata"))
        parts = (*prefix, *parts, *suffix)
    return Contents(Message("tool", parts, name=name, metadata=metadata_in(value)))


def _name_and_id(value: dict[str, Any], kind: str) -> tuple[str | None, str | None]:
    """The name and id of the call of an action or observation."""
    call = members(value.get("tool_call_metadata"))
    return string(call.get("function_name", kind)), string(call.get("tool_call_id"))


def _recall(value: dict[str, Any], span: Span) -> Contents | None:
    """Workspace facts that the client sends as a user message: the texts in `extras`."""
    extras, inner_span = value.get("extras"), span.inside("extras")
    if not isinstance(extras, dict):
        return None
    parts: list[Part] = []
    for key in ("repo_instructions", "additional_agent_instructions"):
        parts += [part for part in _texts(extras, inner_span, key) if part.text]
    for index, item in enumerate(elements(extras.get("microagent_knowledge"))):
        if isinstance(item, dict):
            parts += _texts(item, inner_span.inside("microagent_knowledge", index), "content")
    return Contents(Message("user", tuple(parts), is_injected=True)) if parts else None
