"""Facts about paths: the type of a file, the same place, the repository of a folder."""

from pathlib import Path


def mode_of(path: Path) -> int:
    """The type and permissions of the file at a path; 0 if it is missing or inaccessible."""
    try:
        return path.stat().st_mode
    except (OSError, ValueError):  # a name with a null byte is a ValueError
        return 0


def is_same(one: Path, other: Path) -> bool:
    """Whether two paths name the same place."""
    return resolved(one) == resolved(other)


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
