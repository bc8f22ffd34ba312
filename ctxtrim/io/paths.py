"""Facts about paths: the type of a file, the same file, the repository of a folder; and the bytes
of a file that a user names.
"""

import errno
import os
import posixpath
import stat
from pathlib import Path

from ctxtrim.errors import InputError, reason

_MAX_CONFIGURATION = 1 << 24  # bytes; a larger file is not a configuration
MISSING = (FileNotFoundError, NotADirectoryError)
"""The errors of a path without a file; a folder of it may be a file (`HOME=/dev/null`)."""


FileIdentity = tuple[int | str, ...]
"""What all paths of one file have in common, links included."""


def mode_of(path: Path) -> int:
    """The type and permissions of the file at a path; 0 if it is missing or inaccessible."""
    try:
        return path.stat().st_mode
    except (OSError, ValueError):  # a name with a null byte is a ValueError
        return 0


def is_reachable(path: Path) -> bool:
    """Whether the folder of a path can be searched, or is missing."""
    try:
        path.lstat()
    except PermissionError:
        return False
    except OSError:
        return True
    return True


def expanded(text: str) -> Path | None:
    """The path with the home folder in the place of `~`; None if there is no such folder."""
    try:
        path = Path(text).expanduser()
    except RuntimeError:  # the user has no entry, and no HOME
        return None
    return None if text.startswith("~") and not path.is_absolute() else path


def is_same(path: Path, other: Path) -> bool:
    """Whether two paths name the same place."""
    return resolved(path) == resolved(other)


def resolved(path: Path) -> Path:
    """The absolute path without links."""
    try:
        return path.resolve()
    except (OSError, RuntimeError):  # links in a circle
        return path.absolute()


def file_identity(path: Path) -> FileIdentity | None:
    """The device and the inode of a file or a pipe; None for a device or a folder.

    A file that does not exist has those of its folder, and its name.
    """
    try:
        status = path.stat()
    except OSError:
        return _future_identity(Path(os.path.realpath(path)))
    if stat.S_ISREG(status.st_mode) or stat.S_ISFIFO(status.st_mode):
        return status.st_dev, status.st_ino
    return None


def _future_identity(path: Path) -> FileIdentity:
    try:
        folder = path.parent.stat()
    except OSError:  # the folder does not exist either
        return (os.path.normcase(path),)
    return (folder.st_dev, folder.st_ino, os.path.normcase(path.name))


def repository(folder: Path) -> Path | None:
    """The root of the git repository that a folder is in; None outside of repositories.

    `folder` is an absolute path.
    """
    parents = (folder, *folder.parents)
    return next((parent for parent in parents if mode_of(parent / ".git")), None)


def folder_in_repository() -> str:
    """The working folder as a path from the root of its repository; empty at the root, and without
    a repository.
    """
    try:
        here = Path.cwd()
    except OSError:  # the folder was deleted
        return ""
    root = repository(here)
    return "" if root is None or root == here else here.relative_to(root).as_posix()


def from_root(folder: str, path: str) -> str:
    """A path from the root of the repository, if it is relative to `folder` of the repository.

    A path outside of the repository stays as it is.
    """
    given = Path(path).as_posix()
    if Path(path).is_absolute():
        return given
    normal = posixpath.normpath(posixpath.join(folder, given))
    return given if normal.startswith("../") else normal


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


def configuration_in(path: Path, *, is_named: bool) -> bytes | None:
    """The bytes of the file at a path; None if there is no file.

    A file that the user names must exist and may be a pipe. Any other file must be a regular file,
    because reading a pipe or a device in a stranger's folder may never end. Raises `InputError` if
    the file cannot be read.
    """
    try:
        if not is_named and path.exists() and not path.is_file():
            raise InputError(
                f"{path}: cannot be read: it is not a regular file; remove it or rename it"
            )
        return bounded_contents(path, _MAX_CONFIGURATION)
    except OSError as error:
        if isinstance(error, MISSING) and not is_named:
            return None
        advice = "; name another file" if error.errno == errno.EFBIG else ""
        raise InputError(f"{path}: cannot be read: {reason(error)}{advice}") from error
