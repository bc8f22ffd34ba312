"""Evaluation sets of the Agent Development Kit: `{"eval_cases": [{"conversation": […]}]}`.

An element of a conversation is an invocation, in snake or camel case::

    {"invocation_id", "user_content", "intermediate_data", "final_response"}

Its steps are `invocation_events`, each with a content, or lists: `tool_uses` (calls),
`tool_responses`, and `intermediate_responses` (pairs of an author and parts). Calls without any
response are expectations; they count as their JSON. Checked against `evaluation/eval_case.py` of
google/adk-python (2026): only `user_content` is required.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from ctxtrim.errors import NotEditableError
from ctxtrim.formats.base import Edit, Insertion, Site
from ctxtrim.formats.fields import Located, elements, located, members, metadata_in, string
from ctxtrim.formats.gemini.parts import (
    ROLES,
    call_of,
    content_value,
    is_media,
    messages_of,
    part_of,
    part_value,
    response,
    response_parts,
)
from ctxtrim.formats.media_blocks import untyped_text
from ctxtrim.formats.message_lists import Dialect, Element, Envelope, ListContents
from ctxtrim.formats.message_parts import event_id
from ctxtrim.model import Message, Part, Span
from ctxtrim.text.json_paths import Path
from ctxtrim.text.records import dump

_ID = ("invocation_id", "invocationId")
_USER = ("user_content", "userContent")
_DATA = ("intermediate_data", "intermediateData")
_FINAL = ("final_response", "finalResponse")
_CALLS = ("tool_uses", "toolUses")
_RESULTS = ("tool_responses", "toolResponses")
_REPLIES = ("intermediate_responses", "intermediateResponses")
_EVENTS = ("invocation_events", "invocationEvents")
_MEMBERS = frozenset((*_USER, *_DATA, *_FINAL))
_NO_PLACE = "an invocation of ADK has no place for a prompt between a result and the answer"


def knows(value: object) -> bool:
    """Whether a value is an invocation."""
    if not isinstance(value, dict):
        return False
    return isinstance(members(value.get(_key(value, _USER))).get("parts"), list)


def _key(value: dict[str, Any], keys: tuple[str, str]) -> str:
    """The key that a value has; if it has neither, the one in the case of its other keys."""
    is_camel = any(key[1] in value for key in (_USER, _CALLS, _RESULTS, _REPLIES))
    return next((key for key in keys if key in value), keys[is_camel])


def read(items: Iterable[Element], contents: ListContents) -> None:
    """Read the messages of each invocation."""
    for value, span, _ in items:
        if not isinstance(value, dict):
            continue
        for message in _messages(value, span):
            contents.add_message(message)


def _data(value: dict[str, Any], span: Span) -> tuple[dict[str, Any], Span]:
    key = _key(value, _DATA)
    return members(value.get(key)), span.inside(key)


def _items(value: dict[str, Any], keys: tuple[str, str], span: Span) -> list[Located]:
    """The elements of a list in an object at a span, with their spans."""
    key = _key(value, keys)
    return located(value.get(key), span.inside(key))


def _messages(value: dict[str, Any], span: Span) -> Iterator[Message]:
    """The messages of an invocation: the prompt, the steps, the answer."""
    key = _key(value, _USER)
    pieces = _items(members(value.get(key)), ("parts", "parts"), span.inside(key))
    if pieces:
        yield from messages_of("user", pieces, (), 0)
    data, data_span = _data(value, span)
    for event, place in _items(data, _EVENTS, data_span):
        yield from _event(members(members(event).get("content")), place.inside("content"))
    yield from _steps(value, span, data, data_span)


def _event(content: dict[str, Any], span: Span) -> Iterator[Message]:
    """The messages of an event. A role other than the known ones is the model's."""
    pieces = located(content.get("parts"), span.inside("parts"))
    role = ROLES.get(string(content.get("role")), "assistant")
    if pieces:
        yield from messages_of(role, pieces, tuple(place for _, place in pieces), 0)


def _steps(
    value: dict[str, Any], span: Span, data: dict[str, Any], data_span: Span
) -> Iterator[Message]:
    """Calls, results, and the answer, which includes the replies before it."""
    calls, results = _items(data, _CALLS, data_span), _items(data, _RESULTS, data_span)
    if results and calls:
        parts = tuple(call_of(members(call), place) for call, place in calls)
        yield Message("assistant", parts, spans=tuple(place for _, place in calls))
        calls = []
    for result, place in results:
        parts = response_parts(members(result), place)
        yield Message("tool", parts, metadata=metadata_in(members(result)), spans=(place,))
    pieces: list[Located] = []
    for reply, place in _items(data, _REPLIES, data_span):
        pieces += located(next(iter(elements(reply)[1:]), None), place.inside(1))
    key = _key(value, _FINAL)
    pieces += _items(members(value.get(key)), ("parts", "parts"), span.inside(key))
    answer = [part_of(part, place, calls=True) for part, place in pieces if _has_content(part)]
    answer += [Part("text", dump(call)) for call, _ in calls]  # last: no text can precede them
    if answer:
        spans = tuple(place for _, place in (*pieces, *calls))
        yield Message("assistant", tuple(answer), spans=spans)


def _has_content(part: Any) -> bool:
    """Whether any member of a part is not null."""
    return not isinstance(part, dict) or any(inner is not None for inner in part.values())


def envelope(value: dict[str, Any], span: Span) -> Envelope:
    """The id of the evaluation case."""
    return Envelope(id=string(value.get("eval_id", value.get("evalId"))))


def owner(array: Path) -> Path | None:
    """A reply is removed with its parts, an event with its content; other lists stay empty."""
    if is_media(array):
        return array
    if array[-1] == 1 and array[-3:-2] and array[-3] in _REPLIES:
        return array[:-1]
    if array[-2:] == ("content", "parts") and array[-4:-3] and array[-4] in _EVENTS:
        return array[:-2]
    return None


def _invocation_around(span: Span) -> Span:
    """The span of the invocation that contains a span."""
    position = next(index for index, key in enumerate(span.path) if key in _MEMBERS)
    return Span(span.line, span.path[:position])


def insert(run: Sequence[Message], site: Site) -> Sequence[Insertion]:
    """Results next to their call; other messages as invocations, or as steps inside one."""
    earlier, later = site.earlier, site.later
    before = _invocation_around(earlier.spans[-1]) if earlier is not None else None
    after = _invocation_around(later.spans[0]) if later is not None else None
    if earlier is not None and before is not None and (before == after or run[0].role == "tool"):
        last_span = earlier.spans[-1]
        parts = _parts_at(last_span)
        if later is not None and parts is not None and parts == _parts_at(later.spans[0]):
            return [Insertion(part_value(message), last_span, is_after=True) for message in run]
        return _inside(run, last_span, members(site.value_of(before)), before)
    is_after = after is None
    span = after or before or _invocation_around(site.last.spans[0])
    neighbour = members(site.value_of(span))
    return [
        Insertion(_invocation(message, neighbour, number), span, is_after)
        for number, message in enumerate(run)
    ]


def _parts_at(span: Span) -> Span | None:
    """The list of parts that has an element at a span."""
    parent = span.outer
    return parent if parent.path[-1] in ("parts", 1) else None


def _inside(
    run: Sequence[Message], last_span: Span, value: dict[str, Any], span: Span
) -> Sequence[Insertion]:
    """Messages after another message of an invocation, as events or as elements of its results.

    Lists have no place for another prompt. Before a result its texts join the prompt before it;
    after a result this raises `NotEditableError`.
    """
    data, data_span = _data(value, span)
    key = _key(data, _EVENTS)
    if key in data:
        contents = ((message.role, content_value([message])) for message in run)
        values = [{"author": role, "content": content} for role, content in contents]
    elif run[0].role == "user":
        if not any(name in last_span.path for name in _USER):
            raise NotEditableError(_NO_PLACE)
        return [Insertion(part_value(message), last_span, is_after=True) for message in run]
    else:
        key = _key(data, _RESULTS)
        values = [response(message) for message in run]
    is_after = key in last_span.path
    position = int(last_span.path[len(data_span.path) + 1]) if is_after else 0
    return [Insertion(value, data_span.inside(key, position), is_after) for value in values]


def _invocation(message: Message, neighbour: dict[str, Any], number: int) -> dict[str, Any]:
    content = content_value([message])
    name = event_id(neighbour.get("invocation_id"), dump(content), number)
    value = {_key(neighbour, _ID): name}
    if message.role != "assistant":
        return value | {_key(neighbour, _USER): content}
    prompt = {"parts": [], "role": "user"}
    return value | {_key(neighbour, _USER): prompt, _key(neighbour, _FINAL): content}


def relink(edit: Edit) -> Edit:
    """The edit that removes invocations without a message."""
    inner_spans = [item.span for item in edit.inserted if not _MEMBERS.isdisjoint(item.span.path)]
    survivors = set(map(_invocation_around, (*edit.kept, *inner_spans)))
    invocations = {span: _invocation_around(span) for span in edit.removed}
    removed = {
        span if invocation in survivors else invocation for span, invocation in invocations.items()
    }
    return replace(edit, removed=removed)


DIALECT = Dialect(
    "adk-eval",
    knows,
    read,
    insert,
    envelope=envelope,
    owner=owner,
    relink=relink,
    places=(
        "eval_cases[*].conversation", "evalCases[*].conversation", "conversation",
        "[*].eval_cases[*].conversation", "[*].evalCases[*].conversation", "",
    ),
    must_alternate=True,
    text_block=untyped_text,
)  # fmt: skip
