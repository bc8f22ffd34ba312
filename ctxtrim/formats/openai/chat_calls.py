"""Calls of Chat Completions: objects, JSON in a string, and messages with the role of a call."""

from collections.abc import Iterable, Sequence, Set
from typing import Any

from msgspec.structs import replace

from ctxtrim.formats.base import Edit
from ctxtrim.formats.fields import elements, located, members, string
from ctxtrim.formats.media_blocks import block_part
from ctxtrim.formats.message_lists import ListContents
from ctxtrim.formats.message_parts import call_part, content_parts
from ctxtrim.formats.openai import RESPONSES
from ctxtrim.formats.openai.chat_results import is_result
from ctxtrim.formats.sharegpt import calls_in
from ctxtrim.model import Part, Span
from ctxtrim.text.records import dump, value_in

_OTHER_ARGUMENTS = ("input", "args", "parameters")
"""Keys of the arguments of a custom call, in LangChain, and of other clients.

[langfuse/langfuse-python, `langfuse/langchain/CallbackHandler.py`]
"""
_NAMES = ("name", "function", "tool_name")
_LEGACY = "function_call"
_NO_CALLS = ("[]", "{}", "null", "None")  # strings that tables have for answers without calls
_COPIES = ("tool_use", "tool_call", "function_call")


def with_calls(
    value: dict[str, Any], parts: Sequence[Part], span: Span, contents: ListContents
) -> tuple[Part, ...]:
    """The parts of an answer's content, and its calls; `contents` counts an answer with a string
    without calls as not read.
    """
    content, calls, legacy = value.get("content"), value.get("tool_calls"), value.get(_LEGACY)
    if isinstance(content, list):
        parts = _without_copies(parts, content, elements(calls))
    all_parts, uncounted = list(parts), contents.uncounted
    call = None if calls else value.get("tool_call")
    if isinstance(calls, list):
        line, path = span.line, (*span.path, "tool_calls")
        for index, element in enumerate(calls):
            block = Span(line, (*path, index))
            if isinstance(element, dict):  # as almost always
                all_parts.append(_call(element, element.get("id"), block))
            else:
                all_parts += calls_of(element, block, contents)
    elif calls:
        all_parts += calls_of(calls, span.inside("tool_calls"), contents)
    if call:
        all_parts += calls_of(call, span.inside("tool_call"), contents)
    if isinstance(legacy, dict):
        all_parts.append(_call(legacy, None, span.inside(_LEGACY)))
    elif legacy:
        all_parts += calls_of(legacy, span.inside(_LEGACY), contents)
    contents.uncounted = min(contents.uncounted, uncounted + 1)  # messages, not strings
    if RESPONSES in value and not all(map(is_result, elements(value[RESPONSES]))):
        # the calls stay with their results, which are not read
        return (*parts, Part("text", dump(calls or call or legacy)))
    return tuple(all_parts)


def calls_of(call: Any, block: Span, contents: ListContents) -> list[Part]:
    """A call, or the calls in a string with JSON; `contents` counts a string without calls."""
    if isinstance(call, dict):
        return [_call(call, call.get("id"), block)]
    if not isinstance(call, str):
        return []
    calls = _calls_in_string(call, block)
    contents.uncounted += not (calls or call in _NO_CALLS)
    return calls


def _call(call: dict[str, Any], call_id: object, block: Span) -> Part:
    """A call; inspect, LangChain and Llama Stack write its name and arguments next to its id.

    A call with arguments under another key counts as its JSON.
    """
    inner, path = call.get("function"), (*block.path, "function")
    if not isinstance(inner, dict):
        inner, path = call.get("custom"), (*block.path, "custom")
    if isinstance(inner, dict):
        name = inner["name"] if "name" in inner else inner.get("function")
    else:
        inner, path = call, block.path
        name = next((call[key] for key in _NAMES if key in call), None)
        call_id = call_id or call.get("call_id")
    key = "arguments"
    if key not in inner:
        key = next((other for other in _OTHER_ARGUMENTS if other in inner), key)
        if key not in inner and any(map(_is_json, inner.values())):
            return call_part(inner, call_id, name, None, block)
    return call_part(inner.get(key), call_id, name, Span(block.line, (*path, key)), block)


def _is_json(value: Any) -> bool:
    """Whether a value is an object or an array, also as JSON in a string."""
    return isinstance(value, dict | list) or (isinstance(value, str) and value[:1] in ("{", "["))


def _without_copies(
    parts: Sequence[Part], content: Sequence[Any], calls: Sequence[Any]
) -> tuple[Part, ...]:
    """The parts of a content without the blocks that repeat calls of LangChain.

    LangChain keeps the blocks of Anthropic and others next to its own calls.
    """
    ids = _langchain_ids(calls)

    def is_copy(part: Part) -> bool:
        position = part.block.path[-1] if part.block is not None and part.span is None else None
        return isinstance(position, int) and _repeats(content[position], ids)

    return tuple(part for part in parts if not is_copy(part)) if ids else tuple(parts)


def _langchain_ids(calls: Iterable[Any]) -> set[str]:
    """The ids of the calls of LangChain among some calls."""
    ids = (string(call.get("id")) for call in map(members, calls) if "args" in call)
    return set(filter(None, ids))


def _repeats(block: Any, ids: Set[str]) -> bool:
    """Whether a block of a content repeats a call with one of some ids."""
    value = members(block)
    block_ids = (string(value.get("id")), string(value.get("call_id")))
    return value.get("type") in _COPIES and not ids.isdisjoint(block_ids)


def with_copies(edit: Edit) -> Edit:
    """The edit with the removal of blocks that repeat dropped calls of LangChain."""
    calls_by_message: dict[Span, list[Any]] = {}
    for span in edit.removed:
        if span.path[-2:-1] == ("tool_calls",):
            message = span.outer.outer
            calls_by_message.setdefault(message, []).append(edit.value_at(span))
    copies = {
        message.inside("content", position)
        for message, calls in calls_by_message.items()
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
    if not isinstance(content, list):
        return content_parts(content, span, block_part)
    parts: list[Part] = []
    for block, block_span in located(content, span):
        text = members(block).get("text")
        if isinstance(text, str):
            parts += calls_in(text, block_span.inside("text"), block_span)
        else:
            parts.append(block_part(block, block_span))
    return tuple(parts)
