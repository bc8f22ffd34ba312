"""Transcripts with inserted messages: written, and read back."""

from io import BytesIO

from ctxtrim.conversation.turns import shape
from ctxtrim.formats.base import Format
from ctxtrim.formats.chunks import Chunk
from ctxtrim.formats.reading import open_reading
from ctxtrim.formats.self_check import check
from ctxtrim.formats.writing import rewrite
from ctxtrim.model import Message, Part, Transcript

SUMMARY = Message(
    "user", (Part("text", "Summary: naïve 🚀, as told."),), is_injected=True, is_summary=True
)


def format_of(data: bytes) -> Format:
    detected = open_reading(BytesIO(data)).format
    assert detected is not None
    return detected


def written(chunk: Chunk, file_format: Format, *meant: Transcript) -> bytes:
    """The chunk with some transcripts as they are meant, which it reads back as."""
    data = rewrite(file_format, chunk.lines, meant).pieces
    check(file_format, chunk.lines, data, meant)
    return b"".join(data)


def role_parts(transcript: Transcript) -> list[tuple[str, Part]]:
    """The texts that a model reads, by role; the text of an element is a single message, so a
    neighbour can be merged into it.
    """
    return [(message.role, part) for message in transcript.messages for part in message.parts]


def starts(transcript: Transcript) -> list[int]:
    """The positions at which exchanges begin."""
    turn_shape = shape(transcript.messages)
    return [index for index, home in enumerate(turn_shape.exchange) if index == home]


def insert_positions(transcript: Transcript) -> list[int]:
    """The positions at which a message can be inserted: before any exchange except the system
    prompt, which some formats store separately, or at the end.
    """
    messages = transcript.messages
    return [
        *(index for index in starts(transcript) if messages[index].role != "system"),
        len(messages),
    ]
