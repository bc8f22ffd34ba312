"""OpenHands events of version 1 and later, written by its SDK, with their type in `kind`."""

from collections.abc import Iterator, Sequence
from typing import Any

from ctxtrim.formats.fields import elements, members, metadata_in, role_in, string
from ctxtrim.formats.media_blocks import inline_media, sealed_media, text_block
from ctxtrim.formats.message_parts import function_call, result_parts
from ctxtrim.formats.openhands.actions import Contents
from ctxtrim.formats.openhands.commands import around_output
from ctxtrim.model import ROLES, Message, Part, Role, Span
from ctxtrim.text.records import dump

_ROLES: dict[object, Role] = {role: role for role in ROLES}
_COMMANDS = ("TerminalObservation", "ExecuteBashObservation")
_FAILURE = "[An error occurred during execution.]\n"  # before the content of every observation
_REJECTION = "Action rejected: "  # before the reason of the user


def contents_of(value: dict[str, Any], span: Span) -> Contents | None:
    """The contents of an event that the model reads.

    None if there are none or the kind is unknown.
    """
    kind = value.get("kind")
    if kind == "SystemPromptEvent":
        return _system(value, span)
    if kind == "MessageEvent":
        return _message(value, span)
    if kind == "ActionEvent":
        return _action(value, span)
    if kind == "CondensationSummaryEvent":
        text = value.get("summary")
        home = span.inside("summary") if isinstance(text, str) else None
        part = Part("text", str(text or ""), span=home)
        return Contents(Message("user", (part,), is_injected=True, is_summary=True))
    if kind in ("ObservationEvent", "AgentErrorEvent", "UserRejectObservation"):
        return _result(value, span)
    return None


def _system(value: dict[str, Any], span: Span) -> Contents:
    """The system prompt. It is removed without its event, which also contains the tools."""
    prompt, context = (
        [part for part in _block(value.get(key), span.inside(key), None) if part.text]
        for key in ("system_prompt", "dynamic_context")
    )
    spans = [part.span for part in prompt if part.span is not None]
    spans += [span.inside("dynamic_context") for _ in context]  # it may be missing
    tools = value.get("tools")
    message = Message("system", (*prompt, *context), spans=tuple(spans))
    return Contents(message, tools=dump(tools) if tools else None)


def _content(content: Any, span: Span) -> Iterator[Part]:
    """The texts and images in a text or in some blocks."""
    if isinstance(content, str):
        yield Part("text", content, span=span)
    for index, value in enumerate(elements(content)):
        block = span.inside(index)
        yield from _block(value, block, block)


def _block(value: Any, span: Span, block: Span | None) -> Iterator[Part]:
    """The text or the images of a block at a span; `block` is removed with the text."""
    fields = members(value)
    if isinstance(fields.get("text"), str):
        yield Part("text", fields["text"], span=span.inside("text"), block=block)
    elif isinstance(fields.get("image_urls"), list):
        yield from _images(fields["image_urls"], span)


def _images(urls: list[Any], span: Span) -> Iterator[Part]:
    """The images of a block.

    A text replaces the whole block, so only a single image can be replaced.
    """
    is_single = len(urls) == 1
    for number, url in enumerate(urls):
        media = inline_media(url, None, "image")
        block = span if is_single else span.inside("image_urls", number)
        yield Part(
            "attachment", media=media, block=block, text_block=text_block if is_single else None
        )


def _screenshot(observation: dict[str, Any], span: Span) -> Iterator[Part]:
    """The picture of a page, which OpenHands sends after the text of a result of its browser."""
    data = string(observation.get("screenshot_data"))
    if data:
        media = inline_media(data, None, "image")
        yield Part("attachment", media=media, block=span.inside("screenshot_data"))


def _thought(value: dict[str, Any], span: Span) -> Iterator[Part]:
    """The thinking of an event, once.

    A provider gets back what it wrote: the reasoning item of the Responses API, thinking blocks, or
    the details of OpenRouter. Blocks and details repeat other fields, so these cannot be removed
    alone. [OpenHands/software-agent-sdk, `llm/message.py`]
    """
    item = members(value.get("responses_reasoning_item"))
    if item.get("id") is not None:
        yield from _reasoning_item(item, span.inside("responses_reasoning_item"))
        return
    text = string(value.get("reasoning_content"))
    blocks, details = elements(value.get("thinking_blocks")), value.get("reasoning_details")
    if text:
        own_span = None if blocks or details else span.inside("reasoning_content")
        yield Part("reasoning", text, span=own_span, block=own_span)
    for index, block in enumerate(blocks):
        thinking = _thinking(members(block), span.inside("thinking_blocks", index))
        if thinking is not None and not (text and thinking.text):
            yield thinking
    yield from _details(elements(details), has_text=bool(text or blocks))


def _reasoning_item(item: dict[str, Any], span: Span) -> Iterator[Part]:
    """The texts and the encrypted content of a reasoning item, which is never edited."""
    for key in ("summary", "content"):
        for text in elements(item.get(key)):
            if isinstance(text, str):
                yield Part("reasoning", text, source=span)
    if string(item.get("encrypted_content")):
        yield Part("reasoning", media=sealed_media(item["encrypted_content"]), source=span)


def _thinking(block: dict[str, Any], span: Span) -> Part | None:
    """A thinking block. A redacted one is encrypted."""
    if isinstance(block.get("thinking"), str):
        return Part("reasoning", block["thinking"], block=span)
    if block.get("type") == "redacted_thinking":
        return Part("reasoning", block=span, sealed=len(string(block.get("data")) or ""))
    return None


def _details(details: Sequence[Any], has_text: bool) -> Iterator[Part]:
    """The details of OpenRouter: their encrypted data, and their text if no other field has it."""
    blocks = [block for block in details if isinstance(block, dict)]
    number = sum(len(string(block.get("data")) or "") for block in blocks)
    keys = () if has_text else ("text", "summary")
    text = "".join(block[key] for block in blocks for key in keys if string(block.get(key)))
    if text or number:
        yield Part("reasoning", text, sealed=number)


def _message(value: dict[str, Any], span: Span) -> Contents | None:
    inner, inner_span = value.get("llm_message"), span.inside("llm_message")
    role = role_in(inner, "role", _ROLES)
    if not isinstance(inner, dict) or role is None:
        return None
    parts = [
        *_thought(inner, inner_span),
        *_content(inner.get("content"), inner_span.inside("content")),
    ]
    parts += _content(value.get("extended_content"), span.inside("extended_content"))
    if role == "tool":
        return Contents(Message(role, result_parts(parts, string(inner.get("tool_call_id")))))
    is_injected = role == "user" and value.get("source") != "user"
    return Contents(Message(role, tuple(parts), is_injected=is_injected))


def _action(value: dict[str, Any], span: Span) -> Contents:
    parts = [*_thought(value, span)]
    parts += (
        part
        for part in _content(value.get("thought"), span.inside("thought"))
        if part.text or part.media
    )
    call, block = value.get("tool_call"), span.inside("tool_call")
    if isinstance(call, dict):
        inner = call.get("function")
        function, inner_span = call, block
        if isinstance(inner, dict):
            function, inner_span = inner, block.inside("function")
        call_id = value.get("tool_call_id", call.get("id"))
        parts.append(function_call(function, call_id, inner_span, block))
    return Contents(Message("assistant", tuple(parts)), string(value.get("llm_response_id")))


def _result(value: dict[str, Any], span: Span) -> Contents:
    """The result of a tool, its error, or the user's rejection."""
    observation, inner_span = value.get("observation"), span.inside("observation")
    is_error: bool | None = value["kind"] == "AgentErrorEvent" or None
    parts: list[Part] = []
    for key in ("error", "rejection_reason"):
        if isinstance(value.get(key), str):
            parts.append(Part("text", value[key], span=span.inside(key)))
    prefix: tuple[Part, ...] = ()
    suffix: tuple[Part, ...] = ()
    if isinstance(observation, dict):
        if isinstance(observation.get("is_error"), bool):
            is_error = observation["is_error"]
        key = "content" if "content" in observation else "output"
        parts += _content(observation.get(key), inner_span.inside(key))
        parts += _screenshot(observation, inner_span)
        if not parts and key not in observation:
            fields = {name: field for name, field in observation.items() if name != "kind"}
            parts.append(Part("text", dump(fields)))
        if observation.get("kind") in _COMMANDS:
            prefix, suffix = around_output(observation.get("metadata"))
        if observation.get("is_error") is True:
            prefix = (Part("text", _FAILURE), *prefix)
    if value["kind"] == "UserRejectObservation":
        prefix = (Part("text", _REJECTION),)
    rules = _content(value.get("extended_content"), span)
    suffix = (*suffix, *(Part("text", rule.text) for rule in rules))
    call_id, name = string(value.get("tool_call_id")), string(value.get("tool_name"))
    answer = (*prefix, *result_parts(parts, call_id, name, is_error), *suffix)
    return Contents(Message("tool", answer, name=name, metadata=metadata_in(value)))
