"""Stage specs as users write them: `trim`, `truncate:max-age=5,placeholder=x`,
`truncate:{JSON}`.
"""

import json
from collections.abc import Mapping
from dataclasses import Field
from difflib import get_close_matches
from typing import Any

from ctxtrim.errors import UsageError
from ctxtrim.pipeline import Spec
from ctxtrim.stage import settings_of
from ctxtrim.stages import STAGES

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
_TRUE = ("true", "yes", "on", "1")
_FALSE = ("false", "no", "off", "0")


def parse(
    text: str, defaults: Mapping[str, Any], preset: Mapping[str, Mapping[str, Any]] | None = None
) -> Spec:
    """The spec of one `-s`.

    Missing settings come from `defaults`, then the preset, then the stage's own defaults.
    """
    name, members = parse_stage(text, f"-s {text}")
    return complete(name, members, f"-s {text}", defaults, (preset or {}).get(name, {}))


def parse_stage(text: str, location: str) -> tuple[str, dict[str, Any]]:
    """The stage name and the settings in a text. Errors begin with `location`."""
    name, _, rest = text.partition(":")
    if name not in STAGES:
        raise UsageError(
            f"{location}: unknown stage{_nearest(name, STAGES)}; expected one of "
            f"{', '.join(STAGES)}"
        )
    return name, _members(name, rest, location)


def complete(
    name: str,
    source: Mapping[str, Any],
    location: str,
    defaults: Mapping[str, Any] | None = None,
    base: Mapping[str, Any] | None = None,
) -> Spec:
    """A stage with all of its settings: those given, then `defaults`, then `base`, then the stage's
    own defaults.

    Errors begin with `location`.
    """
    mine = checked_settings(name, source, location)
    return Spec(
        name,
        {
            field.name: mine[field.name]
            if field.name in mine
            else _default(field, defaults or {}, base or {})
            for field in settings_of(STAGES[name])
        },
    )


def checked_settings(name: str, source: Mapping[str, Any], location: str) -> dict[str, Any]:
    """The given settings of a stage, checked and converted."""
    known = {field.name: field for field in settings_of(STAGES[name])}
    mine = {_field(key, known): value for key, value in source.items()}
    for key in mine:
        if key not in known:
            if key.replace("_", "-") in _COMMAND:
                raise UsageError(
                    f"{location}: {key} applies to the whole run; pass --{key} to the command"
                )
            expected = (
                f"expected one of {', '.join(map(option_name, known))}"
                if known
                else f"{name} has no settings"
            )
            raise UsageError(f"{location}: unknown setting {key}{_nearest(key, known)}; {expected}")
    return {
        key: checked_value(f"{location}: {option_name(key)}", known[key], value)
        for key, value in mine.items()
    }


def option_name(name: str) -> str:
    """The name of a setting as users write it: kebab-case, without the underscore after a Python
    keyword.
    """
    return name.removesuffix("_").replace("_", "-")


def _field(key: str, known: Mapping[str, Any]) -> str:
    """The field for a key, or the key itself if there is none."""
    name = key.replace("-", "_")
    return next((field for field in (name, f"{name}_") if field in known), key)


def _default(field: Field[Any], defaults: Mapping[str, Any], base: Mapping[str, Any]) -> Any:
    value = defaults.get(field.name)
    if value in (None, []):
        return base.get(field.name, field.default)
    return checked_value(f"--{option_name(field.name)}", field, value)


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
            raise UsageError(f"{location}: expected key=value, found {key}")
    return {key: value for key, _, value in pairs}


def checked_value(location: str, field: Field[Any], value: Any) -> Any:
    """A value, checked and converted to the type of the setting's default.

    All sources use this function: options, `-s`, the environment and files. Errors begin with
    `location`.
    """
    default = field.default
    if isinstance(default, bool):
        word = str(value).lower()
        if word not in _TRUE + _FALSE:
            raise UsageError(f"{location} {value}: expected true or false")
        return word in _TRUE
    if isinstance(default, int | float | None):
        return _number(location, field, value, float if isinstance(default, float) else int)
    if isinstance(default, tuple):
        return tuple(
            _text(location, field, item)
            for item in (value if isinstance(value, list | tuple) else [value])
        )
    return _text(location, field, value)


def _number(
    location: str, field: Field[Any], value: Any, kind: type[int] | type[float]
) -> int | float:
    text = _text(location, field, str(value))
    units: dict[str, int] = field.metadata["units"]
    unit = max((word for word in units if text.lower().endswith(word.lower())), key=len, default="")
    try:
        number = kind(text[: len(text) - len(unit)]) * units.get(unit, 1)
    except ValueError:
        expected = "a whole number" if kind is int else "a number"
        expected += f", or one with {', '.join(units)}" if units else ""
        raise UsageError(f"{location} {value}: expected {expected}") from None
    least = field.metadata["least"]
    if least is not None and not least <= number < float("inf"):
        raise UsageError(f"{location} {value}: expected at least {least}")
    return number


def _text(location: str, field: Field[Any], value: Any) -> str:
    choices, check = field.metadata["choices"], field.metadata["check"]
    if choices is not None and value not in choices:
        raise UsageError(f"{location} {value}: expected one of {', '.join(filter(None, choices))}")
    if check is not None:
        try:
            check(str(value))
        except ValueError as error:
            raise UsageError(f"{location} {value}: {error}") from None
    return str(value)


def _nearest(word: str, known: Mapping[str, Any]) -> str:
    found = get_close_matches(word.replace("-", "_"), known, n=1)
    return f" (did you mean {option_name(found[0])}?)" if found else ""
