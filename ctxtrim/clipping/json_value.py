"""JSON: it stays JSON. Long strings and long arrays are shortened and say by how much; all else stays as spelled.

Objects lose members only where nothing else makes the text fit.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate
from math import isqrt

from ctxtrim.clipping.json_spans import Leaf, Member, members, scan
from ctxtrim.clipping.kind import Cut, Kind
from ctxtrim.clipping.markers import LEAST, Gap, Range, gaps, joined
from ctxtrim.clipping.order import Mode
from ctxtrim.text.graphemes import cut_after, cut_before
from ctxtrim.tokens import head

_STRING = re.compile(r"… \[(\d+) characters truncated\](?: …)?")
_ELEMENT = re.compile(r'"\[(\d+) more items truncated\]"')
_MEMBER = re.compile(r'"…": "\[(\d+) more members truncated\]"')
_SHAPE = re.compile(r"\s*(?:\[\s*[\[{\"\d\]tfn-]|\{\s*[\"}])")
_ITEM = 16  # an array may have one item for so many characters that a string may have
_WIDEST = 64  # characters a token: what is longer does not fit


def _clip(cut: Cut) -> str | None:
    where = scan(cut.text)
    if where is None:
        return None
    keep = _wanted(cut)
    shortener = _Shortener(cut.text, where, cut.mode, keep, False)
    try:
        while True:
            found = _most(cut, shortener) or _most(cut, replace(shortener, cuts_objects=True))
            if found is not None or not shortener.keep:
                return found
            shortener = replace(shortener, keep=shortener.keep[: len(shortener.keep) * 3 // 4])
    except RecursionError:  # nested too deeply to be walked
        return None


def _wanted(cut: Cut) -> list[Range]:
    """The ranges that must stand in the clip, none of more than a third of the limit, all within the limit."""
    found: list[Range] = []
    room = cut.limit
    for start, end in cut.keep:
        part = head(cut.tokenizer, cut.text[start:end], cut.limit // 3)
        room -= cut.tokenizer.count(part)
        if room < 0:
            break
        found.append((start, start + len(part)))
    return found


def _most(cut: Cut, shortener: "_Shortener") -> str | None:
    """The clip with the longest arrays that fits, and then with the longest strings."""
    span, best = _longest(cut, 4 * cut.limit, lambda size: shortener.clip(size, size, _WIDEST * cut.limit))
    if best is not None and cut.tokenizer.count(best) < cut.limit * 9 // 10:
        longer = _longest(cut, 2 * span, lambda size: shortener.clip(max(size, span), span, _WIDEST * cut.limit))
        best = longer[1] or best
    return best


def _longest(cut: Cut, size: int, clip: Callable[[int], str | None]) -> tuple[int, str | None]:
    """The largest size found whose clip fits, and the clip: gallop, then halve (on a scale of ratios)."""
    low, high, best = 0, len(cut.text), None
    size = min(size, high // 2)  # dense texts have few characters a token
    while low < size < high and high - low > low // 50:
        one = clip(size)
        tokens = cut.limit + 1 if one is None else cut.tokenizer.count(one)
        if tokens > cut.limit:
            high = size
        else:
            low, best = size, one
            if cut.limit - tokens <= cut.limit // 50:
                break
        if low == 0:
            size = high // 4
        else:
            size = isqrt(low * high) if high < len(cut.text) else low * 4
    return low, best


@dataclass(frozen=True)
class _Shortener:
    """A JSON text, whose strings and arrays can be made as short as wanted; what was looked up is remembered."""

    text: str
    where: Range
    mode: Mode
    keep: Sequence[Range]
    cuts_objects: bool
    _containers: dict[int, tuple[list[Member], list[Gap]]] = field(default_factory=dict)
    _leaves: dict[int, tuple[Leaf, list[Gap]]] = field(default_factory=dict)

    def clip(self, size: int, span: int, most: int) -> str | None:
        """The text with strings of at most `size` characters, and arrays that have items to match `span` characters.

        None where it has more than `most` characters altogether.
        """
        start, end = self.where
        pieces = [self.text[:start]]
        total = 0
        for piece in self._value(start, end, size, span):
            pieces.append(piece)
            total += len(piece)
            if total > most:
                return None
        return "".join((*pieces, self.text[end:]))

    def _value(self, start: int, end: int, size: int, span: int) -> Iterator[str]:
        first = self.text[start]
        if end - start <= (size if first == '"' else span) or first not in '"[{':
            yield self.text[start:end]
        elif first == '"':
            yield from self._string(start, end, size)
        else:
            yield from self._container(start, end, size, span)

    def _container(self, start: int, end: int, size: int, span: int) -> Iterator[str]:
        text = self.text
        if start not in self._containers:
            inside = members(text, start)
            self._containers[start] = inside, self._marked(inside, _MEMBER if text[start] == "{" else _ELEMENT)
        inside, marks = self._containers[start]
        if not inside:
            yield text[start:end]
            return
        is_object = text[start] == "{"
        count = len(inside) if is_object and not self.cuts_objects else max(1, span // _ITEM)
        cuts = self._cuts(inside, count, marks)
        yield text[start : inside[0][0]]
        place = 0
        for cut in (*cuts, Gap(len(inside), len(inside))):
            for begin, value, stop in inside[place : cut.start]:
                yield text[inside[place - 1][2] : begin] if place else ""
                yield text[begin:value]
                yield from self._value(value, stop, size, span)
                place += 1
            if cut.start < cut.end:
                gone = cut.end - cut.start - cut.hidden + cut.characters
                yield text[inside[place - 1][2] : inside[place][0]] if place else ""
                yield f'"…": "[{gone} more members truncated]"' if is_object else f'"[{gone} more items truncated]"'
                place = cut.end
        yield text[inside[-1][2] : end]

    def _cuts(self, inside: Sequence[Member], count: int, marks: Sequence[Gap]) -> list[Gap]:
        """Which members go where only `count` may stay, those apart that have something in them that must stay."""
        size = len(inside)
        if count >= size:
            return []
        kept = self._ends(size, count) + [
            (place, place + 1)
            for place, (begin, _, end) in (enumerate(inside) if self.keep else ())
            if self._kept_in(begin, end)
        ]
        found = gaps(size, joined(kept), marks, 0)
        return [gap for gap in found if gap.hidden or inside[gap.end - 1][2] - inside[gap.start][0] > LEAST]

    def _marked(self, inside: Sequence[Member], shape: re.Pattern[str]) -> list[Gap]:
        """The members that are markers."""
        if not inside or self.text.find(" truncated]", inside[0][0], inside[-1][2]) < 0:
            return []
        found = ((place, shape.fullmatch(self.text, begin, end)) for place, (begin, _, end) in enumerate(inside))
        return [Gap(place, place + 1, 1, 0, int(mark[1])) for place, mark in found if mark]

    def _string(self, start: int, end: int, size: int) -> Iterator[str]:
        if start not in self._leaves:
            leaf = Leaf(self.text[start + 1 : end - 1])
            found = _STRING.finditer(leaf.value)
            marks = [Gap(*mark.span(), mark.end() - mark.start(), 0, int(mark[1])) for mark in found]
            self._leaves[start] = leaf, marks
        leaf, marks = self._leaves[start]
        value, first = leaf.value, start + 1
        kept = self._ends(len(value), min(size, len(value))) + [
            (leaf.meant(max(begin, first) - first), leaf.meant(min(stop, end - 1) - first))
            for begin, stop in self._kept_in(first, end - 1)
        ]
        whole = [(cut_before(value, begin), cut_after(value, stop)) for begin, stop in kept]
        yield '"'
        done = 0
        for gap in gaps(len(value), joined(whole), marks, LEAST):
            gone = gap.end - gap.start - gap.hidden + gap.characters
            yield leaf.spelling[leaf.spelled(done) : leaf.spelled(gap.start)]
            yield f"… [{gone} characters truncated]" + (" …" if gap.end < len(value) else "")
            done = gap.end
        yield leaf.spelling[leaf.spelled(done) :] + '"'

    @cached_property
    def _sorted_keep(self) -> tuple[list[Range], list[int]]:
        """The ranges in `keep` by their start, and the furthest end of each and those before it."""
        found = sorted(self.keep)
        return found, list(accumulate((stop for _, stop in found), max))

    def _kept_in(self, begin: int, end: int) -> list[Range]:
        """The ranges in `keep` that overlap a stretch; the others are not looked at, there may be thousands."""
        ranges, reach = self._sorted_keep
        first, last = bisect_right(reach, begin), bisect_left(ranges, (end,))
        return [(start, stop) for start, stop in ranges[first:last] if begin < stop]

    def _ends(self, size: int, count: int) -> list[Range]:
        """The first and the last of so many things, as the mode says."""
        first = {"head": count, "tail": 0, "head-tail": (count + 1) // 2}[self.mode]
        return [(0, first), (size - count + first, size)]


JSON = Kind("json", lambda text: _SHAPE.match(text) is not None and text[-64:].rstrip()[-1:] in ("]", "}"), _clip)
