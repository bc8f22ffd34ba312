"""The messages of pi, in sessions and in plain lists. Other agents adopted the format.

Roles are user, assistant and toolResult, with blocks of text, thinking, toolCall (its arguments an
object) and image. Commands that a person ran (bashExecution), extension messages (custom) and
summaries are sent as user messages, and so are the mentioned files, Python code and notes of Oh My
Pi (fileMention, pythonExecution, developer). A message that its metadata hides from the agent is
read as hidden; a message excluded from the context is not read, nor is a copy of an answer that
openclaw keeps for a channel.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ctxtrim.formats.base import Insertion, Site, content_owner
from ctxtrim.formats.fields import boolean, members, metadata_in, role_in, string
from ctxtrim.formats.media_blocks import block_part, typed_text
from ctxtrim.formats.message_lists import Dialect, Element, Envelope, ListContents, insert_elements
from ctxtrim.formats.message_parts import (
    content_parts,
    function_call,
    result_parts,
    system_prompt,
    text_of,
)
from ctxtrim.formats.pi.prompt_changes import PromptChange, apply_prompt, prompt_change
from ctxtrim.formats.pi.visibility import metadata_member, names_in, visibility, with_visibility
from ctxtrim.formats.usage import is_complete, pi_usage
from ctxtrim.model import Message, Part, Role, Span
from ctxtrim.model.request import Usage
from ctxtrim.summaries.markers import TITLE
from ctxtrim.text.records import dump

ROLES: dict[object, Role] = {
    "user": "user",
    "assistant": "assistant",
    "toolResult": "tool",
    "system": "system",
    "bashExecution": "user",
    "custom": "user",
    "hookMessage": "user",
    "branchSummary": "user",
    "compactionSummary": "user",
    "developer": "user",
    "fileMention": "user",
    "pythonExecution": "user",
}
_ROLE_KEYS = {
    "toolResult": "content",
    "bashExecution": "command",
    "pythonExecution": "code",
    "fileMention": "files",
    "custom": "customType",
    "hookMessage": "customType",
    "branchSummary": "summary",
    "compactionSummary": "summary",
}
"""Roles that only this format has, each with a key of its messages."""
_INJECTED = (
    "bashExecution", "custom", "hookMessage", "branchSummary", "compactionSummary", "developer",
    "fileMention", "pythonExecution",
)  # fmt: skip
_SPECIAL = ("bashExecution", "fileMention", "pythonExecution")
_MIRROR_MODELS = ("delivery-mirror", "gateway-injected")
_MIRROR_KINDS = (
    "channel-final", "channel-final-suppressed", "message-tool-source-reply",
    "cron-direct-delivery-context",
)  # fmt: skip
_INTERNAL = "<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>"  # text that openclaw adds
_STOPS = ("stop", "length", "toolUse", "error", "aborted")
_USER_KEYS = {"role", "content", "timestamp", "metadata"}


def knows(value: object) -> bool:
    """Whether a value is a message with a role, block or key that no other format has."""
    if not isinstance(value, dict) or not isinstance(value.get("role"), str):
        return False
    role, content, metadata = value["role"], value.get("content"), value.get("metadata")
    if role in _ROLE_KEYS:
        return _ROLE_KEYS[role] in value
    if role not in ROLES:
        return False
    if names_in(metadata):
        return "created" not in value  # goose has these roles too, with other blocks
    if not isinstance(content, list):
        return False
    if role == "assistant":
        usage = value.get("usage")
        is_counted = isinstance(usage, dict) and "input" in usage and "output" in usage
        return is_counted or value.get("stopReason") in _STOPS or any(map(_is_pi_block, content))
    return type(value.get("timestamp")) is int and value.keys() <= _USER_KEYS


def _is_pi_block(block: object) -> bool:
    """Whether a block is of a kind that only this format has."""
    if not isinstance(block, dict):
        return False
    is_call = block.get("type") == "toolCall" and "arguments" in block
    return is_call or "thinkingSignature" in block


def read(items: Iterable[Element], contents: ListContents) -> None:
    """Read one message per element. Usage recorded before a summary does not apply after it."""
    summary_time: int | None = None
    prompt: list[PromptChange] = []
    for value, span, whole in items:
        role = role_in(value, "role", ROLES)
        if role is None:
            contents.uncounted += isinstance(value, dict) and "role" in value
            continue
        if not is_sent(value):
            continue
        message = message_in(role, value, span, whole, len(contents.messages))
        stamp = value.get("timestamp")
        if message.is_summary:
            summary_time = stamp if type(stamp) is int else None
        elif summary_time is None or type(stamp) is not int or stamp > summary_time:
            contents.add_usage(usage_in(value, len(contents.messages)))
        if role == "assistant" and isinstance(value.get("model"), str):
            contents.model = value["model"]
        prompt += prompt_change(value, len(contents.messages))
        contents.messages.append(message)
    apply_prompt(prompt, contents)


def is_sent(value: Mapping[str, Any]) -> bool:
    """Whether a message is part of the context, which is the default."""
    return not value.get("excludeFromContext") and not _is_mirror(value)


def _is_mirror(value: Mapping[str, Any]) -> bool:
    """Whether openclaw wrote an answer for its own records. It is never sent to a provider.

    [openclaw/openclaw, `src/shared/transcript-only-openclaw-assistant.ts`]
    """
    if value.get("role") != "assistant":
        return False
    kind = members(value.get("openclawDeliveryMirror")).get("kind")
    is_mirror = value.get("provider") == "openclaw" and value.get("model") in _MIRROR_MODELS
    return is_mirror or kind in _MIRROR_KINDS


def usage_in(value: Mapping[str, Any], index: int) -> Usage | None:
    """The recorded usage of the answer at an index."""
    if "usage" not in value or value.get("role") != "assistant" or not is_complete(value):
        return None
    return pi_usage(value["usage"], index, value.get("model"))


def message_in(
    role: Role,
    value: Mapping[str, Any],
    span: Span,
    whole: Span,
    index: int,
    container: Mapping[str, Any] | None = None,
) -> Message:
    """The message in a value at a span.

    `whole` is removed with it, `container` is the value that contains it.
    """
    kind = value["role"]
    if role == "tool":
        parts = _result(value, span)
        # without ids, results are matched by name
        name = parts[0].name if parts[0].call_id is None else None
        metadata = metadata_in(value if container is None else container)
        message = Message(role, parts, name=name, metadata=metadata, index=index, spans=(whole,))
        return with_visibility(message, value)
    if kind in ("branchSummary", "compactionSummary"):
        parts = summary_in(value, span)
    elif kind in _SPECIAL:
        from ctxtrim.formats.pi import own_messages  # for few messages of a session

        parts = own_messages.parts(value, span)
    elif kind == "system":
        parts = _prompt(value, span)
    else:
        parts = content_in(value.get("content"), span.inside("content"), role)
    is_summary = kind == "compactionSummary" or (role == "user" and _begins(parts, TITLE))
    is_injected = is_summary or kind in _INJECTED or value.get("runtimeContextCarrier") is True
    is_injected |= _begins(parts, _INTERNAL)
    message = Message(
        role, parts, is_injected=is_injected, is_summary=is_summary, index=index, spans=(whole,)
    )
    return with_visibility(message, value)


def _begins(parts: Sequence[Part], text: str) -> bool:
    return bool(parts) and parts[0].text.startswith(text)


def summary_in(value: Mapping[str, Any], span: Span) -> tuple[Part, ...]:
    """The text of a summary, without the words that the client adds around it when sending."""
    text = value.get("summary")
    return (
        Part("text", text if isinstance(text, str) else dump(text), span=span.inside("summary")),
    )


def _prompt(value: Mapping[str, Any], span: Span) -> tuple[Part, ...]:
    """A system message: its content, then its named sections. A section of null removes one."""
    sections_span = span.inside("sections")
    content = content_in(value.get("content") or None, span.inside("content"), "system")
    sections = members(value.get("sections")).items()
    texts = ((name, text) for name, text in sections if isinstance(text, str))
    return (
        *content,
        *(Part("text", text, span=sections_span.inside(name)) for name, text in texts),
    )


def content_in(content: Any, span: Span, role: Role) -> tuple[Part, ...]:
    """The parts of a content. Only the model makes calls."""
    return content_parts(content, span, _answer_block if role == "assistant" else _block)


def _block(block: Any, span: Span) -> Part:
    """Any block except a call."""
    if isinstance(block, dict) and block.get("type") == "thinking":
        text = block.get("thinking")
        if isinstance(text, str):
            return Part("reasoning", text, block=span)
    return typed_text(block, span) or block_part(block, span)


def _answer_block(block: Any, span: Span) -> Part:
    """Any block of an answer."""
    if not isinstance(block, dict) or block.get("type") != "toolCall":
        return _block(block, span)
    return function_call(block, block.get("id"), span, span)


def _result(value: Mapping[str, Any], span: Span) -> tuple[Part, ...]:
    is_error = boolean(value.get("isError"))
    parts = content_in(value.get("content"), span.inside("content"), "tool")
    return result_parts(
        parts, string(value.get("toolCallId")), string(value.get("toolName")), is_error
    )


def envelope(value: dict[str, Any], span: Span) -> Envelope:
    """The system prompt, tools and model next to the messages, as pi's library saves a context."""
    tools, model = value.get("tools"), value.get("model")
    return Envelope(
        dump(tools) if isinstance(tools, list) and tools else None,
        model=string(model.get("id") if isinstance(model, dict) else model),
        id=string(value.get("id")),
        preamble=system_prompt(value.get("systemPrompt"), span.inside("systemPrompt")),
    )


def insert(run: Sequence[Message], site: Site) -> Sequence[Insertion]:
    """Each message as an element.

    A summary gets the time of the last message, after which it was written.
    """
    last = _value(site, site.last)
    span = (site.earlier or site.last).spans[-1]
    if site.later is None and span.path[-1:] == ("systemPrompt",):
        first = span.outer.inside("messages", 0)
        return [Insertion(json_value(message, last, site), first) for message in run]
    neighbour = _value(site, site.neighbour)
    values = [
        json_value(message, last if message.is_summary else neighbour, site) for message in run
    ]
    return insert_elements(run, site, values)


def _value(site: Site, message: Message) -> Mapping[str, Any]:
    return members(site.value_of(message.spans[0]))


def json_value(message: Message, neighbour: Mapping[str, Any], site: Site) -> dict[str, Any]:
    """A message in this format, with the time (and the model, if present) of its neighbour."""
    content = [{"type": "text", "text": text_of(message.parts)}]
    result = message.result
    value: dict[str, Any] = {"role": message.role, "content": content}
    if result is not None:
        fields = {"toolCallId": result.call_id, "toolName": result.name, "isError": result.is_error}
        value = {"role": "toolResult", "content": content}
        value |= {key: inner for key, inner in fields.items() if inner is not None}
    elif message.role == "assistant":
        value |= {key: neighbour[key] for key in ("api", "provider", "model") if key in neighbour}
        value |= {"usage": _NO_USAGE, "stopReason": "stop"}
    stamp = neighbour.get("timestamp")
    if type(stamp) is int:
        value["timestamp"] = stamp
    return value | metadata_member(message, site)


_NO_USAGE = dict.fromkeys(("input", "output", "cacheRead", "cacheWrite", "totalTokens"), 0) | {
    "cost": dict.fromkeys(("input", "output", "cacheRead", "cacheWrite", "total"), 0)
}

DIALECT = Dialect(
    "pi",
    knows,
    read,
    insert,
    envelope=envelope,
    owner=content_owner,
    visibility=visibility,
)
