"""How an input is made again from the output of a run: what is in both is copied, the rest comes from an archive.

::

    input    a  b  c  d            recipe   copy a · object(b c) · copy d
    output   a  X  d               restored a b c d
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple


class Copy(NamedTuple):
    """A stretch of the output, in bytes."""

    start: int
    length: int


Segment = Copy | bytes
"""A stretch of the output, or bytes that are not in it."""


def segments(lines: Sequence[bytes], written: Sequence[bytes], start: int) -> Iterator[Segment]:
    """How some lines are made from those that were written for them, which begin at an offset of the output.

    A line that was written as it was is copied from where it stands; order is kept, so each is looked for behind the
    one before it.
    """
    places: dict[bytes, list[int]] = {}
    position = start
    for line in written:
        places.setdefault(line, []).append(position)
        position += len(line)
    for found in places.values():
        found.reverse()
    cursor = start
    for line in lines:
        found = places.get(line, [])
        while found and found[-1] < cursor:
            found.pop()
        if found:
            yield Copy(found[-1], len(line))
            cursor = found[-1] + len(line)
        else:
            yield line


def joined(parts: Iterator[Segment]) -> Iterator[Segment]:
    """The same with neighbours made one: stretches that follow each other, and bytes beside bytes."""
    last: Segment | None = None
    for part in parts:
        if isinstance(last, Copy) and isinstance(part, Copy) and last.start + last.length == part.start:
            last = Copy(last.start, last.length + part.length)
        elif isinstance(last, bytes) and isinstance(part, bytes):
            last += part
        else:
            if last is not None:
                yield last
            last = part
    if last is not None:
        yield last


def restored(
    recipe: Sequence[tuple[int, int] | str], output: bytes, original: Callable[[str], bytes]
) -> Iterator[bytes]:
    """The input: stretches of the output, and originals by their hash."""
    for part in recipe:
        if isinstance(part, str):
            yield original(part)
        else:
            start, length = part
            yield output[start : start + length]
