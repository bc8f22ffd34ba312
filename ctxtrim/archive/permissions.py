"""Checks of the folders and files of an archive: other users must not be able to change them.

Windows has no such modes and owners. There only links and special files are refused.
"""

import os
import stat
from contextlib import suppress
from pathlib import Path

from ctxtrim.errors import ArchiveError

_KINDS = {stat.S_IFLNK: "a symbolic link", stat.S_IFDIR: "a folder", stat.S_IFREG: "a file"}
_HAS_OWNERS = hasattr(os, "geteuid")


def make_folder(folder: Path, *, is_named: bool = False) -> None:
    """Create a private folder. An existing folder keeps its mode.

    Raises `ArchiveError` for a folder that other users own or can write to, and for a symbolic link
    unless the user named the folder (`is_named`).
    """
    with suppress(FileExistsError):  # `must_be_folder` reports it
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    must_be_folder(folder, is_named=is_named)


def must_be_folder(folder: Path, *, is_named: bool = False) -> None:
    """Raise `ArchiveError` unless the path is a folder that no other user can write to."""
    status = folder.stat() if is_named else folder.lstat()
    if not stat.S_ISDIR(status.st_mode):
        raise ArchiveError(
            f"{folder}: is {_kind(status)} where a folder is expected; remove it or name "
            "another folder"
        )
    _must_be_ours(folder, status)


def must_be_private(folder: Path) -> None:
    """Raise `ArchiveError` unless the path is a folder of the user that other users cannot read."""
    must_be_folder(folder)
    status = folder.lstat()
    if _HAS_OWNERS and (status.st_uid != os.geteuid() or status.st_mode & 0o077):
        raise ArchiveError(
            f"{folder}: others can read it (mode {stat.S_IMODE(status.st_mode):04o}); run 'chmod "
            "700' on it, or set TMPDIR to another folder"
        )


def must_be_file(path: Path) -> None:
    """Raise `ArchiveError` unless the path is a regular file that no other user can write to."""
    status = path.lstat()
    if not stat.S_ISREG(status.st_mode):
        raise ArchiveError(
            f"{path}: is {_kind(status)} where a file is expected; remove it or name another folder"
        )
    _must_be_ours(path, status)


def is_ours(status: os.stat_result) -> bool:
    """Whether only the user (or root) can write to a file or folder."""
    return not _HAS_OWNERS or (status.st_uid in (0, os.geteuid()) and not status.st_mode & 0o022)


def _must_be_ours(path: Path, status: os.stat_result) -> None:
    if is_ours(status):
        return
    if status.st_uid not in (0, os.geteuid()):
        raise ArchiveError(
            f"{path}: belongs to user {status.st_uid}, who can change it; run as that "
            "user, or name another folder"
        )
    raise ArchiveError(
        f"{path}: others can write to it (mode {stat.S_IMODE(status.st_mode):04o}); run 'chmod "
        "go-w' on it, or name another folder"
    )


def _kind(status: os.stat_result) -> str:
    return _KINDS.get(stat.S_IFMT(status.st_mode), "a special file")
