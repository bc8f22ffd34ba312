"""The lines of transcripts: their bytes in one block, and their JSON values one at a time.

A session may be large: a block needs its bytes once, and the values of all lines would need several
times as much. So a format reads one value after another and keeps what it needs.
"""

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from io import BytesIO
from itertools import chain, islice
from typing import Any

from ctxtrim.model import Line, Message, Span
from ctxtrim.text.records import JsonRecord, value_in, value_of

_REMEMBERED = 64
"""Values that are kept; those of all lines need several times the memory of their bytes."""


class ByteBlock(Sequence[bytes]):
    """Pieces of one block of bytes. `add` appends the next piece; `size` is that of all so far."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.size = 0
        self._ends = array("Q")

    @classmethod
    def of(cls, pieces: Iterable[bytes]) -> "ByteBlock":
        """The block of some pieces."""
        pieces = iter(pieces)
        start = list(islice(pieces, 2))
        if len(start) == 1:  # a document, which may be large, is not copied
            block = cls(start[0])
            block.add(len(block.data))
            return block
        data, sizes = BytesIO(), array("Q", [])
        for piece in chain(start, pieces):
            sizes.append(data.write(piece))
        block = cls(data.getvalue())
        for size in sizes:
            block.add(size)
        return block

    def __len__(self) -> int:
        return len(self._ends)

    def __getitem__(self, index: Any) -> Any:
        place = range(len(self))[index]
        return self.data[self._ends[place - 1] if place else 0 : self._ends[place]]

    def __iter__(self) -> Iterator[bytes]:
        start = 0
        for end in self._ends:
            yield self.data[start:end]
            start = end

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ByteBlock) and self.data == other.data

    def add(self, size: int) -> None:
        """Add a piece of some bytes."""
        self.size += size
        self._ends.append(self.size)

    def clear(self) -> None:
        """Forget all pieces, but not the bytes."""
        self.size = 0
        del self._ends[:]


class LineBlock(Sequence[Line]):
    """Lines in one block of bytes, and their numbers in the file."""

    def __init__(self, data: bytes) -> None:
        self.block = ByteBlock(data)
        self.numbers = array("Q")

    @property
    def data(self) -> bytes:
        """The bytes of all lines."""
        return self.block.data

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, index: Any) -> Any:
        return Line(self.block[index], self.numbers[index])

    def __iter__(self) -> Iterator[Line]:
        return map(Line, self.block, self.numbers)

    def number_at(self, span: Span) -> int:
        """The number of the line of a span."""
        return self.numbers[span.line]

    def clear(self) -> None:
        """Forget all lines, but not the bytes."""
        self.block.clear()
        del self.numbers[:]


class LineRecords:
    """The records of a block of bytes. Each iteration decodes them, which also finds the lines.

    `decoded` makes such an iteration. `odd`: the records that are not JSON or share their line with
    another. `expected`: for each transcript the messages that it should have, if they are read
    again.
    """

    def __init__(
        self,
        data: bytes,
        decoded: Callable[[], Iterable[JsonRecord]],
        expected: Sequence[Sequence[Message]] = (),
    ) -> None:
        self.lines = LineBlock(data)
        self.expected = expected
        self.odd: list[JsonRecord] = []
        self._decoded = decoded

    def __iter__(self) -> Iterator[JsonRecord]:
        self.lines.clear()
        self.odd.clear()
        add, add_number = self.lines.block.add, self.lines.numbers.append
        for record in self._decoded():
            add(len(record.data))
            add_number(record.number)
            yield record
            if record.problem is not None or record.is_glued:
                self.odd.append(record)

    def finish(self) -> None:
        """Find all lines, also if no iteration came to the end."""
        if self.lines.block.size < len(self.lines.data):
            for _ in self:
                pass


class SourceValues(Sequence[Any]):
    """The JSON values of some lines, parsed when they are needed. Some of the last are kept."""

    def __init__(self, lines: Sequence[Line]) -> None:
        self.lines = lines
        self._value = lru_cache(_REMEMBERED)(lambda index: value_of(lines[index].data))
        self._inside = lru_cache(_REMEMBERED)(value_in)

    def __len__(self) -> int:
        return len(self.lines)

    def __getitem__(self, index: Any) -> Any:
        return self._value(range(len(self.lines))[index])

    def at(self, span: Span) -> Any:
        """The value at a span, also inside a string that contains JSON; None if there is none."""
        value = self._value(span.line)
        for key in span.path:
            try:
                value = (self._inside(value) if isinstance(value, str) else value)[key]
            except (KeyError, IndexError, TypeError):
                return None
        return value
