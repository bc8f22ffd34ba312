"""How much a transcript may grow: tokens, or a share of its tokens in the baseline."""

from msgspec import Struct

from ctxtrim.text.numbers import whole_number

_PERCENT = 10**6
_WHOLE = 100 * _PERCENT


class Tolerance(Struct, frozen=True):
    """A number of tokens, and a share of the tokens before, in millionths of a percent."""

    tokens: int = 0
    share: int = 0

    def most(self, before: int) -> int:
        """The most tokens of a transcript that had `before`."""
        return before + self.tokens + before * self.share // _WHOLE


def parse_tolerance(text: str) -> Tolerance:
    """The tolerance of a text: `200` (tokens) or `5%`. Raises `ValueError` for another text."""
    try:
        number = whole_number(text, {"%": _PERCENT})
    except ValueError:
        number = -1
    if number < 0:
        raise ValueError("expected tokens or a percentage, such as 200 or 5%")
    return Tolerance(share=number) if text.strip().endswith("%") else Tolerance(number)
