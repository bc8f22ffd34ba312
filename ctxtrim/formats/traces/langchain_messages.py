"""Messages of LangChain, serialized (`lc`, `id`, `kwargs`) or as objects with a `type`.

::

    {"lc": 1, "type": "constructor", "id": [ …, "HumanMessage"], "kwargs": {"content": …}}
    {"type": "human", "content": …}
    {"type": "human", "data": {"content": …}}
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from ctxtrim.formats.base import Insertion, Site
from ctxtrim.formats.fields import elements, located, member_names, members, string
from ctxtrim.formats.media_blocks import block_part, typed_text
from ctxtrim.formats.message_lists import Dialect, Element, ListContents, insert_elements
from ctxtrim.formats.message_parts import (
    call_part,
    content_parts,
    function_call,
    result_parts,
    text_of,
)
from ctxtrim.formats.usage import responses_usage
from ctxtrim.model import Message, Part, Role, Span
from ctxtrim.text.json_paths import Path

_ROLES: dict[str, Role] = {
    "system": "system",
    "human": "user",
    "ai": "assistant",
    "AIMessageChunk": "assistant",
    "tool": "tool",
    "function": "tool",
}
_CLASSES: dict[str, Role] = {
    "SystemMessage": "system",
    "HumanMessage": "user",
    "AIMessage": "assistant",
    "ToolMessage": "tool",
    "FunctionMessage": "tool",
}
_NAMES: dict[Role, tuple[str, str]] = {
    "system": ("system", "SystemMessage"),
    "user": ("human", "HumanMessage"),
    "assistant": ("ai", "AIMessage"),
    "tool": ("tool", "ToolMessage"),
}
"""The type and the class of a message by its role."""
_MARKS = frozenset(("lc", "type"))
"""Each message has one of these members."""
_CALLS = ("tool_use", "tool_call", "function_call", "input_json_delta")
"""Blocks that repeat a call."""
_ITEM_KEYS = frozenset(("id", "reasoning", "summary"))
"""Each block of reasoning has one of these members."""
_CALL_LISTS = ("tool_calls", "invalid_tool_calls")


def knows(value: object) -> bool:
    """Whether a value is a message of LangChain."""
    if not isinstance(value, dict) or _role(value) is None:
        return False
    return "content" in _body(value, Span(0))[0]


def _role(value: dict[str, Any]) -> Role | None:
    if "lc" in value:
        names = elements(value.get("id"))
        name = names[-1] if names and isinstance(names[-1], str) else ""
        return _CLASSES.get(name.removesuffix("Chunk"))
    kind = value.get("type")
    return _ROLES.get(kind) if isinstance(kind, str) and "role" not in value else None


def _body(value: dict[str, Any], span: Span) -> tuple[dict[str, Any], Span]:
    """The object with the content of a message."""
    key = next((key for key in ("kwargs", "data") if isinstance(value.get(key), dict)), None)
    return (value, span) if key is None else (value[key], span.inside(key))


def read(items: Iterable[Element], contents: ListContents) -> None:
    """Read one message per element."""
    for value, span, whole in items:
        role = _role(members(value))
        if role is None:
            contents.uncounted += 1
            continue
        body, body_span = _body(value, span)
        parts = tuple(_parts(body, body_span))
        if role == "tool":
            status = body.get("status")
            is_error = status == "error" if isinstance(status, str) else None
            name = string(body.get("name"))
            parts = result_parts(parts, string(body.get("tool_call_id")), name, is_error)
        metadata = members(body.get("response_metadata"))
        model = string(metadata.get("model_name")) or string(metadata.get("model"))
        contents.model = model or contents.model
        if role == "assistant":
            index = len(contents.messages)
            contents.add_usage(responses_usage(body.get("usage_metadata"), index, model))
        contents.add(role, (*parts, *_calls(body, body_span)), whole, value=value)


def _parts(body: dict[str, Any], span: Span) -> Iterator[Part]:
    """The parts of a message without its calls."""
    item = members(members(body.get("additional_kwargs")).get("reasoning"))
    if "summary" in item:  # older versions; newer ones have it in the content
        yield from _reasoning(item, span.inside("additional_kwargs", "reasoning"))
    content, place = body.get("content"), span.inside("content")
    if not isinstance(content, list):
        yield from content_parts(content, place, _block)
        return
    for block, block_span in located(content, place):
        if _is_reasoning(block):
            yield from _reasoning(block, block_span)
        elif members(block).get("type") not in _CALLS:
            yield _block(block, block_span)


def _is_reasoning(block: Any) -> bool:
    """Whether a block is reasoning: a text, or an item of OpenAI's Responses."""
    fields = members(block)
    return fields.get("type") == "reasoning" and not _ITEM_KEYS.isdisjoint(fields)


def _reasoning(block: dict[str, Any], span: Span) -> Iterator[Part]:
    """The parts of a reasoning block.

    LangChain sends the items of OpenAI with their ids. The API accepts those of texts and calls
    only with their reasoning, which is not removed alone.
    """
    from ctxtrim.formats.openai.item_parts import reasoning  # for such blocks only

    item = members(block.get("extras")) | block
    text = string(block.get("reasoning"))
    if text is not None:
        item["summary"] = text
    yield from reasoning(item, span, None if item.get("id") else span)


def _block(value: Any, span: Span) -> Part:
    block = members(value)
    kind = block.get("type")
    if isinstance(value, str):
        return Part("text", value, span=span, block=span)
    if kind == "thinking" and isinstance(block.get("thinking"), str):
        return Part("reasoning", block["thinking"], block=span)
    return typed_text(value, span) or block_part(value, span)


def _calls(body: dict[str, Any], span: Span) -> Iterator[Part]:
    """The calls of an answer; in older versions those of the provider, or its single call.

    Invalid calls, whose arguments are no JSON, are sent too [langchain-ai/langchain,
    libs/partners/openai/langchain_openai/chat_models/base.py, `_convert_message_to_dict`].
    """
    lists = [(body[key], span.inside(key)) for key in _CALL_LISTS if key in body]
    provider, place = members(body.get("additional_kwargs")), span.inside("additional_kwargs")
    if not lists:
        lists = [(provider.get("tool_calls"), place.inside("tool_calls"))]
    if isinstance(provider.get("function_call"), dict):
        single = place.inside("function_call")
        yield function_call(provider["function_call"], None, single, single)
    for calls, list_span in lists:
        for index, call in enumerate(map(members, elements(calls))):
            yield _call(call, list_span.inside(index))


def _call(call: dict[str, Any], block: Span) -> Part:
    """A call of LangChain, or of OpenAI."""
    call_id = call.get("id")
    if "function" in call:
        function = members(call["function"])
        return function_call(function, call_id, block.inside("function"), block)
    return call_part(call.get("args"), call_id, call.get("name"), block.inside("args"), block)


def owner(array: Path) -> Path | None:
    """A message is removed with the last block of its content."""
    if array[-1] != "content":
        return None
    return array[:-2] if array[-2:-1] in (("kwargs",), ("data",)) else array[:-1]


def insert(run: Sequence[Message], site: Site) -> list[Insertion]:
    """Each message in the form of its neighbours."""
    neighbour = members(site.value_of(site.last.spans[0]))
    return insert_elements(run, site, [_json_value(message, neighbour) for message in run])


def _json_value(message: Message, neighbour: dict[str, Any]) -> dict[str, Any]:
    kind, name = _NAMES[message.role]
    body: dict[str, Any] = {"content": text_of(message.parts)}
    if message.result is not None:
        body["tool_call_id"] = message.result.call_id
    if "lc" in neighbour:
        names = [*elements(neighbour.get("id"))[:-1], name]
        return {
            "lc": neighbour["lc"],
            "type": "constructor",
            "id": names,
            "kwargs": body | {"type": kind},
        }
    return {"type": kind} | ({"data": body} if "data" in neighbour else body)


def claims(items: Sequence[Any], around: Mapping[str, Any]) -> bool:
    """Whether some elements can only be messages of LangChain: a prompt, an answer, or serialized.

    Other programs write objects with the types of the other messages.
    """
    if _MARKS.isdisjoint(member_names(items)):  # as in long lists of OpenAI
        return False
    return any(
        knows(value) and ("lc" in value or value["type"] in ("human", "ai", "AIMessageChunk"))
        for value in items
    )


DIALECT = Dialect("langchain", knows, read, insert, owner=owner)
IN_FILES = replace(
    DIALECT,
    claims=claims,
    places=("messages", "[*].messages", "values.messages", "[*].values.messages", ""),
)
"""Chat histories and states of LangGraph. `DIALECT` reads the messages of a traced request."""
