"""Splits a file into chunks that are read, edited and written one at a time, to bound memory.

Each line of a file of conversations is a chunk, and each element of a large array of them. A file
of events or another JSON document is a single chunk. The format is detected from the first values:
each format votes for the values that it recognizes.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from itertools import chain, groupby
from typing import NamedTuple

from ctxtrim.errors import InputError, too_large
from ctxtrim.formats import FORMATS
from ctxtrim.formats.arrays import LARGE, ConversationArray, conversation_array, parted
from ctxtrim.formats.base import Format, Layout
from ctxtrim.formats.chunks import Chunk, chunk_of, is_line, unread, whole_chunk
from ctxtrim.formats.detection import Detection, extend_head, may_be_read, votes_for
from ctxtrim.formats.lines import LineRecords, Numbered, lines_before_long, numbered, whole_lines
from ctxtrim.loading import lazy_function
from ctxtrim.text.records import (
    BLANK,
    MAX_SIZE,
    NOT_JSON,
    JsonRecord,
    LinePart,
    document,
    is_blank,
    split,
)

_BLANKS = 1 << 20  # bytes of blank lines that are read at a time
_reason_in = lazy_function("ctxtrim.formats.other_files:reason_in")


@dataclass
class Reading:
    """A file being read: its format and layout (None if unknown), how these were found, and its
    chunks.

    `chunks` are those of `first`, the lines by which the format was detected, and of `rest`, the
    lines after them if each has its own chunk. `head` has the lines of `first` if each has its own
    chunk, too. `is_lines`: each line is a conversation, so that more lines may be added.
    """

    format: Format | None
    layout: Layout | None
    detection: Detection
    is_lines: bool
    first: Iterator[Chunk]
    rest: Iterator[Numbered]
    chunks: Iterator[Chunk]
    head: Sequence[Numbered]


def open_reading(
    lines: Iterable[bytes],
    formats: Sequence[Format] = tuple(FORMATS.values()),
    max_size: int = MAX_SIZE,
    large: int = LARGE,
) -> Reading:
    """Detect the format of a file from its first values.

    Raises an `InputError`, here or while reading chunks, if a file that is read as a whole exceeds
    `max_size` bytes. An array of conversations of `large` bytes is read one element at a time.
    """
    head, rest, array = _beginning(
        iter(lines), max_size, lambda data, number: conversation_array(data, number, formats, large)
    )
    long_lines: list[Numbered] = []
    more_lines = lines_before_long(rest, long_lines) if array is None else iter(())
    head_votes = extend_head(head, more_lines, formats)
    rest = chain(long_lines, rest)
    votes = votes_for([record.value for record in head], head_votes, formats)
    file_format, layout = next(iter(votes), (None, None))
    is_lines = layout == "conversation" and all(is_line(record.data) for record in head)
    detection = Detection(
        {(voted.name, its_layout): count for (voted, its_layout), count in votes.items()},
        looked=sum(record.value is not BLANK for record in head),
        reason=_reason_in(record.value for record in head) if file_format is None else None,
    )
    chunks: Iterator[Chunk]
    if layout == "conversation":
        first_chunks = _by_line(file_format, formats, head if array is None else head[:-1])
        if array is not None:
            first_chunks = chain(first_chunks, array.chunks())
        chunks = chain(first_chunks, line_chunks(file_format, formats, rest))
    else:
        chunks = first_chunks = _at_once(file_format, head, whole_lines(rest), max_size)
    first_lines = _lines_of(head) if is_lines and array is None else ()
    return Reading(
        format=file_format,
        layout=layout,
        detection=detection,
        is_lines=is_lines,
        first=first_chunks,
        rest=rest,
        chunks=chunks,
        head=first_lines,
    )


def _lines_of(records: Iterable[JsonRecord]) -> list[Numbered]:
    """The lines of some records, of which several may be on one line."""
    return [
        (number, b"".join(record.data for record in line_records))
        for number, line_records in groupby(records, lambda record: record.number)
    ]


class _Beginning(NamedTuple):
    """The records of a file up to its first value, and the lines after them.

    `array`: the last record is a large array, whose value is only its first elements.
    """

    head: list[JsonRecord]
    rest: Iterator[Numbered]
    array: ConversationArray | None = None


def _beginning(
    lines: Iterator[bytes],
    max_size: int,
    array_of: Callable[[bytes, int], ConversationArray | None],
) -> _Beginning:
    """The beginning of a file. If the first value continues after its line, the whole file may be
    one document.
    """
    head, number, line = _leading_blanks(lines, max_size)
    if line is None:
        return _Beginning(head, iter(()))
    if (array := array_of(line, number)) is not None:
        head.append(JsonRecord(line, number, array.sample))
        return _Beginning(head, numbered(lines, number + 1), array)
    line_records = split(line, number)
    if line_records[-1].value is NOT_JSON:
        data = _document(chain([line], lines), number, max_size)
        if (array := array_of(data, number)) is not None:
            return _Beginning([*head, JsonRecord(data, number, array.sample)], iter(()), array)
        record = document(data)
        if record is not None:
            record.number += number - 1
            return _Beginning([*head, record], iter(()))
        rest = BytesIO(data)
        rest.seek(len(line))
        lines = iter(rest)
    return _Beginning([*head, *line_records], numbered(lines, number + 1))


def _leading_blanks(
    lines: Iterator[bytes], max_size: int
) -> tuple[list[JsonRecord], int, bytes | None]:
    """The blank lines at the beginning as one record, and the line after them with its number."""
    blanks = BytesIO()
    first_line: bytes | None = None
    number = 1
    for number, line in whole_lines(numbered(lines)):
        if not is_blank(line):
            first_line = line
            break
        if blanks.tell() + len(line) > max_size:
            raise InputError(too_large("the run of blank lines", max_size), number)
        blanks.write(line)
    data = blanks.getvalue()
    return [JsonRecord(data, 1, BLANK)] if data else [], number, first_line


def _records(lines: Iterable[Numbered]) -> Iterator[JsonRecord]:
    """The records of some lines. Blank lines that follow each other share records."""
    for are_blank, run in groupby(lines, _is_blank):
        if are_blank:
            yield from _blank_records(run)
        else:
            for number, line in run:
                if isinstance(line, LinePart):
                    yield line.record(number)
                else:
                    yield from split(line, number)


def _is_blank(item: Numbered) -> bool:
    return item[1].isspace() and not isinstance(item[1], LinePart)


def _blank_records(lines: Iterable[Numbered]) -> Iterator[JsonRecord]:
    """Blank lines, as records of up to about `_BLANKS` bytes."""
    blanks, first_number = BytesIO(), 0
    for number, line in lines:
        first_number = first_number or number
        blanks.write(line)
        if blanks.tell() >= _BLANKS:
            yield JsonRecord(blanks.getvalue(), first_number, BLANK)
            blanks, first_number = BytesIO(), 0
    if first_number:
        yield JsonRecord(blanks.getvalue(), first_number, BLANK)


def _document(lines: Iterator[bytes], number: int, max_size: int) -> bytes:
    """The bytes of a document that starts at line `number`; an `InputError` if it is too large."""
    data = BytesIO()  # whose bytes are not copied
    for line_number, line in whole_lines(numbered(lines, number)):
        if data.tell() + len(line) > max_size:
            raise InputError(too_large("the document", max_size), line_number)
        data.write(line)
    return data.getvalue()


def line_chunks(
    file_format: Format | None, formats: Sequence[Format], lines: Iterable[Numbered]
) -> Iterator[Chunk]:
    """One chunk for each line of a file whose values are whole conversations."""
    return _by_line(file_format, formats, _records(lines))


def _by_line(
    file_format: Format | None, formats: Sequence[Format], records: Iterable[JsonRecord]
) -> Iterator[Chunk]:
    """One chunk for each line of the file, or part of a long line. Values glued together on one
    line share a chunk.
    """
    line_records: list[JsonRecord] = []
    for record in records:
        begins = not line_records or line_records[0].number != record.number
        if line_records and (begins or isinstance(record.data, LinePart)):
            yield from _chunks_of_line(file_format, formats, line_records)
        line_records.append(record)
    if line_records:
        yield from _chunks_of_line(file_format, formats, line_records)


def _chunks_of_line(
    file_format: Format | None, formats: Sequence[Format], records: list[JsonRecord]
) -> Iterator[Chunk]:
    """The chunk of a line, or those of the elements of an array of several formats."""
    chunk = _line_chunk(file_format, formats, records)
    _forget(records)
    yield from parted(chunk, formats)


def _forget(records: list[JsonRecord]) -> None:
    """Free the decoded values, which need more memory than the lines."""
    for record in records:
        record.value = None
    records.clear()


def _line_chunk(
    file_format: Format | None, formats: Sequence[Format], records: list[JsonRecord]
) -> Chunk:
    """A line in the format of the file, else in the first format that recognizes it."""
    chunk = chunk_of(file_format, records)
    if chunk.error is not None:
        return chunk
    for transcript in chunk.transcripts:
        if transcript.messages or not transcript.uncounted:
            return chunk
    values = [record.value for record in records if may_be_read(record.value)]
    for candidate in formats if values else ():
        if any(candidate.sniff(value) == "conversation" for value in values):
            return chunk_of(candidate, records)
    return unread(chunk, (record.value for record in records), "line")


def _at_once(
    file_format: Format | None, head: list[JsonRecord], rest: Iterable[Numbered], max_size: int
) -> Iterator[Chunk]:
    """One chunk, or none for an empty file; an `InputError` if the file is too large."""
    data = BytesIO()
    for number, line in chain(((record.number, record.data) for record in head), rest):
        if data.tell() + len(line) > max_size:
            raise InputError(too_large("the file is a single transcript, and it", max_size), number)
        data.write(line)
    if head:
        content = data.getvalue()
        chunk = whole_chunk(file_format, LineRecords(content, lambda: _decoded(content, head)))
        head.clear()  # the decoded values need more memory than the lines
        yield chunk


def _decoded(data: bytes, head: Sequence[JsonRecord]) -> Iterator[JsonRecord]:
    """The records of a file of which the first ones are decoded."""
    for record in head:
        # the lines that a report counts; millions of them need too much memory
        if record.value is BLANK and len(record.data) <= _BLANKS:
            for number, line in enumerate(BytesIO(record.data), record.number):
                yield JsonRecord(line, number, BLANK)
        else:
            yield record
    lines = BytesIO(data)
    lines.seek(sum(len(record.data) for record in head))
    for number, line in enumerate(lines, head[-1].number + 1):
        yield from split(line, number)
