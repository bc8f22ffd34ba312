"""Attachments next to the messages, of which each belongs to a mark in a text.

::

    {"messages": [{"content": "<image> Which berth is this?"}], "images": ["berth.jpg"]}

The n-th mark is the n-th attachment. A block without data, `{"type": "image"}`, is a mark too.
[hiyouga/LLaMA-Factory, data/README.md; modelscope/ms-swift, docs on custom data sets;
huggingface/trl, docs on data set formats; haotian-liu/LLaVA, docs/Finetune_Custom_Data.md]

In `objects`, ms-swift lists boxes and names for other marks, and the images to which they belong.
"""

from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import Any

from msgspec.structs import replace

from ctxtrim.errors import NotEditableError
from ctxtrim.formats.base import Edit
from ctxtrim.formats.fields import is_in, located, members
from ctxtrim.formats.request_options import MARKS, MEDIA_KEYS, is_media, marks_in
from ctxtrim.model import Span
from ctxtrim.text.json_paths import Path
from ctxtrim.text.records import dump, value_in

# the starts of the keys; their ends may be escaped, inside a string
_KEYS = (b'"image', b'"video', b'"audio', b'"objects')
_OBJECT_MARKS = {"ref": "<ref-object>", "bbox": "<bbox>"}
_DEEPEST = 3  # keys and indices before the list of messages


def relink(edit: Edit) -> Edit:
    """The edit, which also removes the attachments whose marks it removes."""
    removed = {
        span for holder, value in _holders(edit) for span in _without_mark(edit, holder, value)
    }
    return replace(edit, removed=edit.removed | removed) if removed else edit


def _holders(edit: Edit) -> Iterator[tuple[Span, dict[str, Any]]]:
    """The objects around edited messages that have attachments next to the messages."""
    lines = {span.line for span in edit.changed}
    paths: dict[int, set[Path]] = {line: set() for line in lines if edit.mentions(line, _KEYS)}
    for span in edit.changed:
        if span.line in paths:
            # most messages share these objects; the key and the index of a message follow
            depths = range(min(len(span.path) - 1, _DEEPEST))
            paths[span.line].update(span.path[:depth] for depth in depths)
    for line, paths_in_line in paths.items():
        values: dict[Path, Any] = {}  # a string is parsed once for all paths into it
        for path in sorted(paths_in_line, key=len):
            value = values[path[:-1]][path[-1]] if path else edit.values[line]
            values[path] = value = value_in(value) if isinstance(value, str) else value
            if _is_holder(members(value)):
                yield Span(line, path), value


def _is_holder(value: dict[str, Any]) -> bool:
    """Whether an object has attachments or boxes next to messages."""
    return _has_boxes(value) or any(is_media(value.get(key)) for key in MEDIA_KEYS)


def _has_boxes(value: dict[str, Any]) -> bool:
    """Whether an object has boxes or names for marks; often the lists are there but empty."""
    objects = members(value.get("objects"))
    return any(objects.get(key) for key in _OBJECT_MARKS)


def _check_boxes(edit: Edit, holder: Span, value: dict[str, Any]) -> None:
    """Refuse an edit that removes a mark from an object with boxes."""
    for mark in (*_OBJECT_MARKS.values(), *MARKS):
        for span, text, _ in _texts(value, holder):
            if not all(_kept(edit, span, text, mark)):
                raise NotEditableError(
                    f"a mark {mark} would be removed, but the boxes in `objects` belong to the "
                    "marks in their order"
                )


def _without_mark(edit: Edit, holder: Span, value: dict[str, Any]) -> Iterator[Span]:
    """The attachments of an object whose marks are removed."""
    marks_of_media = marks_in(value)
    if _has_boxes(value):
        _check_boxes(edit, holder, value)
        marks_of_media = tuple(MARKS)
    insertions = [insertion.value for insertion in edit.inserted if is_in(insertion.span, holder)]
    new_text = dump(insertions)
    for mark in marks_of_media:
        list_key, single_key = MARKS[mark]
        if mark in new_text:
            raise NotEditableError(f"a new message has a mark {mark} without an attachment")
        marks = [
            (index, is_kept)
            for span, text, index in _texts(value, holder)
            for is_kept in _kept(edit, span, text, mark)
        ]
        kept = [index for index, is_kept in marks if is_kept]
        if len(kept) == len(marks):
            continue
        key = list_key if is_media(value.get(list_key)) else single_key
        attachments = _attachments(value.get(key), holder.inside(key))
        if len(marks) != len(attachments):
            raise NotEditableError(
                f"{len(marks)} marks {mark} for {len(attachments)} values in `{key}`: it is "
                "unclear which of them belong to the edited messages"
            )
        _check_indices(kept)
        if key == single_key and not kept:
            yield holder.inside(key)  # readers open what is there, also an empty list
        else:
            pairs = zip(attachments, marks, strict=True)
            yield from (attachment for attachment, (_, is_kept) in pairs if not is_kept)


def _attachments(value: Any, span: Span) -> list[Span]:
    """The attachments under a key next to the messages: the elements of a list, or a single one."""
    if isinstance(value, list):
        return [span.inside(index) for index in range(len(value))]
    return [span] if is_media(value) else []


def _check_indices(kept: Sequence[int | None]) -> None:
    """Refuse an edit after which the `index` of a block points to another attachment."""
    for number, index in enumerate(kept):
        if index is not None and index != number:
            raise NotEditableError(
                f"the `index` {index} of a block that stays would point to another attachment"
            )


def _texts(value: dict[str, Any], holder: Span) -> Iterator[tuple[Span, str, int | None]]:
    """The texts of the messages in an object, with their spans.

    A block without data is a mark, with its index if it has one.
    """
    for key, items in value.items():
        if key in MEDIA_KEYS:
            continue
        messages = value_in(items) if isinstance(items, str) else items
        for message, span in located(messages, holder.inside(key)):
            for name in ("content", "value"):
                yield from _texts_in(members(message).get(name), span.inside(name))


def _texts_in(content: Any, span: Span) -> Iterator[tuple[Span, str, int | None]]:
    """The texts of one content, a string or a list of blocks, as in `_texts`."""
    if isinstance(content, str):
        yield span, content, None
    for block, block_span in located(content, span):
        mark, text = _mark_of(block), members(block).get("text")
        if mark is not None:
            index = block.get("index")
            yield block_span, mark, index if isinstance(index, int) else None
        elif isinstance(text, str):
            yield block_span.inside("text"), text, None


def _mark_of(block: Any) -> str | None:
    """The mark of a block without data; None for any other block."""
    mark = f"<{members(block).get('type')}>"
    if mark not in MARKS:
        return None
    values = [value for key, value in block.items() if key != "type"]  # numbers are no data
    return None if any(value and isinstance(value, (str, list, dict)) for value in values) else mark


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
