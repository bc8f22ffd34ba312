"""Settings for one tool, as in `bash:max-tokens=500,mode=tail`."""

from collections.abc import Mapping, Sequence
from typing import Any

from ctxtrim.clipping.clipper import MODES
from ctxtrim.stages import placeholder
from ctxtrim.text.numbers import whole_number

_NUMBERS = (
    "max_age",
    "max_tokens",
    "max_lines",
    "max_bytes",
    "max_chars",
    "spill_above",
    "head_lines",
)
_WORDS = {"mode": MODES, "replace": placeholder.MODES}

ToolSettings = dict[str, int | str]


def rules(texts: Sequence[str]) -> dict[str, ToolSettings]:
    """The settings by lower-case tool name. The last value for a tool takes precedence.

    A `ValueError` describes an invalid text.
    """
    settings: dict[str, ToolSettings] = {}
    for text in texts:
        name, colon, rest = text.partition(":")
        if not (name and colon and rest):
            raise ValueError("expected NAME:key=value,key=value")
        settings.setdefault(name.lower(), {}).update(_pair(pair) for pair in rest.split(","))
    return settings


def unused_replacements(settings: Mapping[str, Any]) -> dict[str, str]:
    """The settings of replacements that no tool has, each with the reason."""
    kinds = {rule.get("replace") for rule in rules(settings["tool"]).values()}
    kinds.add(settings["replace"])
    reasons = {}
    if "head" not in kinds:
        reasons = dict.fromkeys(("pointer", "head_lines"), "without --replace head")
    if "placeholder" not in kinds:
        reasons["placeholder"] = f"with --replace {settings['replace']}"
    return reasons


def check(text: str) -> None:
    """Raise a `ValueError` for an invalid rule."""
    rules([text])


def _pair(text: str) -> tuple[str, int | str]:
    key, _, value = (word.strip() for word in text.partition("="))
    field = key.replace("-", "_")
    if field in _NUMBERS:
        return field, _number(key, value)
    if field not in _WORDS:
        names = ", ".join(name.replace("_", "-") for name in (*_NUMBERS, *_WORDS))
        raise ValueError(f"unknown setting {key} for one tool; expected {names}")
    if value not in _WORDS[field]:
        raise ValueError(
            f"{key}: expected one of {', '.join(_WORDS[field])}, found {value or 'none'}"
        )
    return field, value


def _number(key: str, text: str) -> int:
    try:
        number = whole_number(text)
    except ValueError:
        number = -1
    if number < 0:
        raise ValueError(f"{key}: expected a whole number, found {text or 'none'}")
    return number
