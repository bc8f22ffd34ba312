"""An upper bound for Claude's tokenizers, whose vocabularies are not published.

Against 2,514 recorded answers of the counting endpoint, `factor` times the tokens of cl100k_base was never too low for
texts of 400 bytes and more (1.58 needed at most for Claude 3 to 4.6, 2.31 for 4.7 and later), and a frame of 12 tokens
a message covers shorter ones. Of 6,869 texts of real transcripts, counted with ctok, one asked for 1.63 in the older
versions, so their factor is 1.65. Texts take the larger of both encodings, which held on all 7,542 texts with a
recorded count: o200k_base is far better than Claude at other scripts, and at some languages in Latin letters.

Two things cost their bytes: repetitions, with the marks that Claude puts at capitals and single spaces; and from 4.7 on
words in CAPITALS, which it cuts into single letters. A repetition is 16 or more characters that repeat after at most
six, which the encodings merge and Claude may not, or a longer phrase that fills at least 64 characters: one word can
cost Claude three times what the factor has room for, and only other words make up for it.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from math import ceil

from ctxtrim.tokenizers.encodings import Encoding, pieces
from ctxtrim.tokens import Exactness

_REPEATED = 16  # characters of a repetition that costs its bytes
_BLOCK = 1 << 20  # characters that are looked through at a time
_PHRASE = 128  # characters of the longest phrase that is looked for
_PROBE = 8  # characters of a phrase that are looked for
_STRIDES = (48, 160)  # characters between probes, of short texts and of long ones
_WINDOW = 2048  # characters after a probe in which a repetition is followed
_FILLED = 64  # characters that a repeated phrase fills at least
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
            tokens += max(self.latin.count(piece), self.other.count(piece))
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
    """Where a text repeats itself after four, five or six characters, for `_REPEATED` characters or more, or later.

    What repeats itself after one character, two or three does so after four or six as well.
    """
    done = 0
    for begin in range(0, len(text), _BLOCK):
        block = text[begin : begin + _BLOCK + _REPEATED]
        data = block.encode("ascii") if block.isascii() else block.encode("utf-32-le", "surrogatepass")[::4]
        short = (place for period in (4, 5, 6) for place in _alike(data, period, _REPEATED))
        for start, end in sorted((*short, *_phrases(data))):
            if begin + end > done:
                yield max(begin + start, done), begin + end
                done = begin + end


def _phrases(data: bytes) -> Iterator[tuple[int, int]]:
    """Where a phrase of 7 to `_PHRASE` characters repeats itself, as far as probes find one."""
    place, stride = 0, max(_STRIDES[0], min(_STRIDES[1], len(data) // 32))
    while place < len(data):
        again = data.find(data[place : place + _PROBE], place + 7, place + _PHRASE + _PROBE)
        following = place + stride
        if again >= 0:
            period, first = again - place, max(0, place - stride)
            window = data[first : place + _WINDOW]
            for start, end in _alike(window, period, max(_FILLED, 2 * period)):
                yield first + start, first + end
                following = max(following, first + end - period)
        place = following


def _alike(data: bytes, period: int, least: int) -> Iterator[tuple[int, int]]:
    """Where each byte is the one that a period earlier stood, and that period itself, `least` bytes or more.

    The data as one large number, beside itself moved by the period, differs by 0 there: that is many times as fast as
    looking at each byte. One byte of a character has to do: that two differ by 256 for so long is no text.
    """
    number = int.from_bytes(data, "little")
    differences = (number ^ number >> 8 * period).to_bytes(len(data), "little")
    zeros, last = bytes(least - period), max(0, len(data) - period)
    start = differences.find(zeros, 0, last)
    while start >= 0:
        end = _ZEROS.match(differences, start, last).end()  # type: ignore[union-attr]  # it matches anywhere
        yield start, end + period
        start = differences.find(zeros, end, last)
