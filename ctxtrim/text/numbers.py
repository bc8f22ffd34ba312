"""Numbers as people write them: `30k`, `1.5M`, `30_000`, `30,000`, `1GiB`, and shares: `80%`."""

import re
from collections.abc import Mapping

THOUSANDS = {"k": 10**3, "M": 10**6}
"""The factors of the letters that may follow every number."""

_NUMBER = re.compile(r"([+-]?)([0-9]+(?:_[0-9]+)*|[0-9]{1,3}(?:,[0-9]{3})+)(?:\.([0-9]+))?")
_LONGEST = 40  # characters of a number


class Share(str):
    """A share in percent, as the user writes it: `80%`."""

    __slots__ = ()

    def of(self, whole: int) -> int:
        """The share of a whole, rounded down, and at least 1."""
        return max(1, int(whole * float(self[:-1]) / 100))


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


def share(text: str) -> Share | None:
    """The share in a text, None if the text has no percent sign.

    Raises `ValueError` unless it is above 0% and at most 100%.
    """
    digits = text.strip()
    if not digits.endswith("%"):
        return None
    if not 0 < float(digits[:-1]) <= 100:
        raise ValueError("outside 0% to 100%")
    return Share(f"{digits[:-1].strip()}%")


def _without_unit(text: str, units: Mapping[str, float] | None) -> tuple[str, float]:
    """A number without the unit after it, and the factor of the unit."""
    known = {name.lower(): factor for name, factor in {**THOUSANDS, **(units or {})}.items()}
    endings = [name for name in known if text.lower().endswith(name)]
    unit = max(endings, key=len, default="")
    return text[: len(text) - len(unit)].rstrip(), known.get(unit, 1)
