"""Where a value is in a file: its line, and its JSON path in the line."""

from functools import cached_property
from typing import NamedTuple

from msgspec import Struct

from ctxtrim.text.json_paths import Path


class Document(Struct, frozen=True, dict=True):
    """The bytes of a JSON document that is read in parts, and its JSON style."""

    data: bytes

    @cached_property
    def is_ascii(self) -> bool:
        """Whether all other characters are escaped."""
        return self.data.isascii()

    @cached_property
    def has_spaces(self) -> bool:
        """Whether there are spaces after colons."""
        return b'": ' in self.data


class Line(NamedTuple):
    """The bytes of one JSON value as read from the file, terminator included.

    Almost always one line of the file. Two values glued together on one line share a `number`; a
    whole JSON document is one value. All of them joined are the file, byte for byte.
    """

    data: bytes
    number: int  # the line of the file at which the value starts, counted from 1
    document: Document | None = None  # whose element the value has, in an array


class Span(Struct, frozen=True, order=True, gc=False):
    """The location of a value: the index of its line and its JSON path, `()` for the whole line."""

    line: int
    path: Path = ()

    def inside(self, *keys: str | int) -> "Span":
        """The span of a value inside this one."""
        return Span(self.line, self.path + keys)

    @property
    def outer(self) -> "Span":
        """The span of the object or the array that contains the value."""
        return Span(self.line, self.path[:-1])
