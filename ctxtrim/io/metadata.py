"""The metadata that a file keeps when it is replaced: owner, group, mode, extended attributes."""

import os
import stat
from contextlib import suppress
from pathlib import Path


def copy_owner(status: os.stat_result, handle: int) -> None:
    """Give an open file the owner and group of another file, or raise `OSError`."""
    mine = os.fstat(handle)
    if hasattr(os, "fchown") and (mine.st_uid, mine.st_gid) != (status.st_uid, status.st_gid):
        os.fchown(handle, status.st_uid, status.st_gid)


def copy_attributes(source: Path, handle: int) -> None:
    """Give an open file the extended attributes and access control lists of another, on Linux.

    Attributes that the system refuses are left out.
    """
    if not hasattr(os, "listxattr"):
        return
    with suppress(OSError):  # a file system without extended attributes
        for name in os.listxattr(source):
            with suppress(OSError):
                os.setxattr(handle, name, os.getxattr(source, name))


def copy_mode(status: os.stat_result, path: Path) -> None:
    """Give a file the permissions of another file.

    Call it last: a new owner resets some of them.
    """
    path.chmod(stat.S_IMODE(status.st_mode))
