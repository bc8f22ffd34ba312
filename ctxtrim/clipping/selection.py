"""The most of a text, in the order in which its ranges are to be let in, that fits a limit of tokens."""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import chain

from ctxtrim.clipping.markers import Range, joined, marked, shown
from ctxtrim.clipping.order import Stream
from ctxtrim.text.graphemes import cut_after, cut_before
from ctxtrim.tokens import Tokenizer, head

_USUAL = 4  # characters a token, to begin with
_WIDEST = 64  # characters a token: what is longer is not looked at first
_SPARE = 50  # a clip that leaves free no more than this part of the limit is good enough
_GUESSES = 4  # after so many the search halves what is left


def fits(text: str, limit: int, tokenizer: Tokenizer) -> bool:
    """Whether a text has at most `limit` tokens; of one that has many more only a beginning is counted."""
    length = _WIDEST * max(limit, 1)
    while length < len(text):
        if tokenizer.count(text[:length]) > limit + _SPARE:  # what follows may join the last few, not all of them
            return False
        length *= 8
    return tokenizer.count(text) <= limit


def select(text: str, order: Stream, keep: Sequence[Range], limit: int, tokenizer: Tokenizer) -> str | None:
    """The clip of a text with as many ranges as fit, those in `keep` first; None where not even the first fits."""
    markers = marked(text)
    ranges = _Ranges(chain(_wanted(text, keep, limit, tokenizer), order))

    def clip(count: int) -> str:
        return shown(text, joined(ranges.taken[:count]), markers)

    return _most(clip, ranges, limit, tokenizer)


class _Ranges:
    """Ranges of a stream, taken as far as they are asked for."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self.taken: list[Range] = []
        self.length: list[int] = []  # characters of the ranges up to each

    def within(self, characters: float) -> int:
        """How many ranges have at most so many characters together, at least one where there is one."""
        while not self.length or self.length[-1] <= characters:
            one = next(self._stream, None)
            if one is None:
                break
            self.length.append((self.length[-1] if self.length else 0) + one[1] - one[0])
            self.taken.append(one)
        return bisect_right(self.length, characters)


def _most(clip: Callable[[int], str], ranges: _Ranges, limit: int, tokenizer: Tokenizer) -> str | None:
    """The clip with the most ranges that fits; what one had in tokens says which number to try next."""
    low, best, high, tries, target = 0, None, None, 0, float(_USUAL * limit)
    while True:
        count = max(ranges.within(target), low + 1)
        if high is not None and (count >= high or tries > _GUESSES):
            count = (low + high) // 2
        if count <= low or count > len(ranges.taken):
            return best
        one = clip(count)
        tokens = tokenizer.count(one) if len(one) <= _WIDEST * 4 * limit else _WIDEST * limit
        tries += 1
        if tokens <= limit:
            low, best = count, one
            if limit - tokens <= limit // _SPARE:
                return best
        else:
            high = count
        length = ranges.length[count - 1]
        target = max(length * limit / max(tokens, 1), length + 1 if tokens <= limit else 1)


def _wanted(text: str, keep: Sequence[Range], limit: int, tokenizer: Tokenizer) -> Stream:
    """The ranges that must stand in the clip: the whole line where it fits into a third, else the range or its head."""
    for start, end in keep:
        start, end = cut_before(text, max(start, 0)), cut_after(text, min(end, len(text)))
        first = text.rfind("\n", max(0, start - limit), start) + 1
        last = text.find("\n", max(end - 1, start), end + limit) + 1
        line = first or (start if start > limit else 0), last or (end if end + limit < len(text) else len(text))
        if fits(text[slice(*line)], limit // 3, tokenizer):
            yield line
        elif fits(text[start:end], limit // 3, tokenizer):
            yield start, end
        else:
            yield start, start + len(head(tokenizer, text[start:end], limit // 3))
