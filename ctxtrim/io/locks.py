"""Locks of files and folders that end with their process. Systems without `fcntl` have none."""

import os
from contextlib import suppress
from pathlib import Path
from weakref import finalize

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


class FolderLock:
    """A lock on a folder until `close`: shared by many, or held alone."""

    def __init__(self, folder: Path, *, is_shared: bool) -> None:
        """A shared lock waits for its turn. The other raises `BlockingIOError` if it cannot be
        held at once.
        """
        if fcntl is None:
            return
        handle = os.open(folder, os.O_RDONLY)
        self._close = finalize(self, os.close, handle)
        try:
            fcntl.flock(handle, fcntl.LOCK_SH if is_shared else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.close()
            raise
        except OSError:
            self.close()  # a file system without locks

    def close(self) -> None:
        """End the lock. A second call does nothing."""
        if fcntl is not None:
            self._close()


def is_locked(path: Path) -> bool:
    """Whether a process holds the lock of a file that it writes."""
    if fcntl is None:
        return False
    with suppress(OSError):
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(handle)
    return False
