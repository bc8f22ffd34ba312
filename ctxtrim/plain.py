"""Plain message lists, as programs hold them, to transcripts and back.

The way leads through the bytes of a file, so what is true of files is true here: what is not edited comes out as it
went in, and the list that was given is never touched.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ctxtrim.errors import InputError
from ctxtrim.formats import FORMATS
from ctxtrim.formats.chunks import Chunk, open_reading
from ctxtrim.formats.rewrite import check, rewrite
from ctxtrim.model import Message, Source, Transcript

PlainMessage = Mapping[str, Any]
PlainMessages = Sequence[PlainMessage]

_FORMATS = tuple(FORMATS[name] for name in ("anthropic", "openai-chat"))


@dataclass(frozen=True)
class Conversation:
    """A message list, read: its transcript, and the lines it would be in a file."""

    chunk: Chunk
    transcript: Transcript

    def with_messages(self, transcript: Transcript) -> list[dict[str, Any]]:
        """A new list for a transcript that stages have made of this one."""
        chunk = self.chunk
        if chunk.format is None or transcript.messages == transcript.source.messages:
            lines = tuple(line.data for line in chunk.lines)
        else:
            lines = rewrite(chunk.format, chunk.lines, [transcript])
            check(chunk.format, chunk.lines, lines, [transcript])
        found: list[dict[str, Any]] = json.loads(b"".join(lines))["messages"]
        return found


def conversation(messages: PlainMessages) -> Conversation:
    """The conversation of a list of messages in the shape of OpenAI or Anthropic.

    An `InputError` names a message, counted from 0, that is none, or that JSON cannot spell.
    """
    line = b'{"messages": [' + b", ".join(_spelled(one, place) for place, one in enumerate(messages)) + b"]}"
    chunks = list(open_reading([line], _FORMATS).chunks)
    found = [transcript for chunk in chunks for transcript in chunk.transcripts]
    if not found:
        return Conversation(chunks[0], Transcript((), Source(chunks[0].lines, ())))
    return Conversation(chunks[0], found[0])


def place_of(message: Message) -> int:
    """The index in its list of what a message was read from."""
    path = message.spans[0].path
    return int(path[1])


def _spelled(message: PlainMessage, place: int) -> bytes:
    if not isinstance(message, Mapping) or not isinstance(message.get("role"), str):
        raise InputError(f"message {place}: expected an object with a role, found {str(message)[:80]}")
    try:
        return json.dumps(message, default=_mapping).encode("utf-8", "surrogatepass")
    except (TypeError, ValueError) as error:
        raise InputError(f"message {place}: JSON cannot spell it: {error}") from error


def _mapping(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is no JSON")
