"""The files of a session as pieces of one JSON document, with all bytes of each file."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from io import BytesIO
from pathlib import Path
from typing import Any

from ctxtrim.errors import InputError, reason, too_large
from ctxtrim.io.storage.journal import must_be_complete
from ctxtrim.io.storage.session import StoredSession
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

    @classmethod
    def at(cls, text: str, start: int) -> "StoredPiece":
        """The object at a position of a document, with the white space after it; a `ValueError` if
        there is another value.
        """
        if not text.startswith("{", start):
            raise ValueError("not an object")
        return cls(text[start : skip(text, members(text, start).end)])

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


def piece_in(path: Path) -> StoredPiece:
    """A file as a piece; an `InputError` if it is not a JSON object."""
    try:
        return StoredPiece.of(path.read_bytes())
    except ValueError as error:
        raise InputError(
            f"{path}: not a JSON object; the session cannot be read without it"
        ) from error


def document_lines(session: StoredSession, max_size: int) -> Iterator[bytes]:
    """The lines of the document of a session; an `InputError` if it is too large."""
    must_be_complete(session.journal)
    try:
        size = sum(path.stat().st_size for path in session.files())
        if size > max_size:
            raise InputError(too_large("the session", max_size))
        yield from BytesIO(session.document())
    except OSError as error:
        raise InputError(f"{error.filename}: cannot be read: {reason(error)}") from error


def member_starts(text: str, start: int, names: tuple[str, str]) -> dict[str, int]:
    """The starts of the members of an object; a `ValueError` if it has others, or another order."""
    object_members = members(text, start)
    if not text.startswith("{", start) or tuple(object_members.keys) != names:
        raise ValueError("not the document of a session")
    return {name: span[1] for name, span in zip(names, object_members.spans, strict=True)}


def element_starts(text: str, start: int) -> Iterator[int]:
    """The starts of the elements of an array; a `ValueError` if there is another value."""
    if not text.startswith("[", start):
        raise ValueError("not the document of a session")
    for _, at, _ in members(text, start).spans:
        yield at
