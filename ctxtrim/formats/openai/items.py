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

from ctxtrim.formats.fields import elements, members, metadata_in, string
from ctxtrim.formats.media_blocks import sealed_media
from ctxtrim.formats.message_lists import Element, ListContents
from ctxtrim.formats.openai.item_kinds import NO_MESSAGE, ROLES, ItemKind, kind_of
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

ItemState = Literal["reasoning", "open"] | None
"""The state of an answer: only reasoning so far, or more; None between answers."""

_COMPACTIONS = ("compaction", "compaction_summary", "context_compaction")
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
_EXTERNAL = re.compile(r"\s*<external_([^>]*)>.*</external_\1>\s*", re.DOTALL)
"""A text that an app server adds: nothing follows its tag."""
_LONGEST = max(map(len, _CONTEXT))
_TEXT_ROLES: dict[object, Role] = {
    "instructions": "system",
    "text": "system",
    "output": "assistant",
}
"""The roles of strings by their keys."""
_SUMMARY = "Another language model started to solve this problem"


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
