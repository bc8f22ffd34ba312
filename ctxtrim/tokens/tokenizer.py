"""Tokenizers, the exactness of their counts, and token budgets."""

from collections.abc import Callable
from functools import cached_property
from math import ceil
from typing import Literal, Protocol, runtime_checkable

from msgspec import Struct

from ctxtrim.text.graphemes import cut_after, cut_before

Exactness = Literal["exact", "reconstructed", "bounded", "estimated"]
ORDER: tuple[Exactness, ...] = ("exact", "reconstructed", "bounded", "estimated")
"""Exactness levels, best first. A sum is as exact as its worst addend."""
MARKS: dict[Exactness, str] = {"exact": "", "reconstructed": "≈", "bounded": "≤", "estimated": "≈"}
MEANINGS: dict[Exactness, str] = {
    "exact": "exact",
    "reconstructed": "reconstructed",
    "bounded": "an upper bound",
    "estimated": "an estimate",
}


def worse(exactness: Exactness, other: Exactness) -> Exactness:
    """The exactness of a sum. A bound plus a value that may be too low is only an estimate."""
    return _SUMS[exactness, other]


_SUMS: dict[tuple[Exactness, Exactness], Exactness] = {
    (first, second): max(first, second, key=ORDER.index) for first in ORDER for second in ORDER
}
_SUMS["reconstructed", "bounded"] = _SUMS["bounded", "reconstructed"] = "estimated"


class Tokenizer(Protocol):
    """Counts the tokens of a text, and states the exactness of its counts."""

    @property
    def name(self) -> str:
        """The name that reports show."""
        ...

    @property
    def exactness(self) -> Exactness:
        """The exactness of its counts for the model it counts for."""
        ...

    def count(self, text: str) -> int:
        """The number of tokens of any text, including special tokens, lone surrogates and very long
        lines.
        """
        ...

    def ceiling(self, text: str) -> int:
        """An upper bound of `count`, computed without a vocabulary."""
        ...


@runtime_checkable
class Encodes(Protocol):
    """A tokenizer that can also return the tokens of a text."""

    def encode(self, text: str) -> list[int]:
        """The token ids of a text; as many as `count` returns."""
        ...


class Ceiling(Struct, frozen=True):
    """Replaces a tokenizer where an upper bound is enough."""

    tokenizer: Tokenizer
    exactness: Exactness = "bounded"

    @property
    def name(self) -> str:
        """The name of the bounded tokenizer."""
        return self.tokenizer.name

    def count(self, text: str) -> int:
        """The upper bound."""
        return self.tokenizer.ceiling(text)

    ceiling = count


class StandIn(Struct, frozen=True):
    """A tokenizer that counts for a model with another tokenizer: the same numbers, as estimates.

    `label` is the name in reports; the default is the tokenizer's name.
    """

    tokenizer: Tokenizer
    label: str | None = None
    exactness: Exactness = "estimated"

    @property
    def name(self) -> str:
        """The label, or the name of the tokenizer."""
        return self.label or self.tokenizer.name

    def count(self, text: str) -> int:
        """The tokenizer's count."""
        return self.tokenizer.count(text)

    def ceiling(self, text: str) -> int:
        """The tokenizer's ceiling."""
        return self.tokenizer.ceiling(text)


class Scaled(Struct, frozen=True):
    """A tokenizer whose counts are multiplied by a factor of at least 1, rounded
    up, as estimates.
    """

    tokenizer: Tokenizer
    factor: float
    exactness: Exactness = "estimated"

    @property
    def name(self) -> str:
        """The name of the tokenizer and the factor."""
        return f"{self.tokenizer.name} × {self.factor:.3f}"

    def count(self, text: str) -> int:
        """The tokenizer's count, multiplied."""
        return ceil(self.tokenizer.count(text) * self.factor)

    def ceiling(self, text: str) -> int:
        """The tokenizer's ceiling, multiplied."""
        return ceil(self.tokenizer.ceiling(text) * self.factor)


class Budget(Struct, frozen=True, dict=True):
    """The tokens available to the prompt.

    `context_window` − `reserve`, at most the model's `max_input`; `limit` overrides both. If counts
    are estimates, the budget is divided by `safety`. `known_room`: the budget if the window is
    known rather than assumed, and larger than the requested reserve.
    """

    context_window: int
    reserve: int
    max_input: int | None = None
    limit: int | None = None
    safety: float = 1.0
    known_room: int | None = None

    @cached_property
    def available(self) -> int:
        """The tokens that fit."""
        room = self.context_window - self.reserve
        if self.max_input is not None:
            room = min(room, self.max_input)
        return int((room if self.limit is None else self.limit) / self.safety)


def head(tokenizer: Tokenizer, text: str, limit: int) -> str:
    """The longest beginning of a text with at most `limit` tokens.

    Never splits a grapheme cluster.
    """
    count = tokenizer.count
    end = _fit(lambda length: count(text[:length]), len(text), limit)
    cut = cut_before(text, end)
    while cut < end and count(text[:cut]) > limit:  # a shorter text can have more tokens
        end, cut = cut, cut_before(text, cut - 1)
    return text[:cut]


def tail(tokenizer: Tokenizer, text: str, limit: int) -> str:
    """The longest end of a text with at most `limit` tokens. Never splits a grapheme cluster."""
    count = tokenizer.count
    start = len(text) - _fit(lambda length: count(text[len(text) - length :]), len(text), limit)
    cut = cut_after(text, start)
    while cut > start and count(text[cut:]) > limit:
        start, cut = cut, cut_after(text, cut + 1)
    return text[cut:]


_SMALL = 64  # characters per token; texts likely to fit are counted whole first


def _fit(tokens: Callable[[int], int], size: int, limit: int) -> int:
    """The largest length with at most `limit` tokens: galloping search, then bisection.

    Tokens almost always grow with length, so the result may miss the maximum by a character or two.
    The result itself was counted and fits.
    """
    if limit <= 0:
        return 0
    if size <= _SMALL * limit and tokens(size) <= limit:
        return size
    low, high = 0, min(size, limit)
    while tokens(high) <= limit:
        low = high
        if high == size:
            return size
        high = min(size, high * 2)
    while high - low > 1:
        middle = (low + high) // 2
        if tokens(middle) <= limit:
            low = middle
        else:
            high = middle
    return low


def without_lone_surrogates(text: str) -> str:
    """The text as a provider can receive it: a lone surrogate has no UTF-8 form and
    becomes U+FFFD.
    """
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
