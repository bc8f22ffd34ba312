"""Texts in a folder by their SHA-256: never changed once they are there, and the user's alone.

A file is on the disk before its name is told, so that neither a crash nor another process finds half of one.
"""

import hashlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ctxtrim.errors import ArchiveError, reason


def sha256(data: bytes) -> str:
    """The name of some bytes, in hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


class Objects:
    """The files of a folder, `3f/9a…` for what is named 3f9a…; an `ArchiveError` where they cannot be used."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def make(self) -> None:
        """The folder is there, and nobody else reads it."""
        with self._trouble():
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self.folder.chmod(0o700)

    def put(self, data: bytes) -> str:
        """Store some bytes and return their name once they are on the disk."""
        name = sha256(data)
        target = self.path(name)
        with self._trouble():
            if target.exists():
                return name
            target.parent.mkdir(exist_ok=True, mode=0o700)
            handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=".")
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())
                Path(temporary).replace(target)
            except OSError:
                Path(temporary).unlink(missing_ok=True)
                raise
            _sync(target.parent)
        return name

    def take(self, name: str) -> bytes:
        """What has a name, checked against it."""
        with self._trouble():
            try:
                data = self.path(name).read_bytes()
            except FileNotFoundError:
                raise ArchiveError(f"{self.folder}: the original {name} is missing") from None
        if sha256(data) != name:
            raise ArchiveError(f"{self.folder}: the original {name} has been changed; it is not what was stored")
        return data

    def names(self) -> list[str]:
        """The names of all that is there."""
        with self._trouble():
            return sorted(file.parent.name + file.name for file in self.folder.glob("??/[0-9a-f]*"))

    def path(self, name: str) -> Path:
        """Where something is, or would be."""
        return self.folder / name[:2] / name[2:]

    @contextmanager
    def _trouble(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise ArchiveError(f"{self.folder}: originals cannot be kept here: {reason(error)}") from error


def _sync(folder: Path) -> None:
    """Make the names in a folder durable, where the system can."""
    if hasattr(os, "O_DIRECTORY"):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
