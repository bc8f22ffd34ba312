"""The longest clip of a text within a token limit."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from ctxtrim.clipping.kind import Cut
from ctxtrim.clipping.layout import Scale, Shares, layout, whole
from ctxtrim.clipping.markers import LEAST, Gap, gaps, joined, marked, marker, shown
from ctxtrim.text.json_spans import Range
from ctxtrim.tokens import Tokenizer

DENSEST = 4  # characters of a clip per range to keep; further ranges are ignored
_USUAL = 4  # characters per token, the first guess
_WIDEST = 64  # characters per token, an upper bound
_MARKERS = 12  # tokens of the markers of a clip
_SPARE = 50  # a clip that leaves at most this fraction of the limit free is good enough
_GUESSES, _TRIES = 4, 12  # guesses before the search bisects; tries before it ends
_SHORT = 8 * LEAST  # characters of a gap that may save too little
_WORTH = 2, 4  # minimum tokens of a gap in multiples of its marker: a single gap, one of two
_WANTED = 3  # a range to keep gets at most this fraction of the room

Want = Callable[[int], Sequence[Range]]
"""The ranges that a clip of this size must keep, most important first."""
Adjust = Callable[[Sequence[Range]], list[Range]]


def fits(text: str, limit: int, tokenizer: Tokenizer) -> bool:
    """Whether a text has at most `limit` tokens.

    Only a beginning of a much longer text is counted.
    """
    length = _WIDEST * max(limit, 1)
    while length < len(text):
        # More text may merge with the last few tokens only.
        if tokenizer.count(text[:length]) > limit + _SPARE:
            return False
        length *= 8
    return tokenizer.count(text) <= limit


def select(
    cut: Cut,
    scale: Scale,
    shares: Shares,
    want: Want = lambda size: (),
    adjust: Adjust = list[Range],
) -> str | None:
    """The clip of a text with head, tail and an island within the limit; None if not even a marker
    fits.

    The ranges in `cut.keep` come before those of the kind. `adjust` corrects the kept ranges.
    """
    markers = marked(cut.text)

    def clip(size: int, scale: Scale = scale) -> str | None:
        ranges = (*cut.keep[: size // DENSEST], *want(size)) if size >= LEAST else ()
        wanted = whole(scale, ranges, max(size // _WANTED, min(size * 3 // 4, 2 * LEAST)))
        kept = joined(adjust(layout(scale, size, shares, wanted)))
        return _shown(cut, kept, markers) if kept else None

    return longest(clip, cut) or longest(partial(clip, scale=replace(scale, line=0)), cut)


def longest(clip: Callable[[int], str | None], cut: Cut) -> str | None:
    """The longest clip within the limit, by search over sizes in characters; None if none fits.

    A clip of None is too long, or shows nothing.
    """
    low, high, best, size = 0, len(cut.text), None, min(_USUAL * cut.limit, len(cut.text) - 1)
    for attempt in range(_TRIES):
        clipped = clip(size)
        tokens = _WIDEST * cut.limit
        if clipped is not None and len(clipped) <= 4 * tokens:
            tokens = cut.tokenizer.count(clipped)
        if tokens <= cut.limit:
            low, best = size, clipped
            if cut.limit - tokens <= cut.limit // _SPARE:
                break
        else:
            high = size
        if high - low <= max(low // _SPARE, 1):
            break
        size = size * max(cut.limit - _MARKERS, 1) // max(tokens - _MARKERS, 1)
        if not low < size < high or attempt >= _GUESSES:
            size = (low + high) // 2 if low else min(size, high) // 2
    return best


def _shown(cut: Cut, kept: Sequence[Range], markers: Sequence[Gap]) -> str:
    """The kept ranges with their markers.

    Gaps that save too little compared with their marker are filled.
    """
    removed = gaps(len(cut.text), kept, markers, LEAST)
    filled = list(kept)
    for gap in removed:
        if not gap.hidden and _is_small(cut, gap, len(removed)):
            filled.append((gap.start, gap.end))
    return shown(cut.text, joined(filled), markers)


def _is_small(cut: Cut, gap: Gap, number: int) -> bool:
    """Whether a gap saves too little; one of several gaps has to save more."""
    text = cut.text[gap.start : gap.end]
    worth = _WORTH[number > 1]
    instead = f"\n{marker(0, len(text))}\n"
    return len(text) <= _SHORT and cut.tokenizer.count(text) <= worth * cut.tokenizer.count(instead)
