"""Chunks: the parts of a file that are read, edited and written one at a time."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ctxtrim.findings import Finding
from ctxtrim.formats.base import Format
from ctxtrim.formats.lines import LineBlock, LineRecords
from ctxtrim.model import Line, Transcript
from ctxtrim.text.records import JsonRecord, LinePart

_LINE = "; the line"
KEPT = f"{_LINE} is kept unchanged and not counted"
"""The end of the message about a line that is not JSON."""
LOST = f"{_LINE} is lost and not counted"
"""The same if the line is not written."""

_LINES = re.compile(rb"\s*+[^\n]*+\n\s*+\S")

Placing = Callable[[Line, list[Transcript]], list[Transcript]]
"""Adds the places in the file to the transcripts of a line."""


class ArrayPart(Struct, frozen=True):
    """The place of a chunk in an array that is read one element at a time.

    `before`: the bytes before the element. `index`: the number of transcripts in the elements
    before it. `is_last`: the chunk has the end of the array and no element. The chunks of an array
    are written together or not at all.
    """

    before: bytes
    index: int
    is_last: bool = False


class Chunk(Struct, frozen=True):
    """Some lines, their transcripts, findings about the lines, and their format.

    `error`: the unexpected exception that ended the reading of these lines, if any. `element`: None
    for chunks that are not elements of an array; the line of an element is the element in brackets.
    """

    lines: Sequence[Line]
    transcripts: tuple[Transcript, ...]
    findings: tuple[Finding, ...]
    format: Format | None = None
    error: Exception | None = None
    element: ArrayPart | None = None

    @property
    def data(self) -> bytes:
        """The bytes as read."""
        if len(self.lines) == 1:  # as in most chunks; the check below is slow
            return self.joined(self.lines[0].data)
        if isinstance(self.lines, LineBlock):
            return bytes(self.lines.data)
        return self.joined(b"".join([line.data for line in self.lines]))

    @property
    def is_open(self) -> bool:
        """Whether the next chunk continues the line or the array of this one."""
        if self.element is not None:
            return not self.element.is_last
        last = self.lines[-1].data
        return isinstance(last, LinePart) and not last.is_last

    def joined(self, data: bytes) -> bytes:
        """The bytes of the chunk in the file, from those of its lines."""
        if self.element is None or self.element.is_last:
            return data
        return self.element.before + data[1:-1]


def is_line(data: bytes) -> bool:
    """Whether a value is on one line."""
    has_break = data.find(b"\n", 0, len(data) - 1) >= 0
    return not has_break or _LINES.match(data) is None


def chunk_of(
    file_format: Format | None,
    records: list[JsonRecord],
    lines: Sequence[Line] = (),
    place: Placing | None = None,
) -> Chunk:
    """The chunk of some records, which are also the lines unless `lines` are given."""
    lines = lines or tuple([Line(record.data, record.number) for record in records])
    outcome = _read(file_format, records, lines, place)
    if isinstance(outcome, Exception):
        return Chunk(lines, (), (), file_format, outcome)
    odd_records = [record for record in records if record.problem is not None or record.is_glued]
    return Chunk(lines, outcome, _findings(file_format, odd_records), file_format)


class _Sessions:
    """Counts the sessions that begin in a file, as its lines show them."""

    def __init__(self, file_format: Format | None) -> None:
        self.number = 0
        self._session_of = None if file_format is None else file_format.session_of
        self._repeats_headers = file_format is not None and file_format.repeats_headers
        self._ids: set[str] = set()
        self._is_header = False  # whether the last line was one

    @property
    def watch(self) -> Callable[[Any], None] | None:
        """Takes the value of each line; None if lines do not show where a session begins."""
        return None if self._session_of is None else self._take

    def _take(self, value: Any) -> None:
        if self._session_of is None or not isinstance(value, dict):
            return
        session = self._session_of(value)
        if session is not None and session not in self._ids:
            self._ids.add(session)
            self.number += not (self._repeats_headers and self._is_header)
        self._is_header = session is not None


def whole_chunk(file_format: Format | None, records: LineRecords) -> Chunk:
    """The chunk of a file that is a single transcript."""
    lines = records.lines
    sessions = _Sessions(file_format)
    records.watch = sessions.watch
    outcome = _read(file_format, records, lines, None)
    records.finish()
    if isinstance(outcome, Exception):
        return Chunk(lines, (), (), file_format, outcome)
    if sessions.number > 1:
        outcome = tuple(replace(transcript, sessions=sessions.number) for transcript in outcome)
    return Chunk(lines, outcome, _findings(file_format, records.odd), file_format)


def _read(
    file_format: Format | None,
    records: Iterable[JsonRecord],
    lines: Sequence[Line],
    place: Placing | None,
) -> tuple[Transcript, ...] | Exception:
    """The transcripts of some records, or the unexpected exception that ended their reading."""
    if file_format is None:
        return ()
    try:
        transcripts = file_format.transcripts(records, lines)
        if place is not None:
            return tuple(place(lines[0], transcripts))
        if len(lines) == 1 and not is_line(lines[0].data):
            from ctxtrim.formats.line_numbers import placed  # for documents of several lines

            return tuple(placed(lines[0], transcripts))
        if isinstance(lines, LineBlock):
            return tuple(_numbered(transcript, lines) for transcript in transcripts)
        return tuple(transcripts)
    except Exception as error:  # noqa: BLE001 - whatever it is, the other lines of the file can still be read
        return error


def _numbered(transcript: Transcript, lines: LineBlock) -> Transcript:
    """A transcript that finds line numbers without the bytes of lines."""
    return replace(transcript, source=replace(transcript.source, line_numbers=lines.number_at))


def unread(chunk: Chunk, values: Iterable[object], place: str) -> Chunk:
    """The chunk of a line or an element without a conversation, with a finding if it has a value.

    An object with an empty list may be a conversation of which a stage dropped all messages, and an
    object with a type is an event or a header.
    """
    if not any(map(is_unread, values)):
        return chunk
    text = f"no conversation of a known format; the {place} is kept unchanged and not counted"
    finding = Finding("not-read", "warning", text, chunk.lines[0].number)
    return replace(chunk, transcripts=(), findings=(*chunk.findings, finding))


def is_unread(value: object) -> bool:
    """Whether a value without a conversation is reported."""
    if isinstance(value, dict):
        return bool(value) and [] not in value.values() and not isinstance(value.get("type"), str)
    return isinstance(value, list) and bool(value)


def joined_findings(findings: Iterable[Finding]) -> Iterator[Finding]:
    """The findings about a file, with one for all values that were not read, at the first."""
    first: Finding | None = None
    count = 0
    for finding in findings:
        if finding.code == "not-read":
            first = first or finding
            count += 1
        else:
            yield finding
    if first is not None and count > 1:
        text = (
            f"{count:,} values, the first of them here, have no conversation of a known format; "
            "kept unchanged and not counted"
        )
        first = replace(first, message=text)
    if first is not None:
        yield first


def _findings(file_format: Format | None, records: Sequence[JsonRecord]) -> tuple[Finding, ...]:
    """The findings about some lines that are not JSON or have several values; of an unknown format,
    the first.
    """
    if not records:
        return ()
    return tuple(islice(_oddities(records), 1 if file_format is None else None))


def problem_of(finding: Finding) -> str:
    """The problem of a line in words, without what happens to the line."""
    return finding.message.partition(_LINE)[0]


def why_no_transcript(first: Finding) -> str:
    """The message for a file without a transcript, from the first finding about its lines."""
    problem = problem_of(first)
    expected = "; expected JSON or JSON lines" if problem.startswith("not JSON") else ""
    return f"no transcript found: {problem}{expected}"


def _oddities(records: Iterable[JsonRecord]) -> Iterator[Finding]:
    """Findings for lines that are not JSON, and for values glued together."""
    previous = 0
    for record in records:
        if record.problem is not None:
            yield Finding("not-json", "error", f"{record.problem}{KEPT}", record.number)
        elif record.is_glued and record.number != previous:
            text = "several JSON values on one line; each is read"
            yield Finding("glued-values", "warning", text, record.number)
        previous = record.number
