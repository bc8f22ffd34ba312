"""Settings from an API call: one mapping.

Files, the environment and the user's preference are not read.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ctxtrim.config import mappings
from ctxtrim.config.automatic import Preference
from ctxtrim.config.option import Option
from ctxtrim.config.resolution import Config
from ctxtrim.config.source import SettingsSource, Value


def program(options: Mapping[str, Any], location: str, preset: str) -> Config:
    """The configuration of `options`, with the keys of `ctxtrim.toml`.

    Missing keys have the values of the preset.

    Raises `UsageError`; its message begins with `location`. `enabled` is true unless `options` sets
    it, so the stored preference is never read.
    """
    assumed = {"preset": Value(preset, "default"), "enabled": Value(True, "default")}
    return Config(
        (
            mappings.read(SettingsSource(location), options, check=Option.convert_strictly),
            SettingsSource("default", shared=assumed),
        ),
        Preference(Path()),
    )
