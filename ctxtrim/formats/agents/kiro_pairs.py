"""Keeps the pairs of a Kiro history whole: every entry has a user and an assistant.

A prompt whose answer is dropped gets the next answer; that answer's entry is removed. Where none is
left, an empty text takes its place, which is not read as a message.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct, field
from msgspec.structs import replace

from ctxtrim.errors import NotEditableError
from ctxtrim.formats.base import Edit, Insertion, Site
from ctxtrim.formats.fields import members
from ctxtrim.formats.message_parts import text_of
from ctxtrim.model import Message, Span

Half = Literal["user", "assistant"]
_HALVES: tuple[Half, Half] = ("user", "assistant")
_SUMMARY = "latest_summary"
_ANSWER = {"Response": {"message_id": None, "content": ""}}


class _Unit(Struct):
    """A half of a pair: a kept half of the entry at a span, or an inserted value.

    `is_after`: an inserted value comes after the entry.
    """

    half: Half
    entry: Span
    value: Any = None
    is_after: bool = False


class _Pairs(Struct):
    """The pairs of one list: members to set, entries to insert, and entries that hold a pair."""

    members: dict[Span, dict[str, Any]] = field(default_factory=dict)
    inserted: list[Insertion] = field(default_factory=list)
    used_entries: set[Span] = field(default_factory=set)


def insert(run: Sequence[Message], site: Site) -> Sequence[Insertion]:
    """Each message as a half of an entry, except results next to another result.

    Raises a `NotEditableError` between results and a prompt that share a half.
    """
    earlier, later = site.earlier, site.later
    for other in (earlier, later):
        if run[0].role == "tool" and other is not None and other.role == "tool":
            span = other.spans[0]
            return [Insertion(_result(message), span, other is earlier) for message in run]
    if earlier is not None and later is not None and _share_half(earlier, later):
        raise NotEditableError("no message can come between the results and the prompt of an entry")
    if later is not None and _entry(later.spans[0]) is not None and run[0].role != "tool":
        span, is_after = later.spans[0], False
    else:
        neighbour = earlier if earlier is not None and _entry(earlier.spans[0]) else site.any
        span, is_after = neighbour.spans[0], True
    results = [_result(message) for message in run if message.role == "tool"]
    values = [_results(results)] if results else []
    values += [_half(message) for message in run if message.role != "tool"]
    return [Insertion(value, span, is_after) for value in values]


def _share_half(message: Message, other: Message) -> bool:
    """Whether two messages are in the same half of an entry."""
    entry, span, other_span = _entry(message.spans[0]), message.spans[0], other.spans[0]
    if entry is None or _entry(other_span) != entry:
        return False
    return span.path[len(entry.path)] == other_span.path[len(entry.path)]


def _half(message: Message) -> dict[str, Any]:
    """A message as an object with one half of an entry."""
    if message.role == "assistant":
        answer = {"message_id": None, "content": text_of(message.parts)}
        return {"assistant": {"Response": answer}}
    return {"user": _user({"Prompt": {"prompt": text_of(message.parts)}})}


def _results(results: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {"user": _user({"ToolUseResults": {"tool_use_results": results}})}


def _user(content: dict[str, Any]) -> dict[str, Any]:
    context = {"additional_context": "", "env_context": {"env_state": None}}
    return context | {"content": content, "timestamp": None, "images": None}


def _result(message: Message) -> dict[str, Any]:
    call_id = message.result.call_id if message.result is not None else None
    content = [{"Text": text_of(message.parts)}]
    return {"tool_use_id": call_id, "content": content, "status": "Success"}


def _entry(span: Span) -> Span | None:
    """The span of the entry that contains a span; None for the summary."""
    position = next((index for index, key in enumerate(span.path) if key in _HALVES), None)
    return None if position is None else Span(span.line, span.path[:position])


def relink(edit: Edit) -> Edit:
    """The edit in whole pairs. A dropped summary becomes null."""
    edit = edit.with_value({span for span in edit.removed if span.path[-1:] == (_SUMMARY,)}, None)
    halves = [item for item in edit.inserted if _is_half(item)]
    insertions = [item for item in edit.inserted if not _is_half(item)]
    spans = (*(item.span for item in halves), *edit.removed)
    entries = set(filter(None, map(_entry, spans)))
    removals = set(edit.removed)
    new_halves: list[tuple[Span, Mapping[str, Any]]] = []
    for array in sorted({entry.outer for entry in entries}):
        pairs = _pairs_of(list(_units(edit, array, halves)), edit)
        insertions += pairs.inserted
        new_halves += pairs.members.items()
        for entry, changes in pairs.members.items():
            removals -= {span for span in removals if _is_within(span, entry, changes)}
        list_entries = {array.inside(index) for index in range(len(edit.value_at(array)))}
        removals |= list_entries - pairs.used_entries
    return replace(edit.with_members(new_halves), removed=removals, inserted=insertions)


def _is_within(span: Span, entry: Span, changes: Mapping[str, Any]) -> bool:
    """Whether a span is inside a half of an entry that gets a new value."""
    return _entry(span) == entry and span.path[len(entry.path)] in changes


def _is_half(item: Insertion) -> bool:
    """Whether an insertion is a half of an entry, rather than a result in a list."""
    return isinstance(item.value, dict) and any(key in item.value for key in _HALVES)


def _units(edit: Edit, array: Span, halves: Sequence[Insertion]) -> Iterator[_Unit]:
    """The halves that the list at a span has after the edit, in order."""
    old_halves = {
        (entry, span.path[len(entry.path)])
        for span in edit.kept
        if (entry := _entry(span)) is not None
    }
    around: dict[tuple[Span | None, Any], list[Insertion]] = {}
    for item in halves:
        entry = _entry(item.span)
        half = item.span.path[len(entry.path)] if entry is not None else None
        around.setdefault((entry, half), []).append(item)
    for index in range(len(edit.value_at(array))):
        entry = array.inside(index)
        for half in _HALVES:
            insertions = around.get((entry, half), [])
            yield from (_new_unit(item, entry) for item in insertions if not item.is_after)
            if (entry, half) in old_halves:
                yield _Unit(half, entry)
            yield from (_new_unit(item, entry) for item in insertions if item.is_after)


def _new_unit(item: Insertion, entry: Span) -> _Unit:
    half: Half = "assistant" if "assistant" in item.value else "user"
    return _Unit(half, entry, item.value[half], item.is_after)


def _pairs_of(units: Sequence[_Unit], edit: Edit) -> _Pairs:
    """The changes that make a pair of each user and the assistant after it."""
    pairs = _Pairs()
    user: _Unit | None = None  # that waits for its answer
    for unit in units:
        if unit.half == "assistant":
            _pair(user, unit, edit, pairs)
            user = None
        else:
            if user is not None:
                _pair(user, None, edit, pairs)
            user = unit
    if user is not None:
        _pair(user, None, edit, pairs)
    return pairs


def _pair(user: _Unit | None, answer: _Unit | None, edit: Edit, pairs: _Pairs) -> None:
    """Add the changes that make a pair; its entry is that of a half that is kept."""
    entries = [unit.entry for unit in (user, answer) if unit is not None and unit.value is None]
    entry = next((entry for entry in entries if entry not in pairs.used_entries), None)
    halves = {"user": user, "assistant": answer}
    if entry is not None:
        pairs.used_entries.add(entry)
        changes = {
            half: _value(half, unit, edit)
            for half, unit in halves.items()
            if not _is_there(half, unit, entry, edit)
        }
        if changes:
            pairs.members[entry] = changes
        return
    first_unit = next(unit for unit in (user, answer) if unit is not None)
    value = {half: _value(half, unit, edit) for half, unit in halves.items()}
    # the entry may already hold the pair before this one
    is_after = first_unit.is_after or first_unit.entry in pairs.used_entries
    pairs.inserted.append(Insertion(value, first_unit.entry, is_after))


def _is_there(half: str, unit: _Unit | None, entry: Span, edit: Edit) -> bool:
    """Whether an entry already has a half of a pair. A missing one may be there without a text."""
    if unit is not None:
        return unit.value is None and unit.entry == entry
    value = members(edit.value_at(entry.inside(half)))
    if half == "user":
        prompt = members(value.get("content")).get("Prompt")
        is_empty = prompt == "" or members(prompt).get("prompt") == ""
    else:
        is_empty = members(value.get("Response")).get("content") == ""
    return is_empty and not any(_is_within(span, entry, {half: None}) for span in edit.removed)


def _value(half: str, unit: _Unit | None, edit: Edit) -> Any:
    """The value of a half: inserted, as it is after the edit, or without a text."""
    if unit is None:
        return _ANSWER if half == "assistant" else _user({"Prompt": {"prompt": ""}})
    return unit.value if unit.value is not None else edit.copy_at(unit.entry.inside(half))
