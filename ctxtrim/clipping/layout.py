"""Which stretches of a text or a list are kept: its head, its tail, and at most one island between them.

A scale numbers the places of something from 0 to its end, in characters. Stretches that must be kept widen the head or
the tail, or make the island; so a clip has one gap, two at most.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ctxtrim.clipping.markers import joined
from ctxtrim.text.graphemes import cut_after, cut_before
from ctxtrim.text.json_spans import Range

Mode = Literal["head", "tail", "head-tail"]
Shares = tuple[int, int]
"""How much of the room the head gets, and how much the tail."""

_WORD = 40  # characters that a cut inside a line may move to stand between two words
_FLOOR = 4  # the head and the tail keep at least this part of their shares
_NEAR = 6  # an island that is no further from the head or the tail than this part of the room is joined to it
_ISLAND = 5 / 8  # of the room: an island that costs this much less than a longer head or tail is worth a second gap


@dataclass(frozen=True)
class Scale:
    """The places of something from 0 to `end` where it may be cut.

    `before` and `after` take a place and how far they may move; they return the nearest good place to cut on that side.
    Lines of at most `line` characters are never cut.
    """

    end: int
    before: Callable[[int, int], int]
    after: Callable[[int, int], int]
    line: int = 80


def shares_of(mode: Mode, both: Shares = (1, 1)) -> Shares:
    """The shares of head and tail for a mode; `both` holds where the mode keeps both ends."""
    if mode == "head":
        return (1, 0)
    return (0, 1) if mode == "tail" else both


def lines_of(text: str) -> Scale:
    """The scale of a text: between two lines, else between two words, else between two characters."""

    def before(place: int, reach: int) -> int:
        if place >= len(text):
            return len(text)
        line = text.rfind("\n", max(place - reach, 0), place) + 1
        if line or (place <= reach and text.find("\n", place, place + reach) >= 0):
            return line
        return cut_before(text, text.rfind(" ", max(place - min(reach, _WORD), 0), place) + 1 or place)

    def after(place: int, reach: int) -> int:
        if place <= 0:
            return 0
        line = text.find("\n", place - 1, place + reach) + 1
        if line or (place + reach >= len(text) and text.rfind("\n", max(place - reach, 0), place) >= 0):
            return line or len(text)
        return cut_after(text, text.find(" ", place, place + min(reach, _WORD)) + 1 or place)

    return Scale(len(text), before, after)


def whole_lines_of(text: str) -> Scale:
    """The scale of a text of which no line is cut."""
    return Scale(
        len(text),
        lambda place, reach: len(text) if place >= len(text) else text.rfind("\n", 0, place) + 1,
        lambda place, reach: text.find("\n", place - 1) + 1 or len(text) if place > 0 else 0,
    )


@dataclass(frozen=True)
class _Windows:
    """The head ends at `head`, the tail starts at `tail`, the island is between them."""

    head: int
    tail: int
    island: Range | None = None

    def size(self, end: int) -> int:
        """The characters in all three."""
        return self.head + end - self.tail + (self.island[1] - self.island[0] if self.island else 0)

    def covers(self, start: int, stop: int) -> bool:
        """Whether one of the windows has a stretch in it."""
        island = self.island or (0, 0)
        return stop <= self.head or start >= self.tail or (island[0] <= start and stop <= island[1])

    def widened(self, start: int, stop: int) -> "Iterable[_Windows]":
        """The ways to have a stretch in a window: in the head, in the tail, in the island."""
        island = self.island
        head, tail = max(self.head, stop), min(self.tail, start)
        if island and island[0] <= head:
            head, island = max(head, island[1]), None
        yield replace(self, head=head, island=island)
        island = self.island
        if island and island[1] >= tail:
            tail, island = min(tail, island[0]), None
        yield replace(self, tail=tail, island=island)
        island = self.island or (start, stop)
        yield replace(self, island=(min(island[0], start), max(island[1], stop)))


def layout(scale: Scale, size: int, shares: Shares, wanted: Iterable[Range] = ()) -> list[Range]:
    """The stretches to keep, in order, of about `size` characters together; three at most.

    `wanted` are the stretches that must be kept, the most important first; each is kept as far as there is room.
    """
    end = scale.end
    if size >= end:
        return [(0, end)]
    windows = _Windows(*_ends(scale, size // _FLOOR, shares, 0, 0))
    for start, stop in wanted:
        if windows.covers(start, stop):
            continue
        ways = [way for way in windows.widened(start, stop) if way.head <= way.tail and way.size(end) <= size]
        if ways:
            extra = size * _ISLAND if windows.island is None else 0
            windows = min(ways, key=lambda way: way.size(end) + (extra if way.island else 0))
    island = windows.island
    if island is None:
        head, tail = _ends(scale, size, shares, windows.head, end - windows.tail)
    else:
        head, tail = _ends(scale, size - (island[1] - island[0]), shares, windows.head, end - windows.tail)
        if island[0] - head <= size // _NEAR and island[1] + end - windows.tail <= size:
            head, tail = _ends(scale, size, shares, island[1], end - windows.tail)
            island = None
        elif tail - island[1] <= size // _NEAR and windows.head + end - island[0] <= size:
            head, tail = _ends(scale, size, shares, windows.head, end - island[0])
            island = None
    return joined([(0, head), *([island] if island else []), (tail, end)]) if head < tail else [(0, end)]


def _ends(scale: Scale, room: int, shares: Shares, head: int, tail: int) -> Range:
    """Where the head ends and the tail starts, where both share the room and have at least so many characters."""
    first, last = shares
    wanted = room * first // (first + last)
    wanted = max(head, min(wanted, room - tail))
    if wanted > head:
        head = max(head, scale.before(wanted, max(wanted // 2, scale.line)))
    if not head and first >= last:  # where there is room for one line alone, it is the first
        head = scale.before(room - tail, max(room // 2, scale.line))
    if last and room - head > tail:  # the head may have left some of its share
        tail = max(tail, scale.end - scale.after(scale.end - (room - head), max((room - head) // 2, scale.line)))
    return head, scale.end - tail


def whole(scale: Scale, ranges: Iterable[Range], most: int) -> Iterable[Range]:
    """Ranges from one good place to the next; of those that are longer than `most` characters the beginning."""
    for start, stop in ranges:
        begin, end = scale.before(start, most), scale.after(stop, most)
        if end - begin > most:
            begin = begin if 2 * (start - begin) <= most else scale.before(start, 0)
            end = max(scale.before(start + most, most // 2), scale.after(start + 1, 0))
        yield begin, end


def within(ranges: Sequence[Range], start: int, stop: int) -> list[Range]:
    """The parts of some ranges that are in a stretch, counted from its start."""
    return [
        (max(begin, start) - start, min(end, stop) - start) for begin, end in ranges if begin < stop and end > start
    ]
