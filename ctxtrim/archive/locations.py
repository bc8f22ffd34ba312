"""Default locations of the archive, the settings and spilled results."""

import os
from collections.abc import Callable
from pathlib import Path

import platformdirs


def own_archive() -> Path | None:
    """The archive in the user's data folder; None for a user without a home folder."""
    folder = _own_folder(platformdirs.user_data_dir)
    return None if folder is None else folder / "archive"


def objects_of(archive: Path) -> Path:
    """The folder for single texts in an archive."""
    return archive / "objects"


def own_settings() -> Path | None:
    """The user's folder for configuration; None for a user without a home folder."""
    return _own_folder(platformdirs.user_config_dir)


def _own_folder(find: Callable[..., str]) -> Path | None:
    """The user's folder of a kind; None for a user without a home folder, as in some containers."""
    try:
        folder = Path(find("ctxtrim", appauthor=False))
    except RuntimeError:
        return None
    # older releases of platformdirs return a folder below `~`
    return folder if folder.is_absolute() else None


def spill_folder() -> Path:
    """The default folder for spilled results, among the temporary files.

    The id of the user is part of the name, so that several users of a machine do not share one
    folder.
    """
    import tempfile  # for runs that spill results only

    name = f"ai_tool_outputs-{os.geteuid()}" if hasattr(os, "geteuid") else "ai_tool_outputs"
    return Path(tempfile.gettempdir()) / name
