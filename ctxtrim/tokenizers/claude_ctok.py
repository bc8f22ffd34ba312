"""Claude's tokens as ctok counts them, from its reconstruction of the vocabularies: the same numbers, much faster.

ctok writes a text as a stream, with marks where a word begins and ends and where a capital stood, and covers it with as
few pieces of the vocabulary as it can. No piece crosses the beginning or the end of a word, so a text costs the sum of
its words and of what lies between them, and either is written without regard to anything but whether a word or the end
of a line is beside it. So each is counted once and remembered. Two more facts keep what is to be remembered small: a
line break is in no piece with anything else, and nothing is written across one; an ASCII digit is in no piece with
anything else, and every group of up to three digits is a piece. `_is_as_expected` looks these up in the vocabulary.

A word is here only what surely is one for ctok: letters of the large alphabets, with nothing beside them that could be
part of it. All else lies between words, be it whole lines, and goes through ctok's own stream.
"""

import re
from array import array
from collections.abc import Callable, Iterator, MutableSequence
from copy import copy
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import Any
from unicodedata import normalize

from ctxtrim.tokens import Exactness

LETTERS = (
    "A-Za-z\xc0-\xd6\xd8-\xf6\xf8-\u0239\u023b-\u023d\u023f-\u02af"
    "\u0391-\u03a1\u03a3-\u03a9\u03b1-\u03c9\u0400-\u0481\u048a-\u052f"
)
"""Letters that form words, as a class of a regular expression."""
UNMARKED = "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\U0001f000-\U0001faff"
"""Characters that are no part of a word and take no marks: ideographs, Hangul, emoji."""
BREAKS = (
    "\x00-@[-`{-\x7f\u2010-\u2027\u2030-\u205e\u2190-\u2328\u232b-\u23ff\u2500-\u27bf"
    f"\u3001-\u3004\u3008-\u3020\uff01-\uff0f{UNMARKED}"
)
"""Characters that are no part of a word: beside one of them a word is complete."""
CHANGED = f"\x00-\x08\x0b-\x1f\x7f\u2018\u2019\u201c\u201d]|[^{LETTERS}{BREAKS}"
"""What normalizing may change. Two characters that are not of it never combine."""

# A contraction goes with the word before it. Where there is none (`5's`) it is left to ctok, as a part of what lies
# between words, because there the apostrophe stands for the mark that the suffix would begin with.
_SUFFIX = rf"(?:s|t|d|m|ll|re|ve)(?![^{BREAKS}])"
_LETTER = rf"[{LETTERS}](?<![^{BREAKS}].)"  # the first; looking behind it last lets the search leap to letters
_WORD = re.compile(rf"({_LETTER}(?<!'(?={_SUFFIX}).)[{LETTERS}]*+(?![^{BREAKS}])(?:'{_SUFFIX})*)")
_ASCII_WORD = re.compile("([A-Za-z]+)")  # the same where all is ASCII and there is no apostrophe
_CHANGED = re.compile(f"[{CHANGED}]")
_DIGITS = re.compile("[0-9]+")
_LINE_BREAKS = re.compile("(\n+)")
_MAY_BE_MARKED = re.compile(f"(?![\x00-\x7f])(?:[{LETTERS}]+|[^{UNMARKED}])")
_UNCOUNTED = bytes(set(range(128)) - set(b" ABCDEFGHIJKLMNOPQRSTUVWXYZ"))

_BLOCK = 1 << 20  # characters whose words are held at a time
_REMEMBERED = 200_000  # texts in each memo; about 30 MB
_LONGEST = 100  # characters of a text that is worth remembering
_LONG = 100_000  # characters from which on costs are kept in an array: objects would take ten times the room


def available() -> bool:
    """Whether ctok is installed; it is not loaded."""
    return find_spec("ctok") is not None


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
            text = normalize("NFC", text)
            marks += 4 * len(_MAY_BE_MARKED.findall(text))
        data = text.encode(errors="surrogatepass")
        return len(data) + len(re.sub(rb"[\x80-\xff]+", b"", data).translate(None, _UNCOUNTED)) + marks


@cache
def _counter(version: str) -> Callable[[str], int]:
    """How texts are counted for a version of the model. A vocabulary of another build is left to ctok altogether."""
    from ctok.main import _family, _model, token_count

    family = _family(version)
    model = _model(family)
    if _is_as_expected(model.vocab):
        return _texts(family).count
    return lambda text: int(token_count(text, version)) - int(model.message_overhead)


@cache
def _texts(family: str) -> "_Texts":
    from ctok.main import _model

    return _Texts(_model(family))


def _is_as_expected(vocabulary: frozenset[str]) -> bool:
    """Whether marks are at the edges of a piece only, line breaks and digits by themselves, and no digits missing."""
    from ctok.constants import BOW_G, CAPS_G, EOW_G, SHIFT_G

    marks = BOW_G + EOW_G + CAPS_G + SHIFT_G
    piece = re.compile(rf"[{CAPS_G}{SHIFT_G}]*{BOW_G}?[^\n0-9{marks}]*{EOW_G}?|\n+|[0-9]{{1,3}}")
    digits = sum(one.isascii() and one.isdecimal() for one in vocabulary)
    return digits == 10 + 100 + 1000 and all(map(piece.fullmatch, vocabulary))


class _Memo(dict[str, int]):
    """What texts cost, found when first asked for. Full, it begins anew; long texts are not kept."""

    def __init__(self, cost: Callable[[str], int]) -> None:
        super().__init__()
        self.cost = cost

    def __missing__(self, text: str) -> int:
        cost = self.cost(text)
        if len(text) <= _LONGEST:
            if len(self) >= _REMEMBERED:
                self.clear()
            self[text] = cost
        return cost


class _Texts:
    """Counts texts with one of ctok's models."""

    def __init__(self, model: Any) -> None:
        from ctok import constants, engine
        from ctok.normalize import nfc, stream_norm

        self.constants, self.engine, self.nfc, self.stream = constants, engine, nfc, stream_norm
        self.model = model
        # Inside a text there is no frame for a line to begin in.
        self.inner = copy(model)
        self.inner.frame_bow = False
        self.words = _Memo(self._word)
        self.gaps = _Memo(lambda gap: self.spans[f"a{gap}a"] - 2 * self.words["a"])
        self.spans = _Memo(self._span)
        self.lines = _Memo(self._line)
        self.openings = _Memo(self._opening)

    def count(self, text: str) -> int:
        """The tokens of a text."""
        clean = text
        if _CHANGED.search(text):
            clean = self.nfc(text, fold_quotes=self.model.fold_quotes)
        body = clean.rstrip("\n")
        cost = self._body(body, text.startswith(" "))
        if len(body) < len(clean):  # the frame's own line breaks join those at the end
            cost += len(self.engine.frame_tail(len(clean) - len(body), self.model))
        return cost

    def _body(self, body: str, has_space: bool) -> int:
        """Words, what is between them, and what is before the first and after the last."""
        cost, before, after = 0, "", None
        for number, block in enumerate(_blocks(body)):
            parts = (_ASCII_WORD if block.isascii() and "'" not in block else _WORD).split(block)
            if number == 0:
                before = parts[0]
            if after is not None:
                cost += self.gaps[after]
            if len(parts) > 1:
                cost += sum(map(self.words.__getitem__, parts[1::2])) + sum(map(self.gaps.__getitem__, parts[2:-1:2]))
                after = parts[-1]
        if after is None:  # no word at all
            return self.spans[body] + self._frame(body, has_space)
        cost += self.spans[f"{before}a"] + self.spans[f"a{after}"] - 2 * self.words["a"]
        return cost + self._frame(f"{before}a", has_space)

    def _frame(self, head: str, has_space: bool) -> int:
        """What a text that begins so costs more or less at the head of a message than inside a text."""
        if head == "a" or not self.model.frame_bow:
            return 0
        line = _DIGITS.sub("0", head.partition("\n")[0])
        return self.openings[line] if has_space else self.openings["\n" + line]

    def _opening(self, line: str) -> int:
        """The same of a line; a line break before it says that the text does not begin with the line's space."""
        bare = line.removeprefix("\n")
        framed = self.stream(bare, self.model, raw_head_space=bare == line)
        return self._tiles(framed) - self._line(bare)

    def _word(self, word: str) -> int:
        """A word, with marks as ctok sets them where all letters are ASCII: the short form of its `mark_case`."""
        if not (word.isascii() and word.isalpha()):
            return self._line(word)
        marks, lower = self.constants, word.lower()
        least = self.model.allcaps_min
        if word == lower:
            mark = ""
        elif least is not None and len(word) >= least and word.isupper():
            mark, word = marks.CAPS_G, lower
        elif word[0] != lower[0] and word[1:] == lower[1:]:
            mark, word = marks.SHIFT_G, lower
        else:
            mark = ""
        return self._tiles(mark + marks.BOW_G + word + marks.EOW_G)

    def _span(self, span: str) -> int:
        """Any part of a text that begins and ends at the edge of a word or of a line."""
        cost = 0
        if digits := _DIGITS.findall(span):
            cost = sum((len(run) - 1) // 3 for run in digits)
            span = _DIGITS.sub("0", span)
        if "\n" in span:
            return cost + sum(map(self.lines.__getitem__, _LINE_BREAKS.split(span)))
        return cost + self.lines[span]

    def _line(self, line: str) -> int:
        """A line or a part of one, or a run of line breaks, as ctok writes it inside a text."""
        if line.startswith("\n"):
            return self._tiles(line)
        return self._tiles(self.stream(line, self.inner, raw_head_space=False))

    def _tiles(self, stream: str) -> int:
        """How few pieces cover a stream; a character that is no piece costs its bytes, or what ctok has for it."""
        if stream in self.model.vocab:
            return 1
        root, end_of_piece, is_mark = self.model.trie.root, self.model.trie._END, self.constants.MARKER_GLYPHS
        costs: MutableSequence[int] = [0] * (len(stream) + 1)
        if len(stream) > _LONG:
            costs = array("q", bytes(8 * len(costs)))
        for place, char in enumerate(stream):
            # The trie spells pieces backwards: this looks for those that end here.
            node = root.get(char)
            is_piece = node is not None and end_of_piece in node
            least = costs[place] + (1 if is_piece or char in is_mark else self.engine.char_cost(self.model, char))
            start = place
            while node is not None and start:
                start -= 1
                node = node.get(stream[start])
                if node is not None and end_of_piece in node and costs[start] < least:
                    least = costs[start] + 1
            costs[place + 1] = least
        return costs[-1]


def _blocks(text: str) -> Iterator[str]:
    """A text in pieces of about a million characters, each but the first beginning with a word."""
    start = 0
    while len(text) - start > _BLOCK and (word := _WORD.search(text, start + _BLOCK)):
        yield text[start : word.start()]
        start = word.start()
    yield text[start:]
