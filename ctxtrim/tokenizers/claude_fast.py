"""Claude's tokens as ctok counts them, computed much faster: the same vocabularies, the same
numbers.

ctok writes a text as a stream, with marks at the start and end of words and at capitals. It covers
the stream with as few pieces of the vocabulary as possible. No piece crosses the start or end of a
word. So a text costs the sum of its words and the gaps between them, and each depends only on its
direct neighbours; each is counted once and cached. Blanks, digits and unmarked characters never
share a piece with anything else, which splits gaps further. `are_of_one_kind` verifies all this in
the vocabulary.

Only certain words are words here: letters of the large alphabets, with no neighbour that could be
part of the word. This module also writes gaps of signs, blanks, digits and unmarked characters: a
sign is marked next to a space, and the space between two marks is left out. Anything else in a gap
goes through ctok's own stream.

Imported only if ctok is installed.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ctok.constants import BOW_G, CAPS_G, EOW_G, LITERAL_MARKER_ESCAPE_TABLE, SHIFT_G
from ctok.main import _family, token_count
from ctok.normalize import mark_case, nfc, stream_norm

from ctxtrim.tokenizers.claude_normalization import (
    CHANGED,
    LETTERS,
    PLAIN,
    QUOTES,
    SIGNS,
    UNMARKED,
    ordered,
)
from ctxtrim.tokenizers.claude_vocabulary import Memo, Pieces, document

# A contraction belongs to the word before it. Without one (`5's`) ctok writes it: the apostrophe is
# the mark with which the suffix would start.
_SUFFIX = rf"(?:s|t|d|m|ll|re|ve)(?![^{PLAIN}])"
_LETTER = (
    rf"[{LETTERS}](?<![^{PLAIN}].)"  # the first letter; a late lookbehind makes the search faster
)
_WORD = re.compile(rf"({_LETTER}(?<!'(?={_SUFFIX}).)[{LETTERS}]*+(?![^{PLAIN}])(?:'{_SUFFIX})*)")
_CHANGED = re.compile(f"[{CHANGED}]")
_PLAIN = re.compile(f"[{PLAIN}]*")
_BEFORE_SPACE = re.compile(f"(?<=[{SIGNS}{QUOTES}]) (?! )")
# an apostrophe before a word is not marked
_AFTER_SPACE = re.compile(rf" (?=[{SIGNS}{QUOTES}])(?!'\Z)")
_KINDS = re.compile(rf" +|\t+|\n+|[0-9]+|[{UNMARKED}]+|[^ \t\n0-9{UNMARKED}]+")
_CUTS = re.compile(f"( +|\n+|[0-9{UNMARKED}]+)")

_EDGE = (
    "一"  # replaces the start and end of a text: like all unmarked characters, it causes no marks
)
_BLOCK = 1 << 18  # characters whose words are in memory at a time
_PROBE = (
    "Ab ABC ABCD aBc it's 'x' ('y') - z -- \"q\", 5's (x) a\t( b )  c → "
    "d “e” 漢 字? \n 12 3x é É Él"
)


def counter(version: str) -> Callable[[str], int]:
    """The counting function for a model version.

    An unexpected vocabulary is counted by ctok itself.
    """
    family = _family(version)
    rules, tokens = document(family)
    texts = Texts(
        Pieces(tokens),
        Rules(rules.get("frame_bow", True), rules["fold_quotes"], rules["allcaps_min"]),
    )
    if texts.are_as_expected():
        return texts.count
    return lambda text: int(token_count(text, version)) - int(rules["message_overhead"])


@dataclass(frozen=True)
class Rules:
    """The differences between families.

    `frame_bow`: the frame of a message ends in the mark that starts a word. `fold_quotes`: curly
    quotes become straight. `allcaps_min`: minimum letters of a word in capitals that gets a mark;
    None for no mark.
    """

    frame_bow: bool
    fold_quotes: bool
    allcaps_min: int | None


class Texts:
    """Counts texts, and caches the counts of their parts."""

    def __init__(self, pieces: Pieces, rules: Rules) -> None:
        self.pieces, self.rules = pieces, rules
        self.inner = Rules(False, rules.fold_quotes, rules.allcaps_min)  # no frame inside a text
        self.words = Memo(self._word)
        self.gaps = Memo(self._gap)
        self.kinds = Memo(self._kind)
        self.chunks = Memo(self._chunk)

    def are_as_expected(self) -> bool:
        """Whether the pieces are of one kind, and a line of all cases is written as
        ctok writes it.
        """
        line = nfc(_PROBE, fold_quotes=self.rules.fold_quotes)
        stream = stream_norm(line, self.inner, raw_head_space=False)
        return self.pieces.are_of_one_kind() and self._alone(line) == self.pieces.tiles(stream)

    def count(self, text: str) -> int:
        """The tokens of a text."""
        clean = (
            nfc(ordered(text), fold_quotes=self.rules.fold_quotes)
            if _CHANGED.search(text)
            else text
        )
        body = clean.rstrip("\n")
        breaks = len(clean) - len(body)
        # The frame's line breaks merge with those at the end, and have at least one token.
        cost = self.kinds["\n" * (breaks + 2)] - 1 if breaks else 0
        is_spaced = body.startswith(" ")
        if (
            not self.rules.frame_bow
            or body.startswith("  ")
            or (is_spaced and not text.startswith(" "))
        ):
            return cost + self._alone(body)
        # The mark at the end of the frame replaces a space, also one at the start of the text.
        return cost + self._after(" ", body[is_spaced:])

    def _alone(self, text: str) -> int:
        """The tokens of a text at the start of the input."""
        return self._after(_EDGE, text) - self.kinds[_EDGE]

    def _after(self, gap: str, text: str) -> int:
        """The tokens of a text, and of the gap between it and the word before."""
        cost = 0
        for block in _blocks(text):
            parts = _WORD.split(block)
            parts[0] = gap + parts[0]
            gap = parts.pop()
            cost += sum(map(self.words.__getitem__, parts[1::2])) + sum(
                map(self.gaps.__getitem__, parts[::2])
            )
        return cost + self.gaps[gap + _EDGE] - self.kinds[_EDGE]

    def _word(self, word: str) -> int:
        """The tokens of a word and its contractions."""
        if "'" in word:
            word, *suffixes = word.split("'")
            return self.words[word] + sum(self.kinds[f"'{suffix}{EOW_G}"] for suffix in suffixes)
        marks, body = self._case(word)
        return self.pieces.tiles(f"{marks}{BOW_G}{body}{EOW_G}")

    def _case(self, word: str) -> tuple[str, str]:
        """The capital marks of a word, and the word as written after them; a shortcut for ASCII."""
        if not word.isascii():
            marked = mark_case(word, self.rules.allcaps_min)
            body = marked.lstrip(CAPS_G + SHIFT_G)
            return marked[: len(marked) - len(body)], body
        least, lower = self.rules.allcaps_min, word.lower()
        if least is not None and len(word) >= least and word.isupper():
            return CAPS_G, lower
        if word[0] != lower[0] and word[1:] == lower[1:]:
            return SHIFT_G, lower
        return "", word

    def _gap(self, gap: str) -> int:
        """The tokens between two words."""
        if not _PLAIN.fullmatch(gap):
            return self._strange(f"a{gap}a") - 2 * self.words["a"]
        if " " in gap:
            gap = _AFTER_SPACE.sub(f" {BOW_G}", _BEFORE_SPACE.sub(f"{EOW_G} ", gap))
            gap = f"{EOW_G}{gap}{BOW_G}".replace(f"{EOW_G} {BOW_G}", EOW_G + BOW_G)[1:-1]
        return sum(map(self.kinds.__getitem__, _KINDS.findall(gap)))

    def _kind(self, run: str) -> int:
        """The tokens of a run of blanks, digits, unmarked characters, or signs with their marks."""
        if run.isascii() and run.isdecimal():
            return (len(run) + 2) // 3
        return self.pieces.tiles(run)

    def _strange(self, span: str) -> int:
        """The tokens of any other span, cut at blanks and unmarked characters.

        The chunks are written by ctok.
        """
        parts = _CUTS.split(span)
        cuts = ["", *parts[1::2], ""]
        cost, closes = 0, False
        for chunk, before, after in zip(parts[::2], cuts, cuts[1:], strict=False):
            edges = " " if before.startswith(" ") else ""
            tokens, opens, closes_too = self.chunks[
                f"{edges}{chunk}{after if after == ' ' else ''}"
            ]
            if before and not (before == " " and opens and closes):
                cost += self.kinds[before]
            cost, closes = cost + tokens, closes_too
        return cost

    def _chunk(self, chunk: str) -> tuple[int, bool, bool]:
        """The tokens between two cuts, and whether the marks at its start and end replace a space.

        The adjacent spaces are included because of these marks, but not counted.
        """
        chunk, cost = chunk.translate(LITERAL_MARKER_ESCAPE_TABLE), 0
        if chunk.lower() == chunk.upper():  # without letter case, characters are written unchanged
            chunk, cost = self.pieces.shorten_runs(chunk)
        stream = stream_norm(chunk, self.inner, raw_head_space=False).strip(" ")
        opens = stream.lstrip(CAPS_G + SHIFT_G).startswith(BOW_G)
        return cost + self.pieces.tiles(stream), opens, stream.endswith(EOW_G)


def _blocks(text: str) -> Iterator[str]:
    """A text in blocks of about 250,000 characters; each but the first starts with a word."""
    start = 0
    while len(text) - start > _BLOCK and (word := _WORD.search(text, start + _BLOCK)):
        yield text[start : word.start()]
        start = word.start()
    yield text[start:]
