"""Character classes of Claude's tokenizers, as regular expressions, and safe NFC normalization.

The classes apply to normalized text. They do not cover every character; ctok handles the others.
The tests check the classes against ctok, character by character.
"""

import re
from collections.abc import Iterator
from functools import cache
from itertools import groupby
from unicodedata import category, combining, normalize

LETTERS = (
    "A-Za-z\xc0-\xd6\xd8-\xf6\xf8-\u0239\u023b-\u023d\u023f-\u02af"
    "\u0391-\u03a1\u03a3-\u03a9\u03b1-\u03c9\u0400-\u0481\u048a-\u052f"
    "\u0531-\u0556\u0561-\u0586\u05d0-\u05ea\u0620-\u064a\u0671-\u06d3\u10d0-\u10f0\u3041-\u3096\u30a1-\u30fa\u30fc"
)
"""Letters that form words: Latin, Greek, Cyrillic, Armenian, Hebrew, Arabic, Georgian, kana."""
SIGNS = (
    "!-/:-@[-`{-~\xa1-\xa9\xab-\xb1\xb4\xb6-\xb8\xbb\xbf\xd7\xf7"
    "\u2010-\u2017\u201a\u201b\u201e-\u2027\u2030-\u205e\u2190-\u2328\u232b-\u23ff\u2500-\u2775\u2794-\u27bf\uff01-\uff0f\uff1a-\uff20\ufffd"
)
"""Punctuation and symbols, which are marked next to a space."""
QUOTES = "\u2018\u2019\u201c\u201d"
"""Curly quotes; signs as well, unless they become straight."""
IDEOGRAPHS = "\u3001-\u3004\u3008-\u3020\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3"
"""Ideographs with their punctuation, and Hangul."""
UNMARKED = f"{IDEOGRAPHS}\U00010000-\U0010ffff"
"""Characters without marks that share no piece with others: ideographs, Hangul, all astral
characters.
"""
PLAIN = f" \t\n0-9{SIGNS}{QUOTES}{UNMARKED}"
"""Characters that are certainly not part of a word: a word ends next to them."""
CHANGED = f"^ \t\n0-9{LETTERS}{SIGNS}{IDEOGRAPHS}\U0001f000-\U0001faff"
"""Characters that normalization may change. Two characters outside of it never combine."""

_LONG = 64  # minimum characters of a run to sort
_CHANGED = re.compile(f"[{CHANGED}]{{{_LONG},}}+")


def ordered(text: str) -> str:
    """The text, canonically equivalent, with long runs of combining marks in canonical order.

    Python's normalization sorts such runs in quadratic time: minutes for 100,000 marks.
    """
    return _CHANGED.sub(lambda run: "".join(_in_order(run[0])), text)


def _in_order(text: str) -> Iterator[str]:
    for is_mark, run in groupby(text, lambda char: category(char)[0] == "M"):
        marks = "".join(run)
        if is_mark and len(marks) >= _LONG:
            # A mark may decompose into several. Marks of class 0 keep their position, and others do
            # not move past them.
            for _, some in groupby(
                "".join(map(_decomposed, marks)), lambda char: combining(char) > 0
            ):
                yield from sorted(some, key=combining)
        else:
            yield marks


@cache
def _decomposed(mark: str) -> str:
    return normalize("NFD", mark)
