"""JSON: the clip is JSON too.

Long strings and arrays are shortened and say by how much; other bytes are unchanged.

A size in characters is shared from the outside in: short values are kept whole, long values get
equal parts of the rest. Arrays keep items at both ends, whole if possible. Objects lose members
only if their values cannot be made short enough. The positions of a container's members are found
once for all tried sizes.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate
from operator import itemgetter, sub

from msgspec import structs

from ctxtrim.clipping.kind import ClipText, Draft, TextKind
from ctxtrim.clipping.layout import Scale, layout, shares_of, text_scale, whole_ranges
from ctxtrim.clipping.markers import LEAST, Gap, gaps, joined
from ctxtrim.clipping.selection import DENSEST
from ctxtrim.text import Range
from ctxtrim.text.json_spans import Leaf, Member, document, members

_STRING = re.compile(r"… \[(\d+) characters truncated\](?: …)?")
_ELEMENT = re.compile(r'"\[(\d+) more items? truncated\]"')
_MEMBER = re.compile(r'"…(?: \d+)?": "\[(\d+) more members? truncated\]"')
_SHAPE = re.compile(r"\s*(?:\[\s*[\[{\"\d\]tfn-]|\{\s*[\"}])")
_SHORT_STRING, _SHORT_CONTAINER = 40, 200  # characters of values that are never shortened
_EMPTY_MEMBER = 5  # characters of the shortest member of an object
_MARKER = 34  # characters of a marker in a string
_DEEPEST = 32  # levels of containers; deeper ones are not shortened

_Replacement = tuple[int, int, str]
"""A range of the text, and the text that replaces it."""


def _drafts(source: ClipText) -> Iterator[Draft]:
    content = document(source.text)
    if content is not None:
        inside, span = content
        shortener = _Shortener(source, span)
        shortener.remember(span[0], inside)
        yield shortener.draft
        if source.keep:
            yield replace(shortener, source=structs.replace(source, keep=())).draft


@dataclass(frozen=True)
class _Container:
    """The members of an object or an array, and the markers among them."""

    text: str
    inside: Sequence[Member]
    marks: Sequence[Gap]
    is_object: bool

    @cached_property
    def sizes(self) -> list[int]:
        """The characters of each member with its separator."""
        starts = [begin for begin, _, _ in self.inside]
        return list(map(sub, [*starts[1:], self.inside[-1][2]], starts))

    @cached_property
    def starts(self) -> list[int]:
        """The start of each member and the end of the last, counted from the first."""
        return list(accumulate(self.sizes, initial=0))

    @cached_property
    def largest(self) -> int:
        """The characters of the longest member."""
        return max(self.sizes)

    def starts_within(self, room: int) -> list[int]:
        """The starts of the members if those above two thirds of `room` are shortened.

        They get a third of it.
        """
        limit, third = 2 * room // 3, room // 3
        if self.largest <= limit:
            return self.starts
        shorter = [
            size if size <= limit else max(third, min(size, _SHORT_STRING)) for size in self.sizes
        ]
        return list(accumulate(shorter, initial=0))

    @cached_property
    def least(self) -> int:
        """The minimum characters of all members, with long strings and containers shortened."""
        limits = {'"': _SHORT_STRING, "[": _SHORT_CONTAINER, "{": _SHORT_CONTAINER}
        return sum(
            value - begin + min(size - (value - begin), limits.get(self.text[value], size))
            for (begin, value, _), size in zip(self.inside, self.sizes, strict=True)
        )


@dataclass(frozen=True)
class _Shortener:
    """A JSON text that can be shortened to any size; parsed containers are cached."""

    source: ClipText
    span: Range
    _containers: dict[int, _Container] = field(default_factory=dict)
    _leaves: dict[int, tuple[Leaf, Scale, list[Gap]]] = field(default_factory=dict)

    def draft(self, size: int, limit: int) -> str | None:
        """The text with about `size` characters.

        None if it has more than `limit`, or shows nothing of its value.
        """
        (start, end), text = self.span, self.source.text
        container = self._container(start)
        kept = self._kept(container, size)
        if not kept or end - start <= max(size, _SHORT_STRING):
            return None
        edits = list(self._edits(container, kept, size, 0))
        if len(text) - sum(stop - begin - len(new) for begin, stop, new in edits) > limit:
            return None
        pieces: list[str] = []
        done = 0
        for begin, stop, new in edits:
            pieces += (text[done:begin], new)
            done = stop
        return "".join((*pieces, text[done:]))

    def _value(self, start: int, end: int, size: int, depth: int) -> Iterator[_Replacement]:
        """The edits that shorten a value to about `size` characters, in order."""
        first = self.source.text[start]
        if end - start <= max(size, _SHORT_STRING) or depth > _DEEPEST:
            return
        if first == '"':
            yield from self._string(start, end, size)
        elif first in "[{":
            container = self._container(start)
            yield from self._edits(container, self._kept(container, size), size, depth)

    def _edits(
        self, container: _Container, kept: Sequence[Range], size: int, depth: int
    ) -> Iterator[_Replacement]:
        """The edits that shorten the kept members of a container and replace the others."""
        inside, sizes, done = container.inside, container.sizes, 0
        room = _share([size for first, last in kept for size in sizes[first:last]], size)
        removed = self._gaps(container, kept)
        names = self._names(container, removed)
        for gap in (*removed, Gap(len(inside), len(inside))):
            if room < container.largest:
                for position in range(done, gap.start):
                    if sizes[position] > room:
                        begin, value, stop = inside[position]
                        yield from self._value(value, stop, room - (value - begin), depth + 1)
            if gap.start < gap.end:
                count = gap.end - gap.start - gap.hidden + gap.characters
                marker = f'"[{count} more {"item" if count == 1 else "items"} truncated]"'
                if container.is_object:
                    noun = "member" if count == 1 else "members"
                    marker = f'{next(names)}"[{count} more {noun} truncated]"'
                yield inside[gap.start][0], inside[gap.end - 1][2], marker
            done = gap.end

    def _kept(self, container: _Container, size: int) -> list[Range]:
        """The kept members of a container, as ranges of their indices."""
        if not container.inside:
            return [(0, 0)]
        if (
            container.is_object
            and _EMPTY_MEMBER * len(container.inside) <= size
            and container.least <= size
        ):
            return [(0, len(container.inside))]
        starts = container.starts_within(size)

        def before(position: int, reach: int) -> int:
            return starts[bisect_right(starts, position) - 1]

        def after(position: int, reach: int) -> int:
            return starts[min(bisect_left(starts, position), len(starts) - 1)]

        keep = (
            (starts[index], starts[index + 1]) for index in self._indices_to_keep(container, size)
        )
        kept = layout(Scale(starts[-1], before, after), size, shares_of(self.source.mode), keep)
        return [(bisect_left(starts, first), bisect_left(starts, last)) for first, last in kept]

    def _indices_to_keep(self, container: _Container, size: int) -> Iterator[int]:
        """The indices of the members that contain ranges to keep, most important first."""
        first, last = container.inside[0][0], container.inside[-1][2]
        for start, _ in self._kept_in(first, last)[: size // DENSEST]:
            yield max(bisect_right(container.inside, (start, last, last)) - 1, 0)

    @cached_property
    def _sorted_keep(self) -> tuple[list[tuple[int, int, int]], list[int]]:
        """The ranges in `keep` by start, with their rank, and the running maximum of their ends."""
        ranges = sorted((start, stop, rank) for rank, (start, stop) in enumerate(self.source.keep))
        return ranges, list(accumulate((stop for _, stop, _ in ranges), max))

    def _kept_in(self, begin: int, end: int) -> list[Range]:
        """The ranges in `keep` that overlap a range, most important first.

        There may be thousands of others.
        """
        if not self.source.keep:
            return []
        ranges, reach = self._sorted_keep
        near = ranges[bisect_right(reach, begin) : bisect_left(ranges, (end,))]
        return [(start, stop) for start, stop, _ in sorted(near, key=itemgetter(2)) if begin < stop]

    def _gaps(self, container: _Container, kept: Sequence[Range]) -> list[Gap]:
        """The members that are not kept. A gap as short as its marker is filled."""
        inside = container.inside
        removed = gaps(len(inside), joined(kept), container.marks, 0)
        return [
            gap
            for gap in removed
            if gap.hidden or inside[gap.end - 1][2] - inside[gap.start][0] > LEAST
        ]

    def _names(self, container: _Container, removed: Sequence[Gap]) -> Iterator[str]:
        """The names of the markers of an object, with their colons: no kept marker has them."""
        kept: set[str] = set()
        for mark in container.marks:
            if not any(gap.start <= mark.start < gap.end for gap in removed):
                begin, value, _ = container.inside[mark.start]
                kept.add(self.source.text[begin:value])
        for number in range(1, len(container.marks) + len(removed) + 1):
            name = f'"… {number}": ' if number > 1 else '"…": '
            if name not in kept:
                yield name

    def _container(self, start: int) -> _Container:
        container = self._containers.get(start)
        if container is not None:
            return container
        return self.remember(start, members(self.source.text, start).spans)

    def remember(self, start: int, inside: Sequence[Member]) -> _Container:
        """Cache and return the container that starts at a position."""
        is_object = self.source.text[start] == "{"
        marks = self._marks(inside, _MEMBER if is_object else _ELEMENT)
        self._containers[start] = _Container(self.source.text, inside, marks, is_object)
        return self._containers[start]

    def _marks(self, inside: Sequence[Member], shape: re.Pattern[str]) -> list[Gap]:
        """The members that are markers."""
        text = self.source.text
        if not inside or text.find(" truncated]", inside[0][0], inside[-1][2]) < 0:
            return []
        matches = (
            (position, shape.fullmatch(text, begin, end))
            for position, (begin, _, end) in enumerate(inside)
        )
        return [
            Gap(position, position + 1, 1, 0, int(mark[1])) for position, mark in matches if mark
        ]

    def _string(self, start: int, end: int, size: int) -> Iterator[_Replacement]:
        if start not in self._leaves:
            leaf = Leaf(self.source.text[start + 1 : end - 1])
            matches = _STRING.finditer(leaf.value)
            marks = [
                Gap(*mark.span(), mark.end() - mark.start(), 0, int(mark[1])) for mark in matches
            ]
            self._leaves[start] = leaf, text_scale(leaf.value), marks
        leaf, scale, marks = self._leaves[start]
        value = leaf.value
        size = max(size - _MARKER, 0) * len(value) // len(leaf.spelling)
        keep = [
            (leaf.meant(max(begin - start - 1, 0)), leaf.meant(min(stop, end - 1) - start - 1))
            for begin, stop in self._kept_in(start + 1, end - 1)[: size // DENSEST]
        ]
        kept = layout(
            scale,
            size,
            shares_of(self.source.mode),
            whole_ranges(scale, keep, max(size // 3, 1), size * 3 // 4),
        )
        kept = joined([(scale.before(begin, 0), scale.after(stop, 0)) for begin, stop in kept])
        first = start + 1
        for gap in gaps(len(value), kept, marks, LEAST):
            count = gap.end - gap.start - gap.hidden + gap.characters
            marker = f"… [{count} characters truncated]" + (" …" if gap.end < len(value) else "")
            yield first + leaf.spelled(gap.start), first + leaf.spelled(gap.end), marker


def _share(sizes: Sequence[int], room: int) -> int:
    """The maximum characters of each member so that all fit the room and short ones stay whole."""
    left = len(sizes)
    for size in sorted(sizes):
        if size * left > room:
            return max(room // left, 0)
        room -= size
        left -= 1
    return max(sizes, default=0)


JSON = TextKind(
    "json",
    lambda text: _SHAPE.match(text) is not None and text[-64:].rstrip()[-1:] in ("]", "}"),
    _drafts,
    first=4,
)
