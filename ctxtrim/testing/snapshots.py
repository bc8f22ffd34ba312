"""Snapshots of transcripts for syrupy: a line for each message and part.

::

    from ctxtrim.testing.snapshots import TranscriptSnapshot

    def test_session(snapshot):
        assert "sessions/a.jsonl" == snapshot(extension_class=TranscriptSnapshot)

Lines have no numbers, so that a new message changes no other line.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any

from msgspec.structs import replace
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

from ctxtrim.api import Message, Part, Transcript
from ctxtrim.api.files import read, transcripts_in
from ctxtrim.api.messages import conversation, message_list
from ctxtrim.errors import InputError
from ctxtrim.formats.lines import SourceValues
from ctxtrim.formats.reading import open_reading

Snapshotable = str | Path | bytes | Transcript | Iterable[Any]
_BREAKS = "\x7f\x85\u2028\u2029" + "".join(map(chr, range(0xD800, 0xE000)))
"""Characters that JSON allows, but that end a line in some editors, or that no file can hold."""
_CLOCKS = ("timestamp", "time", "created_at", "createdAt", "created", "ts", "date")
_IDS = ("id", "uuid", "message_id", "messageId")
_DIGITS = 12  # of the SHA-256 of an attachment


class TranscriptSnapshot(SingleFileSnapshotExtension):
    """A snapshot file of the lines of a file, a transcript, transcripts or a message list."""

    _write_mode = WriteMode.TEXT
    file_extension = "transcript"
    _file_extension = file_extension  # its name before syrupy 5

    def serialize(self, data: Any, **options: Any) -> str:
        """The lines of the data, each with a line break."""
        return "".join(f"{line}\n" for line in lines(data))


def lines(data: Snapshotable) -> Iterator[str]:
    """The lines of a file, its bytes, a transcript, transcripts or a message list.

    Texts are JSON strings, so that a line break in a text is not the end of a line. Raises
    `InputError` for a file that cannot be read, and if there is no transcript.
    """
    has_any = False
    for transcript in _transcripts(data):
        has_any = True
        yield _line("transcript", id=transcript.id, model=transcript.model)
        if transcript.tools is not None:
            yield f"  tools {transcript.tools}"
        values = SourceValues(transcript.source.lines)
        has_events = len({message.spans[0].line for message in transcript.source.messages}) > 1
        for message in transcript.messages:
            yield _head(message, _recorded(values, message, has_events))
            for part in message.parts:
                yield _part(part, _digest(values, message, part))
    if not has_any:
        raise InputError("no transcript found; an empty snapshot would always be equal")


def _transcripts(data: Any) -> Iterable[Transcript]:
    if isinstance(data, str | Path):
        return read(data)
    if isinstance(data, Transcript):
        return [data]
    if isinstance(data, bytes):
        return transcripts_in(open_reading(BytesIO(data)))
    values: Sequence[Any] = message_list(data)
    if all(isinstance(value, Transcript) for value in values):
        return values
    return [conversation(values).transcript]


def _recorded(values: SourceValues, message: Message, has_events: bool) -> Mapping[str, Any]:
    """The JSON object around a message that has an id or a clock; empty without one.

    `has_events`: the line of a message is an event, not the whole conversation.
    """
    if not message.spans:
        return {}
    span = message.spans[0]
    for length in range(len(span.path), -1 if has_events else 0, -1):
        value = values.at(replace(span, path=span.path[:length]))
        if isinstance(value, dict) and not value.keys().isdisjoint((*_IDS, *_CLOCKS)):
            return value
    return {}


def _head(message: Message, recorded: Mapping[str, Any]) -> str:
    """The line of a message, with ids and clocks as recorded."""
    facts: dict[str, Any] = {"name": message.name, "kind": message.kind}
    facts |= {key: recorded[key] for key in (*_IDS, *_CLOCKS) if key in recorded}
    if not message.agent_visible:
        facts["visible"] = False
    return _line(message.role, **facts)


def _digest(values: SourceValues, message: Message, part: Part) -> str | None:
    """The start of the SHA-256 of the JSON of an attachment, or of its message if the format does
    not locate it; None for other parts.

    Marks of prompt caches are left out: programs move them when messages are added.
    """
    place = part.block or part.source or next(iter(message.spans), None)
    if part.media is None or place is None:
        return None
    value = values.at(place)
    if isinstance(value, dict):
        value = {key: inner for key, inner in value.items() if key != "cache_control"}
    return sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:_DIGITS]


def _part(part: Part, digest: str | None) -> str:
    """The line of a part: its kind, what identifies it, and its text as JSON."""
    media = part.media
    size = media.pixels if media is not None else None
    line = _line(
        f"  {part.kind}",
        name=part.name,
        id=part.call_id,
        error=part.is_error or None,
        media=media.kind if media is not None else None,
        size=f"{size[0]}x{size[1]}" if size is not None else None,
        sha256=digest,
    )
    text = part.text if part.kind == "tool_call" and "\n" not in part.text else _quoted(part.text)
    return line if media is not None else f"{line} {text}"


def _line(start: str, **facts: Any) -> str:
    """A line of a word and facts as `name=value`, without the facts that are None."""
    shown = (f" {name}={_value(value)}" for name, value in facts.items() if value is not None)
    return start + "".join(shown)


def _value(value: object) -> str:
    is_word = isinstance(value, str) and value.isprintable() and " " not in value
    return str(value) if is_word else _quoted(value)


def _quoted(value: object) -> str:
    """A value as JSON on one line, with letters of all scripts as they are."""
    text = json.dumps(value, ensure_ascii=False)
    return "".join(f"\\u{ord(sign):04x}" if sign in _BREAKS else sign for sign in text)
