"""OpenAI Chat Completions: a conversation per line, one message per line, or a whole document.

A conversation is `{"messages": […], "tools"?: […], "model"?, "id"?}`. A document may contain one,
an array of them, or a bare array of messages. The legacy `function_call` and the role `function`
are a call and a result without ids. Calls and results of the AI SDK are blocks (`ai_sdk`), also in
histories of Roo Code, which keep messages that are not sent (`anthropic.roo_code`).
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, cast

from ctxtrim.formats.anthropic import ROO_LINKS, LinkedElement, is_sealed
from ctxtrim.formats.fields import (
    PAIRED_TYPES,
    identifier,
    is_paired_by_member,
    members,
    role_in,
    string,
)
from ctxtrim.formats.message_lists import NOTHING_AROUND, Dialect, Element, Envelope, ListContents
from ctxtrim.formats.message_parts import content_parts, prompt_around
from ctxtrim.formats.openai import AG_UI_CALLS, LLAMA_INDEX, RESPONSES, SDK_REQUEST
from ctxtrim.formats.openai.chat_places import OTHER_PLACES, PLACES, refuses_place
from ctxtrim.formats.openai.item_kinds import is_response_or_output
from ctxtrim.formats.request_options import chat_options, choice, marks_in
from ctxtrim.formats.sharegpt import tools_in
from ctxtrim.formats.usage import is_complete, openai_usage
from ctxtrim.loading import lazy_function
from ctxtrim.model import Message, Part, Role, Span
from ctxtrim.text.json_paths import Path, Place

ROLES: dict[object, Role] = {
    "system": "system",
    "developer": "system",
    "_system_prompt": "system",  # contexts of Kimi CLI
    "user": "user",
    "assistant": "assistant",
    "gemini": "assistant",  # histories saved by Gemini clients
    "tool": "tool",
    "function": "tool",
    "model": "assistant",  # data to tune Gemini
    "human": "user",
    "ai": "assistant",
    "bot": "assistant",
    "ipython": "tool",  # Llama 3
    "tool_call": "assistant",  # ms-swift, as the next
    "tool_response": "tool",
    "tool-call": "assistant",  # smolagents, as the next
    "tool-response": "tool",
    "function_call": "assistant",  # LLaMA-Factory, as the next, which GLM-4 has too
    "observation": "tool",
    "System": "system",  # data to tune Cohere's models, as the next
    "User": "user",
    "Chatbot": "assistant",
    "chatbot": "assistant",
}
_CALLS = frozenset(("tool_call", "tool-call", "function_call"))
_CALL_MEMBERS = ("tool_calls", "function_call", AG_UI_CALLS)
_TEXTS = ("text", "input_text", "output_text")
_ASIDE = ("exit", "session_meta", "_checkpoint", "_usage")  # records of agents, never sent
REASONING = ("reasoning", "reasoning_content", "thinking", "tool_plan")
"""Members with a reasoning text; the last two of Ollama and data for gpt-oss, and of Cohere."""
REASONING_BLOCKS = ("reasoning_details", "thinking_blocks", "codex_reasoning_items")
"""Members with blocks of reasoning, of OpenRouter, LiteLLM, and Hermes Agent."""
_WITH_PARTS = frozenset((
    "refusal", "audio", AG_UI_CALLS, LLAMA_INDEX, RESPONSES, *REASONING, *REASONING_BLOCKS,
))  # fmt: skip
_BLOCK_START = "```mswea_bash_command\n"
_BLOCK = re.compile(rf"^{_BLOCK_START}(.*?)\n?```", re.DOTALL | re.MULTILINE)
_MISTRAL = ("mistral", "mixtral", "codestral", "devstral", "ministral", "magistral", "pixtral")
_CONTENT: Path = ("content",)
_FOREIGN = (*PAIRED_TYPES, "thinking", "redacted_thinking", "tool_call", "toolCall")

# functions that many files do not need
_OPENAI = "ctxtrim.formats.openai"
_add_item = lazy_function(f"{_OPENAI}.chat_items:add_item")
_add_results = lazy_function(f"{_OPENAI}.chat_results:add_results")
_calls_in_content = lazy_function(f"{_OPENAI}.chat_calls:calls_in_content")
_images = lazy_function(f"{_OPENAI}.answer_parts:images")
_other_block = lazy_function(f"{_OPENAI}.chat_blocks:part_of")
_owner = lazy_function(f"{_OPENAI}.chat_edits:owner")
_relink = lazy_function(f"{_OPENAI}.chat_edits:relink")
_with_attachments = lazy_function(f"{_OPENAI}.inspect_attachments:resolved")
_with_calls = lazy_function(f"{_OPENAI}.chat_calls:with_calls")
_with_client_members = lazy_function(f"{_OPENAI}.answer_parts:with_client_members")
_with_note = lazy_function(f"{_OPENAI}.kimi_context:with_note")
_add_reasoning = lazy_function("ctxtrim.formats.anthropic.roo_code:add_reasoning")
_link = lazy_function("ctxtrim.formats.anthropic.roo_code:link")


def knows(value: object) -> bool:
    """Whether a value is a message with a known role and no content of another format."""
    if not isinstance(value, dict) or role_in(value, "role", ROLES) is None:
        return False
    content = value.get("content")
    if isinstance(content, list):
        return not any(_is_foreign(block) for block in content)
    if isinstance(content, dict):
        return False
    return "content" in value or any(key in value for key in _CALL_MEMBERS)


def _is_foreign(block: Any) -> bool:
    kind = members(block).get("type")
    if kind in _FOREIGN:  # Mistral's thinking is a list
        return not (_is_server_use(block) or isinstance(block.get("thinking"), list))
    return kind in (*_TEXTS, "reasoning") and "value" in block


def has_foreign(items: Sequence[Any]) -> bool:
    """Whether messages have calls or results of other APIs, which edits as text would separate."""
    contents = [value.get("content") for value in items if isinstance(value, dict)]
    lists = [content for content in contents if isinstance(content, list)]
    return any(map(_is_paired, chain.from_iterable(lists)))


def _is_paired(block: Any) -> bool:
    if members(block).get("type") in PAIRED_TYPES:
        return not _is_server_use(block)
    return is_paired_by_member(block)


def _is_server_use(block: dict[str, Any]) -> bool:
    """Whether a block is a tool use of the provider with its result (inspect). It counts as JSON.

    [UKGovernmentBEIS/inspect_ai, `ContentToolUse`]
    """
    return block.get("type") == "tool_use" and "tool_type" in block


def owns_place(place: Place) -> bool:
    """Whether a list is that of a trajectory of mini-swe-agent, which may have responses only."""
    return str(place.envelope.get("trajectory_format")).startswith("mini-swe-agent")


def read(items: Iterable[Element], contents: ListContents) -> None:
    """Read the messages of a list, without those that Roo Code does not send."""
    linked_elements: list[LinkedElement] = []
    _read_all(items, contents, linked_elements)
    if linked_elements:
        _link(contents, linked_elements)


def _read_all(
    items: Iterable[Element], contents: ListContents, linked_elements: list[LinkedElement]
) -> None:
    """Read one message per element.

    The usage on user messages is skipped: it counts a simulated user's prompt.
    """
    last_action: Part | None = None  # the action of the message before
    messages = contents.messages
    for value, span, whole in items:
        try:
            name = value["role"]
            role = ROLES[name]
        except (KeyError, TypeError):
            linked_elements += _read_other(value, span, whole, contents)
            continue
        if role == "user" and last_action is not None and _may_be_observation(value):
            role = "tool"
        last_action = _action(value) if role == "assistant" else None
        index = len(messages)
        content = value.get("content")
        if role == "tool":
            _add_results(contents, value, span, whole, _block)
        elif len(value) == 2 and isinstance(content, str) and name not in _CALLS:
            parts = (Part("text", content, span=Span(span.line, span.path + _CONTENT)),)
            messages.append(Message(role, parts, index=index, spans=(whole,), action=last_action))
            continue  # it has no other members
        else:
            if role == "assistant" and ("usage" in value or "extra" in value):
                _note(value, index, contents)
            elif role == "system" and "tools" in value:  # data of single turns
                contents.tools = contents.tools or tools_in(value["tools"])
            messages.append(_message(role, value, span, whole, last_action, contents))
        if "ts" in value and not ROO_LINKS.isdisjoint(value):
            linked_elements.append(LinkedElement(value, whole, range(index, len(messages))))


def _note(value: dict[str, Any], index: int, contents: ListContents) -> None:
    """Record the model and usage of an answer. mini-swe-agent keeps the response under `extra`."""
    response = members(members(value.get("extra")).get("response"))
    contents.model = string(response.get("model")) or contents.model
    message_usage = value.get("usage") if is_complete(value) else None
    contents.add_usage(openai_usage(message_usage or response.get("usage"), index))


def _read_other(
    value: Any, span: Span, whole: Span, contents: ListContents
) -> Iterator[LinkedElement]:
    """Read an item of the Responses API (mini-swe-agent) or encrypted reasoning of Roo Code, which
    is returned, or count an unknown message, or a text among messages.
    """
    name = members(value).get("role")
    if name is not None:
        contents.uncounted += name not in _ASIDE
    elif isinstance(value, str):
        contents.uncounted += 1
    elif is_response_or_output(value):
        _add_item(value, span, contents)
    elif is_sealed(value):
        yield _add_reasoning(value, whole, contents)


def _may_be_observation(value: dict[str, Any]) -> bool:
    """Whether a user message may be the output of the action before it (SWE-agent and
    mini-swe-agent).

    Its text is not checked, because a stage may have replaced it.
    """
    is_observation = value.get("message_type", "observation") == "observation"
    return is_observation and not value.get("is_demo")


def _action(value: dict[str, Any]) -> Part | None:
    """The command in the text of a SWE-agent or mini-swe-agent answer, as a call of a shell."""
    if value.get("tool_calls"):
        return None
    action, content = value.get("action"), value.get("content")
    if action is None:
        if not isinstance(content, str) or _BLOCK_START not in content:
            return None
        block = _BLOCK.search(content)
        return Part("tool_call", block[1], name="bash") if block else None
    is_agent = "thought" in value or value.get("message_type") == "action"
    return Part("tool_call", action, name="bash") if is_agent and isinstance(action, str) else None


def _message(
    role: Role,
    value: dict[str, Any],
    span: Span,
    whole: Span,
    action: Part | None,
    contents: ListContents,
) -> Message:
    """A message that is no result."""
    content, name = value.get("content"), string(value.get("name"))
    content_span = Span(span.line, span.path + _CONTENT)
    parts: tuple[Part, ...] = ()
    if value["role"] in _CALLS:
        parts = _calls_in_content(content, content_span)
    elif isinstance(content, str):
        parts = (Part("text", content, span=content_span),)
    elif content is not None:
        parts = content_parts(content, content_span, _block)
        if role == "assistant" and isinstance(content, list):
            parts = _sent_parts(parts, content)
    if "images" in value:
        parts += _images(value, span)
    if role == "assistant" or "tool_calls" in value or RESPONSES in value:
        if not _WITH_PARTS.isdisjoint(value):
            parts, whole = _with_client_members(value, parts, span, whole, contents, _block)
        if value.get("tool_calls") or value.get("tool_call") or value.get("function_call"):
            parts = _with_calls(value, parts, span, contents)
    is_demo = value.get("is_demo") is True
    index = len(contents.messages)
    message = Message(
        role, parts, name, is_demo, index=index, spans=(whole,), action=action, is_demo=is_demo
    )
    if role == "user" and parts and parts[0].text.startswith("<system>"):
        message = _with_note(message)
    return message


def _sent_parts(parts: tuple[Part, ...], content: list[Any]) -> tuple[Part, ...]:
    """The parts of a content without those of requests for approval (AI SDK)."""
    kinds = [members(block).get("type") for block in content]
    if SDK_REQUEST not in kinds:
        return parts
    return tuple(part for part, kind in zip(parts, kinds, strict=True) if kind != SDK_REQUEST)


def _block(block: Any, span: Span) -> Part:
    kind = block.get("type") if isinstance(block, dict) else None
    if kind in _TEXTS and isinstance(block.get("text"), str):
        return Part("text", block["text"], span=span.inside("text"), block=span)
    return cast(Part, _other_block(block, span))


_PLAIN = Envelope(options=chat_options({}))


def envelope(value: dict[str, Any], span: Span) -> Envelope:
    """The fields next to the messages of a conversation. A system prompt there comes first."""
    if len(value) == 1:  # the messages alone
        return _PLAIN
    tools, functions = value.get("tools"), value.get("functions")
    if isinstance(tools, list) and isinstance(functions, list):
        tools = [*tools, *functions]
    tools = tools or functions or value.get("function")  # the last of ToolBench and BFCL
    # logs of inspect name the model next to the answer
    model = string(value.get("model")) or string(members(value.get("output")).get("model"))
    return Envelope(
        tools_in(tools),
        tool_choice=choice(value),
        model=model,
        id=identifier(value.get("id")),
        usage=openai_usage(value.get("usage")),
        # the AI SDK, data for training and Hermes Agent have a system prompt here
        preamble=prompt_around(value, span, _block),
        options=chat_options(value),
        # it refuses a prompt right after a result [mistralai/mistral-common#169]
        strict_roles="runs" if model and _is_mistral(model.lower()) else "",
        marks=marks_in(value),
    )


def _is_mistral(model: str) -> bool:
    return any(name in model for name in _MISTRAL)


_HEADERS = frozenset(("choices", "eval", "info", "input", "response", "response_body"))
"""Members of a value that has a header."""


def header(value: object) -> Envelope:
    """The model of an inspect log, for its samples without an answer, and that of a run of
    mini-swe-agent; the model, id and usage of an answer alone, or next to its request; the model
    and parameters next to an `input` with the messages.
    """
    if not isinstance(value, dict) or _HEADERS.isdisjoint(value):
        return NOTHING_AROUND
    response = members(value.get("response"))
    helicone = value.get("response_body")
    answers = (value, response, response.get("body"), helicone)
    answer = next((answer for answer in map(members, answers) if "choices" in answer), None)
    if answer is not None and "messages" not in value:
        return envelope(answer, Span(0))
    if "messages" in members(value.get("input")):  # DashScope
        return envelope(members(value.get("parameters")) | {"model": value.get("model")}, Span(0))
    if "eval" not in value and "info" not in value:
        return NOTHING_AROUND
    config = members(members(value.get("info")).get("config"))
    run = string(members(config.get("model")).get("model_name"))
    return Envelope(model=string(members(value.get("eval")).get("model")) or run)


def _resolved(items: Iterable[Element], container: Mapping[str, Any]) -> Iterable[Element]:
    """The elements of a list; those of an inspect log with their attachments."""
    attachments = container.get("attachments")
    if not isinstance(attachments, dict) or not attachments:
        return items
    return cast(Iterable[Element], _with_attachments(items, attachments))


DIALECT = Dialect(
    "openai-chat", knows, read, lazy_function(f"{_OPENAI}.chat_insert:insert"),
    envelope=envelope, header=header, owner=_owner, relink=_relink, links_texts=True,
    answers=(("message",),), resolved=_resolved, places=PLACES, other_places=OTHER_PLACES,
    takes_empty=True, has_foreign=has_foreign, owns_place=owns_place, refuses_place=refuses_place,
)  # fmt: skip
