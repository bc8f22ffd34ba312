"""A file's lines cut into chunks that are read, edited and written on their own, one in memory at a time.

A file of conversations is a chunk a line; a file of events, or one JSON document, is a single chunk. What a file is,
its first values tell: each format says of each value whether it is one of its own.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from io import BytesIO
from itertools import chain, islice

from ctxtrim.formats import FORMATS
from ctxtrim.formats.format import Layout
from ctxtrim.lines import BOM, NOT_JSON, Record, document, split
from ctxtrim.model import Line, Transcript
from ctxtrim.stage import Finding

HEAD = 64  # values that are looked at to tell what a file is
HEAD_BYTES = 1 << 22


@dataclass(frozen=True)
class Chunk:
    """Some lines, the transcripts in them, and what was odd about the lines."""

    lines: tuple[Line, ...]
    transcripts: tuple[Transcript, ...]
    findings: tuple[Finding, ...]

    @property
    def data(self) -> bytes:
        """The bytes as they were read."""
        return b"".join(line.data for line in self.lines)


@dataclass
class Reading:
    """A file being read: its format and layout (None where nobody knows it), and its chunks."""

    format: str | None
    layout: Layout | None
    chunks: Iterator[Chunk]


def open_reading(lines: Iterable[bytes], name: str | None = None) -> Reading:
    """Tell what a file is from its beginning; `name` is the only format to try where the user gave one."""
    records = _records(iter(lines))
    head: list[Record] = []
    size = 0
    for record in records:
        head.append(record)
        size += len(record.data)
        if len(head) == HEAD or size > HEAD_BYTES:
            break
    dialect, layout = _detect(head, name)
    cut = _by_line if layout == "conversation" else _at_once
    return Reading(dialect, layout, cut(dialect, chain(head, records)))


def _records(lines: Iterator[bytes]) -> Iterator[Record]:
    """The records of a file. Where its first value goes on over the line's end, the whole file may be one document."""
    blank: list[bytes] = []
    for line in lines:
        if line.strip() in (b"", BOM):
            blank.append(line)
            continue
        if split(line, 1)[-1].value is NOT_JSON:
            data = b"".join((*blank, line, *lines))
            whole = document(data)
            if whole is not None:
                yield whole
                return
            blank, lines = [], iter(BytesIO(data))
            break
        lines = chain([line], lines)
        break
    for number, line in enumerate(chain(blank, lines), 1):
        yield from split(line, number)


def _detect(head: Iterable[Record], name: str | None) -> tuple[str | None, Layout | None]:
    """The format and layout that most of the first values belong to; the first in the table among equals."""
    votes: Counter[tuple[str, Layout]] = Counter()
    for record in head:
        for dialect in (name,) if name else FORMATS:
            layout = FORMATS[dialect].sniff(record.value)
            if layout is not None:
                votes[dialect, layout] += 1
                break
    return votes.most_common(1)[0][0] if votes else (None, None)


def _by_line(dialect: str | None, records: Iterable[Record]) -> Iterator[Chunk]:
    """A chunk for each line of the file; values glued on one line stay together."""
    together: list[Record] = []
    for record in records:
        if together and together[0].number != record.number:
            yield _chunk(dialect, together)
            together = []
        together.append(record)
    if together:
        yield _chunk(dialect, together)


def _at_once(dialect: str | None, records: Iterable[Record]) -> Iterator[Chunk]:
    """One chunk, and none for an empty file."""
    together = list(records)
    if together:
        yield _chunk(dialect, together)


def _chunk(dialect: str | None, records: list[Record]) -> Chunk:
    lines = tuple(Line(record.data, record.number) for record in records)
    if dialect is None:
        return Chunk(lines, (), tuple(islice(_oddities(records), 1)))
    return Chunk(lines, tuple(FORMATS[dialect].read(records, lines)), tuple(_oddities(records)))


def _oddities(records: list[Record]) -> Iterator[Finding]:
    """Lines that are no JSON (nobody can say what they would have cost), and values glued together."""
    previous = 0
    for record in records:
        if record.problem is not None:
            yield Finding(
                "not-json", "error", f"{record.problem}; the line is kept as it is but not counted", record.number
            )
        elif record.is_glued and record.number != previous:
            yield Finding("glued-values", "warning", "several JSON values on one line; each is read", record.number)
        previous = record.number
