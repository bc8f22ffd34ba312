"""Default locations of the archive, the settings and spilled results."""

import os
from pathlib import Path

import platformdirs


def own_archive() -> Path:
    """The archive in the user's data folder."""
    return Path(platformdirs.user_data_dir("ctxtrim", appauthor=False)) / "archive"


def objects_of(archive: Path) -> Path:
    """The folder for single texts in an archive."""
    return archive / "objects"


def own_settings() -> Path:
    """The user's folder for configuration."""
    return Path(platformdirs.user_config_dir("ctxtrim", appauthor=False))


def spill_folder() -> Path:
    """The default folder for spilled results, among the temporary files.

    The id of the user is part of the name, so that several users of a machine do not share one
    folder.
    """
    import tempfile  # for runs that spill results only

    name = f"ai_tool_outputs-{os.geteuid()}" if hasattr(os, "geteuid") else "ai_tool_outputs"
    return Path(tempfile.gettempdir()) / name
