"""OpenHands' events from version 1 on: the SDK's, which say in `kind` what they are."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ctxtrim.conversation.tool_results import METADATA
from ctxtrim.formats.media_blocks import media_of, text_block
from ctxtrim.formats.openhands.actions import Told, call_of
from ctxtrim.model import Message, Part, Role, Span
from ctxtrim.text.records import dump

_ROLES: dict[object, Role] = {"system": "system", "user": "user", "assistant": "assistant", "tool": "tool"}
_SPOKEN = (
    "ActionEvent", "AgentErrorEvent", "CondensationSummaryEvent", "MessageEvent", "ObservationEvent",
    "SystemPromptEvent", "UserRejectObservation",
)  # fmt: skip
SILENT = (
    "Condensation", "CondensationRequest", "ConversationErrorEvent", "ConversationStateUpdateEvent",
    "LLMCompletionLogEvent", "PauseEvent", "StreamingDeltaEvent", "TokenEvent",
)  # fmt: skip
"""Kinds of which the model reads nothing, a condensation's summary apart."""


def is_event(value: object) -> bool:
    """An event of a kind that is known."""
    return isinstance(value, dict) and value.get("kind") in (*_SPOKEN, *SILENT) and "source" in value


def told(value: dict[str, Any], at: Span) -> Told | None:
    """What the model reads of an event; None where that is nothing, or the kind is unknown."""
    kind = value.get("kind")
    if kind == "SystemPromptEvent":
        return _system(value, at)
    if kind == "MessageEvent":
        return _message(value, at)
    if kind == "ActionEvent":
        return _action(value, at)
    if kind == "CondensationSummaryEvent":
        part = Part("text", str(value.get("summary") or ""), span=_at(value, at, "summary"))
        return Told(Message("user", (part,), is_injected=True, is_summary=True))
    if kind in ("ObservationEvent", "AgentErrorEvent", "UserRejectObservation"):
        return _result(value, at)
    return None


def _at(value: dict[str, Any], at: Span, key: str) -> Span | None:
    """The place of a member, where it is a string."""
    return at.inside(key) if isinstance(value.get(key), str) else None


def _system(value: dict[str, Any], at: Span) -> Told:
    """The prompt goes without its event, which has the tools too."""
    places = [(value[key], at.inside(key)) for key in ("system_prompt", "dynamic_context") if value.get(key)]
    parts = tuple(part for prompt, where in places for part in _content([prompt], where, True))
    tools = value.get("tools")
    spans = tuple(part.span for part in parts if part.span is not None)
    return Told(Message("system", parts, spans=spans), tools=dump(tools) if tools else None)


def _content(content: Any, where: Span, is_alone: bool = False) -> Iterator[Part]:
    """The texts and images in some blocks; `is_alone`: the place is of the only block, not of the list."""
    if isinstance(content, str):
        yield Part("text", content, span=where)
    for index, block in enumerate(content if isinstance(content, list) else ()):
        place = where if is_alone else where.inside(index)
        if not isinstance(block, dict):
            continue
        if isinstance(block.get("text"), str):
            yield Part("text", block["text"], span=place.inside("text"), block=None if is_alone else place)
        elif isinstance(block.get("image_urls"), list):
            yield from _images(block["image_urls"], place)


def _images(urls: list[Any], where: Span) -> Iterator[Part]:
    """The images of a block. A text takes the place of the whole block, so only of an image that is alone in it."""
    is_single = len(urls) == 1
    for number, url in enumerate(urls):
        media = media_of({"type": "image_url", "image_url": {"url": url}})
        block = where if is_single else where.inside("image_urls", number)
        yield Part("attachment", media=media, block=block, text_block=text_block if is_single else None)


def _thought(value: dict[str, Any], at: Span) -> Iterator[Part]:
    """Thinking, once: blocks of it repeat what stands beside them, so then it cannot go alone."""
    text = value.get("reasoning_content")
    blocks = value.get("thinking_blocks")
    blocks = [one for one in blocks if isinstance(one, dict)] if isinstance(blocks, list) else []
    if isinstance(text, str) and text:
        where = at.inside("reasoning_content")
        yield Part("reasoning", text, span=None if blocks else where, block=None if blocks else where)
        return
    for index, block in enumerate(blocks):
        if isinstance(block.get("thinking"), str):
            yield Part("reasoning", block["thinking"], block=at.inside("thinking_blocks", index))


def _message(value: dict[str, Any], at: Span) -> Told | None:
    inner, where = value.get("llm_message"), at.inside("llm_message")
    name = inner.get("role") if isinstance(inner, dict) else None
    role = _ROLES.get(name) if isinstance(name, str) else None
    if not isinstance(inner, dict) or role is None:
        return None
    parts = [*_thought(inner, where), *_content(inner.get("content"), where.inside("content"))]
    parts += _content(value.get("extended_content"), at.inside("extended_content"))
    if role == "tool":
        call_id = inner.get("tool_call_id")
        call_id = call_id if isinstance(call_id, str) else None
        return Told(Message(role, _answering(parts, call_id, None, None)))
    return Told(Message(role, tuple(parts), is_injected=role == "user" and value.get("source") != "user"))


def _action(value: dict[str, Any], at: Span) -> Told:
    parts = [*_thought(value, at)]
    parts += (part for part in _content(value.get("thought"), at.inside("thought")) if part.text or part.media)
    call, block = value.get("tool_call"), at.inside("tool_call")
    if isinstance(call, dict):
        inner = call.get("function")
        function, where = (inner, block.inside("function")) if isinstance(inner, dict) else (call, block)
        parts.append(call_of(function, value.get("tool_call_id", call.get("id")), where, block))
    response = value.get("llm_response_id")
    return Told(Message("assistant", tuple(parts)), response if isinstance(response, str) else None)


def _result(value: dict[str, Any], at: Span) -> Told:
    """What a tool answered, or that it failed, or that the user would not have it."""
    seen, where = value.get("observation"), at.inside("observation")
    is_error: bool | None = value["kind"] == "AgentErrorEvent" or None
    parts: list[Part] = []
    for key in ("error", "rejection_reason"):
        if isinstance(value.get(key), str):
            parts.append(Part("text", value[key], span=at.inside(key)))
    if isinstance(seen, dict):
        is_error = seen["is_error"] if isinstance(seen.get("is_error"), bool) else is_error
        key = "content" if "content" in seen else "output"
        parts += _content(seen.get(key), where.inside(key))
        if not parts and key not in seen:
            parts.append(Part("text", dump({one: seen[one] for one in seen if one != "kind"})))
    call_id, name = (
        one if isinstance(one, str) else None for one in (value.get("tool_call_id"), value.get("tool_name"))
    )
    metadata = tuple((key, value[key]) for key in METADATA if type(value.get(key)) is int)
    return Told(Message("tool", _answering(parts, call_id, name, is_error), name, metadata=metadata))


def _answering(parts: list[Part], call_id: str | None, name: str | None, is_error: bool | None) -> tuple[Part, ...]:
    """Parts as those of a result, which has at least one text."""
    if not any(part.kind == "text" for part in parts):
        parts = [Part("text"), *parts]
    return tuple(
        Part("tool_result", part.text, call_id, name, is_error, None, part.span, part.block)
        if part.kind == "text"
        else replace(part, call_id=call_id, name=name)
        for part in parts
    )
