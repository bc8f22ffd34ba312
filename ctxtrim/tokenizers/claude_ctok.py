"""Claude's tokens as reconstructed by ctok, if it is installed. `claude_fast` counts them."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from unicodedata import normalize

from ctxtrim.tokenizers.claude_normalization import LETTERS, UNMARKED, ordered
from ctxtrim.tokens.tokenizer import Exactness

_MAY_BE_MARKED = re.compile(f"(?![\x00-\x7f])(?:[{LETTERS}]+|[^{UNMARKED}])")
# Claude reads NUL as a space
_UNCOUNTED = bytes(set(range(128)) - set(b"\0 ABCDEFGHIJKLMNOPQRSTUVWXYZ"))


@cache
def available() -> bool:
    """Whether ctok is installed with everything used here.

    An unrelated folder of that name may be importable.
    """
    try:
        import_module("ctxtrim.tokenizers.claude_fast")
    except ImportError:
        return False
    return True


@dataclass(frozen=True)
class Reconstructed:
    """Claude's tokens of a text, without the frame of a message.

    `version` is the model's, such as `4.5`. An empty text costs what ctok counts for it: one mark
    in the versions whose frame ends in one. Counting raises an `ImportError` if ctok is not
    installed.
    """

    name: str
    version: str
    exactness: Exactness = "reconstructed"

    def count(self, text: str) -> int:
        """The tokens of a text. Special tokens count as text, a lone surrogate as U+FFFD."""
        return _counter(self.version)(text)

    def ceiling(self, text: str) -> int:
        """The UTF-8 bytes, and one more for each mark that no piece of the vocabulary may contain.

        In ASCII these are one for each capital and each space between signs. In other text they are
        at most three for a word, and a byte if a small letter is longer than its capital.
        """
        marks = 1
        if not text.isascii():
            text = normalize("NFC", ordered(text))
            marks += 4 * len(_MAY_BE_MARKED.findall(text))
        data = text.encode(errors="surrogatepass")
        return (
            len(data) + len(re.sub(rb"[\x80-\xff]+", b"", data).translate(None, _UNCOUNTED)) + marks
        )


@cache
def _counter(version: str) -> Callable[[str], int]:
    from ctxtrim.tokenizers.claude_fast import counter

    return counter(version)
