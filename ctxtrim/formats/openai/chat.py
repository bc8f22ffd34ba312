"""OpenAI Chat Completions: a conversation per line, one message per line, or a whole document.

A conversation is `{"messages": […], "tools"?: […], "model"?, "id"?}`. A document may contain one,
an array of them, or a bare array of messages. Content is a string, a list of blocks, null or
absent. The legacy `function_call` and the role `function` are a call and a result without ids.
Messages with other roles are not read and stay unchanged.
"""

import re
from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from ctxtrim.conversation.tool_results import METADATA
from ctxtrim.formats.base import Insertion, Site
from ctxtrim.formats.media_blocks import input_text, media_of, text_block
from ctxtrim.formats.message_lists import Dialect, Element, Envelope, Found, insert_elements
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
    if (
        not isinstance(value, dict)
        or not isinstance(value.get("role"), str)
        or value["role"] not in ROLES
    ):
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
    content = value.get("content") if isinstance(value, dict) else None
    return isinstance(content, list) and any(
        isinstance(block, dict) and block.get("type") in ("tool_use", "tool_result")
        for block in content
    )


def read(elements: Sequence[Element], found: Found) -> None:
    """Read one message per element.

    The usage on user messages is skipped: it counts a simulated user's prompt.
    """
    before: dict[str, Any] = {}
    for value, span, whole in elements:
        role = value.get("role") if isinstance(value, dict) else None
        role_name = ROLES.get(role) if isinstance(role, str) else None
        if role_name is None:
            found.uncounted += role is not None and role not in _ASIDE
            continue
        if role_name == "user" and _is_observation(value, before):
            role_name = "tool"
        before = value
        if role_name == "assistant" and "usage" in value and is_complete(value):
            usage = openai_usage(value["usage"], len(found.messages))
            found.usages += [usage] if usage else []
        found.messages.append(_message(role_name, value, span, whole, len(found.messages)))


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
    model, name = value.get("model"), value.get("id")
    return Envelope(
        dump(tools) if isinstance(tools, (list, dict)) else None,
        choice(value),
        model if isinstance(model, str) else None,
        name if isinstance(name, str) else None,
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


def insert(run: Sequence[Message], site: Site) -> Sequence[Insertion]:
    """Each message as a separate element."""
    return insert_elements(run, site, _json_value)


def _json_value(message: Message) -> dict[str, Any]:
    text = "".join(part.text for part in message.parts if part.kind in ("text", "tool_result"))
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
    envelope,
    owner,
    insert,
    PLACES,
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
    return choice if isinstance(choice, str) else None


def _message(role: Role, value: dict[str, Any], span: Span, whole: Span, index: int) -> Message:
    spans = (whole,)
    line, path = span
    name = value.get("name")
    name = name if isinstance(name, str) else None
    if role == "tool":
        metadata = tuple((key, value[key]) for key in METADATA if type(value.get(key)) is int)
        return Message(
            role,
            _result(value, name, line, path),
            name,
            metadata=metadata,
            index=index,
            spans=spans,
        )
    parts = _content(value.get("content"), line, (*path, "content"))
    if role == "assistant" or "tool_calls" in value:
        for key in ("reasoning_content", "reasoning"):
            if isinstance(value.get(key), str):
                inner_span = Span(line, (*path, key))
                parts = (Part("reasoning", value[key], span=inner_span, block=inner_span), *parts)
        sealed = _sealed(value.get("reasoning_details"))
        if sealed:
            parts = (Part("reasoning", sealed=sealed), *parts)
        if isinstance(value.get("refusal"), str):
            parts = (*parts, Part("text", value["refusal"]))
        parts = (*parts, *_calls(value, line, path))
    is_demo = value.get("is_demo") is True
    action = _action(value) if role == "assistant" else None
    return Message(
        role, parts, name, is_demo, index=index, spans=spans, action=action, is_demo=is_demo
    )


def _sealed(details: Any) -> int:
    """The number of characters of encrypted reasoning (OpenRouter's `reasoning_details`)."""
    blocks = details if isinstance(details, list) else ()
    texts = [
        block.get(key)
        for block in blocks
        if isinstance(block, dict)
        for key in ("data", "signature")
    ]
    return sum(len(text) for text in texts if isinstance(text, str))


def _content(content: Any, line: int, path: Path) -> tuple[Part, ...]:
    if isinstance(content, str):
        return (Part("text", content, span=Span(line, path)),)
    if content is None:
        return ()
    if not isinstance(content, list):
        return (Part("text", dump(content)),)
    return tuple(_block(block, line, (*path, index)) for index, block in enumerate(content))


def _block(block: Any, line: int, path: Path) -> Part:
    span = Span(line, path)
    if isinstance(block, dict):
        kind = block.get("type")
        if kind in _TEXTS and isinstance(block.get("text"), str):
            return Part("text", block["text"], span=Span(line, (*path, "text")), block=span)
        if kind == "reasoning" and isinstance(block.get("reasoning"), str):  # inspect
            return Part(
                "reasoning", block["reasoning"], span=Span(line, (*path, "reasoning")), block=span
            )
        media = media_of(block)
        if media is not None:
            spell = input_text if kind == "input_image" else text_block
            return Part("attachment", media=media, block=span, text_block=spell)
    return Part("text", dump(block), block=span)


def _result(value: dict[str, Any], name: str | None, line: int, path: Path) -> tuple[Part, ...]:
    call_id = _result_call_id(value)
    is_error = bool(value["error"]) if "error" in value else None
    parts = _content(value.get("content"), line, (*path, "content"))
    if not any(part.kind == "text" for part in parts):
        parts = (Part("text"), *parts)
    return tuple(
        Part("tool_result", part.text, call_id, name, is_error, None, part.span, part.block)
        if part.kind == "text"
        else replace(part, call_id=call_id, name=name)
        for part in parts
    )


def _result_call_id(value: dict[str, Any]) -> str | None:
    """The id of the call that a result answers.

    SWE-agent writes a list of ids, tau2 the message's own id.
    """
    ids = value.get("tool_call_ids")
    call_id = value.get(
        "tool_call_id", ids[0] if isinstance(ids, list) and ids else value.get("id")
    )
    return call_id if isinstance(call_id, str) else None


def _calls(value: dict[str, Any], line: int, path: Path) -> tuple[Part, ...]:
    calls = value.get("tool_calls")
    found: list[Part] = []
    for index, call in enumerate(calls if isinstance(calls, list) else ()):
        if isinstance(call, dict):
            call_id = call.get("id")
            inner = next(
                (key for key in ("function", "custom") if isinstance(call.get(key), dict)), None
            )
            # inspect and others write name and arguments next to the id
            function = call[inner] if inner else call
            key = "input" if inner == "custom" else "arguments"
            block = Span(line, (*path, "tool_calls", index))
            span = block.inside(*((inner,) if inner else ()), key)
            found.append(
                _call(function, key, call_id if isinstance(call_id, str) else None, span, block)
            )
    legacy = value.get("function_call")
    if isinstance(legacy, dict):
        block = Span(line, (*path, "function_call"))
        found.append(_call(legacy, "arguments", None, block.inside("arguments"), block))
    return tuple(found)


def _call(function: dict[str, Any], key: str, call_id: str | None, span: Span, block: Span) -> Part:
    arguments, name = function.get(key), function.get("name", function.get("function"))
    name = name if isinstance(name, str) else None
    if isinstance(arguments, str):
        return Part("tool_call", arguments, call_id, name, span=span, block=block)
    return Part(
        "tool_call", "" if arguments is None else dump(arguments), call_id, name, block=block
    )
