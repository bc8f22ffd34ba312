"""Estimates without a vocabulary, and the larger of several tokenizers."""

from collections.abc import Callable
from typing import Literal

from msgspec import Struct

from ctxtrim.tokenizers.encodings import Encoding
from ctxtrim.tokens.tokenizer import Exactness, Tokenizer


class PerUnit(Struct, frozen=True):
    """One token for every four characters (code points), or for every four bytes of UTF-8, rounded
    up.
    """

    name: Literal["chars4", "bytes4"]
    exactness: Exactness = "estimated"

    def count(self, text: str) -> int:
        """The estimate."""
        size = len(text) if self.name == "chars4" else len(text.encode(errors="replace"))
        return -(-size // 4)

    ceiling = count


class Larger(Struct, frozen=True):
    """The largest count of several tokenizers for each text, to avoid underestimates."""

    tokenizers: tuple[Tokenizer, ...]
    exactness: Exactness = "estimated"

    @property
    def name(self) -> str:
        """The names of all of them."""
        return "max(" + ", ".join(tokenizer.name for tokenizer in self.tokenizers) + ")"

    def count(self, text: str) -> int:
        """The largest count."""
        return max(tokenizer.count(text) for tokenizer in self.tokenizers)

    def ceiling(self, text: str) -> int:
        """The largest ceiling."""
        return max(tokenizer.ceiling(text) for tokenizer in self.tokenizers)


def _per_unit(name: Literal["chars4", "bytes4"]) -> Callable[[bool], PerUnit]:
    return lambda is_light: PerUnit(name)


CHARS4, BYTES4 = _per_unit("chars4"), _per_unit("bytes4")


def unknown(is_light: bool) -> Larger:
    """For unknown models: overestimates rather than underestimates."""
    return Larger((Encoding("o200k_base", "estimated", is_light), PerUnit("chars4")))
