"""Containers: files with many conversations that are no text. They are read, never edited.

Each is read as JSON lines with one conversation per line, in the memory of one conversation.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

from msgspec import Struct

from ctxtrim.io.containers import databases, eval_log


class Container(Struct, frozen=True):
    """A kind of container: what it is, its first bytes, and how it is read.

    `lines`: the JSON lines of a file; an `InputError` if it cannot be read or if a line has more
    than the given number of bytes.
    """

    name: str
    magic: bytes
    lines: Callable[[Path, int], Iterator[bytes]]


CONTAINERS = (
    Container("a zip archive", b"PK\x03\x04", eval_log.lines),
    Container("a database", b"SQLite format 3\0", databases.lines),
)
LONGEST = max(len(container.magic) for container in CONTAINERS)
"""The bytes of a file that tell whether it is a container."""


def container_of(start: bytes) -> Container | None:
    """The container that a file with these first bytes is, None if it is none."""
    return next((kind for kind in CONTAINERS if start.startswith(kind.magic)), None)
