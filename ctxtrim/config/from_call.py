"""What a program says in a call: one mapping, and nothing of files, the environment or the user."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ctxtrim.config import mappings
from ctxtrim.config.automatic import Preference
from ctxtrim.config.resolved import Config
from ctxtrim.config.source import Said, Value


def program(options: Mapping[str, Any], where: str, preset: str) -> Config:
    """What some options say, by the names that files of ours may have; what they leave out is as a preset has it.

    A `UsageError` begins with `where` they were said. They are in force unless they say `enabled` themselves, so no
    stored preference is ever looked for.
    """
    assumed = {"preset": Value(preset, "default"), "enabled": Value(True, "default")}
    return Config((mappings.read(Said(where), options), Said("default", shared=assumed)), Preference(Path()))
