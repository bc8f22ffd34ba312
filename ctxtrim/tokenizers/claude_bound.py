"""An upper bound for Claude's tokenizers, whose vocabularies are not published.

In 2,514 recorded answers of the counting endpoint, `factor` times the tokens of cl100k_base was
never too low for texts of 400 bytes or more (at most 1.58 needed for Claude 3 to 4.6, 2.31 for 4.7
and later); a frame of 12 tokens per message covers shorter texts. Among 6,869 texts of real
transcripts, counted with ctok, one needed 1.63 in the older versions, so their factor is 1.65.
Texts use the larger count of both encodings, which was sufficient for all 7,542 texts with a
recorded count: o200k_base is far better than Claude at other scripts, and at some languages in
Latin letters.

Two things cost their bytes. First, repetitions, with the marks that Claude adds to capitals and
single spaces: a repeated word can cost Claude three times the factor, and only other words
compensate. Second, from 4.7 on, words in CAPITALS, which it splits into letters, with a mark for
each run of capitals, and with a space after a digit.

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
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from math import ceil

from ctxtrim.tokenizers.claude_repetitions import repetitions
from ctxtrim.tokenizers.encodings import Encoding
from ctxtrim.tokenizers.pieces import pieces
from ctxtrim.tokens.tokenizer import Exactness

_MARKS = 0.6  # maximum marks, joints and surcharges per byte of ASCII
_ALONE = 3  # tokens of a lone non-ASCII sign or letter, besides the factor; at most one per byte
_LONGER = 12  # minimum characters of the match of a longer word
_MARKED = re.compile(r"[A-Z]|(?<! ) (?! )")
_LONE = re.compile(r" [^\x00-\x7f](?!\S)")


def _kind(code: int) -> bytes:
    """The kind of a character: `a`, `A`, `0`, the sign itself if words may follow it, or `?`."""
    character = bytes((code,))
    if character.islower():
        return b"a"
    if character.isupper():
        return b"A"
    if character.isdigit():
        return b"0"
    return character if character in b"\t ._/(-" else b"?"


_KINDS = b"".join(map(_kind, range(256)))
_BLANKS = bytes.maketrans(b"._/(-", b"     ")

# Searched in kinds. One fixed character at the beginning makes a search several times as fast.
_CAPITALS = re.compile(rb"(A[A0_]+(?:(?<=0) )?)")  # with a space after a digit
_RUN = re.compile(rb"A+")
_CAPITALIZED = b"Aaaa"


@dataclass(frozen=True)
class _Surcharges:
    """The tokens of joints and of some words in addition to the factor.

    A word is `long` or `capitalized`, a long one of `_LONGER` characters also `longer`.
    `after_signs`: signs before a word count as spaces.
    """

    joints: Sequence[re.Pattern[bytes]]
    long_words: re.Pattern[bytes]
    capitalized: float
    long: int
    longer: int = 0
    after_signs: bool = False

    def of(self, kinds: bytes) -> float:
        """The tokens of the joints and words in the kinds of some characters."""
        tokens = self.capitalized * kinds.count(_CAPITALIZED)
        tokens += sum(len(joint.findall(kinds)) for joint in self.joints)
        if self.after_signs:
            kinds = kinds.translate(_BLANKS)
        words = self.long_words.findall(kinds)
        tokens += self.long * len(words)
        if self.longer:
            tokens += self.longer * sum([len(word) >= _LONGER for word in words])
        return tokens


_SURCHARGES = {  # by `spells_capitals`
    False: _Surcharges(
        joints=[re.compile(joint) for joint in (rb"\t[Aa]", rb"\.A", b"_A")],
        long_words=re.compile(rb" [Aa]a{10,}"),
        capitalized=1.5,
        long=2,
    ),
    True: _Surcharges(
        joints=[re.compile(rb"\tA")],
        long_words=re.compile(rb" [Aa]a{8,}"),
        capitalized=2,
        long=1,
        longer=4,
        after_signs=True,
    ),
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
            kinds = _kinds_of(piece)
            if self.spells_capitals:
                size, piece, kinds = _without_capitals(piece, kinds)
                surcharge += size
            if not piece.isascii():
                surcharge += _ALONE * len(_LONE.findall(piece))
            surcharge += _SURCHARGES[self.spells_capitals].of(kinds)
            tokens += max(self.latin.count(piece), self.other.count(piece))
        return ceil(self.factor * tokens + surcharge)

    def ceiling(self, text: str) -> int:
        """The factor times the bytes, and for each byte what is counted in addition to it."""
        addition = _MARKS if text.isascii() else 1
        return ceil((self.factor + addition) * self.latin.ceiling(text))


def _kinds_of(text: str) -> bytes:
    """The kind of each character of a text, as one byte."""
    return text.encode("ascii", "replace").translate(_KINDS)


def _without_capitals(text: str, kinds: bytes) -> tuple[int, str, bytes]:
    """The bytes and marks of words in capitals, and the text and its kinds with a space instead of
    each.
    """
    parts = _CAPITALS.split(kinds)  # every second one is a word in capitals
    if len(parts) == 1:
        return 0, text, kinds
    words, others = parts[1::2], parts[::2]
    size = sum(map(len, words)) + len(_RUN.findall(b" ".join(words)))
    kept, start = [], 0
    for other, word in zip_longest(others, words, fillvalue=b""):
        kept.append(text[start : start + len(other)])
        start += len(other) + len(word)
    return size, " ".join(kept), b" ".join(others)


def _without_repetitions(text: str) -> tuple[int, str]:
    """The bytes and marks of repetitions, and the text with a space instead of each."""
    parts, size, done = [], 0, 0
    for start, end in repetitions(text):
        size += _spelled_out(text[start:end])
        parts.append(text[done:start])
        done = end
    return size, " ".join((*parts, text[done:])) if done else text


def _spelled_out(text: str) -> int:
    """One token per byte, and one for the mark of each capital and each single space."""
    return len(text.encode(errors="surrogatepass")) + len(_MARKED.findall(text))
