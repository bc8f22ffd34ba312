"""Claude's tokens as ctok reconstructed them, where it is installed; see `claude_texts` for how they are counted."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from unicodedata import normalize

from ctxtrim.tokenizers.claude_normalization import LETTERS, UNMARKED, ordered
from ctxtrim.tokens import Exactness

_MAY_BE_MARKED = re.compile(f"(?![\x00-\x7f])(?:[{LETTERS}]+|[^{UNMARKED}])")
_UNCOUNTED = bytes(set(range(128)) - set(b"\0 ABCDEFGHIJKLMNOPQRSTUVWXYZ"))  # NUL is a space to Claude


@cache
def available() -> bool:
    """Whether ctok is there, with all that is used of it: any folder of its name can be imported."""
    try:
        import_module("ctxtrim.tokenizers.claude_fast")
    except ImportError:
        return False
    return True


@dataclass(frozen=True)
class Reconstructed:
    """Claude's tokens of a text, without the frame of a message; `version` is the model's, as in `4.5` or `4.8`.

    An empty text costs what ctok counts for it, a mark in the versions whose frame ends in one. Counting is an
    `ImportError` where ctok is not installed.
    """

    name: str
    version: str
    exactness: Exactness = "reconstructed"

    def count(self, text: str) -> int:
        """The tokens of a text; special tokens in it are counted as the text they are, a lone surrogate as U+FFFD."""
        return _counter(self.version)(text)

    def ceiling(self, text: str) -> int:
        """The UTF-8 bytes, and room for the marks that no piece of the vocabulary may have absorbed.

        In ASCII these are one for each capital and each space between signs; elsewhere at most three for a word, and a
        byte where a small letter is longer than its capital.
        """
        marks = 1
        if not text.isascii():
            text = normalize("NFC", ordered(text))
            marks += 4 * len(_MAY_BE_MARKED.findall(text))
        data = text.encode(errors="surrogatepass")
        return len(data) + len(re.sub(rb"[\x80-\xff]+", b"", data).translate(None, _UNCOUNTED)) + marks


@cache
def _counter(version: str) -> Callable[[str], int]:
    from ctxtrim.tokenizers.claude_fast import counter

    return counter(version)
