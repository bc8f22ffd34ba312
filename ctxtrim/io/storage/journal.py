"""The journal of an edit of many files: what they were and will be, until all are written.

It is locked by the process that edits. The lock ends with the process, so a journal without a lock
is that of an interrupted edit. Systems without `fcntl` (Windows) have no such lock: there any
journal is.
"""

import json
import os
from dataclasses import dataclass
from pathlib import Path

from ctxtrim.errors import InputError, OutputError
from ctxtrim.io.locks import lock
from ctxtrim.io.temporary import sync_folder

_BINARY = getattr(os, "O_BINARY", 0)


@dataclass(frozen=True)
class Journal:
    """An open journal, and the document of the session before and after the edit."""

    path: Path
    before: bytes
    after: bytes
    handle: int

    @classmethod
    def started(cls, path: Path, before: bytes, after: bytes) -> "Journal":
        """A new journal, on the disk. An error removes it: no file of the session is changed."""
        data = json.dumps([before.decode(), after.decode()]).encode()
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | _BINARY, 0o600)
        try:
            _lock(handle, path)
            with os.fdopen(os.dup(handle), "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(handle)
            sync_folder(path.parent)
        except BaseException:
            os.close(handle)
            path.unlink(missing_ok=True)
            raise
        return cls(path, before, after, handle)

    @classmethod
    def left(cls, path: Path) -> "Journal | None":
        """The journal of an interrupted edit; None if no file was changed.

        Raises `OutputError` if the edit still runs.
        """
        try:
            handle = os.open(path, os.O_RDWR | _BINARY)
        except FileNotFoundError:
            return None
        try:
            _lock(handle, path)
            before, after = json.loads(path.read_bytes())
        except ValueError:  # interrupted before the journal was complete, so before any change
            os.close(handle)
            path.unlink(missing_ok=True)
            return None
        except BaseException:
            os.close(handle)
            raise
        return cls(path, before.encode(), after.encode(), handle)

    def end(self) -> None:
        """Remove the journal: the files are complete."""
        os.close(self.handle)
        self.path.unlink()


def must_be_complete(path: Path) -> None:
    """Raise `InputError` if there is a journal: some files of the session may be edited."""
    if path.exists():
        raise InputError(
            "an edit of this session in place was interrupted, or still runs; the next edit in "
            "place puts its files back as they were"
        )


def _lock(handle: int, path: Path) -> None:
    try:
        lock(handle, waits=False)
    except BlockingIOError:
        raise OutputError(f"{path}: another run edits this session; try again later") from None
