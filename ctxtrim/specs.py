"""What a user says of stages, checked and completed: `trim`, `truncate:max-age=5,placeholder=x`, `truncate:{JSON}`."""

import json
from collections.abc import Mapping
from dataclasses import Field
from difflib import get_close_matches
from typing import Any

from ctxtrim.errors import UsageError
from ctxtrim.pipeline import Spec
from ctxtrim.stage import settings_of
from ctxtrim.stages import STAGES

_COMMAND = ("model", "context-window", "reserve", "budget", "tokenizer", "safety", "calibrate", "format")
_TRUE = ("true", "yes", "on", "1")
_FALSE = ("false", "no", "off", "0")


def parse(text: str, defaults: Mapping[str, Any], preset: Mapping[str, Mapping[str, Any]] | None = None) -> Spec:
    """One `-s`; what it does not say is taken from `defaults` where the stage has it.

    What those do not say either is taken from the settings that a preset has for the stage, else from the stage itself.
    """
    name, _, rest = text.partition(":")
    if name not in STAGES:
        raise UsageError(f"-s {text}: no such stage{_nearest(name, STAGES)}; there are {', '.join(STAGES)}")
    return complete(name, _members(text, rest), f"-s {text}", defaults, (preset or {}).get(name, {}))


def complete(
    name: str,
    said: Mapping[str, Any],
    where: str,
    defaults: Mapping[str, Any] | None = None,
    base: Mapping[str, Any] | None = None,
) -> Spec:
    """A stage with all of its settings: those said of it, else of all stages, else the base, else its own.

    `where` is how errors name the place in which they were said.
    """
    known = {field.name: field for field in settings_of(STAGES[name])}
    mine = {_field(key, known): value for key, value in said.items()}
    for key in mine:
        if key not in known:
            if key.replace("_", "-") in _COMMAND:
                raise UsageError(f"{where}: {key} belongs to the whole run; give --{key} to the command")
            there = f"there are {', '.join(map(spelled, known))}" if known else "it has none"
            raise UsageError(f"{where}: {name} has no setting {key}{_nearest(key, known)}; {there}")
    return Spec(
        name,
        {
            key: _value(f"{where}: {spelled(key)}", field, mine[key])
            if key in mine
            else _default(field, defaults or {}, base or {})
            for key, field in known.items()
        },
    )


def spelled(name: str) -> str:
    """A setting as users write it; a name that Python keeps for itself has an underscore after it."""
    return name.removesuffix("_").replace("_", "-")


def _field(key: str, known: Mapping[str, Any]) -> str:
    """The field that a key means; the key itself where it means none."""
    name = key.replace("-", "_")
    return next((one for one in (name, f"{name}_") if one in known), key)


def _default(field: Field[Any], defaults: Mapping[str, Any], base: Mapping[str, Any]) -> Any:
    value = defaults.get(field.name)
    if value in (None, []):
        return base.get(field.name, field.default)
    return _value(f"--{spelled(field.name)}", field, value)


def _members(text: str, rest: str) -> dict[str, Any]:
    if rest.startswith("{"):
        try:
            value = json.loads(rest)
        except ValueError:
            raise UsageError(f"-s {text}: expected a JSON object after {text.partition(':')[0]}:") from None
        return dict(value)
    pairs = [pair.partition("=") for pair in rest.split(",") if pair]
    for key, equals, _ in pairs:
        if not equals:
            raise UsageError(f"-s {text}: expected key=value, found {key}")
    return {key: value for key, _, value in pairs}


def _value(where: str, field: Field[Any], value: Any) -> Any:
    """A value of the type that the setting's default has, as the setting wants it."""
    default = field.default
    if isinstance(default, bool):
        word = str(value).lower()
        if word not in _TRUE + _FALSE:
            raise UsageError(f"{where}: expected true or false, found {value}")
        return word in _TRUE
    if isinstance(default, int | None):
        return _number(where, field, value)
    if isinstance(default, float):
        return float(_text(where, field, value))
    if isinstance(default, tuple):
        return tuple(_text(where, field, one) for one in (value if isinstance(value, list | tuple) else [value]))
    return _text(where, field, value)


def _number(where: str, field: Field[Any], value: Any) -> int:
    try:
        number = int(str(value))
    except ValueError:
        raise UsageError(f"{where}: expected a whole number, found {value}") from None
    least = field.metadata["least"]
    if least is not None and number < least:
        raise UsageError(f"{where}: expected at least {least}, found {number}")
    return number


def _text(where: str, field: Field[Any], value: Any) -> str:
    choices, check = field.metadata["choices"], field.metadata["check"]
    if choices is not None and value not in choices:
        raise UsageError(f"{where}: expected one of {', '.join(filter(None, choices))}, found {value}")
    if check is not None:
        try:
            check(str(value))
        except ValueError as error:
            raise UsageError(f"{where} {value}: {error}") from None
    return str(value)


def _nearest(word: str, known: Mapping[str, Any]) -> str:
    found = get_close_matches(word.replace("-", "_"), known, n=1)
    return f" (did you mean {spelled(found[0])}?)" if found else ""
