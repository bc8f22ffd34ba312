"""Where things are kept that nobody named a place for."""

import tempfile
from pathlib import Path

import platformdirs


def own_archive() -> Path:
    """The archive in the user's data folder."""
    return Path(platformdirs.user_data_dir("ctxtrim", appauthor=False)) / "archive"


def own_settings() -> Path:
    """The user's folder for configuration."""
    return Path(platformdirs.user_config_dir("ctxtrim", appauthor=False))


def spill_folder() -> Path:
    """Where results go that are too large for a transcript, in the system's folder for temporary files."""
    return Path(tempfile.gettempdir()) / "ai_tool_outputs"
