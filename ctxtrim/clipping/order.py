"""In which order the ranges of a text are let into its clip: lines from the head, lines from the tail, and mixtures."""

from collections.abc import Iterator
from typing import Literal

from ctxtrim.clipping.markers import Range
from ctxtrim.text.graphemes import cut_after, cut_before

Mode = Literal["head", "tail", "head-tail"]
Stream = Iterator[Range]


def from_head(text: str, limit: int, start: int = 0, end: int | None = None) -> Stream:
    """The lines of a stretch of a text, first to last; lines of more than `limit` characters in pieces."""
    end = len(text) if end is None else end
    while start < end:
        stop = text.find("\n", start, min(end, start + limit)) + 1
        if not stop:
            stop = end if end - start <= limit else _piece_after(text, start, limit)
        yield start, min(stop, end)
        start = stop


def from_tail(text: str, limit: int, start: int = 0, end: int | None = None) -> Stream:
    """The lines of a stretch of a text, last to first; lines of more than `limit` characters in pieces."""
    end = len(text) if end is None else end
    while start < end:
        begin = text.rfind("\n", max(start, end - 1 - limit), end - 1) + 1
        if not begin:
            begin = start if end - start <= limit else _piece_before(text, end, limit)
        yield max(begin, start), end
        end = begin


def _piece_after(text: str, start: int, limit: int) -> int:
    end = cut_before(text, min(len(text), start + max(limit // 8, 1)))
    return end if end > start else cut_after(text, start + 1)


def _piece_before(text: str, end: int, limit: int) -> int:
    start = cut_after(text, max(0, end - max(limit // 8, 1)))
    return start if start < end else cut_before(text, end - 1)


def ends(text: str, limit: int, mode: Mode) -> Stream:
    """The lines of a text from the end or ends that a mode names, as many characters from the one as from the other."""
    if mode == "head":
        return from_head(text, limit)
    if mode == "tail":
        return from_tail(text, limit)
    return shared((1, from_head(text, limit)), (1, from_tail(text, limit)))


def shared(*streams: tuple[int, Stream]) -> Stream:
    """Several streams as one, each getting its share of the characters; what one does not need the others get."""
    rest = [(0.0, place, share, stream) for place, (share, stream) in enumerate(streams)]
    while rest:
        taken, place, share, stream = min(rest, key=lambda one: one[:2])
        rest.remove((taken, place, share, stream))
        one = next(stream, None)
        if one is not None:
            yield one
            rest.append((taken + (one[1] - one[0]) / share, place, share, stream))


def in_turn(streams: list[Stream]) -> Stream:
    """The first of each stream, then the second of each, and so on."""
    while streams:
        left = []
        for stream in streams:
            one = next(stream, None)
            if one is not None:
                yield one
                left.append(stream)
        streams = left
