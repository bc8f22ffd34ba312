"""Drafts of a text with its head, its tail and an island."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from msgspec.structs import replace

from ctxtrim.clipping.kind import ClipText, Draft
from ctxtrim.clipping.layout import Scale, Shares, layout, whole_ranges
from ctxtrim.clipping.markers import LEAST, Gap, gaps, joined, marked, marker, shown
from ctxtrim.text import Range

DENSEST = 4  # characters of a clip per range to keep; further ranges are ignored
_SHORT = 8 * LEAST  # characters of a gap that may save too little
# minimum tokens of a gap in multiples of its marker
_WORTH_ALONE, _WORTH_OF_SEVERAL = 2, 4
_LONGEST_RANGE = 3  # a range to keep gets at most this fraction of the limit

KindRanges = Callable[[int], Sequence[Range]]
"""The ranges that a clip of this size must keep, most important first."""
Adjust = Callable[[Sequence[Range]], list[Range]]


def select(
    source: ClipText,
    scale: Scale,
    shares: Shares,
    kind_ranges: KindRanges = lambda size: (),
    adjust: Adjust = list[Range],
) -> Iterator[Draft]:
    """Drafts with head, tail and an island.

    The ranges in `source.keep` come before those of the kind (`kind_ranges`). `adjust` corrects the
    kept ranges. The second draft may cut short lines.
    """
    markers = marked(source.text)

    def draft(size: int, limit: int, scale: Scale) -> str | None:
        if size >= LEAST:
            ranges = (*source.keep[: size // DENSEST], *kind_ranges(size))
        else:
            ranges = ()
        room = size * 3 // 4  # the head and the tail need the rest
        # the room with two markers is about the limit
        longest = min(max((size + 2 * LEAST) // _LONGEST_RANGE, 2 * LEAST), room)
        keep = whole_ranges(scale, ranges, longest, room)
        kept = joined(adjust(layout(scale, size, shares, keep)))
        return _shown(source, kept, markers, size + 2 * LEAST) if kept else None

    yield partial(draft, scale=scale)
    yield partial(draft, scale=replace(scale, line=0))


def _shown(source: ClipText, kept: Sequence[Range], markers: Sequence[Gap], room: int) -> str:
    """The kept ranges with their markers.

    Gaps that save too little compared with their marker are filled. One of several gaps has to save
    more, if there is room (`room`, characters) for its text and another marker.
    """
    removed = gaps(len(source.text), kept, markers, LEAST)
    ranges = list(kept)
    room_left = room - sum(end - start for start, end in kept)
    for gap in removed:
        size = gap.end - gap.start + (LEAST if len(removed) > 1 else 0)
        is_single = len(removed) == 1 or size > room_left
        if not gap.hidden and _is_small(source, gap, is_single):
            ranges.append((gap.start, gap.end))
            room_left -= gap.end - gap.start
    shown_ranges = _without_lone_breaks(source.text, joined(ranges), markers)
    return shown(source.text, shown_ranges, markers)


def _without_lone_breaks(text: str, kept: Sequence[Range], markers: Sequence[Gap]) -> list[Range]:
    """The kept ranges without line breaks that are alone between a marker and a gap.

    The marker of the gap can contain the line break, so no text would be between the two markers.
    """
    if not markers:
        return list(kept)
    removed = gaps(len(text), kept, markers, LEAST)
    starts = {gap.end: gap.start for gap in (*markers, *removed)}
    hidden: list[Range] = []
    for gap in removed:
        start = gap.start
        while (before := _before_break(text, start)) in starts:
            start = starts[before]
        hidden.append((start, gap.end))
    edges = [0, *(edge for hidden_range in joined(hidden) for edge in hidden_range), len(text)]
    return joined(list(zip(edges[::2], edges[1::2], strict=True)))


def _before_break(text: str, end: int) -> int | None:
    """The start of the line break that ends at a position; None if there is none."""
    if end == 0 or text[end - 1] != "\n":
        return None
    return end - (2 if text[max(end - 2, 0) : end] == "\r\n" else 1)


def _is_small(source: ClipText, gap: Gap, is_single: bool) -> bool:
    """Whether a gap saves too little; one of several gaps has to save more."""
    text = source.text[gap.start : gap.end]
    worth = _WORTH_ALONE if is_single else _WORTH_OF_SEVERAL
    replacement = f"\n{marker(0, len(text))}\n"
    count = source.tokenizer.count
    return len(text) <= _SHORT and count(text) <= worth * count(replacement)
