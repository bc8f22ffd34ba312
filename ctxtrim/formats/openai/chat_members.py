"""Members of messages besides those of Chat Completions: reasoning, and what some clients write."""

from collections.abc import Callable, Sequence
from typing import Any

from ctxtrim.formats.fields import elements
from ctxtrim.formats.message_lists import ListContents
from ctxtrim.formats.openai import answer_parts
from ctxtrim.loading.lazy_table import lazy_function
from ctxtrim.model import Part, Span

_CAMEL = "toolCalls"  # of AG-UI
_with_calls = lazy_function("ctxtrim.formats.openai.chat_calls:with_calls")


def with_members(
    value: dict[str, Any],
    parts: Sequence[Part],
    span: Span,
    whole: Span,
    contents: ListContents,
    block: Callable[[Any, Span], Part],
) -> tuple[tuple[Part, ...], Span]:
    """The parts of a message with those in its members, and the span to remove with it."""
    all_parts = answer_parts.with_members(value, parts, span, contents)
    if value.get(_CAMEL) and not value.get("tool_calls"):
        calls = {_CAMEL: value[_CAMEL]}
        all_parts = _with_calls(calls, all_parts, span, contents, _CAMEL)
    if "tool_responses" in value:
        from ctxtrim.formats.openai import chat_results  # for AutoGen and Gemma only

        whole = chat_results.add_responses(contents, value, span, whole, block)
        if not all(map(chat_results.is_result, elements(value["tool_responses"]))):
            contents.add_unread("`tool_responses` in an unknown form")
    return all_parts, whole
