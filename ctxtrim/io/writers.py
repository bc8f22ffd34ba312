"""Processes that have a file open for writing.

Linux only. Processes of other users are visible to root alone.
"""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_PAUSE = 0.005  # seconds between two checks
_PROCESSES = "/proc"


def remaining_writer(handle: int, patience: float) -> int | None:
    """The id of a process that still has a file open for writing after `patience` seconds.

    `handle` is open for reading only.
    """
    deadline = time.monotonic() + patience
    while (writer := next(_writers(handle), None)) is not None and time.monotonic() < deadline:
        time.sleep(_PAUSE)
    return writer


def _writers(handle: int) -> Iterator[int]:
    if _has_no_writer(handle):
        return
    status = os.fstat(handle)
    for process in _names(_PROCESSES):
        if process.isdecimal():
            folder = f"{_PROCESSES}/{process}/fd"
            if any(_writes(f"{folder}/{name}", status) for name in _names(folder)):
                yield int(process)


def _has_no_writer(handle: int) -> bool:
    """Whether it is certain that no process has the file open for writing.

    Linux grants a read lease only on such a file. The lease is returned at once. If a process opens
    the file before that, the kernel sends a signal that is ignored by default.
    """
    if not hasattr(fcntl, "F_SETLEASE"):
        return False
    try:
        fcntl.fcntl(handle, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(handle, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        fcntl.fcntl(handle, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    except OSError:  # a process writes, or the file system has no leases
        return False
    return True


def _names(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return [entry.name for entry in entries]
    except OSError:  # not Linux, another user's process, or a process that has ended
        return []


def _writes(link: str, status: os.stat_result) -> bool:
    """Whether a descriptor in /proc leads to a file and is open for writing."""
    with suppress(OSError):
        if os.lstat(link).st_mode & 0o200:
            return os.path.samestat(Path(link).stat(), status)
    return False
