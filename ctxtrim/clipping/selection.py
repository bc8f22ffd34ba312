"""The longest clip of a text that fits a limit of tokens."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from ctxtrim.clipping.kind import Cut
from ctxtrim.clipping.layout import Scale, Shares, layout, whole
from ctxtrim.clipping.markers import LEAST, Gap, gaps, joined, marked, marker, shown
from ctxtrim.text.json_spans import Range
from ctxtrim.tokens import Tokenizer

DENSEST = 4  # of the ranges that must be kept, one for so many characters of a clip is looked at
_USUAL = 4  # characters a token, to begin with
_WIDEST = 64  # characters a token: what is longer is not looked at first
_MARKERS = 12  # tokens of a clip that are markers
_SPARE = 50  # a clip that leaves free no more than this part of the limit is good enough
_GUESSES, _TRIES = 4, 12  # after so many guesses the search halves what is left; after so many tries it ends
_SHORT = 8 * LEAST  # characters of a gap that may save too little
_WORTH = 2, 4  # times the tokens of its marker that a gap must have: the only one, one of two
_WANTED = 3  # a stretch that must be kept may have this part of the room

Want = Callable[[int], Sequence[Range]]
"""The stretches that a clip of so many characters must keep, the most important first."""
Adjust = Callable[[Sequence[Range]], list[Range]]


def fits(text: str, limit: int, tokenizer: Tokenizer) -> bool:
    """Whether a text has at most `limit` tokens; of one that has many more only a beginning is counted."""
    length = _WIDEST * max(limit, 1)
    while length < len(text):
        if tokenizer.count(text[:length]) > limit + _SPARE:  # what follows may join the last few, not all of them
            return False
        length *= 8
    return tokenizer.count(text) <= limit


def select(
    cut: Cut, scale: Scale, shares: Shares, want: Want = lambda size: (), adjust: Adjust = list[Range]
) -> str | None:
    """The clip of a text with head, tail and an island as long as they fit; None where not even a marker fits.

    The ranges in `cut.keep` come before those that the kind of text wants. `adjust` corrects what is kept.
    """
    markers = marked(cut.text)

    def clip(size: int, scale: Scale = scale) -> str | None:
        ranges = (*cut.keep[: size // DENSEST], *want(size)) if size >= LEAST else ()
        wanted = whole(scale, ranges, max(size // _WANTED, min(size * 3 // 4, 2 * LEAST)))
        kept = joined(adjust(layout(scale, size, shares, wanted)))
        return _shown(cut, kept, markers) if kept else None

    return longest(clip, cut) or longest(partial(clip, scale=replace(scale, line=0)), cut)


def longest(clip: Callable[[int], str | None], cut: Cut) -> str | None:
    """The longest clip found that fits, of those that a size in characters leads to; None where none fits.

    A clip of None is too long, or shows nothing.
    """
    low, high, best, size = 0, len(cut.text), None, min(_USUAL * cut.limit, len(cut.text) - 1)
    for tries in range(_TRIES):
        found = clip(size)
        is_short = found is not None and len(found) <= 4 * _WIDEST * cut.limit
        tokens = cut.tokenizer.count(found) if found is not None and is_short else _WIDEST * cut.limit
        if tokens <= cut.limit:
            low, best = size, found
            if cut.limit - tokens <= cut.limit // _SPARE:
                break
        else:
            high = size
        if high - low <= max(low // _SPARE, 1):
            break
        size = size * max(cut.limit - _MARKERS, 1) // max(tokens - _MARKERS, 1)
        if not low < size < high or tries >= _GUESSES:
            size = (low + high) // 2 if low else min(size, high) // 2
    return best


def _shown(cut: Cut, kept: Sequence[Range], markers: Sequence[Gap]) -> str:
    """The kept ranges with their markers; a gap that saves too little over its marker is filled."""
    found = gaps(len(cut.text), kept, markers, LEAST)
    filled = [(gap.start, gap.end) for gap in found if not gap.hidden and _is_small(cut, gap, len(found))]
    return shown(cut.text, joined((*kept, *filled)), markers)


def _is_small(cut: Cut, gap: Gap, number: int) -> bool:
    """Whether a gap is filled: where it is one of several, it has to save more."""
    text = cut.text[gap.start : gap.end]
    worth = _WORTH[number > 1]
    instead = f"\n{marker(0, len(text))}\n"
    return len(text) <= _SHORT and cut.tokenizer.count(text) <= worth * cut.tokenizer.count(instead)
