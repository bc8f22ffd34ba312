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
    name, members = named(text, f"-s {text}")
    return complete(name, members, f"-s {text}", defaults, (preset or {}).get(name, {}))


def named(text: str, where: str) -> tuple[str, dict[str, Any]]:
    """The stage that a text names, and what it says of it; `where` is how errors name the place of the text."""
    name, _, rest = text.partition(":")
    if name not in STAGES:
        raise UsageError(f"{where}: no such stage{_nearest(name, STAGES)}; there are {', '.join(STAGES)}")
    return name, _members(name, rest, where)


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
    mine = given(name, said, where)
    return Spec(
        name,
        {
            field.name: mine[field.name] if field.name in mine else _default(field, defaults or {}, base or {})
            for field in settings_of(STAGES[name])
        },
    )


def given(name: str, said: Mapping[str, Any], where: str) -> dict[str, Any]:
    """The settings that were said of a stage, checked, and no others."""
    known = {field.name: field for field in settings_of(STAGES[name])}
    mine = {_field(key, known): value for key, value in said.items()}
    for key in mine:
        if key not in known:
            if key.replace("_", "-") in _COMMAND:
                raise UsageError(f"{where}: {key} belongs to the whole run; give --{key} to the command")
            there = f"there are {', '.join(map(spelled, known))}" if known else "it has none"
            raise UsageError(f"{where}: {name} has no setting {key}{_nearest(key, known)}; {there}")
    return {key: checked(f"{where}: {spelled(key)}", known[key], value) for key, value in mine.items()}


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
    return checked(f"--{spelled(field.name)}", field, value)


def _members(name: str, rest: str, where: str) -> dict[str, Any]:
    if rest.startswith("{"):
        try:
            value = json.loads(rest)
        except ValueError:
            raise UsageError(f"{where}: expected a JSON object after {name}:") from None
        return dict(value)
    pairs = [pair.partition("=") for pair in rest.split(",") if pair]
    for key, equals, _ in pairs:
        if not equals:
            raise UsageError(f"{where}: expected key=value, found {key}")
    return {key: value for key, _, value in pairs}


def checked(where: str, field: Field[Any], value: Any) -> Any:
    """A value of the type that the setting's default has, as the setting wants it.

    The one place that checks values: of options, of `-s`, of the environment and of files. `where` is how errors name
    the place of the value.
    """
    default = field.default
    if isinstance(default, bool):
        word = str(value).lower()
        if word not in _TRUE + _FALSE:
            raise UsageError(f"{where} {value}: expected true or false")
        return word in _TRUE
    if isinstance(default, int | float | None):
        return _number(where, field, value, float if isinstance(default, float) else int)
    if isinstance(default, tuple):
        return tuple(_text(where, field, one) for one in (value if isinstance(value, list | tuple) else [value]))
    return _text(where, field, value)


def _number(where: str, field: Field[Any], value: Any, kind: type[int] | type[float]) -> int | float:
    text = _text(where, field, str(value))
    units: dict[str, int] = field.metadata["units"]
    unit = max((word for word in units if text.lower().endswith(word.lower())), key=len, default="")
    try:
        number = kind(text[: len(text) - len(unit)]) * units.get(unit, 1)
    except ValueError:
        expected = "a whole number" if kind is int else "a number"
        expected += f", or one with {', '.join(units)}" if units else ""
        raise UsageError(f"{where} {value}: expected {expected}") from None
    least = field.metadata["least"]
    if least is not None and not least <= number < float("inf"):
        raise UsageError(f"{where} {value}: expected at least {least}")
    return number


def _text(where: str, field: Field[Any], value: Any) -> str:
    choices, check = field.metadata["choices"], field.metadata["check"]
    if choices is not None and value not in choices:
        raise UsageError(f"{where} {value}: expected one of {', '.join(filter(None, choices))}")
    if check is not None:
        try:
            check(str(value))
        except ValueError as error:
            raise UsageError(f"{where} {value}: {error}") from None
    return str(value)


def _nearest(word: str, known: Mapping[str, Any]) -> str:
    found = get_close_matches(word.replace("-", "_"), known, n=1)
    return f" (did you mean {spelled(found[0])}?)" if found else ""
