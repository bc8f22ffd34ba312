"""The kinds of text: how each is recognized and cut."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ctxtrim.clipping.layout import Mode
from ctxtrim.text.json_spans import Range
from ctxtrim.tokens import Tokenizer


@dataclass(frozen=True)
class Cut:
    """A text that is too long, and the limits of its clip: `limit` tokens, including the ranges in
    `keep`.
    """

    text: str
    limit: int
    tokenizer: Tokenizer
    mode: Mode = "head-tail"
    keep: Sequence[Range] = ()


@dataclass(frozen=True)
class Kind:
    """A kind of text. `clip` returns None if a text cannot be cut in this way.

    The next kind is tried then.
    """

    name: str
    knows: Callable[[str], bool]
    clip: Callable[[Cut], str | None]
