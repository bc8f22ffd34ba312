"""The self-check: written bytes must read back as the edited transcripts, or nothing is written."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ctxtrim.errors import BUG, NotEditableError, SelfCheckError
from ctxtrim.formats import FORMATS
from ctxtrim.formats.base import Format
from ctxtrim.formats.chunks import Chunk
from ctxtrim.formats.json_in_string import unwrapped
from ctxtrim.formats.lines import ByteBlock, Bytes, LineRecords
from ctxtrim.model import Line, Message, Part, Transcript
from ctxtrim.text.records import JsonRecord, document, split


class WrittenChunk(Struct, frozen=True):
    """The bytes of an edited chunk, None if nothing is left.

    `read_back`: the transcripts as they read back, by position; none if nothing was edited.
    `linked`: the line numbers of `Rewritten.linked`.
    """

    data: Bytes | None
    read_back: Mapping[int, Transcript] = {}
    linked: Sequence[int] = ()


def written_chunk(chunk: Chunk, out: Sequence[Transcript], failed: Sequence[bool]) -> WrittenChunk:
    """The edited chunk without failed transcripts.

    A document or line with several transcripts cannot be written in part: if one fails, all are
    left out. So are all if a line contains values of a failed transcript and of another.
    """
    if not any(failed) and all(
        transcript.messages is transcript.source.messages for transcript in out
    ):
        return WrittenChunk(chunk.data)
    if any(failed) and (all(failed) or len(chunk.lines) == 1):
        return WrittenChunk(None)
    kept_positions = [position for position in range(len(out)) if not failed[position]]
    kept = [out[position] for position in kept_positions]
    lost = _lines(transcript for transcript, is_lost in zip(out, failed, strict=True) if is_lost)
    if lost and not lost.isdisjoint(_lines(kept)):
        return WrittenChunk(None)
    is_same = not lost and all(
        transcript.messages == transcript.source.messages for transcript in kept
    )
    if chunk.format is None or is_same:
        return WrittenChunk(chunk.data)
    from ctxtrim.formats.writing import rewrite  # for edited transcripts only

    rewritten = rewrite(chunk.format, chunk.lines, kept, lost)
    pieces = rewritten.pieces
    read_back = check(chunk.format, chunk.lines, pieces, kept)
    data = pieces.data
    if chunk.element is not None:
        if not pieces[0].strip(b"[] \t\r\n"):
            raise NotEditableError(
                "the edit drops a message that is an element of an array by itself; "
                "write each element on a line of its own"
            )
        data = chunk.joined(bytes(data))
    positions = [position for position in kept_positions if out[position].messages]
    linked = [chunk.lines[index].number for index in rewritten.linked]
    return WrittenChunk(data, dict(zip(positions, read_back, strict=True)), linked)


def _lines(transcripts: Iterable[Transcript]) -> set[int]:
    """The indices of the lines with messages of some transcripts."""
    return {
        span.line
        for transcript in transcripts
        for message in transcript.source.messages
        for span in message.spans
    }


def check(
    file_format: Format,
    lines: Sequence[Line],
    written: ByteBlock,
    transcripts: Sequence[Transcript],
) -> list[Transcript]:
    """The transcripts as they read back from the written bytes; a `SelfCheckError` if they differ
    from `transcripts`.

    An inserted text must be read at its position and with its role. Adjacent messages of one role
    in one element read as a single message, for example after a result between them was dropped. So
    the check compares parts, not messages. Some formats do not record the tool name of a result,
    and shortened JSON may read as a wrapper around its output. The model reads the same text in
    both cases.
    """
    is_document = len(lines) == 1
    expected = [transcript for transcript in transcripts if transcript.messages]
    records = LineRecords(
        written.data,
        lambda: _records(written, is_document),
        [transcript.messages for transcript in expected],
    )
    read_back = _read(file_format, records)
    if expected and not read_back:  # the rest may now look like another format
        others = (
            other
            for other in FORMATS.values()
            if any(other.sniff(record.value) for record in records)
        )
        read_back = next(filter(None, (_read(other, records) for other in others)), read_back)
    is_new = any(
        message.index is None for transcript in expected for message in transcript.messages
    )
    if read_back != expected and [_as_read(transcript, is_new) for transcript in read_back] != [
        _as_read(transcript, is_new) for transcript in expected
    ]:
        raise SelfCheckError(
            f"the edited transcript reads back differently; it was not written; {BUG}"
        )
    return read_back


def _records(written: Iterable[bytes], is_document: bool) -> Iterator[JsonRecord]:
    for data in written:
        whole = document(data) if is_document else None
        yield from [whole] if whole else split(data, 1)


def _read(file_format: Format, records: LineRecords) -> list[Transcript]:
    """The transcripts in some records that contain messages."""
    transcripts = file_format.transcripts(records, records.lines)
    records.finish()
    return [transcript for transcript in transcripts if transcript.messages]


def _as_read(transcript: Transcript, is_new: bool) -> tuple[object, ...]:
    """The parts that a model reads, with their roles.

    An empty message counts unless something was inserted.
    """
    parts: list[tuple[object, Part | None]] = []
    for message in transcript.messages:
        speaker = (message.role, message.metadata, message.visibility)
        parts += ((speaker, _part_as_read(message, part, is_new)) for part in message.parts)
        if not message.parts and not is_new:
            parts.append((speaker, None))
    return parts, transcript.tools, transcript.tool_choice


def _part_as_read(message: Message, part: Part, is_new: bool) -> Part:
    """A part as the model reads it.

    Error flags of wrapped JSON are left out, as they depend on how it is read. Formats that require
    a flag write that an inserted result is no error.
    """
    is_wrapped = part.kind == "tool_result" and unwrapped(part.spelled) is not None
    is_error = part.is_error
    if is_wrapped or (is_new and not is_error):
        is_error = None
    return replace(
        part,
        text=part.spelled,
        wrapper=None,
        name=None if is_new and message.role == "tool" else part.name,
        is_error=is_error,
    )
