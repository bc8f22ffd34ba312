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
from ctxtrim.formats.reading import Chunk, open_reading
from ctxtrim.formats.self_check import check
from ctxtrim.formats.writing import rewrite
from ctxtrim.model import Message, Source, Transcript

PlainMessage = Mapping[str, Any]
PlainMessages = Sequence[PlainMessage]
System = str | Sequence[Mapping[str, Any]] | None
Tools = Sequence[Mapping[str, Any]] | None

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


def conversation(messages: PlainMessages, system: System = None, tools: Tools = None) -> Conversation:
    """The conversation of a list of messages in the shape of OpenAI or Anthropic, and what is sent beside it.

    A system prompt stands beside Anthropic's messages alone: a text or blocks. `tools` are schemas in either shape.
    An `InputError` names a message, counted from 0, that is none, or that JSON cannot spell.
    """
    listed = b'"messages": [' + b", ".join(_message(one, place) for place, one in enumerate(messages)) + b"]"
    beside = (("system", system), ("tools", tools))
    members = [b'"%s": %s' % (name.encode(), _spelled(value, name)) for name, value in beside if value]
    chunks = list(open_reading([b"{" + b", ".join((listed, *members)) + b"}"], _FORMATS).chunks)
    found = [transcript for chunk in chunks for transcript in chunk.transcripts]
    chunk, transcript = chunks[0], found[0] if found else Transcript((), Source(chunks[0].lines, ()))
    if system and (chunk.format is None or chunk.format.name != "anthropic"):
        raise InputError("system stands beside Anthropic's messages; in a list as OpenAI has it, it is a message")
    return Conversation(chunk, transcript)


def place_of(message: Message) -> int | None:
    """The index in its list of what a message was read from; None for what stands beside it, or was inserted."""
    path = message.spans[0].path if message.spans else ()
    return int(path[1]) if path[:1] == ("messages",) else None


def _message(message: PlainMessage, place: int) -> bytes:
    if not isinstance(message, Mapping) or not isinstance(message.get("role"), str):
        raise InputError(f"message {place}: expected an object with a role, found {str(message)[:80]}")
    return _spelled(message, f"message {place}")


def _spelled(value: object, name: str) -> bytes:
    try:
        return json.dumps(value, default=_mapping).encode("utf-8", "surrogatepass")
    except (TypeError, ValueError) as error:
        raise InputError(f"{name}: JSON cannot spell it: {error}") from error


def _mapping(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is no JSON")
