"""An upper bound for Claude's tokenizers, whose vocabularies are not published.

In 2,514 recorded answers of the counting endpoint, `factor` times the tokens of cl100k_base was
never too low for texts of 400 bytes or more (at most 1.58 needed for Claude 3 to 4.6, 2.31 for 4.7
and later); a frame of 12 tokens per message covers shorter texts. Among 6,869 texts of real
transcripts, counted with ctok, one needed 1.63 in the older versions, so their factor is 1.65.
Texts use the larger count of both encodings, which was sufficient for all 7,542 texts with a
recorded count: o200k_base is far better than Claude at other scripts, and at some languages in
Latin letters.

Two things cost their bytes. First, repetitions, with the marks that Claude adds to capitals and
single spaces. Second, from 4.7 on, words in CAPITALS, which it splits into letters, with a mark for
each run of capitals, and with a space after a digit. A repetition is 16 or more characters that
repeat with a period of at most six, which the encodings merge and Claude may not; or a longer
phrase that fills at least 64 characters: one word can cost Claude three times the factor, and only
other words compensate.

A joint costs one token more than the factor: a word after a tab, and up to 4.6 a capital after a
dot or an underscore. The encodings merge the two, Claude does not. Tables and lists of constants
need this. Joints of other signs are too frequent in code to count.

A capitalised word costs up to two tokens more than the factor. So does, up to 4.6, a word of eleven
letters after a space. From 4.7 on, a word of nine letters after a space or a sign costs one token
more, one of eleven letters five. Claude splits many words that are one token in the encodings.
Prose has enough other words to compensate, lists of names and terms do not.

A single non-ASCII sign or letter between spaces costs three tokens more than the factor: some that
are one token in the encodings, such as `≤` and `✓`, are four in ctok.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil

from ctxtrim.text import Range
from ctxtrim.tokenizers.encodings import Encoding
from ctxtrim.tokenizers.pieces import pieces
from ctxtrim.tokens.tokenizer import Exactness

_MARKS = 0.6  # maximum marks, joints and surcharges per byte of ASCII
_ALONE = 3  # tokens of a lone non-ASCII sign or letter, besides the factor; at most one per byte
_REPEATED = 16  # minimum characters of a repetition
_BLOCK = 1 << 20  # characters searched at a time
_PHRASE = 128  # maximum characters of a phrase
_PROBE = 8  # characters of a probe
_STRIDES = (48, 160)  # characters between probes, in short and in long texts
_WINDOW = 2048  # characters searched after a probe
_FILLED = 64  # minimum characters filled by a repeated phrase
_ZEROS = re.compile(rb"\0*+")
_MARKED = re.compile(r"[A-Z]|(?<! ) (?! )")
_CAPITALS = re.compile(r"([A-Z][A-Z0-9_]+(?:(?<=[0-9]) )?)")  # with a space after a digit
_LONE = re.compile(r" [^\x00-\x7f](?!\S)")
_RUN = re.compile(r"[A-Z]+")
# By `spells_capitals`. One fixed character at the beginning makes a search ten times as fast.
_JOINTS = {
    False: [re.compile(pattern) for pattern in (r"\t[A-Za-z]", r"\.[A-Z]", "_[A-Z]")],
    True: [re.compile(r"\t[A-Z]")],
}
_CAPITALIZED = re.compile("[A-Z][a-z]{3}")
_LONGER = 12  # minimum characters of the match of a longer word
# By `spells_capitals`: long words, and the tokens of a capitalised, a long and a longer word.
_SURCHARGES = {
    False: (re.compile(" [A-Za-z][a-z]{10,}"), 1.5, 2, 0),
    True: (re.compile(r"[ ._/(-][A-Za-z][a-z]{8,}"), 2, 1, 4),
}


@dataclass(frozen=True)
class ClaudeBound:
    """At least as many tokens as Claude counts."""

    name: str
    factor: float
    latin: Encoding
    other: Encoding
    spells_capitals: bool
    exactness: Exactness = "bounded"

    def count(self, text: str) -> int:
        """The bound of a text."""
        tokens, surcharge = 0, 0.0
        for piece in pieces(text):
            size, piece = _without_repetitions(piece)
            surcharge += size
            if self.spells_capitals:
                size, piece = _without_capitals(piece)
                surcharge += size
            if not piece.isascii():
                surcharge += _ALONE * len(_LONE.findall(piece))
            surcharge += sum(len(joint.findall(piece)) for joint in _JOINTS[self.spells_capitals])
            surcharge += _surcharges(piece, self.spells_capitals)
            tokens += max(self.latin.count(piece), self.other.count(piece))
        return ceil(self.factor * tokens + surcharge)

    def ceiling(self, text: str) -> int:
        """The factor times the bytes, and for each byte what is counted in addition to it."""
        addition = _MARKS if text.isascii() else 1
        return ceil((self.factor + addition) * self.latin.ceiling(text))


def _without_capitals(text: str) -> tuple[int, str]:
    """The bytes and marks of words in capitals, and the text with a space instead of each."""
    parts = _CAPITALS.split(text)
    if len(parts) == 1:
        return 0, text
    words = parts[1::2]
    return sum(map(len, words)) + len(_RUN.findall(" ".join(words))), " ".join(parts[::2])


def _surcharges(text: str, spells_capitals: bool) -> float:
    """The tokens of capitalised and long words in addition to the factor."""
    pattern, capitalized, long, longer = _SURCHARGES[spells_capitals]
    words = pattern.findall(text)
    tokens = capitalized * len(_CAPITALIZED.findall(text)) + long * len(words)
    if longer:
        tokens += longer * sum([len(word) >= _LONGER for word in words])
    return tokens


def _without_repetitions(text: str) -> tuple[int, str]:
    """The bytes and marks of repetitions, and the text with a space instead of each."""
    parts, size, done = [], 0, 0
    for start, end in _repetitions(text):
        size += _spelled_out(text[start:end])
        parts.append(text[done:start])
        done = end
    return size, " ".join((*parts, text[done:])) if done else text


def _spelled_out(text: str) -> int:
    """One token per byte, and one for the mark of each capital and each single space."""
    return len(text.encode(errors="surrogatepass")) + len(_MARKED.findall(text))


def _repetitions(text: str) -> Iterator[Range]:
    """The ranges in which a text repeats itself for `_REPEATED` characters or more, with a period
    of 4 to 6 or longer.

    A period of one, two or three is also one of four or six.
    """
    done = 0
    for begin in range(0, len(text), _BLOCK):
        block = text[begin : begin + _BLOCK + _REPEATED]
        data = (
            block.encode("ascii")
            if block.isascii()
            else block.encode("utf-32-le", "surrogatepass")[::4]
        )
        short_ranges = (span for period in (4, 5, 6) for span in _alike(data, period, _REPEATED))
        for start, end in sorted((*short_ranges, *_phrases(data))):
            if begin + end > done:
                yield max(begin + start, done), begin + end
                done = begin + end


def _phrases(data: bytes) -> Iterator[tuple[int, int]]:
    """The ranges in which a phrase of 7 to `_PHRASE` characters repeats itself, as far as probes
    find one.
    """
    position, stride = 0, max(_STRIDES[0], min(_STRIDES[1], len(data) // 32))
    while position < len(data):
        repeat = data.find(
            data[position : position + _PROBE], position + 7, position + _PHRASE + _PROBE
        )
        following = position + stride
        if repeat >= 0:
            period, first = repeat - position, max(0, position - stride)
            window = data[first : position + _WINDOW]
            for start, end in _alike(window, period, max(_FILLED, 2 * period)):
                yield first + start, first + end
                following = max(following, first + end - period)
        position = following


def _alike(data: bytes, period: int, least: int) -> Iterator[tuple[int, int]]:
    """The ranges of `least` bytes or more in which each byte equals the byte a period earlier, plus
    that first period.

    The data as one large integer, XORed with itself shifted by the period, is 0 there. This is many
    times faster than a loop over the bytes. Equal low bytes of a character are enough: a text does
    not differ by multiples of 256 for so long.
    """
    number = int.from_bytes(data, "little")
    differences = (number ^ number >> 8 * period).to_bytes(len(data), "little")
    zeros, last = bytes(least - period), max(0, len(data) - period)
    start = differences.find(zeros, 0, last)
    while start >= 0:
        end = _ZEROS.match(differences, start, last).end()  # type: ignore[union-attr]  # it matches anywhere
        yield start, end + period
        start = differences.find(zeros, end, last)
