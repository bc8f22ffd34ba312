"""An upper bound for Claude's tokenizers, whose vocabularies are not published.

Against 2,514 recorded answers of the counting endpoint, `factor` times the tokens of cl100k_base was never too low for
texts of 400 bytes and more (1.58 needed at most for Claude 3 to 4.6, 2.31 for 4.7 and later), and a frame of 12 tokens
a message covers shorter ones. On ASCII text o200k_base and cl100k_base agree within a percent, and only the first is
loaded; other scripts take the larger of the two, since o200k_base is far better at them than Claude. A run of 16 or
more of one character counts its bytes: Claude does not merge long runs.
"""

import re
from dataclasses import dataclass
from math import ceil

from ctxtrim.tokenizers.encodings import Encoding
from ctxtrim.tokens import Exactness

_RUN = re.compile(r"(.)\1{15,}", re.DOTALL)
_STRIDE = 4
_TRACE = re.compile(rf"(.)\1{{{16 // _STRIDE - 2}}}", re.DOTALL)


@dataclass(frozen=True)
class ClaudeBound:
    """At least as many tokens as Claude counts."""

    name: str
    factor: float
    latin: Encoding
    other: Encoding
    exactness: Exactness = "bounded"

    def count(self, text: str) -> int:
        """The bound of a text."""
        runs = 0
        if _has_trace_of_run(text):
            runs = sum(len(run[0].encode(errors="replace")) for run in _RUN.finditer(text))
            if runs:
                text = _RUN.sub(r"\1", text)
        tokens = self.latin.count(text)
        if not text.isascii():
            tokens = max(tokens, self.other.count(text))
        return ceil(self.factor * tokens) + runs

    def ceiling(self, text: str) -> int:
        """The factor times the bytes, which covers the runs too."""
        return ceil(self.factor * self.latin.ceiling(text))


def _has_trace_of_run(text: str) -> bool:
    """Whether there may be a run: every fourth character alone shows three or more the same in a row.

    Looking at a quarter of the text keeps the search well ahead of the tokenizer.
    """
    return _TRACE.search(text[::_STRIDE]) is not None
