"""An upper bound for Claude's tokenizers, whose vocabularies are not published.

Against 2,514 recorded answers of the counting endpoint, `factor` times the tokens of cl100k_base was never too low for
texts of 400 bytes and more (1.58 needed at most for Claude 3 to 4.6, 2.31 for 4.7 and later), and a frame of 12 tokens
a message covers shorter ones. Of 6,869 texts of real transcripts, counted with ctok, one asked for 1.63 in the older
versions, so their factor is 1.65. ASCII text is counted with o200k_base alone: on English and code the two agree within
a percent, on other languages in Latin letters the second takes up to a third more, which the factor has room for. Other
scripts take the larger of the two, since o200k_base is far better at them than Claude.

Two things cost their bytes: 16 or more characters that repeat themselves after at most six, which the encodings merge
and Claude may not, with the marks that it puts at capitals and single spaces; and from 4.7 on words in CAPITALS, which
it cuts into single letters.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from math import ceil

from ctxtrim.tokenizers.encodings import Encoding, pieces
from ctxtrim.tokens import Exactness

_REPEATED = 16  # characters of a repetition that costs its bytes
_BLOCK = 1 << 20  # characters that are looked through at a time
_ZEROS = re.compile(rb"\0*+")
_MARKED = re.compile(r"[A-Z]|(?<! ) (?! )")
_CAPITALS = re.compile(r"[A-Z][A-Z0-9_]+")


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
        tokens = spelled = 0
        for piece in pieces(text):
            size, piece = _take(_repeated(piece), piece, _spelled_out)
            spelled += size
            if self.spells_capitals:
                size, piece = _take((word.span() for word in _CAPITALS.finditer(piece)), piece, _bytes)
                spelled += size
            latin = self.latin.count(piece)
            tokens += latin if piece.isascii() else max(latin, self.other.count(piece))
        return ceil(self.factor * tokens) + spelled

    def ceiling(self, text: str) -> int:
        """The factor times the bytes, or twice them, which covers what is spelled out with marks."""
        return ceil(max(self.factor, 2) * self.latin.ceiling(text))


def _take(places: Iterable[tuple[int, int]], text: str, cost: Callable[[str], int]) -> tuple[int, str]:
    """What some places of a text cost, and the text with a space instead of each."""
    kept, size, done = [], 0, 0
    for start, end in places:
        size += cost(text[start:end])
        kept.append(text[done:start])
        done = end
    return size, " ".join((*kept, text[done:])) if done else text


def _bytes(text: str) -> int:
    return len(text.encode(errors="surrogatepass"))


def _spelled_out(text: str) -> int:
    """Each byte a token, and one for the mark of each capital and each single space."""
    return _bytes(text) + len(_MARKED.findall(text))


def _repeated(text: str) -> Iterator[tuple[int, int]]:
    """Where a text repeats itself after four, five or six characters, for `_REPEATED` characters or more.

    What repeats itself after one character, two or three does so after four or six as well.
    """
    done = 0
    for begin in range(0, len(text), _BLOCK):
        block = text[begin : begin + _BLOCK + _REPEATED]
        data = block.encode("ascii") if block.isascii() else block.encode("utf-32-le", "surrogatepass")[::4]
        for start, end in sorted(place for period in (4, 5, 6) for place in _alike(data, period)):
            if begin + end > done:
                yield max(begin + start, done), begin + end
                done = begin + end


def _alike(data: bytes, period: int) -> Iterator[tuple[int, int]]:
    """Where each byte is the one that a period earlier stood, and that period itself.

    The data as one large number, beside itself moved by the period, differs by 0 there: that is many times as fast as
    looking at each byte. One byte of a character has to do: that two differ by 256 for so long is no text.
    """
    number = int.from_bytes(data, "little")
    differences = (number ^ number >> 8 * period).to_bytes(len(data), "little")
    zeros, last = bytes(_REPEATED - period), max(0, len(data) - period)
    start = differences.find(zeros, 0, last)
    while start >= 0:
        end = _ZEROS.match(differences, start, last).end()  # type: ignore[union-attr]  # it matches anywhere
        yield start, end + period
        start = differences.find(zeros, end, last)
