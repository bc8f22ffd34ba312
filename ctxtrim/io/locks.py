"""Locks of files and folders that end with their process. Systems without `fcntl` have none."""

import os
from contextlib import suppress
from pathlib import Path
from weakref import finalize

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

HAS_LOCKS = fcntl is not None
"""False on Windows, which cannot open a folder either."""


def lock(handle: int, *, is_shared: bool = False, waits: bool = True) -> None:
    """Lock an open file or folder until it is closed, where the system has locks.

    Raises `OSError` on a file system without locks, and `BlockingIOError` if another process holds
    the lock and this one does not wait.
    """
    if fcntl is not None:
        how = fcntl.LOCK_SH if is_shared else fcntl.LOCK_EX
        fcntl.flock(handle, how if waits else how | fcntl.LOCK_NB)


class FolderLock:
    """A lock on a folder until `close`: shared by many, or held alone."""

    def __init__(self, folder: Path, *, is_shared: bool) -> None:
        """A shared lock waits for its turn. The other raises `BlockingIOError` if it cannot be
        held at once.
        """
        if not HAS_LOCKS:
            return
        handle = os.open(folder, os.O_RDONLY)
        self._close = finalize(self, os.close, handle)
        try:
            lock(handle, is_shared=is_shared, waits=is_shared)
        except BlockingIOError:
            self.close()
            raise
        except OSError:
            self.close()  # a file system without locks

    def close(self) -> None:
        """End the lock. A second call does nothing."""
        if HAS_LOCKS:
            self._close()


def is_locked(path: Path) -> bool:
    """Whether a process holds the lock of a file that it writes."""
    if not HAS_LOCKS:
        return False
    with suppress(OSError):
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            lock(handle, is_shared=True, waits=False)
        except BlockingIOError:
            return True
        finally:
            os.close(handle)
    return False
