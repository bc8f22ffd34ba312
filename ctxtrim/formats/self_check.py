"""The self-check: what was written reads back as what was meant, or nothing of it is written."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ctxtrim.errors import BUG, SelfCheckError
from ctxtrim.formats import FORMATS
from ctxtrim.formats.base import Format
from ctxtrim.formats.json_in_string import unwrapped
from ctxtrim.formats.reading import Chunk
from ctxtrim.formats.visibility import seen
from ctxtrim.formats.writing import rewrite
from ctxtrim.model import Line, Message, Part, Transcript
from ctxtrim.text.records import Record, document, split


def written_chunk(
    chunk: Chunk, out: Sequence[Transcript], failed: Sequence[bool]
) -> tuple[bytes | None, Mapping[int, Transcript]]:
    """The chunk with its transcripts as they are now, without those that do not fit; None where nothing is left.

    Besides, the transcripts as they read back, by their places; none where nothing was edited. A document, or a line,
    of several transcripts cannot be written in part: with one of them it goes as a whole.
    """
    if any(failed) and (all(failed) or len(chunk.lines) == 1):
        return None, {}
    kept = [transcript for transcript, is_lost in zip(out, failed, strict=True) if not is_lost]
    lost = {
        span.line
        for transcript, is_lost in zip(out, failed, strict=True)
        for message in transcript.source.messages
        for span in message.spans
        if is_lost
    }
    is_same = not lost and all(transcript.messages == transcript.source.messages for transcript in kept)
    if chunk.format is None or is_same:
        return chunk.data, {}
    pieces = rewrite(chunk.format, chunk.lines, kept, lost)
    found = check(chunk.format, chunk.lines, pieces, kept)
    places = [at for at, (one, is_lost) in enumerate(zip(out, failed, strict=True)) if one.messages and not is_lost]
    return b"".join(pieces), dict(zip(places, found, strict=True))


def check(
    dialect: Format, lines: Sequence[Line], written: Sequence[bytes], meant: Sequence[Transcript]
) -> list[Transcript]:
    """The transcripts read from what was written that hold messages; a `SelfCheckError` where they are not as meant.

    Inserted text must be read in its place and from its speaker. Neighbours of one speaker in one element are one
    message when they are read, also those between which a result was dropped: parts are compared, not messages.
    Whether a result names its tool beside its call is up to the format, and JSON that has become short may be read as
    a wrapper around its output: the model reads the same.
    """
    records: list[Record] = []
    for data in written:
        whole = document(data) if len(lines) == 1 else None
        records += [whole] if whole else split(data, 1)
    expected = [one for one in meant if one.messages]
    found = _read(dialect, records)
    if expected and not found:  # what is left may be spelled alike in another format
        others = (one for one in FORMATS.values() if any(one.sniff(record.value) for record in records))
        found = next((read for other in others if (read := _read(other, records))), found)
    is_new = any(message.index is None for one in expected for message in one.messages)
    if found != expected and [_told(one, is_new) for one in found] != [_told(one, is_new) for one in expected]:
        raise SelfCheckError(f"the edited transcript does not read back as it was meant, so it was not written; {BUG}")
    return found


def _read(dialect: Format, records: Sequence[Record]) -> list[Transcript]:
    """The transcripts in some records that hold messages."""
    again = dialect.transcripts(records, tuple(Line(record.data, record.number) for record in records))
    return [one for one in again if one.messages]


def _told(transcript: Transcript, is_new: bool) -> tuple[object, ...]:
    """What a model reads and from whom, part by part. An empty message counts unless something was inserted."""
    parts: list[tuple[object, Part | None]] = []
    for message in transcript.messages:
        speaker = (message.role, message.metadata, seen(message))
        parts += ((speaker, _bare(message, part, is_new)) for part in message.parts)
        if not message.parts and not is_new:
            parts.append((speaker, None))
    return parts, transcript.tools, transcript.tool_choice


def _bare(message: Message, part: Part, is_new: bool) -> Part:
    """A part as the model reads it; whether JSON around an output tells of a failure depends on how it is read."""
    is_wrapped = part.kind == "tool_result" and unwrapped(part.spelled) is not None
    return replace(
        part,
        text=part.spelled,
        wrapper=None,
        name=None if is_new and message.role == "tool" else part.name,
        is_error=None if is_wrapped else part.is_error,
    )
