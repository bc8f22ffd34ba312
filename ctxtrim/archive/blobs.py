"""Texts in a folder by their SHA-256, private to the user and never changed.

A file is on the disk before its name is returned, so neither a crash nor another process finds half
a file. Its content is compared with its name whenever it is used: to read it, and to store the same
text again.
"""

import os
import re
import stat
from contextlib import AbstractContextManager
from pathlib import Path
from typing import BinaryIO

from ctxtrim.archive.permissions import is_ours, make_folder
from ctxtrim.errors import ArchiveError, os_errors_as
from ctxtrim.io.temporary import Temporary, sync_folder
from ctxtrim.text.hashing import sha256

_NAME = re.compile("[0-9a-f]{64}")
_MENTION = re.compile(rb"sha256 ([0-9a-f]{64})\]")  # the end of `clipping.limits.spill_notice`
_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_BINARY", 0)
)


class Objects:
    """The files of a folder: `3f/9a…` has the text with the name 3f9a….

    Methods raise `ArchiveError`.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def make(self) -> None:
        """Create the folder; an `ArchiveError` if other users can change it."""
        with self._errors():
            make_folder(self.folder)

    def put(self, data: bytes) -> str:
        """Store some bytes and return their name once they are on the disk.

        A file of that name with another content is replaced. One with these bytes gets a new time
        of modification, because it is in use again.
        """
        name = sha256(data)
        target = self.path(name)
        with self._errors():
            make_folder(target.parent)
            if _read(target, must_be_ours=True) == data:
                os.utime(target)
                return name
            temporary = Temporary(self.folder, "object")
            try:
                temporary.write(data)
                temporary.sync()
                temporary.replace(target)
            finally:
                temporary.discard()
            sync_folder(target.parent)
        return name

    def take(self, name: str) -> bytes:
        """The bytes with a name, checked against the name."""
        with self._errors():
            data = _read(self.path(name)) if _NAME.fullmatch(name) else None
        if data is None:
            raise ArchiveError(f"{self.folder}: the original {name} is missing")
        if sha256(data) != name:
            raise ArchiveError(
                f"{self.folder}: the original {name} has been changed; it is not what was stored"
            )
        return data

    def mentioned(self, data: bytes) -> set[str]:
        """The names of files in the folder that notices in a transcript refer to."""
        names = {name.decode() for name in _MENTION.findall(data)}
        return {name for name in names if self.path(name).exists()}

    def names(self) -> list[str]:
        """The names of everything in the folder."""
        with self._errors():
            return sorted(file.parent.name + file.name for file in self.folder.glob("??/[0-9a-f]*"))

    def path(self, name: str) -> Path:
        """The path of the file with a name, whether it exists or not."""
        return self.folder / name[:2] / name[2:]

    def _errors(self) -> AbstractContextManager[None]:
        return os_errors_as(ArchiveError, f"{self.folder}: originals cannot be stored here")


def open_regular(path: Path) -> BinaryIO:
    """A regular file, open to read; an `ArchiveError` for a link or a special file."""
    if not stat.S_ISREG(path.lstat().st_mode):
        raise ArchiveError(f"{path}: is not a regular file; the archive was changed")
    return os.fdopen(os.open(path, _FLAGS), "rb")


def _read(path: Path, must_be_ours: bool = False) -> bytes | None:
    """The content of a regular file, which `must_be_ours`; None if there is no such file."""
    try:
        status = path.lstat()
        if not stat.S_ISREG(status.st_mode) or (must_be_ours and not is_ours(status)):
            return None
        with open_regular(path) as file:
            return file.read()
    except FileNotFoundError:
        return None
