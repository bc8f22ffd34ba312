"""Settings for one tool alone, as in `bash:max-tokens=500,mode=tail`."""

from collections.abc import Sequence

from ctxtrim import clipping
from ctxtrim.stages import placeholder

_NUMBERS = ("max_age", "max_tokens", "max_lines", "max_bytes", "max_chars", "spill_above", "head_lines")
_WORDS = {"mode": clipping.MODES, "replace": placeholder.MODES}

Rule = dict[str, int | str]


def rules(texts: Sequence[str]) -> dict[str, Rule]:
    """The settings by the name of the tool in small letters; of two rules for one tool the later counts.

    A `ValueError` says what is wrong with a text.
    """
    found: dict[str, Rule] = {}
    for text in texts:
        name, colon, rest = text.partition(":")
        if not (name and colon and rest):
            raise ValueError("expected NAME:key=value,key=value")
        found.setdefault(name.lower(), {}).update(_pair(pair) for pair in rest.split(","))
    return found


def check(text: str) -> None:
    """A `ValueError` says what is wrong with one rule."""
    rules([text])


def _pair(text: str) -> tuple[str, int | str]:
    key, _, value = (word.strip() for word in text.partition("="))
    field = key.replace("-", "_")
    if field in _NUMBERS:
        if not value.isdecimal():
            raise ValueError(f"{key}: expected a whole number, found {value or 'none'}")
        return field, int(value)
    if field not in _WORDS:
        there = ", ".join(one.replace("_", "-") for one in (*_NUMBERS, *_WORDS))
        raise ValueError(f"a tool has no setting {key} of its own; there are {there}")
    if value not in _WORDS[field]:
        raise ValueError(f"{key}: expected one of {', '.join(_WORDS[field])}, found {value or 'none'}")
    return field, value
