"""Items of OpenAI Responses, also written by Codex: messages, reasoning, calls and outputs.

An answer of the model is a run of consecutive items:

::

    reasoning ─┐
    message    ├─ one assistant message, including parallel calls
    calls …   ─┘
    outputs …     one tool message each

The next answer starts after an output or another role, with reasoning, or with a text after a text
or a call. A text starts no new response of the model, and the API refuses the items of a response
without its reasoning. So an answer that starts with a text continues a reasoned one before it.

The API knows by the ids of items which reasoning they need. So reasoning may be removed alone if
the other items of its response have no ids, and no reasoning is an id alone.
[earendil-works/pi, packages/ai/src/providers/openai-responses-shared.ts]
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal

from ctxtrim.formats.fields import elements, members, metadata_in, role_in, string
from ctxtrim.formats.media_blocks import sealed_media
from ctxtrim.formats.message_lists import Element, ListContents
from ctxtrim.formats.openai.item_parts import (
    answer_parts,
    approval_links,
    call_id,
    communication,
    content,
    needs_reasoning,
    output,
    with_needed_reasoning,
)
from ctxtrim.model import Message, Part, Role, Span
from ctxtrim.text.records import dump

ItemKind = Literal["reasoning", "text", "call", "message", "result", "tools", "unsent", "unknown"]
"""The kind of an item: a piece of an answer, another message, an output, tool schemas, not sent, or
unknown.
"""

NO_MESSAGE: tuple[ItemKind, ...] = ("tools", "unsent", "unknown")
"""The kinds that are no messages. They do not end an answer."""

ItemState = Literal["reasoning", "open"] | None
"""The state of an answer: only reasoning so far, or more; None between answers."""

ROLES: dict[object, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
}
TEXTS = ("input_text", "output_text")

_KINDS: dict[str, ItemKind] = {
    "reasoning": "reasoning",
    "tool_call": "call",  # before Codex had ids, as the next two
    "tool_result": "result",
    "function_result": "result",
    "program": "call",  # which OpenAI runs, as its output
    "program_output": "call",
    "mcp_list_tools": "call",
    "mcp_approval_request": "call",
    "mcp_approval_response": "message",  # the user's answer to the request before it
    "agent_message": "message",  # a message of another Codex agent
    "inter_agent_communication": "message",  # the same as a line of older rollouts
    "additional_tools": "tools",
    "compaction": "message",  # encrypted, as the next two
    "compaction_summary": "message",
    "context_compaction": "message",
    "compacted": "message",  # the summary of an older Codex compaction
    "ghost_snapshot": "unsent",
    # controls of requests [openai/codex, codex-rs/protocol/src/models.rs]
    "compaction_trigger": "unsent",
    "configuration_update": "unsent",
}
_COMPACTIONS = ("compaction", "compaction_summary", "context_compaction")
_AGENT_MESSAGES = ("agent_message", "inter_agent_communication")
_OUTPUTS = ("output", "result", "tools")
# [openai/codex, codex-rs/core/src/context/contextual_user_message.rs]
_CONTEXT = (
    "<environment_context>", "<user_instructions>", "# agents.md instructions", "<turn_aborted>",
    "<skill>", "<user_shell_command>", "<subagent_notification>", "<tool_context>",
    "<goal_context>", "<codex_internal_context", "<hook_prompt", "<recommended_plugins>",
    # of older versions
    "warning: apply_patch was requested via ",
    "warning: the maximum number of unified exec processes you can keep open is",
    "warning: your account was flagged for potentially high-risk cyber activity",
)  # fmt: skip
# [openai/codex, codex-rs/core/src/event_mapping.rs]
_DEVELOPER_CONTEXT = (
    "<permissions instructions>", "<model_switch>", "<collaboration_mode>", "<multi_agent_mode>",
    "<realtime_conversation>", "<environments_instructions>", "<plugins_instructions>",
    "<skills_instructions>", "<personality_spec>", "<token_budget>", "<rollout_budget>",
    "<context_window>", "<context_window_guidance>",
)  # fmt: skip
_EXTERNAL = re.compile(r"\s*<external_([^>]*)>.*</external_\1>\s*", re.DOTALL)
"""A text that an app server adds: nothing follows its tag."""
_DELIVERY = "codex:code-mode-delivery:"
_LONGEST = max(map(len, _CONTEXT))
_TEXT_ROLES: dict[object, Role] = {
    "instructions": "system",
    "text": "system",
    "output": "assistant",
}
"""The roles of strings by their keys."""
_SUMMARY = "Another language model started to solve this problem"


def kind_of(value: Any) -> ItemKind:
    """The kind of an item.

    A string is a user or system text. An object without role or type is not sent, unless it has an
    id alone, which refers to an item that the provider stored.
    """
    if isinstance(value, str):
        return "message"
    if not isinstance(value, dict):
        return "unknown"
    kind, role = value.get("type"), value.get("role")
    if kind == "message" or (kind is None and role is not None):
        speaker = role_in(value, "role", ROLES)
        if speaker is None:
            return "unknown"
        return "text" if speaker == "assistant" else "message"
    if kind is None:
        return "unknown" if value.keys() - {"type"} == {"id"} else "unsent"
    if not isinstance(kind, str):
        return "unknown"
    if kind in _KINDS:
        return _KINDS[kind]
    if kind.endswith("_call"):
        return "call"
    if not kind.endswith("_output"):
        return "unknown"
    return _output_kind(value) if value.get("call_id") is None else "result"


def _output_kind(value: dict[str, Any]) -> ItemKind:
    """The kind of an output without a call id.

    It is a piece of the answer if the provider ran the search, a message if it has the name of what
    the client reports, else a result whose call is unknown.
    """
    if value["type"] == "tool_search_output":
        return "call"
    is_report = value["type"] == "function_call_output" and isinstance(value.get("name"), str)
    return "message" if is_report else "result"


def is_response_or_output(value: Any) -> bool:
    """Whether a value is a response, or an output of a call, and not an object around them."""
    if not isinstance(value, dict):
        return False
    return value.get("object") == "response" or value.get("type") == "function_call_output"


def begins(kind: ItemKind, state: ItemState) -> bool:
    """Whether an item of an answer starts a new answer."""
    return state is None if kind == "call" else state != "reasoning"


def after(kind: ItemKind) -> ItemState:
    """The state of an answer after an item."""
    if kind == "reasoning":
        return "reasoning"
    return "open" if kind in ("text", "call") else None


def array_of(element: Element) -> Span | None:
    """The array that contains an item; None for a line. An answer never spans two arrays."""
    span = element.span
    return span.outer if span.path and isinstance(span.path[-1], int) else None


def answers(items: Iterable[Element]) -> Iterator[tuple[ItemKind, list[Element]]]:
    """The sent items: those of one answer together (as `text`), all others alone.

    Tool schemas and unknown items do not end an answer.
    """
    answer: list[Element] = []
    state: ItemState = None
    array: Span | None = None
    for element in items:
        kind = kind_of(element.value)
        if kind == "unsent":
            continue
        if kind in NO_MESSAGE:
            yield kind, [element]
            continue
        is_answer = after(kind) is not None
        item_array = array_of(element)
        if answer and (not is_answer or item_array != array or begins(kind, state)):
            yield "text", answer
            answer = []
        array, state = item_array, after(kind)
        if is_answer:
            answer.append(element)
        else:
            yield kind, [element]
    if answer:
        yield "text", answer


def read_items(items: Iterable[Element], contents: ListContents) -> None:
    """Read a message from each answer, each output, and each other message."""
    messages = contents.messages
    start: int | None = None  # the index of the answer whose reasoning starts the response so far
    array: Span | None = None
    for kind, group in answers(items):
        first, index = group[0], len(messages)
        if kind == "tools":
            contents.more_tools += elements(first.value.get("tools"))
        elif kind == "unknown":
            contents.uncounted += 1
        elif kind == "text":
            has_reasoning = kind_of(first.value) == "reasoning"
            continues = start is not None and not has_reasoning and _continues(first, array)
            if has_reasoning:
                start = index
            elif not continues:
                start = None
            array = array_of(first)
            messages.append(_answer(group, index, continues))
            if start is not None and any(needs_reasoning(element.value) for element in group):
                messages[start] = with_needed_reasoning(messages[start])
        else:
            start = None
            read = _result if kind == "result" else _other_message
            messages.append(read(first, index))


def _answer(items: Sequence[Element], index: int, continues: bool) -> Message:
    """The message of the items of an answer. `continues`: they belong to the response before."""
    parts = tuple(
        part
        for element in items
        for part in answer_parts(element.value, element.span, element.whole)
    )
    spans = tuple(element.whole for element in items)
    return Message("assistant", parts, index=index, spans=spans, continues=continues)


def _continues(element: Element, array: Span | None) -> bool:
    """Whether an item can belong to the response before it, in the same array.

    An empty message separates the answers of two responses.
    """
    return array_of(element) == array and element.value.get("content") != []


def _other_message(element: Element, index: int) -> Message:
    """The message of a user, client or developer.

    A string is a user text, except for instructions and an output.
    """
    value, span, whole = element
    if isinstance(value, str):
        role = _TEXT_ROLES.get(span.path[-1], "user")
        return Message(role, (Part("text", value, span=span),), index=index, spans=(whole,))
    if value.get("type") == "mcp_approval_response":
        part = Part("text", dump(value), source=span, server=approval_links(value))
        return Message(
            "user", (part,), is_injected=True, index=index, spans=(whole,), continues=True
        )
    if value.get("type") in _COMPACTIONS:
        part = Part("attachment", media=sealed_media(value.get("encrypted_content")), source=span)
        return Message(
            "user", (part,), is_injected=True, is_summary=True, index=index, spans=(whole,)
        )
    role = ROLES[value["role"]] if value.get("type") in ("message", None) else "user"
    replaces_all = is_summary(value)
    is_injected = role == "user" and (replaces_all or not is_prompt(value))
    is_communication = value.get("type") == "inter_agent_communication"
    parts = communication(value, span) if is_communication else content(value, span)
    return Message(
        role, parts, is_injected=is_injected, is_summary=replaces_all, index=index, spans=(whole,)
    )


def is_prompt(value: Any) -> bool:
    """Whether an item is a user message that the client did not generate."""
    if kind_of(value) != "message" or isinstance(value, str) or value.get("role") != "user":
        return False
    # newer rollouts label each block of the content, a typed one as `user.text` or `user.image`
    labels = members(value.get("internal_chat_message_metadata_passthrough"))
    kinds = elements(labels.get("content_item_kinds"))
    if kinds:
        return any(str(kind).startswith("user.") for kind in kinds)
    text = _first_text(value)
    has_tag = text.lstrip()[:_LONGEST].lower().startswith(_CONTEXT)
    return not has_tag and _EXTERNAL.fullmatch(text) is None


def starts_turn(value: Any) -> bool:
    """Whether Codex treats an item as the start of a turn: a prompt, or a message of another agent,
    but no summary [openai/codex, codex-rs/core/src/context_manager/history.rs].
    """
    if is_prompt(value):
        return not is_summary(value)
    return isinstance(value, dict) and value.get("type") in _AGENT_MESSAGES


def is_delivery(metadata: Any) -> bool:
    """Whether an item with some metadata repeats what a program of the model told the user. Codex
    keeps it for its reviews, and does not send it
    [openai/codex, codex-rs/history/src/rollout_payload.rs].
    """
    marker = members(metadata).get("delivered_assistant_message")
    return isinstance(marker, str) and marker.startswith(_DELIVERY)


def is_context(value: Any) -> bool:
    """Whether an item is a message of the client that Codex drops with the turn after it
    [openai/codex, codex-rs/core/src/context_manager/history.rs].
    """
    if kind_of(value) != "message" or isinstance(value, str):
        return False
    if value.get("role") == "developer":
        texts = (string(members(block).get("text")) for block in elements(value.get("content")))
        return any((text or "").lstrip().lower().startswith(_DEVELOPER_CONTEXT) for text in texts)
    return value.get("role") == "user" and not is_prompt(value)


def is_summary(value: Any) -> bool:
    """Whether an item is a user message that summarizes everything before it."""
    if kind_of(value) != "message" or isinstance(value, str) or value.get("role") != "user":
        return False
    return value.get("type") == "compacted" or _first_text(value).lstrip().startswith(_SUMMARY)


def _first_text(value: dict[str, Any]) -> str:
    """The first text of a message; empty if there is none."""
    text = value.get("content", value.get("message"))
    if isinstance(text, list):
        text = next(
            (block["text"] for block in text if isinstance(block, dict) and block.get("text")), None
        )
    return text if isinstance(text, str) else ""


def _result(element: Element, index: int) -> Message:
    value, span, whole = element
    name, metadata = string(value.get("name")), metadata_in(value)
    key = next((key for key in _OUTPUTS if key in value), "output")
    parts = tuple(output(value.get(key), span.inside(key), call_id(value), name))
    return Message("tool", parts, name=name, metadata=metadata, index=index, spans=(whole,))
