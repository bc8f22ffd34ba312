"""Facts about paths: the type of a file, the same place, the repository of a folder; and the bytes
of a file that a user names.
"""

import errno
import stat
from pathlib import Path

MISSING = (FileNotFoundError, NotADirectoryError)
"""The errors of a path without a file; a folder of it may be a file (`HOME=/dev/null`)."""


def mode_of(path: Path) -> int:
    """The type and permissions of the file at a path; 0 if it is missing or inaccessible."""
    try:
        return path.stat().st_mode
    except (OSError, ValueError):  # a name with a null byte is a ValueError
        return 0


def is_same(path: Path, other: Path) -> bool:
    """Whether two paths name the same place."""
    return resolved(path) == resolved(other)


def resolved(path: Path) -> Path:
    """The absolute path without links."""
    try:
        return path.resolve()
    except (OSError, RuntimeError):  # links in a circle
        return path.absolute()


def repository(folder: Path) -> Path | None:
    """The root of the git repository that a folder is in; None outside of repositories.

    `folder` is an absolute path.
    """
    parents = (folder, *folder.parents)
    return next((parent for parent in parents if mode_of(parent / ".git")), None)


def contents_of(path: Path, most: int) -> bytes:
    """The bytes of a file, which may be a pipe.

    Raises `OSError` for more than `most` bytes and for a device, because reading may never end.
    """
    if stat.S_ISCHR(mode_of(path)):
        raise OSError(errno.EINVAL, "it is a device")
    return bounded_contents(path, most)


def bounded_contents(path: Path, most: int) -> bytes:
    """The bytes of a file, a pipe or a device. Raises `OSError` for more than `most` bytes."""
    with path.open("rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise too_long(most)
    return data


def too_long(most: int) -> OSError:
    """The error of a file with more than `most` bytes."""
    return OSError(errno.EFBIG, f"it has more than {most:,} bytes")
