"""Settings from an API call: mappings and keywords.

Files, the environment and the user's preference are not read.
"""

from collections.abc import Mapping
from typing import Any

from ctxtrim.config import mappings
from ctxtrim.config.option import Option
from ctxtrim.config.resolution import DEFAULT, Config
from ctxtrim.config.source import SettingsSource, Value
from ctxtrim.errors import UsageError
from ctxtrim.text.names import option_name

_WINDOW = ("context_window", "reserve")


def call_config(location: str, preset: str, *options: Mapping[str, Any]) -> Config:
    """The configuration of some mappings, with the keys of `ctxtrim.toml`; the last one wins.

    A context window or a reserve replaces the budget of earlier mappings. Missing keys have the
    values of the preset.

    Raises `UsageError`, also for a key without an effect; its message begins with `location`.
    `enabled` is true unless `options` sets it, so the stored preference is never read.
    """
    call = SettingsSource(location)
    for mapping in options:
        _must_have_names(location, mapping)
        source = mappings.read(SettingsSource(location), mapping, check=_convert)
        if "budget" not in source.shared and not source.shared.keys().isdisjoint(_WINDOW):
            call.shared.pop("budget", None)
        call.shared.update(source.shared)
        call.models.update(source.models)
        for stage in {**source.settings, **source.refused}:
            call.settings[stage] = source.over(stage, call.settings.get(stage, {}))
    assumed = {"preset": Value(preset, DEFAULT), "enabled": Value(True, DEFAULT)}
    return Config((call, SettingsSource(DEFAULT, shared=assumed)))


def _must_have_names(location: str, options: object) -> None:
    """Raise `UsageError` unless options, and blocks in them, are mappings whose keys are texts."""
    if not isinstance(options, Mapping):
        raise UsageError(f"{location}: expected a mapping of settings, found {options!r}")
    for key, value in options.items():
        if not isinstance(key, str):
            raise UsageError(f"{location}: {key!r}: expected the name of a setting")
        if isinstance(value, Mapping):
            _must_have_names(f"{location}: {key}", value)


def _convert(option: Option, location: str, value: Any) -> Any:
    """The value of an option. Raises `UsageError` for an option that a call does not use."""
    if not option.is_keyword:
        raise UsageError(
            f"{location}: not a setting here; pass --{option_name(option.name)} on the command line"
        )
    if option.units:  # as in "2GiB"
        return option.convert(location, value)
    return option.convert_strictly(location, value)
