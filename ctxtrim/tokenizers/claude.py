"""An upper bound for Claude's tokenizers, whose vocabularies are not published.

Against 2,514 recorded answers of the counting endpoint, `factor` times the tokens of cl100k_base was never too low for
texts of 400 bytes and more (1.58 needed at most for Claude 3 to 4.6, 2.31 for 4.7 and later), and a frame of 12 tokens
a message covers shorter ones. ASCII text is counted with o200k_base alone: on English and code the two agree within a
percent, on other languages in Latin letters the second takes up to a third more, which the factor has room for. Other
scripts take the larger of the two, since o200k_base is far better at them than Claude.

Two things cost their bytes: a run of 16 or more of one character, which Claude does not merge; and from 4.7 on words in
CAPITALS, which it cuts into single letters.
"""

import re
from dataclasses import dataclass
from math import ceil

from ctxtrim.tokenizers.encodings import Encoding
from ctxtrim.tokens import Exactness

_RUN = re.compile(r"(.)\1{15,}", re.DOTALL)
_CAPITALS = re.compile(r"[A-Z][A-Z0-9_]+")
_STRIDE = 4
_TRACE = re.compile(rf"(.)\1{{{16 // _STRIDE - 2}}}", re.DOTALL)


@dataclass(frozen=True)
class ClaudeBound:
    """At least as many tokens as Claude counts."""

    name: str
    factor: float
    latin: Encoding
    other: Encoding
    spells_capitals: bool = False
    exactness: Exactness = "bounded"

    def count(self, text: str) -> int:
        """The bound of a text."""
        spelled = 0
        if _has_trace_of_run(text):
            spelled, text = _take(_RUN, text)
        if self.spells_capitals:
            capitals, text = _take(_CAPITALS, text)
            spelled += capitals
        tokens = self.latin.count(text)
        if not text.isascii():
            tokens = max(tokens, self.other.count(text))
        return ceil(self.factor * tokens) + spelled

    def ceiling(self, text: str) -> int:
        """The factor times the bytes, which covers what is spelled out too."""
        return ceil(self.factor * self.latin.ceiling(text))


def _take(pattern: re.Pattern[str], text: str) -> tuple[int, str]:
    """The bytes that a pattern matches, and the text with a space in the place of each match."""
    size = sum(len(found[0].encode(errors="replace")) for found in pattern.finditer(text))
    return size, pattern.sub(" ", text) if size else text


def _has_trace_of_run(text: str) -> bool:
    """Whether there may be a run: every fourth character alone shows three or more the same in a row.

    Looking at a quarter of the text keeps the search well ahead of the tokenizer.
    """
    return _TRACE.search(text[::_STRIDE]) is not None
