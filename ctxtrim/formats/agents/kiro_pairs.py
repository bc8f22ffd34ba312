"""Keeps the pairs of a Kiro history whole: every entry has a user and an assistant.

A prompt whose answer is dropped gets the next answer; that answer's entry is removed. Where none is
left, an empty text takes its place, which is not read as a message.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
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


_Place = tuple[Span, str]
"""An entry, and which half of it."""


class _Unit(Struct):
    """A half of a pair: a kept half of the entry at a span, or an inserted value.

    `is_after`: an inserted value comes after the entry.
    """

    half: Half
    entry: Span
    value: Any = None
    is_after: bool = False


class _Pairs(Struct):
    """The pairs of one list: members to set, entries to insert, and entries that hold a pair.

    `removed`: the halves of entries from which something is removed.
    """

    removed: Set[_Place]
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
        neighbour = earlier if earlier is not None and _entry(earlier.spans[0]) else site.last
        span, is_after = neighbour.spans[0], True
    results = [_result(message) for message in run if message.role == "tool"]
    values = [_results(results)] if results else []
    values += [_half(message) for message in run if message.role != "tool"]
    return [Insertion(value, span, is_after) for value in values]


def _share_half(message: Message, other: Message) -> bool:
    """Whether two messages are in the same half of an entry."""
    place = _place(message.spans[0])
    return place is not None and place == _place(other.spans[0])


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


def _place(span: Span) -> _Place | None:
    """The entry and the half that contain a span; None for the summary."""
    for position, key in enumerate(span.path):
        if key in _HALVES:
            return Span(span.line, span.path[:position]), str(key)
    return None


def _entry(span: Span) -> Span | None:
    """The entry that contains a span; None for the summary."""
    place = _place(span)
    return None if place is None else place[0]


def relink(edit: Edit) -> Edit:
    """The edit in whole pairs. A dropped summary becomes null."""
    edit = edit.with_value({span for span in edit.removed if span.path[-1:] == (_SUMMARY,)}, None)
    halves = [item for item in edit.inserted if _is_half(item)]
    insertions = [item for item in edit.inserted if not _is_half(item)]
    spans = (*(item.span for item in halves), *edit.removed)
    entries = set(filter(None, map(_entry, spans)))
    removed_halves = set(filter(None, map(_place, edit.removed)))
    new_halves: list[tuple[Span, Mapping[str, Any]]] = []
    unused_entries: set[Span] = set()
    for array in sorted({entry.outer for entry in entries}):
        pairs = _Pairs(removed_halves)
        _pair_all(_units(edit, array, halves), edit, pairs)
        insertions += pairs.inserted
        new_halves += pairs.members.items()
        list_entries = {array.inside(index) for index in range(len(edit.value_at(array)))}
        unused_entries |= list_entries - pairs.used_entries
    new_places = {(entry, half) for entry, changes in new_halves for half in changes}
    removals = {span for span in edit.removed if _place(span) not in new_places}
    removals |= unused_entries
    return replace(edit.with_members(new_halves), removed=removals, inserted=insertions)


def _is_half(item: Insertion) -> bool:
    """Whether an insertion is a half of an entry, rather than a result in a list."""
    return isinstance(item.value, dict) and any(key in item.value for key in _HALVES)


def _units(edit: Edit, array: Span, halves: Sequence[Insertion]) -> Iterator[_Unit]:
    """The halves that the list at a span has after the edit, in order."""
    old_halves = set(map(_place, edit.kept))
    around: dict[_Place | None, list[Insertion]] = {}
    for item in halves:
        around.setdefault(_place(item.span), []).append(item)
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


def _pair_all(units: Iterable[_Unit], edit: Edit, pairs: _Pairs) -> None:
    """Add the changes that make a pair of each user and the assistant after it."""
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
            if not _is_there(half, unit, entry, edit, pairs.removed)
        }
        if changes:
            pairs.members[entry] = changes
        return
    first_unit = next(unit for unit in (user, answer) if unit is not None)
    value = {half: _value(half, unit, edit) for half, unit in halves.items()}
    # the entry may already hold the pair before this one
    is_after = first_unit.is_after or first_unit.entry in pairs.used_entries
    pairs.inserted.append(Insertion(value, first_unit.entry, is_after))


def _is_there(half: str, unit: _Unit | None, entry: Span, edit: Edit, removed: Set[_Place]) -> bool:
    """Whether an entry already has a half of a pair. A missing one may be there without a text.

    `removed` as in `_Pairs`.
    """
    if unit is not None:
        return unit.value is None and unit.entry == entry
    value = members(edit.value_at(entry.inside(half)))
    if half == "user":
        prompt = members(value.get("content")).get("Prompt")
        is_empty = prompt == "" or members(prompt).get("prompt") == ""
    else:
        is_empty = members(value.get("Response")).get("content") == ""
    return is_empty and (entry, half) not in removed


def _value(half: str, unit: _Unit | None, edit: Edit) -> Any:
    """The value of a half: inserted, as it is after the edit, or without a text."""
    if unit is None:
        return _ANSWER if half == "assistant" else _user({"Prompt": {"prompt": ""}})
    return unit.value if unit.value is not None else edit.copy_at(unit.entry.inside(half))
