"""Stage specs as users write them: `trim`, `truncate:max-age=5,placeholder=x`,
`truncate:{JSON}`.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ctxtrim.config.aliases import VALUE_ALIASES
from ctxtrim.config.option import Option, Values, stage_option
from ctxtrim.config.presets import PRESETS
from ctxtrim.errors import UsageError
from ctxtrim.stage import Stage
from ctxtrim.stages import STAGES
from ctxtrim.text.names import field_name, option_name, suggestion

_COMMAND = (
    "model",
    "context-window",
    "reserve",
    "budget",
    "tokenizer",
    "safety",
    "calibrate",
    "format",
)


def _settings(name: str, stage: type[Stage]) -> dict[str, Option]:
    """The settings of a stage, by name."""
    return {
        field.name: stage_option(field, VALUE_ALIASES.get(f"{name}.{option_name(field.name)}", {}))
        for field in stage.settings()
    }


class _SettingsTable(Mapping[str, dict[str, Option]]):
    """The settings of the stages that are in the table now, which programs may change."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, type[Stage]], dict[str, Option]] = {}

    def __getitem__(self, name: str) -> dict[str, Option]:
        """The settings of a stage; a `KeyError` for an unknown stage."""
        key = name, STAGES[name]
        if key not in self._known:
            self._known[key] = _settings(*key)
        return self._known[key]

    def __iter__(self) -> Iterator[str]:
        """The names of the stages in order; loads nothing."""
        return iter(STAGES)

    def __len__(self) -> int:
        """The number of stages."""
        return len(STAGES)


SETTINGS = _SettingsTable()
"""The settings of each stage, by name."""


def parse_stage(text: str, location: str) -> tuple[str, dict[str, Any]]:
    """The stage name and the given settings, converted, of a text. Errors begin with `location`."""
    name, _, rest = text.partition(":")
    if name not in STAGES and name in PRESETS:
        raise UsageError(f"{location}: a preset, not a stage; give it as the option preset")
    if name not in STAGES:
        raise UsageError(
            f"{location}: unknown stage{_similar(name, STAGES)}; expected one of "
            f"{', '.join(STAGES)}"
        )
    if rest.startswith("{"):
        return name, _from_object(name, rest, location)
    return name, _from_pairs(name, rest, location)


def _from_object(stage: str, text: str, location: str) -> dict[str, Any]:
    """The settings in a JSON object, whose values are as in a file. Null is not given."""
    try:
        members: dict[str, Any] = json.loads(text)
    except (ValueError, RecursionError):
        raise UsageError(f"{location}: expected a JSON object after {stage}:") from None
    settings = {}
    for key, value in members.items():
        setting = _setting(stage, key, location)
        if setting.name in settings:
            raise UsageError(f"{location}: {option_name(setting.name)} is given twice")
        if value is not None:
            place = f"{location}: {option_name(setting.name)}"
            settings[setting.name] = setting.convert(place, value)
    return settings


def _from_pairs(stage: str, text: str, location: str) -> dict[str, Any]:
    """The settings in `key=value,key=value`. A list may name its key again."""
    given: dict[str, list[str]] = {}
    for pair in filter(None, text.split(",")):
        key, equals, value = pair.partition("=")
        if not equals:
            hint = "; a comma separates settings, write 30_000 or 30k" if key.isdigit() else ""
            raise UsageError(f"{location}: expected key=value, found {key}{hint}")
        given.setdefault(_setting(stage, key, location).name, []).append(value)
    settings = {}
    for name, values in given.items():
        setting, place = SETTINGS[stage][name], f"{location}: {option_name(name)}"
        if len(values) > 1 and not isinstance(setting.default, tuple):
            raise UsageError(f"{place} is given twice")
        settings[name] = setting.parse(place, values if len(values) > 1 else values[0])
    return settings


def _setting(stage: str, key: str, location: str) -> Option:
    """The setting for a key."""
    name = field_name(key, SETTINGS[stage])
    if name is None:
        raise UsageError(f"{location}: {_unknown(stage, key)}")
    return SETTINGS[stage][name]


def _unknown(stage: str, key: str) -> str:
    """The message for an unknown setting of a stage."""
    if key.replace("_", "-") in _COMMAND:
        return f"{key} applies to the whole run; pass --{key} to the command"
    known = SETTINGS[stage]
    expected = f"expected one of {', '.join(map(option_name, known))}"
    if not known:
        expected = f"{stage} has no settings"
    return f"unknown setting {key}{_similar(key, known)}; {expected}"


def restricted_settings(stage: str, settings: Values) -> list[str]:
    """The names of the settings of a stage that only trusted sources may have."""
    return [key for key, value in settings.items() if SETTINGS[stage][key].restricts(value)]


def _similar(word: str, known: Iterable[str]) -> str:
    return suggestion(word.replace("-", "_"), known, option_name)
