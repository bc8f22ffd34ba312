"""OpenAI Chat Completions: a conversation per line, one message per line, or a whole document.

A conversation is `{"messages": […], "tools"?: […], "model"?, "id"?}`. A document may contain one,
an array of them, or a bare array of messages. Content is a string, a list of blocks, null or
absent. The legacy `function_call` and the role `function` are a call and a result without ids.
Messages with other roles are not read and stay unchanged.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from ctxtrim.formats.fields import elements, metadata_in, role_in, string
from ctxtrim.formats.media_blocks import block_part, input_text, text_block
from ctxtrim.formats.message_lists import Dialect, Element, Envelope, ListContents, each_as
from ctxtrim.formats.message_parts import call_part, content_parts, result_parts, text_of
from ctxtrim.formats.request_options import chat_options
from ctxtrim.formats.usage import is_complete, openai_usage
from ctxtrim.model import Message, Part, Role, Span
from ctxtrim.text.json_paths import Path
from ctxtrim.text.records import dump

ROLES: dict[object, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "gemini": "assistant",  # histories saved by Gemini clients
    "tool": "tool",
    "function": "tool",
}
_TEXTS = ("text", "input_text", "output_text")
_ASIDE = ("exit", "session_meta")  # notes of mini-swe-agent and hermes, never sent
_BLOCK = re.compile(r"^```mswea_bash_command\n(.*?)\n?```", re.DOTALL | re.MULTILINE)
_FOREIGN = ("tool_use", "tool_result", "thinking", "redacted_thinking", "tool_call", "toolCall")


def knows(value: object) -> bool:
    """Whether a value is a message with a known role and no content of another format."""
    if not isinstance(value, dict) or role_in(value, "role", ROLES) is None:
        return False
    content = value.get("content")
    if isinstance(content, list):
        return not any(_is_foreign(block) for block in content)
    if isinstance(content, dict):
        return False
    return "content" in value or "tool_calls" in value or "function_call" in value


def _is_foreign(block: object) -> bool:
    if not isinstance(block, dict):
        return False
    kind = block.get("type")
    return kind in _FOREIGN or (kind in (*_TEXTS, "reasoning") and "value" in block)


def is_foreign(value: object) -> bool:
    """Whether a message has Anthropic's calls or results, which edits as text would separate."""
    blocks = elements(value.get("content")) if isinstance(value, dict) else ()
    return any(
        isinstance(block, dict) and block.get("type") in ("tool_use", "tool_result")
        for block in blocks
    )


def read(items: Sequence[Element], found: ListContents) -> None:
    """Read one message per element.

    The usage on user messages is skipped: it counts a simulated user's prompt.
    """
    before: dict[str, Any] = {}
    for value, span, whole in items:
        role = role_in(value, "role", ROLES)
        if role is None:
            name = value.get("role") if isinstance(value, dict) else None
            found.uncounted += name is not None and name not in _ASIDE
            continue
        if role == "user" and _is_observation(value, before):
            role = "tool"
        before = value
        if role == "assistant" and "usage" in value and is_complete(value):
            usage = openai_usage(value["usage"], len(found.messages))
            found.usages += [usage] if usage else []
        found.messages.append(_message(role, value, span, whole, len(found.messages)))


def _is_observation(value: dict[str, Any], before: dict[str, Any]) -> bool:
    """Whether a user message is the output of the action before it (SWE-agent and mini-swe-agent).

    Its text is not checked, because a stage may have replaced it.
    """
    is_typed = value.get("message_type", "observation") != "observation" or value.get("is_demo")
    return not is_typed and _action(before) is not None


def _action(value: dict[str, Any]) -> Part | None:
    """The command in the text of a SWE-agent or mini-swe-agent message, as a call of a shell."""
    action, content = value.get("action"), value.get("content")
    if value.get("role") != "assistant" or value.get("tool_calls"):
        return None
    if action is None and isinstance(content, str) and (block := _BLOCK.search(content)):
        return Part("tool_call", block[1], name="bash")
    is_agent = "thought" in value or value.get("message_type") == "action"
    return Part("tool_call", action, name="bash") if is_agent and isinstance(action, str) else None


def envelope(value: dict[str, Any], span: Span) -> Envelope:
    """The tools, tool choice, model and id next to the messages."""
    # the last: ToolBench, BFCL
    tools = value.get("tools") or value.get("functions") or value.get("function")
    return Envelope(
        dump(tools) if isinstance(tools, (list, dict)) else None,
        choice(value),
        string(value.get("model")),
        string(value.get("id")),
        openai_usage(value.get("usage")),
        options=chat_options(value),
    )


def owner(array: Path) -> Path | None:
    """A message is removed with the last block of its content, a list of calls with
    its last call.
    """
    if array[-1] == "tool_calls":
        return array
    return array[:-1] if array[-1] == "content" else None


def _json_value(message: Message) -> dict[str, Any]:
    text = text_of(message.parts)
    result = message.result
    if result is None:
        return {"role": message.role, "content": text}
    if result.call_id is None:  # legacy: a result without an id
        return {"role": "function", "name": result.name, "content": text}
    return {"role": "tool", "tool_call_id": result.call_id, "content": text}


PLACES = (
    "messages",
    "[*].messages",
    "",
    "body.messages",  # a line of a batch
    "[*].traj",  # tau-bench
    "simulations[*].messages",  # tau2
    "history",  # SWE-agent
    "[*].history",
    "samples[*].messages",  # inspect
    "answer_generation.train_messages[*]",  # ToolBench
    "question[+]",  # BFCL: turns of one conversation
)
"""The JSON paths of such lists."""

DIALECT = Dialect(
    "openai-chat",
    knows,
    read,
    each_as(_json_value),
    envelope=envelope,
    owner=owner,
    places=PLACES,
    takes_empty=True,
    is_foreign=is_foreign,
)


def choice(envelope: dict[str, Any]) -> str | None:
    """The name of the tool that must be called, or a word like `auto`, `none` or `any`."""
    choice = envelope.get("tool_choice", envelope.get("function_call"))
    if isinstance(choice, dict):
        function = choice.get("function")
        choice = (
            function.get("name")
            if isinstance(function, dict)
            else choice.get("name", choice.get("type"))
        )
    return string(choice)


def _message(role: Role, value: dict[str, Any], span: Span, whole: Span, index: int) -> Message:
    name = string(value.get("name"))
    parts = content_parts(value.get("content"), span.inside("content"), _block)
    if role == "tool":
        is_error = bool(value["error"]) if "error" in value else None
        parts = result_parts(parts, _result_call_id(value), name, is_error)
        metadata = metadata_in(value)
        return Message(role, parts, name, metadata=metadata, index=index, spans=(whole,))
    if role == "assistant" or "tool_calls" in value:
        parts = (*_reasoning(value, span), *parts)
        if isinstance(value.get("refusal"), str):
            parts = (*parts, Part("text", value["refusal"]))
        parts = (*parts, *_calls(value, span))
    is_demo = value.get("is_demo") is True
    action = _action(value) if role == "assistant" else None
    return Message(
        role, parts, name, is_demo, index=index, spans=(whole,), action=action, is_demo=is_demo
    )


def _reasoning(value: dict[str, Any], span: Span) -> Iterator[Part]:
    """The reasoning of an answer, encrypted first."""
    sealed = _sealed(value.get("reasoning_details"))
    if sealed:
        yield Part("reasoning", sealed=sealed)
    for key in ("reasoning", "reasoning_content"):
        if isinstance(value.get(key), str):
            home = span.inside(key)
            yield Part("reasoning", value[key], span=home, block=home)


def _sealed(details: Any) -> int:
    """The number of characters of encrypted reasoning (OpenRouter's `reasoning_details`)."""
    texts = [
        block.get(key)
        for block in elements(details)
        if isinstance(block, dict)
        for key in ("data", "signature")
    ]
    return sum(len(text) for text in texts if isinstance(text, str))


def _block(block: Any, span: Span) -> Part:
    kind = block.get("type") if isinstance(block, dict) else None
    if kind in _TEXTS and isinstance(block.get("text"), str):
        return Part("text", block["text"], span=span.inside("text"), block=span)
    if kind == "reasoning" and isinstance(block.get("reasoning"), str):  # inspect
        return Part("reasoning", block["reasoning"], span=span.inside("reasoning"), block=span)
    return block_part(block, span, input_text if kind == "input_image" else text_block)


def _result_call_id(value: dict[str, Any]) -> str | None:
    """The id of the call that a result answers.

    SWE-agent writes a list of ids, tau2 the message's own id.
    """
    ids = elements(value.get("tool_call_ids"))
    return string(value.get("tool_call_id", ids[0] if ids else value.get("id")))


def _calls(value: dict[str, Any], span: Span) -> Iterator[Part]:
    for index, call in enumerate(elements(value.get("tool_calls"))):
        if isinstance(call, dict):
            block = span.inside("tool_calls", index)
            inner = next(
                (key for key in ("function", "custom") if isinstance(call.get(key), dict)), None
            )
            # inspect and others write name and arguments next to the id
            function, home = (call[inner], block.inside(inner)) if inner else (call, block)
            key = "input" if inner == "custom" else "arguments"
            yield _call(function, key, call.get("id"), home, block)
    legacy = value.get("function_call")
    if isinstance(legacy, dict):
        block = span.inside("function_call")
        yield _call(legacy, "arguments", None, block, block)


def _call(function: dict[str, Any], key: str, call_id: object, span: Span, block: Span) -> Part:
    name = function.get("name", function.get("function"))
    return call_part(function.get(key), call_id, name, span.inside(key), block)
