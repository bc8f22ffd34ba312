"""A file's lines cut into chunks that are read, edited and written on their own, one in memory at a time.

A file of conversations is a chunk a line; a file of events, or one JSON document, is a single chunk. What a file is,
its first values tell: each format says of each value whether it is one of its own.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from io import BytesIO
from itertools import chain, islice

from ctxtrim.formats import FORMATS
from ctxtrim.formats.format import Format, Layout
from ctxtrim.lines import BLANK, BOM, NOT_JSON, Record, document, split
from ctxtrim.model import Line, Span, Transcript
from ctxtrim.splice import locate
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
    """A file being read: its format and layout (None where nobody knows it), and its chunks.

    `is_lines`: it has a conversation on each line, so that others may stand beside them. `votes`: how many of the
    `looked` values at its beginning each format knows.
    """

    format: Format | None
    layout: Layout | None
    is_lines: bool
    chunks: Iterator[Chunk]
    votes: Mapping[tuple[Format, Layout], int] = field(default_factory=dict)
    looked: int = 0

    @property
    def taken_for(self) -> str:
        """What it was taken for and how sure that is, as a sentence."""
        if self.format is None:
            return f"taken for no format: none knows any of the {self.looked} values looked at; kept as it is"
        (_, most), *rest = sorted(self.votes.items(), key=lambda vote: -vote[1])
        others = "".join(f", {count} look like {one.name} ({_LAYOUTS[layout]})" for (one, layout), count in rest)
        what = _LAYOUTS[self.layout or "events"]
        return f"taken for {self.format.name} ({what}): {most} of {self.looked} values looked at are its own{others}"

    @property
    def is_mixed(self) -> bool:
        """Whether its beginning looks like several formats."""
        return len({one for one, _ in self.votes}) > 1


_LAYOUTS: dict[Layout, str] = {"conversation": "whole conversations", "events": "one message or event a line"}


def open_reading(lines: Iterable[bytes], formats: Sequence[Format] = tuple(FORMATS.values())) -> Reading:
    """Tell which of some formats a file is, from its beginning."""
    records = _records(iter(lines))
    head: list[Record] = []
    votes: dict[tuple[Format, Layout], int] = {}
    size = 0
    for record in records:
        head.append(record)
        size += len(record.data)
        vote = _vote(record.value, formats)
        if vote is not None:
            votes[vote] = votes.get(vote, 0) + 1
        if len(head) == HEAD or size > HEAD_BYTES or (vote and vote[1] == "conversation"):
            break  # a conversation is enough: what follows it can be read as it comes
    dialect, layout = max(votes, key=lambda vote: votes[vote]) if votes else (None, None)
    is_lines = layout == "conversation" and all(_is_line(record.data) for record in head)
    cut = _by_line if layout == "conversation" else _at_once
    looked = sum(record.value is not BLANK for record in head)
    return Reading(dialect, layout, is_lines, cut(dialect, chain(head, records)), votes, looked)


def _vote(value: object, formats: Iterable[Format]) -> tuple[Format, Layout] | None:
    """The first format that knows a value, and what the value is in it."""
    for dialect in formats:
        layout = dialect.sniff(value)
        if layout is not None:
            return dialect, layout
    return None


def _is_line(data: bytes) -> bool:
    return b"\n" not in data.strip()


def _records(lines: Iterator[bytes]) -> Iterator[Record]:
    """The records of a file. Where its first value goes on over the line's end, the whole file may be one document."""
    number = 0
    for line in lines:
        number += 1
        first = split(line, number)
        if line.strip() in (b"", BOM):
            yield from first
            continue
        if first[-1].value is NOT_JSON:
            rest = line + b"".join(lines)
            whole = document(rest)
            if whole is not None:
                whole.number += number - 1
                yield whole
                return
            lines = iter(BytesIO(rest))
            next(lines)
        yield from first
        break
    for line in lines:
        number += 1
        yield from split(line, number)


def _by_line(dialect: Format | None, records: Iterable[Record]) -> Iterator[Chunk]:
    """A chunk for each line of the file; values glued on one line stay together."""
    together: list[Record] = []
    for record in records:
        if together and together[0].number != record.number:
            yield _chunk(dialect, together)
            together = []
        together.append(record)
    if together:
        yield _chunk(dialect, together)


def _at_once(dialect: Format | None, records: Iterable[Record]) -> Iterator[Chunk]:
    """One chunk, and none for an empty file."""
    together = list(records)
    if together:
        yield _chunk(dialect, together)


def _chunk(dialect: Format | None, records: list[Record]) -> Chunk:
    lines = tuple(Line(record.data, record.number) for record in records)
    if dialect is None:
        return Chunk(lines, (), tuple(islice(_oddities(records), 1)))
    transcripts = dialect.transcripts(records, lines)
    if len(lines) == 1 and not _is_line(lines[0].data):
        transcripts = _placed(lines[0], transcripts)
    return Chunk(lines, tuple(transcripts), tuple(_oddities(records)))


def _placed(line: Line, transcripts: list[Transcript]) -> list[Transcript]:
    """Transcripts of a document over several lines, with the lines at which they and their messages start."""
    paths = {message.spans[0].path for one in transcripts for message in one.messages if message.spans}
    text = line.data.decode()
    positions = locate(text, paths | {one.pointer for one in transcripts})
    places: dict[Span, int] = {}
    number, done = line.number, 0
    for path, position in sorted(positions.items(), key=lambda item: item[1]):
        number += text.count("\n", done, position)
        done = position
        places[Span(0, path)] = number
    return [replace(one, source=replace(one.source, places=places)) for one in transcripts]


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
