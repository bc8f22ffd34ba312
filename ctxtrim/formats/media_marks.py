"""Attachments in lists next to the messages, of which each belongs to a mark in a text.

::

    {"messages": [{"content": "<image> Which berth is this?"}], "images": ["berth.jpg"]}

The n-th mark is the n-th attachment. [hiyouga/LLaMA-Factory, data/README.md; modelscope/ms-swift,
docs on custom data sets]
"""

from collections.abc import Iterator
from itertools import takewhile
from typing import Any

from msgspec.structs import replace

from ctxtrim.errors import NotEditableError
from ctxtrim.formats.base import Edit
from ctxtrim.formats.fields import MARKS, elements, members
from ctxtrim.model import Span
from ctxtrim.text.records import dump, value_in

_KEYS = [b'"' + name.encode() for name in MARKS]  # the end may be escaped, inside a string
_DEEPEST = 3  # keys and indices before the list of messages


def relink(edit: Edit) -> Edit:
    """The edit, which also removes the attachments whose marks it removes."""
    removed = {span for holder in _holders(edit) for span in _without_mark(edit, holder)}
    return replace(edit, removed=edit.removed | removed) if removed else edit


def _holders(edit: Edit) -> list[Span]:
    """The objects around edited messages that have attachments next to the messages."""
    spans = {*edit.removed, *edit.texts, *(insertion.span for insertion in edit.inserted)}
    lines = {span.line for span in spans}
    lines = {line for line in lines if edit.mentions(line, _KEYS)}
    # most messages share these objects; the key and the index of a message follow
    paths = {
        (span.line, span.path[:depth])
        for span in spans
        if span.line in lines
        for depth in range(min(len(span.path) - 1, _DEEPEST))
    }
    holders = []
    for line, path in paths:
        holder = Span(line, path)
        value = members(edit.value_at(holder))
        if any(isinstance(value.get(key), list) for key in MARKS):
            holders.append(holder)
    return holders


def _without_mark(edit: Edit, holder: Span) -> Iterator[Span]:
    """The attachments of an object whose marks are removed."""
    value = edit.value_at(holder)
    insertions = [insertion.value for insertion in edit.inserted if _is_in(insertion.span, holder)]
    new_text = dump(insertions)
    for key, mark in MARKS.items():
        if mark in new_text:
            raise NotEditableError(f"a new message has a mark {mark} without an attachment")
        attachments = elements(value.get(key))
        kept = [
            is_kept
            for span, text in _texts(value, holder)
            for is_kept in _kept(edit, span, text, mark)
        ]
        if all(kept):
            continue
        if len(kept) != len(attachments):
            raise NotEditableError(
                f"{len(kept)} marks {mark} for {len(attachments)} values in `{key}`: it is "
                "unclear which of them belong to the edited messages"
            )
        yield from (holder.inside(key, index) for index, is_kept in enumerate(kept) if not is_kept)


def _is_in(span: Span, holder: Span) -> bool:
    """Whether a span is in an object."""
    return span.line == holder.line and span.path[: len(holder.path)] == holder.path


def _texts(value: dict[str, Any], holder: Span) -> Iterator[tuple[Span, str]]:
    """The texts of the messages in an object, with their spans."""
    for key, items in value.items():
        if key in MARKS:
            continue
        messages = value_in(items) if isinstance(items, str) else items
        for index, message in enumerate(elements(messages)):
            for name in ("content", "value"):
                content, span = members(message).get(name), holder.inside(key, index, name)
                if isinstance(content, str):
                    yield span, content
                for position, block in enumerate(elements(content)):
                    if isinstance(text := members(block).get("text"), str):
                        yield span.inside(position, "text"), text


def _kept(edit: Edit, span: Span, text: str, mark: str) -> list[bool]:
    """Whether each mark in a text stays."""
    if mark not in text and mark not in str(edit.texts.get(span)):
        return []
    around = [Span(span.line, span.path[:length]) for length in range(len(span.path) + 1)]
    if not edit.removed.isdisjoint(around):
        return [False] * text.count(mark)
    new = edit.texts.get(span, text)
    if not isinstance(new, str):
        return [False] * text.count(mark)
    before, after = _same(text, new), _same(text[::-1], new[::-1])
    kept = []
    start = text.find(mark)
    while start >= 0:
        end = start + len(mark)
        kept.append(end <= before or start >= len(text) - after)
        start = text.find(mark, end)
    if new.count(mark) != sum(kept):
        raise NotEditableError(f"an edit adds or moves a mark {mark} inside a text")
    return kept


def _same(text: str, other: str) -> int:
    """The number of characters with which both texts begin."""
    return sum(
        1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(text, other, strict=False))
    )
