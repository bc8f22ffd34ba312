"""The lines of a file that is a single transcript: one block of bytes, decoded line by line.

The values of all lines need several times the memory of their bytes. So a format reads one value
after another and keeps what it needs.
"""

from array import array
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

from ctxtrim.model import Line
from ctxtrim.text.records import JsonRecord, split


class LineBlock(Sequence[Line]):
    """Lines in one block of bytes. `add` appends the next line of the block."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self._ends = array("Q")
        self._numbers = array("Q")

    def __len__(self) -> int:
        return len(self._ends)

    def __getitem__(self, index: Any) -> Any:
        place = range(len(self))[index]
        start = self._ends[place - 1] if place else 0
        return Line(self.data[start : self._ends[place]], self._numbers[place])

    def __iter__(self) -> Iterator[Line]:
        data, start = self.data, 0
        for end, number in zip(self._ends, self._numbers, strict=True):
            yield Line(data[start:end], number)
            start = end

    @property
    def size(self) -> int:
        """The number of bytes of the lines so far."""
        return self._ends[-1] if self._ends else 0

    def add(self, size: int, number: int) -> None:
        """Add a line of some bytes, and its number in the file."""
        self._ends.append(self.size + size)
        self._numbers.append(number)

    def clear(self) -> None:
        """Forget all lines, but not the bytes."""
        del self._ends[:], self._numbers[:]


class LineRecords:
    """The records of a block of bytes, decoded anew by each iteration, which also finds the lines.

    `head` are the first records, decoded before. `odd`: the records that are not JSON or share
    their line with another.
    """

    def __init__(self, data: bytes, head: Sequence[JsonRecord]) -> None:
        self.lines = LineBlock(data)
        self.odd: list[JsonRecord] = []
        self._head = head

    def __iter__(self) -> Iterator[JsonRecord]:
        lines = self.lines
        lines.clear()
        self.odd.clear()
        for record in chain(self._head, self._rest()):
            lines.add(len(record.data), record.number)
            yield record
            if record.problem is not None or record.is_glued:
                self.odd.append(record)

    def _rest(self) -> Iterator[JsonRecord]:
        """The records after the head."""
        data, start, number = self.lines.data, self.lines.size, self._head[-1].number
        while start < len(data):
            end = data.find(b"\n", start) + 1 or len(data)
            number += 1
            yield from split(data[start:end], number)
            start = end

    def finish(self) -> None:
        """Find all lines, also if no iteration came to the end."""
        if self.lines.size < len(self.lines.data):
            for _ in self:
                pass
