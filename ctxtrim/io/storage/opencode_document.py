"""A session of many files as one document, in the shape of `opencode export`.

::

    {"info":SESSION,"messages":[{"info":MESSAGE,"parts":[PART,PART]},…]}

Each piece is the text of a file, with the white space at its end. There is no other white space, so
that the same files always make the same document, and a document tells every byte of its files.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from ctxtrim.text.json_spans import members, skip
from ctxtrim.text.records import value_of


@dataclass(frozen=True)
class StoredPiece:
    """The text of a file: a JSON object, and white space after it."""

    text: str

    @classmethod
    def of(cls, data: bytes) -> "StoredPiece":
        """The piece that some bytes are; a `ValueError` if they are not a JSON object."""
        piece = cls(data.decode("utf-8-sig").lstrip())
        if not piece.value:
            raise ValueError("not a JSON object")
        return piece

    @property
    def data(self) -> bytes:
        """The bytes of its file."""
        return self.text.encode()

    @cached_property
    def value(self) -> Mapping[str, Any]:
        """The object."""
        value = value_of(self.data)
        return value if isinstance(value, dict) else {}

    @property
    def id(self) -> str:
        """The id of the object; empty if it has none."""
        name = self.value.get("id")
        return name if isinstance(name, str) else ""

    def ending(self, space: str) -> "StoredPiece":
        """The piece with other white space at its end."""
        return StoredPiece(self.text.rstrip() + space)

    @property
    def space(self) -> str:
        """The white space at its end."""
        return self.text[len(self.text.rstrip()) :]


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
        found = _fields(text, skip(text, 0), ("info", "messages"))
        messages = []
        for start in _elements(text, found["messages"]):
            inner = _fields(text, start, ("info", "parts"))
            parts = tuple(_piece(text, at) for at in _elements(text, inner["parts"]))
            messages.append(StoredMessage(_piece(text, inner["info"]), parts))
        return cls(_piece(text, found["info"]), tuple(messages))

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


def canonical(read: bytes, written: bytes | None) -> bytes | None:
    """An edited document as its files make it; other bytes, such as a request, as they are."""
    if written is None or written == read:
        return written
    try:
        return SessionDocument.of(written).with_spaces_of(SessionDocument.of(read)).data
    except ValueError:
        return written


def _fields(text: str, start: int, names: tuple[str, str]) -> dict[str, int]:
    """The starts of the members of an object that has exactly these, in this order."""
    found = members(text, start)
    if not text.startswith("{", start) or tuple(found.keys) != names:
        raise ValueError("not a session of opencode")
    return {name: span[1] for name, span in zip(names, found.spans, strict=True)}


def _elements(text: str, start: int) -> Iterator[int]:
    """The starts of the objects in an array."""
    if not text.startswith("[", start):
        raise ValueError("not a session of opencode")
    for _, at, _ in members(text, start).spans:
        yield at


def _piece(text: str, start: int) -> StoredPiece:
    """The object at a position, with the white space after it."""
    if not text.startswith("{", start):
        raise ValueError("not a session of opencode")
    return StoredPiece(text[start : skip(text, members(text, start).end)])
