"""Tokens: what counts them, how far the numbers can be trusted, and how many there may be."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import ceil
from typing import Literal, Protocol, runtime_checkable

from ctxtrim.text.graphemes import cut_after, cut_before

Exactness = Literal["exact", "reconstructed", "bounded", "estimated"]
ORDER: tuple[Exactness, ...] = ("exact", "reconstructed", "bounded", "estimated")
"""From the most to the least that a number can be trusted; a sum is worth what its worst part is."""
MARKS: dict[Exactness, str] = {"exact": "", "reconstructed": "≈", "bounded": "≤", "estimated": "≈"}
MEANINGS: dict[Exactness, str] = {
    "exact": "exact", "reconstructed": "reconstructed", "bounded": "an upper bound", "estimated": "an estimate",
}  # fmt: skip


class Tokenizer(Protocol):
    """Counts the tokens of a text, and says how far its numbers can be trusted."""

    @property
    def name(self) -> str:
        """The name that reports show."""
        ...

    @property
    def exactness(self) -> Exactness:
        """How far its numbers can be trusted for the model it stands for."""
        ...

    def count(self, text: str) -> int:
        """How many tokens a text has. Any text: special tokens, lone surrogates and endless lines included."""
        ...

    def ceiling(self, text: str) -> int:
        """A number that `count` never exceeds, found without loading a vocabulary."""
        ...


@runtime_checkable
class Encodes(Protocol):
    """A tokenizer that can say which tokens a text has."""

    def encode(self, text: str) -> list[int]:
        """The tokens of a text, by number; as many as its `count` says."""
        ...


@dataclass(frozen=True)
class Ceiling:
    """Stands in for a tokenizer where an upper bound is enough to decide."""

    tokenizer: Tokenizer
    exactness: Exactness = "bounded"

    @property
    def name(self) -> str:
        """The name of the tokenizer whose counts it bounds."""
        return self.tokenizer.name

    def count(self, text: str) -> int:
        """The tokenizer's own bound."""
        return self.tokenizer.ceiling(text)

    ceiling = count


@dataclass(frozen=True)
class StandIn:
    """A tokenizer that counts for a model that is not its own: the same numbers, as estimates.

    `label` is the name that reports show where it is not the tokenizer's own.
    """

    tokenizer: Tokenizer
    label: str | None = None
    exactness: Exactness = "estimated"

    @property
    def name(self) -> str:
        """The name of the tokenizer that counts, or the label."""
        return self.label or self.tokenizer.name

    def count(self, text: str) -> int:
        """Its count."""
        return self.tokenizer.count(text)

    def ceiling(self, text: str) -> int:
        """Its ceiling."""
        return self.tokenizer.ceiling(text)


@dataclass(frozen=True)
class Scaled:
    """A tokenizer whose counts are multiplied by a factor of at least 1, rounded up, as estimates."""

    tokenizer: Tokenizer
    factor: float
    exactness: Exactness = "estimated"

    @property
    def name(self) -> str:
        """The name of the tokenizer, and the factor."""
        return f"{self.tokenizer.name} × {self.factor:.3f}"

    def count(self, text: str) -> int:
        """Its count, multiplied."""
        return ceil(self.tokenizer.count(text) * self.factor)

    def ceiling(self, text: str) -> int:
        """Its ceiling, multiplied."""
        return ceil(self.tokenizer.ceiling(text) * self.factor)


@dataclass(frozen=True)
class Budget:
    """What the prompt may fill, in tokens.

    `context_window` − `reserve`, never above the model's `max_input`, unless `limit` says it outright. `safety`
    divides it where counts are estimates. `known_room`: the same where the window is known and not assumed, and leaves
    something beside the reserve that was asked for.
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


def head(count: Tokenizer, text: str, limit: int) -> str:
    """The longest beginning of a text found with at most `limit` tokens; grapheme clusters are never cut in two."""
    found = _fit(lambda length: count.count(text[:length]), len(text), limit)
    cut = cut_before(text, found)
    while cut < found and count.count(text[:cut]) > limit:  # a shorter text can have more tokens
        found, cut = cut, cut_before(text, cut - 1)
    return text[:cut]


def tail(count: Tokenizer, text: str, limit: int) -> str:
    """The longest end of a text found with at most `limit` tokens; grapheme clusters are never cut in two."""
    found = len(text) - _fit(lambda length: count.count(text[len(text) - length :]), len(text), limit)
    cut = cut_after(text, found)
    while cut > found and count.count(text[cut:]) > limit:
        found, cut = cut, cut_after(text, cut + 1)
    return text[cut:]


_SMALL = 64  # characters a token; a text that may well fit is counted as a whole first


def _fit(tokens: Callable[[int], int], size: int, limit: int) -> int:
    """The largest length found whose tokens are within the limit: gallop up, then halve the rest.

    Tokens all but grow with length, so this finds the longest but for a character or two; what it returns was itself
    counted and fits.
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
