"""Stage specs as users write them: `trim`, `truncate:max-age=5,placeholder=x`,
`truncate:{JSON}`.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from ctxtrim.config.option import Option, stage_option
from ctxtrim.errors import UsageError
from ctxtrim.loading.lazy_table import LazyTable
from ctxtrim.stage import settings_of
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

SETTINGS: LazyTable[dict[str, Option]] = LazyTable(
    STAGES,
    lambda name: {field.name: stage_option(field) for field in settings_of(STAGES[name])},
)
"""The settings of each stage, by name."""


def parse_stage(text: str, location: str) -> tuple[str, dict[str, Any]]:
    """The stage name and the given settings, converted, of a text. Errors begin with `location`."""
    name, _, rest = text.partition(":")
    if name not in STAGES:
        raise UsageError(
            f"{location}: unknown stage{_similar(name, STAGES)}; expected one of "
            f"{', '.join(STAGES)}"
        )
    known = SETTINGS[name]
    members = _members(name, rest, location)
    given = {field_name(key, known) or key: value for key, value in members.items()}
    for key in given:
        if key not in known:
            raise UsageError(f"{location}: {_unknown(name, key)}")
    return name, {
        key: known[key].parse(f"{location}: {option_name(key)}", value)
        for key, value in given.items()
    }


def _unknown(stage: str, key: str) -> str:
    """The message for an unknown setting of a stage."""
    if key.replace("_", "-") in _COMMAND:
        return f"{key} applies to the whole run; pass --{key} to the command"
    known = SETTINGS[stage]
    expected = f"expected one of {', '.join(map(option_name, known))}"
    if not known:
        expected = f"{stage} has no settings"
    return f"unknown setting {key}{_similar(key, known)}; {expected}"


def _members(name: str, rest: str, location: str) -> dict[str, Any]:
    if rest.startswith("{"):
        try:
            value = json.loads(rest)
        except ValueError:
            raise UsageError(f"{location}: expected a JSON object after {name}:") from None
        return dict(value)
    pairs = [pair.partition("=") for pair in rest.split(",") if pair]
    for key, equals, _ in pairs:
        if not equals:
            hint = "; a comma separates settings, write 30_000 or 30k" if key.isdigit() else ""
            raise UsageError(f"{location}: expected key=value, found {key}{hint}")
    given: dict[str, list[str]] = {}
    for key, _, value in pairs:
        given.setdefault(key, []).append(value)
    known = SETTINGS[name]
    members: dict[str, Any] = {}
    for key, values in given.items():
        option = known.get(field_name(key, known) or key)
        if len(values) > 1 and option is not None and not isinstance(option.default, tuple):
            raise UsageError(f"{location}: {key} is given twice")
        members[key] = values if len(values) > 1 else values[0]
    return members


def restricted(stage: str, settings: Mapping[str, Any]) -> list[str]:
    """The names of the settings of a stage that only trusted sources may have."""
    return [key for key, value in settings.items() if SETTINGS[stage][key].restricts(value)]


def _similar(word: str, known: Iterable[str]) -> str:
    return suggestion(word.replace("-", "_"), {name: option_name(name) for name in known})
