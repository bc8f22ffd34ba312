"""Numbers as people write them: `30k`, `1.5M`, `30_000`, `30,000`, `1GiB`, and shares: `80%`."""

from collections.abc import Mapping

from msgspec import Struct

from ctxtrim.loading import lazy_pattern

THOUSANDS = {"k": 10**3, "M": 10**6}
"""The factors of the letters that may follow every number."""

_NUMBER = lazy_pattern(r"([+-]?)([0-9]+(?:_[0-9]+)*|[0-9]{1,3}(?:,[0-9]{3})+)(?:\.([0-9]+))?")
_DECIMAL = lazy_pattern(r"[0-9]+\.?[0-9]*|\.[0-9]+")
_LONGEST = 4_000  # characters of a number: Python reads up to 4,300 digits
_PERCENT = 10**6  # a percent in the units of `Tolerance`


class Share(str):
    """A share in percent, as the user writes it: `80%`."""

    __slots__ = ()

    def of(self, whole: int) -> int:
        """The share of a whole, rounded down, and at least 1."""
        return max(1, int(whole * float(self[:-1]) / 100))


class Tolerance(Struct, frozen=True):
    """How much a transcript may grow: a number of tokens, and a share of the tokens before, in
    millionths of a percent.
    """

    tokens: int = 0
    share: int = 0

    def limit(self, before: int) -> int:
        """The maximum tokens of a transcript that had `before`."""
        return before + self.tokens + before * self.share // (100 * _PERCENT)


def whole_number(text: str, units: Mapping[str, float] | None = None) -> int:
    """The whole number in a text. Raises `ValueError`.

    `units` are the factors of words that may follow the number, in addition to those of
    `THOUSANDS`. Their case is ignored.
    """
    digits, factor = _without_unit(text.strip(), units)
    match = _NUMBER.fullmatch(digits)
    if match is None or len(digits) > _LONGEST:
        raise ValueError("no number")
    sign, whole, decimals = match.groups(default="")
    plain = whole.replace("_", "").replace(",", "")
    power: int = 10 ** len(decimals)
    number, rest = divmod(int(plain + decimals) * int(factor), power)
    if rest or (decimals and factor == 1):
        raise ValueError("not whole")
    return -number if sign == "-" else number


def decimal_number(text: str, units: Mapping[str, float] | None = None) -> float:
    """The number in a text, such as `1.5`, with units as in `whole_number`. Raises `ValueError`."""
    digits, factor = _without_unit(text.strip(), units)
    plain = digits.replace(",", "") if _NUMBER.fullmatch(digits) else digits
    return float(plain) * factor


def fraction(text: str) -> float:
    """The number from 0 to 1 in a text such as `0.6` or `60%`. Raises `ValueError`."""
    digits = text.removesuffix("%")
    number = float(digits) if _DECIMAL.fullmatch(digits) else -1
    if not 0 <= number <= (1 if digits == text else 100):
        raise ValueError("expected a share, such as 60% or 0.6")
    return number if digits == text else number / 100


def percentage(text: str) -> Share | None:
    """The share in a text, None if the text has no percent sign.

    Raises `ValueError` unless it is above 0% and at most 100%.
    """
    digits = text.strip()
    if not digits.endswith("%"):
        return None
    if not 0 < float(digits[:-1]) <= 100:
        raise ValueError("outside 0% to 100%")
    return Share(f"{digits[:-1].strip()}%")


def parse_tolerance(text: str) -> Tolerance:
    """The tolerance of a text: `200` (tokens) or `5%`. Raises `ValueError` for another text."""
    try:
        number = whole_number(text, {"%": _PERCENT})
    except ValueError:
        number = -1
    if number < 0:
        raise ValueError("expected tokens or a percentage, such as 200 or 5%")
    return Tolerance(share=number) if text.strip().endswith("%") else Tolerance(number)


def _without_unit(text: str, units: Mapping[str, float] | None) -> tuple[str, float]:
    """A number without the unit after it, and the factor of the unit."""
    factors = {name.lower(): factor for name, factor in {**THOUSANDS, **(units or {})}.items()}
    endings = [name for name in factors if text.lower().endswith(name)]
    unit = max(endings, key=len, default="")
    return text[: len(text) - len(unit)].rstrip(), factors.get(unit, 1)


def most_first(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    """Names with their numbers, in falling order of the numbers."""
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def several(number: int, noun: str) -> str:
    """A number and its noun, which gets an `s`: `3 transcripts`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
