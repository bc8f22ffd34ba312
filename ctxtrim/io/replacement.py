"""Replacing a file in place while other programs may append to it.

::

    open and stat · (read, edit, write a temporary file) · no writer? · unchanged?
    · rename · pause · carry over

A window of microseconds remains between the last check and the rename. A program that *replaces*
the file in this window loses its new file. A program that opens the file for writing in this
window, and keeps it open for longer than a second, writes to the former file; the error names the
program. Processes of other users are visible only to root, and no processes are visible on systems
other than Linux.

A program that is opening the file during the rename may get the former file although no process has
it open yet. So after the rename of a file that changed in the last seconds, a pause lets such
programs finish before their lines are carried over.
"""

import os
import time
from pathlib import Path

from ctxtrim.errors import InputError, OutputError, reason
from ctxtrim.io.signals import delayed
from ctxtrim.io.temporary import LINK_LOOP, Temporary, writing_errors
from ctxtrim.io.writers import remaining_writer

ATTEMPTS = 5
"""The number of times that a file is read if it changes while it is edited."""

_PATIENCE = 1.0  # seconds that a program may keep the file open for writing
_RECENT = 5.0  # seconds: a file that changed since then may change at this moment
_PAUSE = 0.05  # seconds in which even a busy machine ends the opening of a file
# bytes before the end that show whether a file that grew was appended to or rewritten
_END = 4096
_CLOSES_FIRST = os.name == "nt"  # Windows renames over no open file
_ELSEWHERE = "or write a copy with -o"


class ChangedError(OutputError):
    """The file changed since it was opened, and nothing was written. Read it again."""


class ReplacedError(OutputError):
    """The file was replaced, but something that another program wrote may be missing in it."""


class InPlace:
    """A sink that replaces a regular file as a whole.

    Create it before the file is read: it shows all later changes.

    Mode, owner, group, extended attributes and symbolic links are kept. An `InputError` if the file
    cannot be opened. `commit` raises an `OutputError` if it is read-only, has hard links, belongs
    to another user or cannot be written: a file that stays as it is needs none of that.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            if path.exists() and not path.is_file():  # also a pipe without a name, as /dev/fd/63
                raise OutputError(
                    f"{path}: is not a regular file, so it cannot be replaced; write a copy with -o"
                )
            self._target = path.resolve(strict=True)
            self._old = os.open(self._target, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        except (OSError, RuntimeError) as error:
            why = reason(error) if isinstance(error, OSError) else LINK_LOOP
            raise InputError(f"cannot be read: {why}") from error
        self._temporary: Temporary | None = None
        self._problem: OutputError | None = None
        try:
            with writing_errors(path):
                self._status = os.fstat(self._old)
                self._must_be_replaceable()
                self._temporary = Temporary(self._target.parent, self._target.name)
                self._keep_group()
        except OutputError as error:
            self._problem = error
        except BaseException:
            self.discard()
            raise

    def check(self) -> None:
        """Raise `OutputError` if the file cannot be replaced."""
        if self._problem is not None:
            self.discard()
            raise self._problem

    def write(self, data: bytes) -> None:
        """Write into the temporary file."""
        if self._problem is not None:
            return
        try:
            with writing_errors(self._path):
                self._open().write(data)
        except OutputError:
            self.discard()
            raise

    def commit(self) -> None:
        """Replace the file; a `ChangedError` if it is no longer the file that was read."""
        self.check()
        temporary = self._open()
        try:
            with writing_errors(self._path):
                temporary.sync()
                temporary.copy_owner(self._status)
                temporary.copy_attributes(self._target)
                temporary.copy_mode(self._status)
                with delayed():
                    end = self._unchanged_end()
                    if _CLOSES_FIRST:
                        self._close()
                    temporary.replace(self._target)
                    if not _CLOSES_FIRST:
                        try:
                            self._carry_over(temporary, end)
                        except OSError as error:
                            raise ReplacedError(
                                f"{self._path}: replaced, but lines that another program appended "
                                f"meanwhile cannot be added: {reason(error)}"
                            ) from error
        finally:
            self.discard()

    def discard(self) -> None:
        """Leave the file unchanged; do nothing after `commit`."""
        self._close()
        if self._temporary is not None:
            self._temporary.discard()

    def _close(self) -> None:
        if self._old >= 0:
            os.close(self._old)
            self._old = -1

    def _open(self) -> Temporary:
        assert self._temporary is not None
        return self._temporary

    def _must_be_replaceable(self) -> None:
        """Raise `OutputError` for a read-only file, and if links or the owner would be lost."""
        status = self._status
        if not status.st_mode & 0o222 or not os.access(self._target, os.W_OK):
            raise OutputError(f"{self._path}: is read-only; make it writable, {_ELSEWHERE}")
        if status.st_nlink > 1:
            raise OutputError(
                f"{self._path}: has {status.st_nlink} hard links, and only this one would be "
                "replaced; write a copy with -o"
            )
        if hasattr(os, "geteuid") and os.geteuid() not in (0, status.st_uid):
            raise OutputError(
                f"{self._path}: belongs to user {status.st_uid}, and the new file would be yours; "
                f"run as that user, {_ELSEWHERE}"
            )

    def _keep_group(self) -> None:
        """Give the temporary file the group before the file is read; the owner follows later."""
        if not hasattr(os, "fchown"):
            return
        try:
            os.fchown(self._open().handle, -1, self._status.st_gid)
        except OSError as error:
            raise OutputError(
                f"{self._path}: belongs to group {self._status.st_gid}, which the new file cannot "
                f"have ({reason(error)}); change the group, {_ELSEWHERE}"
            ) from error

    def _unchanged_end(self) -> bytes:
        """The last bytes of the file; `OutputError` if it is open for writing or has changed."""
        writer = remaining_writer(self._old, _PATIENCE)
        if writer is not None:
            raise OutputError(
                f"{self._path}: process {writer} has it open for writing; end that "
                f"process first, {_ELSEWHERE}"
            )
        end = self._before(self._status.st_size)
        try:
            now = self._path.stat()
        except FileNotFoundError:
            raise OutputError(
                f"{self._path}: was deleted while it was edited; nothing was written"
            ) from None
        if not os.path.samestat(now, self._status) or _version(now) != _version(self._status):
            raise ChangedError(
                f"{self._path}: changed {ATTEMPTS} times while it was edited; end the program that "
                f"writes it, {_ELSEWHERE}"
            )
        return end

    def _carry_over(self, temporary: Temporary, end: bytes) -> None:
        """Append what other programs appended to the former file until the rename."""
        if time.time() - self._status.st_mtime < _RECENT:
            time.sleep(_PAUSE)
        writer = remaining_writer(self._old, _PATIENCE)
        now = os.fstat(self._old)
        if now.st_size > self._status.st_size and self._before(self._status.st_size) == end:
            os.lseek(self._old, self._status.st_size, os.SEEK_SET)
            _copy(self._old, temporary)
        elif _version(now) != _version(self._status):
            kept = Temporary(self._target.parent, self._target.name)
            os.lseek(self._old, 0, os.SEEK_SET)
            _copy(self._old, kept)
            copy = self._target.with_name(f"{kept.path.name[1:].removesuffix('-tmp')}-kept")
            kept.replace(copy)
            kept.discard()
            raise ReplacedError(
                f"{self._path}: another program rewrote it while it was replaced; that version is "
                f"in {copy}: compare the two and keep one"
            )
        if writer is not None:
            raise ReplacedError(
                f"{self._path}: replaced, but process {writer} still writes to the former file; "
                "its lines up to now are in the new file, later ones are lost: restart that process"
            )

    def _before(self, position: int) -> bytes:
        """The bytes of the former file just before a position."""
        os.lseek(self._old, max(0, position - _END), os.SEEK_SET)
        return os.read(self._old, min(position, _END))


def _version(status: os.stat_result) -> tuple[int, int]:
    return status.st_size, status.st_mtime_ns


def _copy(source: int, target: Temporary) -> None:
    while data := os.read(source, 1 << 20):
        target.write(data)
    target.sync()
