"""Claude's tokens as ctok counts them, from its reconstruction of the vocabularies: the same numbers, much faster.

ctok writes a text as a stream, with marks where a word begins and ends and where a capital stood, and covers it with as
few pieces of the vocabulary as it can. No piece crosses the beginning or the end of a word, so a text costs the sum of
its words and of the gaps between them, and either is written without regard to anything but what is beside it. So each
is counted once and remembered. Blanks, digits and unmarked characters are in no piece with anything else either, which
takes gaps apart further. `are_of_one_kind` looks all this up in the vocabulary.

A word is here only what surely is one for ctok: letters of the large alphabets, with nothing beside them that could be
part of it. A gap of signs, blanks, digits and unmarked characters is written here: a sign is marked where a space is
beside it, and the space between two marks is left out. Anything strange in a gap goes through ctok's own stream.

Only imported where ctok is installed.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ctok.constants import BOW_G, CAPS_G, EOW_G, LITERAL_MARKER_ESCAPE_TABLE, SHIFT_G
from ctok.main import _family, token_count
from ctok.normalize import mark_case, nfc, stream_norm

from ctxtrim.tokenizers.claude_normalization import CHANGED, LETTERS, PLAIN, QUOTES, SIGNS, UNMARKED, ordered
from ctxtrim.tokenizers.claude_vocabulary import Memo, Pieces, document

# A contraction goes with the word before it. Where there is none (`5's`) it is strange: the apostrophe stands for the
# mark that the suffix would begin with.
_SUFFIX = rf"(?:s|t|d|m|ll|re|ve)(?![^{PLAIN}])"
_LETTER = rf"[{LETTERS}](?<![^{PLAIN}].)"  # the first; looking behind it last lets the search leap to letters
_WORD = re.compile(rf"({_LETTER}(?<!'(?={_SUFFIX}).)[{LETTERS}]*+(?![^{PLAIN}])(?:'{_SUFFIX})*)")
_CHANGED = re.compile(f"[{CHANGED}]")
_PLAIN = re.compile(f"[{PLAIN}]*")
_BEFORE_SPACE = re.compile(f"(?<=[{SIGNS}{QUOTES}]) (?! )")
_AFTER_SPACE = re.compile(rf" (?=[{SIGNS}{QUOTES}])(?!'\Z)")  # an apostrophe that opens a word is not marked
_KINDS = re.compile(rf" +|\t+|\n+|[0-9]+|[{UNMARKED}]+|[^ \t\n0-9{UNMARKED}]+")
_CUTS = re.compile(f"( +|\n+|[0-9{UNMARKED}]+)")

_EDGE = "一"  # stands where a text begins or ends: nothing is marked beside it, nor beside an unmarked character
_BLOCK = 1 << 18  # characters whose words are held at a time
_PROBE = "Ab ABC ABCD aBc it's 'x' ('y') - z -- \"q\", 5's (x) a\t( b )  c → d “e” 漢 字? \n 12 3x é É Él"


def counter(version: str) -> Callable[[str], int]:
    """How texts are counted for a version of the model. What is not as expected here is left to ctok altogether."""
    family = _family(version)
    rules, tokens = document(family)
    texts = Texts(Pieces(tokens), Rules(rules.get("frame_bow", True), rules["fold_quotes"], rules["allcaps_min"]))
    if texts.are_as_expected():
        return texts.count
    return lambda text: int(token_count(text, version)) - int(rules["message_overhead"])


@dataclass(frozen=True)
class Rules:
    """How a family differs from the others.

    `frame_bow`: the frame of a message ends in the mark that begins a word; `fold_quotes`: curly quotes become straight
    ones; `allcaps_min`: letters from which on a word in capitals is marked as one, if ever.
    """

    frame_bow: bool
    fold_quotes: bool
    allcaps_min: int | None


class Texts:
    """Counts texts, and remembers their parts."""

    def __init__(self, pieces: Pieces, rules: Rules) -> None:
        self.pieces, self.rules = pieces, rules
        self.inner = Rules(False, rules.fold_quotes, rules.allcaps_min)  # inside a text there is no frame
        self.words = Memo(self._word)
        self.gaps = Memo(self._gap)
        self.kinds = Memo(self._kind)
        self.chunks = Memo(self._chunk)

    def are_as_expected(self) -> bool:
        """Whether pieces are of one kind, and a line of everything is written as ctok writes it."""
        line = nfc(_PROBE, fold_quotes=self.rules.fold_quotes)
        stream = stream_norm(line, self.inner, raw_head_space=False)
        return self.pieces.are_of_one_kind() and self._alone(line) == self.pieces.tiles(stream)

    def count(self, text: str) -> int:
        """The tokens of a text."""
        clean = nfc(ordered(text), fold_quotes=self.rules.fold_quotes) if _CHANGED.search(text) else text
        body = clean.rstrip("\n")
        breaks = len(clean) - len(body)
        # The frame's own line breaks join those at the end, and have one token at least.
        cost = self.kinds["\n" * (breaks + 2)] - 1 if breaks else 0
        is_spaced = body.startswith(" ")
        if not self.rules.frame_bow or body.startswith("  ") or (is_spaced and not text.startswith(" ")):
            return cost + self._alone(body)
        # The mark at the end of the frame stands for a space, and for the one that the text begins with.
        return cost + self._after(" ", body[is_spaced:])

    def _alone(self, text: str) -> int:
        """A text that nothing is before."""
        return self._after(_EDGE, text) - self.kinds[_EDGE]

    def _after(self, gap: str, text: str) -> int:
        """A text and the gap between a word and it."""
        cost = 0
        for block in _blocks(text):
            parts = _WORD.split(block)
            parts[0] = gap + parts[0]
            gap = parts.pop()
            cost += sum(map(self.words.__getitem__, parts[1::2])) + sum(map(self.gaps.__getitem__, parts[::2]))
        return cost + self.gaps[gap + _EDGE] - self.kinds[_EDGE]

    def _word(self, word: str) -> int:
        """A word, and the contractions that it ends in."""
        if "'" in word:
            word, *suffixes = word.split("'")
            return self.words[word] + sum(self.kinds[f"'{suffix}{EOW_G}"] for suffix in suffixes)
        marks, body = self._case(word)
        return self.pieces.tiles(f"{marks}{BOW_G}{body}{EOW_G}")

    def _case(self, word: str) -> tuple[str, str]:
        """The marks of a word's capitals, and the word as it is written after them; in short for ASCII."""
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
        """What is between two words."""
        if not _PLAIN.fullmatch(gap):
            return self._strange(f"a{gap}a") - 2 * self.words["a"]
        if " " in gap:
            gap = _AFTER_SPACE.sub(f" {BOW_G}", _BEFORE_SPACE.sub(f"{EOW_G} ", gap))
            gap = f"{EOW_G}{gap}{BOW_G}".replace(f"{EOW_G} {BOW_G}", EOW_G + BOW_G)[1:-1]
        return sum(map(self.kinds.__getitem__, _KINDS.findall(gap)))

    def _kind(self, run: str) -> int:
        """A run of blanks, of digits, of unmarked characters or of signs with their marks."""
        if run.isascii() and run.isdecimal():
            return (len(run) + 2) // 3
        return self.pieces.tiles(run)

    def _strange(self, span: str) -> int:
        """A span of anything, cut at blanks and where no marks are: what lies between is written by ctok."""
        parts = _CUTS.split(span)
        cuts = ["", *parts[1::2], ""]
        cost, closes = 0, False
        for chunk, before, after in zip(parts[::2], cuts, cuts[1:], strict=False):
            beside = " " if before.startswith(" ") else ""
            tokens, opens, closes_too = self.chunks[f"{beside}{chunk}{after if after == ' ' else ''}"]
            if before and not (before == " " and opens and closes):
                cost += self.kinds[before]
            cost, closes = cost + tokens, closes_too
        return cost

    def _chunk(self, chunk: str) -> tuple[int, bool, bool]:
        """The tokens of what is between two cuts, and whether marks at its beginning and its end stand for a space.

        The spaces beside it come with it, because of these marks, and are not counted.
        """
        chunk, cost = chunk.translate(LITERAL_MARKER_ESCAPE_TABLE), 0
        if chunk.lower() == chunk.upper():  # without capitals each character is written as it is
            chunk, cost = self.pieces.shortened(chunk)
        stream = stream_norm(chunk, self.inner, raw_head_space=False).strip(" ")
        opens = stream.lstrip(CAPS_G + SHIFT_G).startswith(BOW_G)
        return cost + self.pieces.tiles(stream), opens, stream.endswith(EOW_G)


def _blocks(text: str) -> Iterator[str]:
    """A text in pieces of about a quarter of a million characters, each but the first beginning with a word."""
    start = 0
    while len(text) - start > _BLOCK and (word := _WORD.search(text, start + _BLOCK)):
        yield text[start : word.start()]
        start = word.start()
    yield text[start:]
