"""The lines of transcripts: their bytes in one block, and their JSON values one at a time.

A session may be large: a block needs its bytes once, and the values of all lines would need several
times as much. So a format reads one value after another and keeps what it needs.
"""

from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from io import BytesIO
from itertools import chain, islice
from typing import Any

from ctxtrim.errors import InputError, too_large
from ctxtrim.model import Line, Message, Span
from ctxtrim.text import Range
from ctxtrim.text.records import JsonRecord, LinePart, value_in, value_of

Numbered = tuple[int, bytes]
"""A line of a file, or a part of a long line, and the number of the line, from 1."""

_REMEMBERED = 64
"""Values that are kept; those of all lines need several times the memory of their bytes."""
_BLOCK = 1 << 20  # bytes that are compared or written at a time


def numbered(lines: Iterable[bytes], number: int = 1) -> Iterator[Numbered]:
    """Some lines with their numbers, from `number`."""
    for line in lines:
        yield number, line
        if not isinstance(line, LinePart) or line.is_last:
            number += 1


def whole_lines(lines: Iterable[Numbered]) -> Iterator[Numbered]:
    """The same lines; an `InputError` if one is a part of a line above the size limit."""
    for number, line in lines:
        if isinstance(line, LinePart):
            raise InputError(too_large("the line", line.limit), number)
        yield number, line


def lines_before_long(lines: Iterator[Numbered], long_lines: list[Numbered]) -> Iterator[Numbered]:
    """The lines before one above the size limit, whose first part is added to `long_lines`."""
    for number, line in lines:
        if isinstance(line, LinePart):
            long_lines.append((number, line))
            return
        yield number, line


Fragment = bytes | Range
"""New bytes, or a range of the source."""


class Segments:
    """Bytes made of ranges of a source and of new bytes.

    The output of a large session repeats most lines of its input. Ranges refer to them without a
    copy. Segments have the length, the slices and the comparison of `bytes`.
    """

    def __init__(self, source: bytes) -> None:
        self._source = source
        self._new = BytesIO()
        self._ends = array("Q")  # of the segments, in the bytes that they make
        self._starts = array("Q")  # of the segments, in the source or in the new bytes
        self._is_new = bytearray()
        self._last = 0  # the end of the last segment, in the source or in the new bytes

    def add(self, fragment: Fragment) -> int:
        """Add a fragment; return the number of its bytes."""
        if isinstance(fragment, bytes):
            is_new, start = True, self._new.tell()
            end = start + self._new.write(fragment)
        else:
            is_new, (start, end) = False, fragment
        if start == end:
            return 0
        size = len(self) + end - start
        if self._ends and self._is_new[-1] == is_new and self._last == start:
            self._ends[-1] = size  # the fragment continues the last segment
        else:
            self._ends.append(size)
            self._starts.append(start)
            self._is_new.append(is_new)
        self._last = end
        return end - start

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def __getitem__(self, place: slice) -> bytes:
        start, stop, _ = place.indices(len(self))
        parts = []
        number = bisect_right(self._ends, start)
        while start < stop:
            end = min(stop, self._ends[number])
            begin = self._ends[number - 1] if number else 0
            buffer = self._new.getvalue() if self._is_new[number] else self._source
            shift = self._starts[number] - begin
            parts.append(memoryview(buffer)[start + shift : end + shift])
            start, number = end, number + 1
        return b"".join(parts)

    def __bytes__(self) -> bytes:
        return self[:]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, bytes | Segments) or len(self) != len(other):
            return False
        return all(mine == its for mine, its in zip(blocks(self), blocks(other), strict=True))

    __hash__ = None  # type: ignore[assignment]

    def endswith(self, end: bytes) -> bool:
        """Whether the last bytes are these."""
        return self[max(0, len(self) - len(end)) :] == end


Bytes = bytes | Segments


def blocks(data: Bytes) -> Iterator[bytes]:
    """Bytes in parts of one size, except for the last part, which has the rest."""
    for start in range(0, len(data), _BLOCK):
        yield data[start : start + _BLOCK]


def _joined(source: bytes, fragments: Iterable[Fragment]) -> bytes:
    view = memoryview(source)
    return b"".join(
        [part if isinstance(part, bytes) else view[part[0] : part[1]] for part in fragments]
    )


class ByteBlock(Sequence[bytes]):
    """Pieces of one block of bytes. `add` appends the next piece; `size` is that of all so far."""

    def __init__(self, data: Bytes) -> None:
        self.data = data
        self.size = 0
        self._ends = array("Q")

    @classmethod
    def of(cls, source: bytes, pieces: Iterator[Iterable[Fragment]]) -> "ByteBlock":
        """The block of some pieces, each given by its fragments."""
        start = list(islice(pieces, 2))
        if len(start) == 1:
            block = cls(_joined(source, start[0]))  # of a document, which is decoded as a whole
            block.add(len(block.data))
            return block
        segments = Segments(source)
        block = cls(segments)
        for piece in chain(start, pieces):
            block.add(sum(map(segments.add, piece)))
        return block

    @classmethod
    def of_lines(cls, lines: Sequence[Line]) -> "ByteBlock":
        """The block of some lines."""
        if isinstance(lines, LineBlock):
            return lines.block
        block = cls(b"".join([line.data for line in lines]))
        for line in lines:
            block.add(len(line.data))
        return block

    def __len__(self) -> int:
        return len(self._ends)

    def __getitem__(self, index: Any) -> Any:
        start, end = self.range_at(index)
        return self.data[start:end]

    def __iter__(self) -> Iterator[bytes]:
        start = 0
        for end in self._ends:
            yield self.data[start:end]
            start = end

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ByteBlock) and self.data == other.data

    def range_at(self, index: int) -> Range:
        """The range of a piece."""
        place = range(len(self))[index]
        return self._ends[place - 1] if place else 0, self._ends[place]

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

    def __init__(self, data: Bytes) -> None:
        self.block = ByteBlock(data)
        self.numbers = array("Q")

    @property
    def data(self) -> Bytes:
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
    again. `watch`: called with the value of each record before it is read, if it is set.
    """

    def __init__(
        self,
        data: Bytes,
        decoded: Callable[[], Iterable[JsonRecord]],
        expected: Sequence[Sequence[Message]] = (),
    ) -> None:
        self.lines = LineBlock(data)
        self.expected = expected
        self.odd: list[JsonRecord] = []
        self.watch: Callable[[Any], None] | None = None
        self._decoded = decoded

    def __iter__(self) -> Iterator[JsonRecord]:
        self.lines.clear()
        self.odd.clear()
        add, add_number = self.lines.block.add, self.lines.numbers.append
        for record in self._decoded():
            add(len(record.data))
            add_number(record.number)
            if self.watch is not None:
                self.watch(record.value)
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

    @cached_property
    def block(self) -> ByteBlock:
        """The bytes of the lines."""
        return ByteBlock.of_lines(self.lines)

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
