"""Calls of Chat Completions: objects, JSON in a string, and messages with the role of a call."""

from collections.abc import Iterable, Iterator, Sequence, Set
from typing import Any

from msgspec.structs import replace

from ctxtrim.formats.base import Edit
from ctxtrim.formats.fields import elements, members, string
from ctxtrim.formats.media_blocks import block_part
from ctxtrim.formats.message_lists import ListContents
from ctxtrim.formats.message_parts import call_part, content_parts
from ctxtrim.formats.sharegpt import calls_in
from ctxtrim.model import Part, Span
from ctxtrim.text.records import value_in

_ARGUMENTS = ("function", "arguments")
_LEGACY = "function_call"
_NO_CALLS = ("[]", "{}", "null", "None")  # strings that tables have for answers without calls
_COPIES = ("tool_use", "tool_call", "function_call")


def with_calls(
    value: dict[str, Any], parts: Sequence[Part], span: Span, found: ListContents
) -> tuple[Part, ...]:
    """The parts of an answer's content, and its calls; `found` counts an answer with a string that
    is no call in JSON.
    """
    content = value.get("content")
    if isinstance(content, list):
        parts = _without_copies(parts, content, elements(value.get("tool_calls")))
    every, is_unread = list(parts), False
    for call, block in _stored(value, span):
        if isinstance(call, dict):
            call_id = None if block.path[-1] == _LEGACY else call.get("id")
            every.append(_call(call, call_id, block))
        elif isinstance(call, str):
            calls = _calls_in_string(call, block)
            is_unread = is_unread or not (calls or call in _NO_CALLS)
            every += calls
    found.uncounted += is_unread
    return tuple(every)


def _stored(value: dict[str, Any], span: Span) -> Iterator[tuple[Any, Span]]:
    """The calls next to a content, which may be strings, and their spans."""
    calls, call, legacy = value.get("tool_calls"), value.get("tool_call"), value.get(_LEGACY)
    if isinstance(calls, list):
        for index, element in enumerate(calls):
            yield element, Span(span.line, (*span.path, "tool_calls", index))
    elif calls:
        yield calls, span.inside("tool_calls")
    if call and not calls:
        yield call, span.inside("tool_call")
    if legacy:
        yield legacy, span.inside(_LEGACY)


def _call(call: dict[str, Any], call_id: object, block: Span) -> Part:
    """A call; inspect and LangChain write its name and arguments next to its id."""
    inner, keys = call.get("function"), _ARGUMENTS
    if not isinstance(inner, dict):
        inner, keys = call.get("custom"), ("custom", "input")
    if not isinstance(inner, dict):
        name = call.get("name") if "name" in call else call.get("function")
        # LangChain's `ToolCall`, as Langfuse's callback logs it
        # [langfuse/langfuse-python, `langfuse/langchain/CallbackHandler.py`]
        key = "arguments" if "arguments" in call else "args"
        return call_part(call.get(key), call_id, name, block.inside(key), block)
    name = inner["name"] if "name" in inner else inner.get("function")
    return call_part(inner.get(keys[1]), call_id, name, Span(block.line, block.path + keys), block)


def _without_copies(
    parts: Sequence[Part], content: Sequence[Any], calls: Sequence[Any]
) -> tuple[Part, ...]:
    """The parts of a content without the blocks that repeat calls of LangChain.

    LangChain keeps the blocks of Anthropic and others next to its own calls.
    """
    names = _langchain_ids(calls)

    def is_copy(part: Part) -> bool:
        place = part.block.path[-1] if part.block is not None and part.span is None else None
        return isinstance(place, int) and _repeats(content[place], names)

    return tuple(part for part in parts if not is_copy(part)) if names else tuple(parts)


def _langchain_ids(calls: Iterable[Any]) -> set[str]:
    """The ids of the calls of LangChain among some calls."""
    ids = (string(each.get("id")) for each in map(members, calls) if "args" in each)
    return set(filter(None, ids))


def _repeats(block: Any, names: Set[str]) -> bool:
    """Whether a block of a content repeats a call with one of some ids."""
    value = members(block)
    ids = (string(value.get("id")), string(value.get("call_id")))
    return value.get("type") in _COPIES and not names.isdisjoint(ids)


def with_copies(edit: Edit) -> Edit:
    """The edit with the removal of blocks that repeat dropped calls of LangChain."""
    dropped: dict[Span, list[Any]] = {}
    for span in edit.removed:
        if span.path[-2:-1] == ("tool_calls",):
            message = Span(span.line, span.path[:-2])
            dropped.setdefault(message, []).append(edit.value_at(span))
    copies = {
        message.inside("content", position)
        for message, calls in dropped.items()
        for position, block in enumerate(elements(members(edit.value_at(message)).get("content")))
        if _repeats(block, _langchain_ids(calls))
    }
    return replace(edit, removed=edit.removed | copies) if copies else edit


def _calls_in_string(text: str, span: Span) -> list[Part]:
    """The calls in a string with JSON, as tables of training data store them.

    They are never shortened, and only a single call can be removed alone.
    """
    value = value_in(text)
    calls = [call for call in (value if isinstance(value, list) else [value]) if members(call)]
    block = span if len(calls) == 1 else None
    return [replace(_call(call, call.get("id"), span), span=None, block=block) for call in calls]


def calls_in_content(content: Any, span: Span) -> tuple[Part, ...]:
    """The content of a message whose role is a call: `{"name", "arguments"}` as JSON (ms-swift), or
    any text (smolagents).

    [modelscope/ms-swift, docs on the agent format of data sets]
    """
    if isinstance(content, str):
        return tuple(calls_in(content, span))
    parts: list[Part] = []
    for part in content_parts(content, span, block_part):
        at = part.block
        text = members(content[at.path[-1]]).get("text") if at is not None else None
        if at is not None and isinstance(text, str):
            parts += calls_in(text, at.inside("text"), at)
        else:
            parts.append(part)
    return tuple(parts)
