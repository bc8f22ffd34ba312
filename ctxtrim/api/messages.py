"""From message lists of programs to transcripts and back.

The list is written as the bytes of a file and read from them, so the promises for files hold here
too: values that are not edited do not change. The given list is never changed.
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
class PlainConversation:
    """The transcript of a message list, and the lines of the file that it would be."""

    chunk: Chunk
    transcript: Transcript

    def with_messages(self, transcript: Transcript) -> list[dict[str, Any]]:
        """A new list for an edited transcript."""
        chunk = self.chunk
        if chunk.format is None or transcript.messages == transcript.source.messages:
            lines = tuple(line.data for line in chunk.lines)
        else:
            lines = rewrite(chunk.format, chunk.lines, [transcript])
            check(chunk.format, chunk.lines, lines, [transcript])
        found: list[dict[str, Any]] = json.loads(b"".join(lines))["messages"]
        return found


def conversation(
    messages: PlainMessages, system: System = None, tools: Tools = None
) -> PlainConversation:
    """The conversation of messages in the shape of OpenAI or Anthropic.

    `system` is for Anthropic only: a text or blocks. `tools` are schemas in either shape. Raises
    `InputError` for a value that is not a message or not JSON, with its position, counted from 0.
    """
    values = [_message(message, position) for position, message in enumerate(messages)]
    listed = b'"messages": [' + b", ".join(values) + b"]"
    services = (("system", system), ("tools", tools))
    members = [
        b'"%s": %s' % (name.encode(), _spelled(value, name)) for name, value in services if value
    ]
    chunks = list(open_reading([b"{" + b", ".join((listed, *members)) + b"}"], _FORMATS).chunks)
    found = [transcript for chunk in chunks for transcript in chunk.transcripts]
    chunk = chunks[0]
    transcript = found[0] if found else Transcript((), Source(chunk.lines, ()))
    if system and (chunk.format is None or chunk.format.name != "anthropic"):
        raise InputError(
            "system is for Anthropic's messages only; in a list of OpenAI, pass a system message"
        )
    return PlainConversation(chunk, transcript)


def position_of(message: Message) -> int | None:
    """The index of a message in the given list; None if it is not in the list."""
    path = message.spans[0].path if message.spans else ()
    return int(path[1]) if path[:1] == ("messages",) else None


def _message(message: PlainMessage, position: int) -> bytes:
    if not isinstance(message, Mapping) or not isinstance(message.get("role"), str):
        raise InputError(
            f"message {position}: expected an object with a role, found {str(message)[:80]}"
        )
    return _spelled(message, f"message {position}")


def _spelled(value: object, name: str) -> bytes:
    try:
        return json.dumps(value, default=_mapping).encode("utf-8", "surrogatepass")
    except (TypeError, ValueError) as error:
        raise InputError(f"{name}: cannot be written as JSON: {error}") from error


def _mapping(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is not JSON")
