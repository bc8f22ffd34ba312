"""Which ranges of a text or a list are kept: its head, its tail, and at most one island between
them.

A scale numbers the positions of a text from 0 to its end, in characters. Ranges that must be kept
extend the head or the tail, or form the island, so at most two gaps are left.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from ctxtrim.clipping.markers import joined
from ctxtrim.loading import lazy_pattern
from ctxtrim.text import Range
from ctxtrim.text.graphemes import Cuts

Mode = Literal["head", "tail", "head-tail"]
Shares = tuple[int, int]
"""The parts of the room for the head and for the tail."""

_WORD = 40  # characters that a cut inside a line may move to be between two words
_ESCAPE = lazy_pattern(r"\x1b\[[0-9;]*[A-Za-z]")  # a color or a move of the cursor
_FLOOR = 4  # the head and the tail keep at least this fraction of their shares
_NEAR = 6  # an island within this fraction of the room from the head or the tail is joined to it
_LOSS = 8  # a range to keep loses at most this fraction of its room to a good position
_ISLAND = 5 / 8  # of the room: a second gap must save this much compared with a longer head or tail


class Scale(Struct, frozen=True):
    """The positions from 0 to `end` at which a text may be cut.

    `before` and `after` take a position and a maximum distance; they return the nearest good
    position on that side. Lines of at most `line` characters are never cut.
    """

    end: int
    before: Callable[[int, int], int]
    after: Callable[[int, int], int]
    line: int = 80


def shares_of(mode: Mode, both: Shares = (1, 1)) -> Shares:
    """The shares of head and tail for a mode; `both` applies if the mode keeps both ends."""
    if mode == "head":
        return (1, 0)
    return (0, 1) if mode == "tail" else both


def text_scale(text: str) -> Scale:
    """The scale of a text: cut between two lines, else between two words, else between two
    characters.
    """
    cuts = Cuts(text)

    def before(position: int, reach: int) -> int:
        if position >= len(text):
            return len(text)
        line = text.rfind("\n", max(position - reach, 0), position) + 1
        if line or (position <= reach and text.find("\n", position, position + reach) >= 0):
            return line
        word = text.rfind(" ", max(position - min(reach, _WORD), 0), position) + 1
        return cuts.before(word or _escape_around(text, position)[0])

    def after(position: int, reach: int) -> int:
        if position <= 0:
            return 0
        line = text.find("\n", position - 1, position + reach) + 1
        if line or (
            position + reach >= len(text)
            and text.rfind("\n", max(position - reach, 0), position) >= 0
        ):
            return line or len(text)
        word = text.find(" ", position, position + min(reach, _WORD)) + 1
        return cuts.after(word or _escape_around(text, position)[1])

    return Scale(len(text), before, after)


def _escape_around(text: str, position: int) -> Range:
    """The terminal escape sequence around a position; twice the position if there is none."""
    start = text.rfind("\x1b[", max(position - _WORD, 0), position + 1)
    escape = _ESCAPE.match(text, start) if start >= 0 else None
    return escape.span() if escape and escape.end() > position else (position, position)


def line_scale(text: str) -> Scale:
    """The scale of a text that is cut between lines only."""
    return Scale(
        len(text),
        lambda position, reach: (
            len(text) if position >= len(text) else text.rfind("\n", 0, position) + 1
        ),
        lambda position, reach: (
            text.find("\n", position - 1) + 1 or len(text) if position > 0 else 0
        ),
    )


class _Windows(Struct, frozen=True):
    """The head ends at `head`, the tail starts at `tail`, and the island is between them."""

    head: int
    tail: int
    island: Range | None = None

    def size(self, end: int) -> int:
        """The characters in all three."""
        return self.head + end - self.tail + (self.island[1] - self.island[0] if self.island else 0)

    def covers(self, start: int, stop: int) -> bool:
        """Whether one of the windows contains a range."""
        island = self.island or (0, 0)
        return stop <= self.head or start >= self.tail or (island[0] <= start and stop <= island[1])

    def widened(self, start: int, stop: int) -> "Iterable[_Windows]":
        """The ways to include a range: in the head, in the tail, in the island."""
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


def layout(scale: Scale, size: int, shares: Shares, keep: Iterable[Range] = ()) -> list[Range]:
    """The ranges to keep, in order, of about `size` characters together; at most three.

    `keep` are ranges to keep, most important first; each of them is kept if there is room.
    """
    end = scale.end
    if size >= end:
        return [(0, end)]
    windows = _Windows(*_ends(scale, size // _FLOOR, shares, 0, 0))
    for start, stop in keep:
        if windows.covers(start, stop):
            continue
        ways = [
            way
            for way in windows.widened(start, stop)
            if way.head <= way.tail and way.size(end) <= size
        ]
        if ways:
            extra = size * _ISLAND if windows.island is None else 0
            windows = min(ways, key=lambda way: way.size(end) + (extra if way.island else 0))
    island, rest = windows.island, end - windows.tail
    if island is None:
        head, tail = _ends(scale, size, shares, windows.head, rest)
    else:
        head, tail = _ends(scale, size - (island[1] - island[0]), shares, windows.head, rest)
        if island[0] - head <= size // _NEAR and island[1] + rest <= size:
            head, tail = _ends(scale, size, shares, island[1], rest)
            island = None
        elif tail - island[1] <= size // _NEAR and windows.head + end - island[0] <= size:
            head, tail = _ends(scale, size, shares, windows.head, end - island[0])
            island = None
    if head >= tail:
        return [(0, end)]
    return joined([(0, head), *([island] if island else []), (tail, end)])


def _ends(scale: Scale, room: int, shares: Shares, head: int, tail: int) -> Range:
    """The end of the head and the start of the tail if both share the room and have at least these
    characters.
    """
    first, last = shares
    target = min(room * first // (first + last), room - tail)
    if target > head:
        head = max(head, scale.before(target, max(target // 2, scale.line)))
    if not head and first >= last:  # if there is room for one line only, it is the first
        head = scale.before(room - tail, max(room // 2, scale.line))
    if last and room - head > tail:  # the head may not have used its whole share
        tail = max(
            tail,
            scale.end - scale.after(scale.end - (room - head), max((room - head) // 2, scale.line)),
        )
    return head, scale.end - tail


def whole_ranges(scale: Scale, ranges: Iterable[Range], limit: int, room: int) -> Iterable[Range]:
    """Ranges extended to good positions.

    Ranges longer than `limit` characters are cut to their beginning, between two lines unless that
    is much shorter. The text that precedes such a range in it has at most half of `limit`
    characters, and both together have at most `room`.
    """
    for start, stop in ranges:
        begin, end = scale.before(start, limit), scale.after(stop, limit)
        if end - begin > limit:
            if start - begin > min(limit // 2, room - limit):
                begin = scale.before(start, 0)
            end = max(scale.before(start + limit, limit // 2), scale.after(start + 1, 0))
            least = min(stop, start + limit - limit // _LOSS)
            if end < least:
                further = scale.after(least, start + limit - least)
                end = further if further <= start + limit else end
        yield begin, end


def ranges_inside(ranges: Sequence[Range], start: int, stop: int) -> list[Range]:
    """The parts of some ranges inside a range, counted from its start."""
    return [
        (max(begin, start) - start, min(end, stop) - start)
        for begin, end in ranges
        if begin < stop and end > start
    ]
