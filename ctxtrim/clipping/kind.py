"""What a kind of text is to the clipping: how it is known, and how it is cut."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ctxtrim.clipping.layout import Mode
from ctxtrim.text.json_spans import Range
from ctxtrim.tokens import Tokenizer


@dataclass(frozen=True)
class Cut:
    """A text that is too long, and what its clip may have: `limit` tokens, and in it the ranges in `keep`."""

    text: str
    limit: int
    tokenizer: Tokenizer
    mode: Mode = "head-tail"
    keep: Sequence[Range] = ()


@dataclass(frozen=True)
class Kind:
    """A kind of text. `clip` gives None where a text cannot be cut in this kind's way; then the next kind is asked."""

    name: str
    knows: Callable[[str], bool]
    clip: Callable[[Cut], str | None]
