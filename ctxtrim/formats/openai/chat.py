"""OpenAI Chat Completions: a conversation per line, one message per line, or a whole document.

A conversation is `{"messages": […], "tools"?: […], "model"?, "id"?}`. A document may contain one,
an array of them, or a bare array of messages. Content is a string, a list of blocks, null or
absent. The legacy `function_call` and the role `function` are a call and a result without ids.
Calls and results of the AI SDK are blocks (`ai_sdk`). Messages with other roles are not read and
stay unchanged.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ctxtrim.formats.base import Edit, Insertion, Site
from ctxtrim.formats.fields import elements, members, metadata_in, role_in, string
from ctxtrim.formats.media_blocks import block_part, input_text, media_of, text_block
from ctxtrim.formats.message_lists import (
    NOTHING_AROUND,
    Dialect,
    Element,
    Envelope,
    ListContents,
)
from ctxtrim.formats.message_parts import call_part, content_parts, result_parts
from ctxtrim.formats.request_options import chat_options, choice
from ctxtrim.formats.usage import is_complete, openai_usage
from ctxtrim.model import Message, Part, Role, Span
from ctxtrim.text.json_paths import Path
from ctxtrim.text.records import dump

ROLES: dict[object, Role] = {
    "system": "system",
    "developer": "system",
    "_system_prompt": "system",  # contexts of Kimi CLI
    "user": "user",
    "assistant": "assistant",
    "gemini": "assistant",  # histories saved by Gemini clients
    "tool": "tool",
    "function": "tool",
}
_TEXTS = ("text", "input_text", "output_text")
_ASIDE = ("exit", "session_meta", "_checkpoint", "_usage")  # records of agents, never sent
_REASONING = ("reasoning", "reasoning_content")
_BLOCKS = ("reasoning_details", "thinking_blocks")  # of OpenRouter and LiteLLM
_WITH_PARTS = frozenset({"refusal", "audio", *_REASONING, *_BLOCKS})
_BLOCK_START = "```mswea_bash_command\n"
_BLOCK = re.compile(rf"^{_BLOCK_START}(.*?)\n?```", re.DOTALL | re.MULTILINE)
_CONTENT: Path = ("content",)
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


def has_foreign(items: Sequence[Any]) -> bool:
    """Whether messages have Anthropic's calls or results, which edits as text would separate."""
    for value in items:
        content = value.get("content") if isinstance(value, dict) else None
        if isinstance(content, list) and any(map(_is_anthropic, content)):
            return True
    return False


def _is_anthropic(block: object) -> bool:
    return isinstance(block, dict) and block.get("type") in ("tool_use", "tool_result")


def read(items: Iterable[Element], found: ListContents) -> None:
    """Read one message per element.

    The usage on user messages is skipped: it counts a simulated user's prompt.
    """
    last_action: Part | None = None  # the action of the message before
    messages = found.messages
    for value, span, whole in items:
        name = value.get("role") if isinstance(value, dict) else None
        role = ROLES.get(name) if isinstance(name, str) else None
        if role is None:
            found.uncounted += name is not None and name not in _ASIDE
            continue
        if role == "user" and last_action is not None and _may_be_observation(value):
            role = "tool"
        last_action = None
        if role == "assistant" and not value.get("tool_calls"):
            last_action = _action(value)
        index = len(messages)
        if "usage" in value and role == "assistant" and is_complete(value):
            usage = openai_usage(value["usage"], index)
            found.usages += [usage] if usage else []
        spans = (whole,)
        content = value.get("content")
        if role == "tool" and isinstance(content, list) and _has_results(content):
            from ctxtrim.formats.openai import ai_sdk  # for its messages only

            messages += ai_sdk.results(content, span.inside("content"), index)
        elif role == "tool":
            messages.append(_result(value, span, index, spans))
        elif len(value) == 2 and isinstance(content, str):
            home = Span(span.line, span.path + _CONTENT)
            parts = (Part("text", content, span=home),)
            messages.append(Message(role, parts, index=index, spans=spans, action=last_action))
        else:
            messages.append(_message(role, value, span, index, spans, last_action))


def _has_results(content: Sequence[Any]) -> bool:
    """Whether a content has results as blocks, as the AI SDK writes them."""
    return any(members(block).get("type") == "tool-result" for block in content)


def _may_be_observation(value: dict[str, Any]) -> bool:
    """Whether a user message may be the output of the action before it (SWE-agent and
    mini-swe-agent).

    Its text is not checked, because a stage may have replaced it.
    """
    is_observation = value.get("message_type", "observation") == "observation"
    return is_observation and not value.get("is_demo")


def _action(value: dict[str, Any]) -> Part | None:
    """The command in the text of a SWE-agent or mini-swe-agent answer, as a call of a shell."""
    action, content = value.get("action"), value.get("content")
    if action is None:
        block = None
        if isinstance(content, str) and _BLOCK_START in content:
            block = _BLOCK.search(content)
        return Part("tool_call", block[1], name="bash") if block else None
    is_agent = "thought" in value or value.get("message_type") == "action"
    return Part("tool_call", action, name="bash") if is_agent and isinstance(action, str) else None


def envelope(value: dict[str, Any], span: Span) -> Envelope:
    """The tools, tool choice, model and id next to the messages."""
    # the last: ToolBench, BFCL
    tools = value.get("tools") or value.get("functions") or value.get("function")
    return Envelope(
        dump(tools) if isinstance(tools, (list, dict)) else None,
        choice(value),
        # the second: inspect
        string(value.get("model")) or string(members(value.get("output")).get("model")),
        string(value.get("id")),
        openai_usage(value.get("usage")),
        options=chat_options(value),
    )


def header(value: object) -> Envelope:
    """The model of an inspect log, for its samples without an answer."""
    if not isinstance(value, dict) or "eval" not in value:
        return NOTHING_AROUND
    return Envelope(model=string(members(value["eval"]).get("model")))


def owner(array: Path) -> Path | None:
    """A message is removed with the last block of its content, a list of calls with
    its last call.
    """
    if array[-1] == "tool_calls":
        return array
    return array[:-1] if array[-1] == "content" else None


def _insert(run: Sequence[Message], site: Site) -> Sequence[Insertion]:
    from ctxtrim.formats.openai.chat_insert import insert  # for new messages only

    return insert(run, site)


def _relink(edit: Edit) -> Edit:
    """The edit, without recorded tokens that no longer count the messages before them."""
    if members(edit.values[0]).get("role") not in ("_system_prompt", "_checkpoint"):
        return edit
    from ctxtrim.formats.openai.kimi_context import without_old_usage  # for Kimi CLI only

    return without_old_usage(edit)


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
    "conversation.messages",  # exports of Antigravity
)
"""The JSON paths of such lists."""

DIALECT = Dialect(
    "openai-chat",
    knows,
    read,
    _insert,
    envelope=envelope,
    header=header,
    owner=owner,
    places=PLACES,
    takes_empty=True,
    has_foreign=has_foreign,
    relink=_relink,
)


def _result(value: dict[str, Any], span: Span, index: int, spans: tuple[Span, ...]) -> Message:
    """A message with the role `tool`."""
    content, name, call_id = value.get("content"), string(value.get("name")), _result_call_id(value)
    is_error = bool(value["error"]) if "error" in value else None
    home = Span(span.line, span.path + _CONTENT)
    if isinstance(content, str):
        parts: tuple[Part, ...] = (
            Part("tool_result", content, call_id, name, is_error, span=home),
        )
    else:
        parts = result_parts(content_parts(content, home, _block), call_id, name, is_error)
    return Message("tool", parts, name, metadata=metadata_in(value), index=index, spans=spans)


def _message(
    role: Role,
    value: dict[str, Any],
    span: Span,
    index: int,
    spans: tuple[Span, ...],
    action: Part | None,
) -> Message:
    """A message with another role."""
    content, name = value.get("content"), string(value.get("name"))
    parts: tuple[Part, ...] = ()
    if content is not None:
        parts = content_parts(content, Span(span.line, span.path + _CONTENT), _block)
    if role == "assistant" or "tool_calls" in value:
        if not _WITH_PARTS.isdisjoint(value):
            refusal = value.get("refusal")
            refusals = (Part("text", refusal),) if isinstance(refusal, str) else ()
            parts = (*_reasoning(value, span), *parts, *refusals, *_audio(value))
        parts = (*parts, *_calls(value, span))
    is_demo = value.get("is_demo") is True
    message = Message(
        role, parts, name, is_demo, index=index, spans=spans, action=action, is_demo=is_demo
    )
    if role == "user" and parts and parts[0].text.startswith("<system>"):
        from ctxtrim.formats.openai.kimi_context import with_note  # for Kimi CLI only

        return with_note(message)
    return message


def _reasoning(value: dict[str, Any], span: Span) -> list[Part]:
    """The reasoning of an answer, encrypted first.

    The texts in its blocks count if it has no text besides them: it is the same text. Summaries
    count only without encrypted reasoning: requests to gpt-5 with both had the same recorded tokens
    as those without the summary.
    """
    texts = [
        Part("reasoning", value[key], span=span.inside(key), block=span.inside(key))
        for key in _REASONING
        if isinstance(value.get(key), str)
    ]
    blocks = [block for key in _BLOCKS for block in elements(value.get(key))]
    sealed = sum(len(text) for text in _strings(blocks, "data", "signature"))
    text = ""
    if not any(part.text for part in texts):
        keys = ("text", "thinking") if sealed else ("text", "thinking", "summary")
        text = "".join(_strings(blocks, *keys))
    if not sealed and not text:
        return texts
    return [Part("reasoning", text, sealed=sealed), *texts]


def _audio(value: dict[str, Any]) -> tuple[Part, ...]:
    """The spoken answer, often only its id; then its length is unknown."""
    audio = value.get("audio")
    if not isinstance(audio, dict):
        return ()
    return (Part("attachment", media=media_of({"type": "audio", "audio": audio.get("data")})),)


def _strings(blocks: Iterable[Any], *keys: str) -> Iterator[str]:
    """The strings under some keys of blocks."""
    for block in blocks:
        for key in keys:
            if isinstance(text := members(block).get(key), str):
                yield text


def _block(block: Any, span: Span) -> Part:
    kind = block.get("type") if isinstance(block, dict) else None
    if kind in _TEXTS and isinstance(block.get("text"), str):
        return Part("text", block["text"], span=span.inside("text"), block=span)
    if kind == "tool-call":
        from ctxtrim.formats.openai import ai_sdk  # for its messages only

        return ai_sdk.call(block, span)
    if kind == "refusal" and isinstance(block.get("refusal"), str):
        return Part("text", block["refusal"], span=span.inside("refusal"), block=span)
    if kind in ("reasoning", "think"):
        for key in ("reasoning", "text", "think"):  # of inspect, the AI SDK and Kimi CLI
            if isinstance(block.get(key), str):
                return Part("reasoning", block[key], span=span.inside(key), block=span)
    return block_part(block, span, input_text if kind == "input_image" else text_block)


def _result_call_id(value: dict[str, Any]) -> str | None:
    """The id of the call that a result answers.

    SWE-agent writes a list of ids, tau2 the message's own id.
    """
    if "tool_call_id" in value:
        return string(value["tool_call_id"])
    ids = elements(value.get("tool_call_ids"))
    return string(ids[0] if ids else value.get("id"))


def _calls(value: dict[str, Any], span: Span) -> list[Part]:
    parts = []
    for index, call in enumerate(elements(value.get("tool_calls"))):
        if isinstance(call, dict):
            block = Span(span.line, (*span.path, "tool_calls", index))
            parts.append(_call(call, call.get("id"), block))
    legacy = value.get("function_call")
    if isinstance(legacy, dict):
        parts.append(_call(legacy, None, span.inside("function_call")))
    return parts


def _call(call: dict[str, Any], call_id: object, block: Span) -> Part:
    """A call; inspect and others write its name and arguments next to its id."""
    inner, keys = call.get("function"), ("function", "arguments")
    if not isinstance(inner, dict):
        inner, keys = call.get("custom"), ("custom", "input")
    if not isinstance(inner, dict):
        name = call.get("name") if "name" in call else call.get("function")
        span = block.inside("arguments")
        return call_part(call.get("arguments"), call_id, name, span, block)
    name = inner.get("name") if "name" in inner else inner.get("function")
    span = Span(block.line, block.path + keys)
    return call_part(inner.get(keys[1]), call_id, name, span, block)
