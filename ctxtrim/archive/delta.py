"""Segments that restore an input from the output of a run: common bytes are copied, the others come
from an archive.

::

    input    a  b  c  d            segments   copy a · (b) · (c) · copy d
    output   a  X  d
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple


class Copy(NamedTuple):
    """A range of the output, in bytes."""

    start: int
    length: int


Segment = Copy | bytes
"""A range of the output, or bytes that are not in it."""


def segments(lines: Sequence[bytes], written: Sequence[bytes], start: int) -> Iterator[Segment]:
    """The segments that make `lines` from `written` lines, at the offset `start` of the output.

    An unchanged line is copied. Order is kept, so each line is searched after the previous one.
    """
    places: dict[bytes, list[int]] = {}
    position = start
    for line in written:
        places.setdefault(line, []).append(position)
        position += len(line)
    for matches in places.values():
        matches.reverse()
    cursor = start
    for line in lines:
        matches = places.get(line, [])
        while matches and matches[-1] < cursor:
            matches.pop()
        if matches:
            yield Copy(matches[-1], len(line))
            cursor = matches[-1] + len(line)
        else:
            yield line
