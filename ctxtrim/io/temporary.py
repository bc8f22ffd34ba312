"""Temporary files next to their target, and the removal of those that killed runs left behind.

A temporary file is named `.TARGET.<16 hexadecimal digits>.ctxtrim-tmp` and is locked by the process
that writes it. The lock ends with the process, so a file without a lock is a leftover. Systems
without `fcntl` (Windows) have no such lock: there leftovers stay until the user deletes them.
"""

import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from io import BufferedWriter
from pathlib import Path
from weakref import finalize

from ctxtrim.errors import OutputError, os_errors_as
from ctxtrim.io.locks import HAS_LOCKS, lock
from ctxtrim.io.signals import delayed, must_continue

_NAME = re.compile(r"\..*\.[0-9a-f]{16}\.ctxtrim-tmp", re.DOTALL)
# characters of the target's name: a long name must not make the temporary name too long
_MAX_NAME = 40
_FLAGS = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | getattr(os, "O_BINARY", 0)
_CLOSES_FIRST = os.name == "nt"  # Windows renames no open file


LINK_LOOP = "too many levels of symbolic links"


@contextmanager
def writing_errors(path: Path) -> Iterator[None]:
    """Raise the errors of the block as an `OutputError` that names a path."""
    try:
        with os_errors_as(OutputError, f"{path}: cannot be written"):
            yield
    except RuntimeError as error:
        raise OutputError(f"{path}: cannot be written: {LINK_LOOP}") from error


class Temporary:
    """A locked file that only the user can read, until it replaces its target.

    Methods raise `OSError`.
    """

    def __init__(self, folder: Path, name: str) -> None:
        """Create the file in a folder on the file system of its target, whose name is `name`."""
        _remove_leftovers(folder)
        with delayed():  # a signal must not come before the file has its finalizer
            self.path, handle = _created(folder, name)
            self._file = os.fdopen(handle, "ab")
            self._remove: finalize[..., Temporary]
            self._remove = finalize(self, _remove, self._file, self.path)

    @property
    def handle(self) -> int:
        """The descriptor of the open file."""
        return self._file.fileno()

    def write(self, data: bytes) -> None:
        """Append some bytes."""
        self._file.write(data)

    def sync(self) -> None:
        """Write everything to the disk."""
        self._file.flush()
        os.fsync(self.handle)

    def copy_owner(self, status: os.stat_result) -> None:
        """Take the owner and group of another file, or raise `OSError`."""
        mine = os.fstat(self.handle)
        if hasattr(os, "fchown") and (mine.st_uid, mine.st_gid) != (status.st_uid, status.st_gid):
            os.fchown(self.handle, status.st_uid, status.st_gid)

    def copy_attributes(self, source: Path) -> None:
        """Take the extended attributes and access control lists of another file, on Linux.

        Attributes that the system refuses are left out.
        """
        if not hasattr(os, "listxattr"):
            return
        with suppress(OSError):  # a file system without extended attributes
            for name in os.listxattr(source):
                with suppress(OSError):
                    os.setxattr(self.handle, name, os.getxattr(source, name))

    def copy_mode(self, status: os.stat_result) -> None:
        """Take the permissions of another file.

        Call it last: a new owner resets some of them.
        """
        self.path.chmod(stat.S_IMODE(status.st_mode))

    def replace(self, target: Path) -> None:
        """Rename the file to its target, which it replaces, unless a signal ends the program.

        The file stays open and locked until `discard`.
        """
        must_continue()
        if _CLOSES_FIRST:
            self._file.close()
        self.path.replace(target)

    def rename(self, path: Path) -> None:
        """Give the file a name under which it stays. It remains open and locked for more bytes."""
        must_continue()
        if _CLOSES_FIRST:
            self._file.close()
        with delayed():
            self.path.replace(path)
            self._remove.detach()
            if _CLOSES_FIRST:
                self._file = path.open("ab")
            self.path = path
            self._remove = finalize(self, _close, self._file)

    def discard(self) -> None:
        """Close the file and remove it, unless it was renamed or replaced its target.

        A second call does nothing. Without a call, the end of the program does it.
        """
        self._remove()


def _remove(file: BufferedWriter, path: Path) -> None:
    _close(file)
    path.unlink(missing_ok=True)


def _close(file: BufferedWriter) -> None:
    with suppress(OSError):  # a full disk: the bytes still in the buffer are not wanted
        file.close()


def sync_folder(folder: Path) -> None:
    """Write the names in a folder to the disk, if the system supports it."""
    if hasattr(os, "O_DIRECTORY"):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _created(folder: Path, name: str) -> tuple[Path, int]:
    while True:
        path = folder / f".{name[:_MAX_NAME]}.{os.urandom(8).hex()}.ctxtrim-tmp"
        handle = os.open(path, _FLAGS, 0o600)
        with suppress(OSError):
            # a file system without locks: no other run can lock the file to remove it
            lock(handle)
        if os.fstat(handle).st_nlink:
            return path, handle
        os.close(handle)  # another process took it for a leftover before it was locked


@cache
def _remove_leftovers(folder: Path) -> None:
    """Remove the temporary files of runs that have ended; once per folder and process."""
    if not HAS_LOCKS:
        return
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if _NAME.fullmatch(entry.name):
                _remove_leftover(Path(entry.path))


def _remove_leftover(path: Path) -> None:
    """Remove a regular file of this user that no process has locked."""
    with suppress(OSError):
        # not this user's, not a regular file, or locked by a run that writes it
        handle = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            status = os.fstat(handle)
            if stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid():
                lock(handle, waits=False)
                path.unlink(missing_ok=True)
        finally:
            os.close(handle)
