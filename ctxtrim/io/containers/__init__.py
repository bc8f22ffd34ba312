"""Containers: files with many conversations that are no text. They are read, never edited.

Each is read as JSON lines with one conversation per line, in the memory of one conversation.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

from msgspec import Struct

from ctxtrim.loading.lazy_table import LazyTable, module_table

_READERS: LazyTable[Callable[[Path, int], Iterator[bytes]]] = module_table(
    "ctxtrim.io.containers",
    {
        "a zip archive": "eval_log:lines",
        "a database": "databases:lines",
    },
)


class Container(Struct, frozen=True):
    """A kind of container: what it is, and its first bytes."""

    name: str
    magic: bytes

    def lines(self, path: Path, max_size: int) -> Iterator[bytes]:
        """The JSON lines of a file.

        An `InputError` if it cannot be read, or if a line has more than `max_size` bytes.
        """
        return _READERS[self.name](path, max_size)


CONTAINERS = (
    Container("a zip archive", b"PK\x03\x04"),
    Container("a database", b"SQLite format 3\0"),
)
LONGEST = max(len(container.magic) for container in CONTAINERS)
"""The bytes of a file that tell whether it is a container."""


def container_of(start: bytes) -> Container | None:
    """The container that a file with these first bytes is, None if it is none."""
    return next((kind for kind in CONTAINERS if start.startswith(kind.magic)), None)
