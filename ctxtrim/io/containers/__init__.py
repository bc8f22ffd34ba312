"""Containers: files with many conversations that are no text. They are read, never edited.

Each is read as JSON lines with one conversation per line, in the memory of one conversation.
"""

from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from ctxtrim.loading import lazy_function


class Container(Struct, frozen=True):
    """A kind of container: what it is, its first bytes, and the function that reads it."""

    name: str
    magic: bytes
    reader: str

    def lines(self, path: Path, max_size: int) -> Iterator[bytes]:
        """The JSON lines of a file.

        An `InputError` if it cannot be read, or if a line has more than `max_size` bytes.
        """
        read = lazy_function(f"{__name__}.{self.reader}")
        lines: Iterator[bytes] = read(path, max_size)
        return lines


CONTAINERS = (
    Container("a zip archive", b"PK\x03\x04", "eval_log:lines"),
    Container("a database", b"SQLite format 3\0", "databases:lines"),
)
LONGEST = max(len(container.magic) for container in CONTAINERS)
"""The bytes of a file that tell whether it is a container."""


def container_of(start: bytes) -> Container | None:
    """The container that a file with these first bytes is, None if it is none."""
    return next((kind for kind in CONTAINERS if start.startswith(kind.magic)), None)
