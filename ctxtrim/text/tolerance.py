"""How much a transcript may grow: tokens, or a share of its tokens in the baseline."""

from msgspec import Struct


class Tolerance(Struct, frozen=True):
    """A number of tokens, and a share of the tokens before."""

    tokens: int = 0
    share: float = 0.0

    def most(self, before: int) -> int:
        """The most tokens of a transcript that had `before`."""
        return before + self.tokens + int(before * self.share)


def parse_tolerance(text: str) -> Tolerance:
    """The tolerance of a text: `200` (tokens) or `5%`. Raises `ValueError` for another text."""
    number = text.removesuffix("%")
    try:
        found = Tolerance(share=float(number) / 100) if number != text else Tolerance(int(number))
    except ValueError:
        found = Tolerance(-1)
    if found.tokens < 0 or not 0 <= found.share < float("inf"):
        raise ValueError("expected tokens or a percentage, such as 200 or 5%")
    return found
