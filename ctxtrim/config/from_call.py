"""Settings from an API call: mappings and keywords.

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


def program(location: str, preset: str, *options: Mapping[str, Any]) -> Config:
    """The configuration of some mappings, with the keys of `ctxtrim.toml`; the last one wins.

    Missing keys have the values of the preset.

    Raises `UsageError`; its message begins with `location`. `enabled` is true unless `options` sets
    it, so the stored preference is never read.
    """
    call = SettingsSource(location)
    for mapping in options:
        given = mappings.read(SettingsSource(location), mapping, check=Option.convert_strictly)
        call.shared.update(given.shared)
        call.models.update(given.models)
        for stage, settings in given.settings.items():
            call.settings.setdefault(stage, {}).update(settings)
    assumed = {"preset": Value(preset, "default"), "enabled": Value(True, "default")}
    return Config(
        (
            call,
            SettingsSource("default", shared=assumed),
        ),
        Preference(Path()),
    )
