"""The kinds of text: how each is recognized and cut."""

from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from ctxtrim.clipping.layout import Mode
from ctxtrim.text import Range
from ctxtrim.tokens.tokenizer import Tokenizer

Draft = Callable[[int, int], str | None]
"""A text with about so many characters, markers included.

None if nothing of it is shown, or if it has more than the second number of characters.
"""


class ClipText(Struct, frozen=True):
    """A text to cut: the tokenizer of its limits, the ends to keep, and the ranges to keep, most
    important first.
    """

    text: str
    tokenizer: Tokenizer
    mode: Mode
    keep: Sequence[Range]


class TextKind(Struct, frozen=True):
    """A kind of text.

    `drafts` yields the ways to cut a text, best first. If none makes a short enough text, the next
    kind is tried. The first draft has at least `first` characters for each token of the limit:
    records stay whole more often if a clip is made by shortening a longer one.
    """

    name: str
    knows: Callable[[str], bool]
    drafts: Callable[[ClipText], Iterator[Draft]]
    first: int = 0
