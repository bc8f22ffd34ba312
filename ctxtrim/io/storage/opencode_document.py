"""A session of many files as one document, in the shape of `opencode export`.

::

    {"info":SESSION,"messages":[{"info":MESSAGE,"parts":[PART,PART]},…]}

Each piece is the text of a file, with the white space at its end. There is no other white space, so
that the same files always make the same document, and a document tells every byte of its files.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from ctxtrim.io.storage.pieces import StoredPiece, element_starts, member_starts
from ctxtrim.text.json_spans import skip


@dataclass(frozen=True)
class StoredMessage:
    """A message and its parts."""

    info: StoredPiece
    parts: tuple[StoredPiece, ...]

    @property
    def text(self) -> str:
        """The message as an element of the document."""
        parts = ",".join(part.text for part in self.parts)
        return f'{{"info":{self.info.text},"parts":[{parts}]}}'


@dataclass(frozen=True)
class SessionDocument:
    """A session and its messages, in order."""

    info: StoredPiece
    messages: tuple[StoredMessage, ...]

    @property
    def data(self) -> bytes:
        """The bytes of the document, with a line break at the end."""
        messages = ",".join(message.text for message in self.messages)
        return f'{{"info":{self.info.text},"messages":[{messages}]}}\n'.encode()

    @property
    def pieces(self) -> Iterator[StoredPiece]:
        """All pieces, in order."""
        yield self.info
        for message in self.messages:
            yield message.info
            yield from message.parts

    @classmethod
    def of(cls, data: bytes) -> "SessionDocument":
        """The document that some bytes are; a `ValueError` if they are another one."""
        text = data.decode()
        starts = member_starts(text, skip(text, 0), ("info", "messages"))
        messages = []
        for start in element_starts(text, starts["messages"]):
            inner = member_starts(text, start, ("info", "parts"))
            parts = tuple(
                StoredPiece.at(text, place) for place in element_starts(text, inner["parts"])
            )
            messages.append(StoredMessage(StoredPiece.at(text, inner["info"]), parts))
        return cls(StoredPiece.at(text, starts["info"]), tuple(messages))

    def with_spaces_of(self, other: "SessionDocument") -> "SessionDocument":
        """The document with the white space that another one has after the same pieces."""
        spaces = {piece.id: piece.space for piece in other.pieces}

        def spaced(piece: StoredPiece) -> StoredPiece:
            return piece.ending(spaces.get(piece.id, ""))

        messages = (
            StoredMessage(spaced(message.info), tuple(map(spaced, message.parts)))
            for message in self.messages
        )
        return replace(self, info=spaced(self.info), messages=tuple(messages))
