"""OpenHands' events up to version 0: an action is what was asked for, an observation what came of it.

The model reads the answer that an action is made of, where it is recorded (`tool_call_metadata.model_response`), else
the action's own arguments; and the `content` of an observation. All else is for the screen or the client's own.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ctxtrim.conversation.tool_results import METADATA
from ctxtrim.formats.media_blocks import media_of
from ctxtrim.model import Message, Part, Span
from ctxtrim.text.records import dump

SOURCES = ("agent", "user", "environment")
SILENT = (
    "null", "recall", "system", "change_agent_state", "agent_state_changed", "pause", "resume", "stop", "start",
    "condensation", "condensation_request", "status", "server_ready", "loop_recall",
)  # fmt: skip
"""Kinds of which the model reads nothing, or not as a call or its result."""

# What an action is called with; without it nothing is called.
_CALLED = {
    "run": "command",
    "run_ipython": "code",
    "read": "path",
    "write": "path",
    "edit": "path",
    "browse": "url",
    "browse_interactive": "browser_actions",
    "call_tool_mcp": "name",
    "delegate": "agent",
}
_TOLD = ("message", "finish", "think")
# What a client keeps in an action beside what was asked for.
_ASIDE = {
    "action", "action_risk", "args", "blocking", "cause", "confirmation_state", "hidden", "id", "impl_source",
    "is_confirmed", "is_static", "keep_prompt", "kernel_init_code", "llm_metrics", "message", "security_risk", "source",
    "thought", "timeout", "timestamp", "tool_call_metadata", "translated_ipython_code",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Told:
    """What one event says: a message, the answer of the model that it is a piece of, and what that answer cost."""

    message: Message
    response: str | None = None
    usage: Any = None
    model: str | None = None
    tools: str | None = None


def is_event(value: object) -> bool:
    """An action or an observation, which no other dialect spells alike."""
    if not isinstance(value, dict):
        return False
    action, observation = value.get("action"), value.get("observation")
    if isinstance(action, str) and observation is None:
        return isinstance(value.get("args"), dict) or ("source" not in value and action in (*_CALLED, *_TOLD, "null"))
    if not isinstance(observation, str) or action is not None or not isinstance(value.get("content"), str):
        return False
    return isinstance(value.get("extras"), dict) or ("source" not in value and observation in (*_CALLED, *SILENT))


def told(value: dict[str, Any], at: Span) -> Told | None:
    """What the model reads of an event; None where that is nothing."""
    return _action(value, at) if isinstance(value.get("action"), str) else _observation(value, at)


def _action(value: dict[str, Any], at: Span) -> Told | None:
    kind, source = value["action"], value.get("source")
    inner = isinstance(value.get("args"), dict)
    arguments, where = (value["args"], at.inside("args")) if inner else (value, at)
    if kind == "system":
        return _system(arguments, where)
    if kind in SILENT:
        return None
    if kind == "message":
        is_agent = source == "agent" or (source is None and arguments.get("wait_for_response") is True)
        parts = (*_texts(arguments, where, "content"), *_images(arguments, where))
        return Told(Message("assistant" if is_agent else "user", parts, is_injected=source == "environment"))
    if kind == "finish":  # the client sends it back as a text, for there is nothing that answers it
        return Told(Message("user" if source == "user" else "assistant", (*_texts(arguments, where, "thought"),)))
    if source == "user":
        return Told(Message("user", (*_texts(arguments, where, _CALLED.get(kind, "content")),)))
    answer = _answer(value, at)
    return answer if answer is not None else Told(Message("assistant", (*_plain(value, kind, arguments, where),)))


def _system(arguments: dict[str, Any], where: Span) -> Told:
    """The prompt goes without its event, which has the tools too."""
    tools = arguments.get("tools")
    parts = (*_texts(arguments, where, "content"),)
    message = Message("system", parts, spans=(where.inside("content"),) if parts else ())
    return Told(message, tools=dump(tools) if tools else None)


def _texts(value: dict[str, Any], where: Span, key: str) -> Iterator[Part]:
    if isinstance(value.get(key), str):
        yield Part("text", value[key], span=where.inside(key))


def _images(arguments: dict[str, Any], where: Span) -> Iterator[Part]:
    for key in ("image_urls", "images_urls"):
        urls = arguments.get(key)
        for index, url in enumerate(urls if isinstance(urls, list) else ()):
            media = media_of({"type": "image_url", "image_url": {"url": url}})
            yield Part("attachment", media=media, block=where.inside(key, index))


def _answer(value: dict[str, Any], at: Span) -> Told | None:
    """The answer of the model that an action was made of, with the one call in it that this action is."""
    told = value.get("tool_call_metadata")
    response = told.get("model_response") if isinstance(told, dict) else None
    choices = response.get("choices") if isinstance(response, dict) else None
    first = choices[0] if isinstance(choices, list) and choices else None
    message = first.get("message") if isinstance(first, dict) else None
    if not isinstance(told, dict) or not isinstance(response, dict) or not isinstance(message, dict):
        return None
    where = at.inside("tool_call_metadata", "model_response", "choices", 0, "message")
    parts = [part for part in _texts(message, where, "content") if part.text]
    calls = message.get("tool_calls")
    for index, call in enumerate(calls if isinstance(calls, list) else ()):
        function = call.get("function") if isinstance(call, dict) else None
        if isinstance(function, dict) and call.get("id") == told.get("tool_call_id"):
            block = where.inside("tool_calls", index)
            parts.append(call_of(function, told.get("tool_call_id"), block.inside("function"), block))
            break
    name, model = response.get("id"), response.get("model")
    name, model = (one if isinstance(one, str) else None for one in (name, model))
    return Told(Message("assistant", tuple(parts)), name, response.get("usage"), model)


def call_of(function: dict[str, Any], call_id: object, where: Span, block: Span) -> Part:
    """A call of a function: `{name, arguments}`, the arguments as a string of JSON."""
    arguments, name = function.get("arguments"), function.get("name")
    name, call_id = (one if isinstance(one, str) else None for one in (name, call_id))
    if isinstance(arguments, str):
        return Part("tool_call", arguments, call_id, name, span=where.inside("arguments"), block=block)
    return Part("tool_call", "" if arguments is None else dump(arguments), call_id, name, block=block)


def _plain(value: dict[str, Any], kind: str, arguments: dict[str, Any], where: Span) -> Iterator[Part]:
    """An action of which no answer is recorded: what was thought, and what was asked for."""
    told = value.get("tool_call_metadata")
    told = told if isinstance(told, dict) else {}
    name, call_id = told.get("function_name", kind), told.get("tool_call_id")
    name, call_id = (one if isinstance(one, str) else None for one in (name, call_id))
    key = "thought" if kind == "think" else _CALLED.get(kind)
    if key is not None and kind != "think":
        yield from (part for part in _texts(arguments, where, "thought") if part.text)
    if key is None or key in arguments:  # of an unknown kind the thought is one of the arguments
        ours = {
            one: arguments[one] for one in arguments if one not in _ASIDE or (one == "thought" and key in (None, one))
        }
        block = None if key is None else where.inside(key)
        yield Part("tool_call", dump(ours), call_id, name, block=block)


def _observation(value: dict[str, Any], at: Span) -> Told | None:
    kind, told = value["observation"], value.get("tool_call_metadata")
    if kind == "recall":
        return _recalled(value, at)
    if kind in SILENT:
        return None
    span, text = at.inside("content"), value.get("content")
    text = text if isinstance(text, str) else ""
    is_caused = isinstance(told, dict) or "cause" in value or "id" not in value
    if not is_caused or value.get("source", "agent") != "agent":  # nothing of the agent's came to this
        return Told(Message("user", (Part("text", text, span=span),), is_injected=True, spans=(at,)))
    told = told if isinstance(told, dict) else {}
    name, call_id = told.get("function_name", kind), told.get("tool_call_id")
    name, call_id = (one if isinstance(one, str) else None for one in (name, call_id))
    success = value.get("success")
    is_error = True if kind == "error" else not success if isinstance(success, bool) else None
    metadata = tuple((key, value[key]) for key in METADATA if type(value.get(key)) is int)
    part = Part("tool_result", text, call_id, name, is_error, span=span)
    return Told(Message("tool", (part,), name, metadata=metadata))


def _recalled(value: dict[str, Any], at: Span) -> Told | None:
    """What the client found in the workspace, which it tells the model as the user: the texts in its `extras`."""
    extras, where = value.get("extras"), at.inside("extras")
    if not isinstance(extras, dict):
        return None
    parts = [
        part
        for key in ("repo_instructions", "additional_agent_instructions")
        for part in _texts(extras, where, key)
        if part.text
    ]
    found = extras.get("microagent_knowledge")
    for index, one in enumerate(found if isinstance(found, list) else ()):
        if isinstance(one, dict):
            parts += _texts(one, where.inside("microagent_knowledge", index), "content")
    return Told(Message("user", tuple(parts), is_injected=True)) if parts else None
