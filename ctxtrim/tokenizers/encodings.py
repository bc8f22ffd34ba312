"""OpenAI's byte-level BPE encodings, from the vocabularies inside this package.

gigatoken counts where it is installed, tiktoken everywhere else: the same tokens, ten to twenty times the speed. A run
that is known to be small is done before either has read its vocabulary: see `small_engine`. None may download anything:
all are built from our own files.
"""

import re
from binascii import a2b_base64, b2a_base64
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise
from pathlib import Path
from unicodedata import category

from ctxtrim.errors import TokenizerError
from ctxtrim.tokenizers.gigatoken_bounded import printable, renewed
from ctxtrim.tokens import Exactness

VOCABULARIES = Path(__file__).parent / "vocabularies"

# How each encoding cuts a text into words before merging; they are part of the encoding, as its vocabulary is.
# Source: tiktoken_ext/openai_public.py of openai/tiktoken (MIT).
_LOWER = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_UPPER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]"
_SUFFIX = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
PATTERNS = {
    "cl100k_base": (
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
        r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
    ),
    "o200k_base": "|".join(
        (
            rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+{_SUFFIX}",
            rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*{_SUFFIX}",
            r"\p{N}{1,3}",
            r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
            r"\s*[\r\n]+",
            r"\s+(?!\S)",
            r"\s+",
        )
    ),
}
_PRETOKENIZERS = {"cl100k_base": "cl100k", "o200k_base": "o200k"}  # gigatoken's names for them
_ENDLESS = 100  # characters of a word that is merged in a loop
_NEVER = 1 << 30  # above every rank
_REMEMBERED = 100_000  # words of the engine for little text
_PIECE = 1 << 20  # characters of a text that are counted at a time
# The last character of a word, whatever stands before and after, for both patterns: a space begins another word after
# anything but a blank, and so do ASCII digits and letters beside each other, and signs and line breaks after either or
# an ideograph. An apostrophe may belong to the word before it.
_SIGNS = r"\n!-&(-/:-@\[-`{-~\u3001\u3002\uff0c"
_END = re.compile(
    rf"\S(?= )|[A-Za-z](?=[0-9{_SIGNS}])|[0-9](?=[A-Za-z{_SIGNS}])"
    rf"|[\u3041-\u3096\u30a1-\u30fa\u4e00-\u9fa5\uac00-\ud7a3](?=[{_SIGNS}])"
)
_BLANK = "[\t\x0b\x0c \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]"  # that breaks no line
_MANY_BLANKS = 100_000
_BLANKS = re.compile(rf"(?<!{_BLANK}){_BLANK}{{{_MANY_BLANKS},}}+(?![\r\n])")  # which tiktoken gives up on


@dataclass(frozen=True)
class Encoding:
    """One encoding: exact for the models it belongs to, `estimated` where it stands in for another.

    `is_light`: there is little to count, so the engine that is ready first is the best one.
    """

    name: str
    exactness: Exactness = "exact"
    is_light: bool = False

    def count(self, text: str) -> int:
        """The tokens of a text; special tokens in it are counted as the text they are."""
        count = _engine(self.name, self.is_light)
        return count(text) if len(text) <= _PIECE else sum(map(count, pieces(text)))

    def encode(self, text: str) -> list[int]:
        """The tokens of a text, by number."""
        encode = _encoder(self.name)
        return [token for piece in pieces(text) for token in encode(piece)]

    def ceiling(self, text: str) -> int:
        """The UTF-8 bytes of a text: every token of a byte-level encoding covers at least one."""
        try:
            return len(text) if text.isascii() else len(text.encode())
        except UnicodeEncodeError:  # lone surrogates
            return len(printable(text).encode())


def pieces(text: str) -> Iterator[str]:
    """A text in pieces of a million characters or, until a word surely ends, some more: they count what it counts."""
    start = 0
    while len(text) - start > _PIECE and (last := _END.search(text, start + _PIECE)):
        yield text[start : last.end()]
        start = last.end()
    yield text[start:]


def _vocabulary(name: str) -> Path:
    path = VOCABULARIES / f"{name}.tiktoken"
    if not path.is_file():
        raise TokenizerError(f"{path}: the vocabulary is missing from the installation; reinstall ctxtrim")
    return path


@cache
def _encoder(name: str) -> Callable[[str], list[int]]:
    return tiktoken_encoder(name, _vocabulary(name))


@cache
def _engine(name: str, is_light: bool) -> Callable[[str], int]:
    path = _vocabulary(name)
    if is_light:
        return small_engine(name, path)
    try:
        return gigatoken_engine(name, path)
    except ImportError:  # it is an extra
        return tiktoken_engine(name, path)


def gigatoken_engine(name: str, path: Path) -> Callable[[str], int]:
    """Counts with gigatoken; an `ImportError` where it is not installed."""
    from gigatoken import Tokenizer

    return renewed(lambda: Tokenizer.from_tiktoken(path, _PRETOKENIZERS[name], {}))


def tiktoken_engine(name: str, path: Path) -> Callable[[str], int]:
    """Counts with tiktoken."""
    encode = tiktoken_encoder(name, path)
    return lambda text: len(encode(text))


def tiktoken_encoder(name: str, path: Path) -> Callable[[str], list[int]]:
    """Encodes with tiktoken, built from our own vocabulary so that nothing is downloaded."""
    import tiktoken

    fields = path.read_bytes().split()
    ranks = dict(zip(map(a2b_base64, fields[::2]), map(int, fields[1::2]), strict=True))
    encoding = tiktoken.Encoding(name, pat_str=PATTERNS[name], mergeable_ranks=ranks, special_tokens={})

    def encode(text: str) -> list[int]:
        tokens: list[int] = []
        start = 0
        if len(text) >= _MANY_BLANKS:
            for blanks in _BLANKS.finditer(text):
                end = blanks.end() - (blanks.end() < len(text))  # the last one goes with what follows it
                tokens += encoding.encode_ordinary(text[start : blanks.start()])
                tokens += encoding._encode_single_piece(text[blanks.start() : end])
                start = end
        return tokens + encoding.encode_ordinary(text[start:])

    return encode


def small_engine(name: str, path: Path) -> Callable[[str], int]:
    """Counts little text at once: the same merges, word by word, with a table that is ready five times sooner.

    The vocabulary lists its tokens in base64, in the order of their ranks; so its lines are the table as they are, and
    a piece of a word is looked up as it would be spelled there. Endless words are left to tiktoken, and so are
    characters that Unicode may have classed since one of the engines was made.
    """
    import regex

    words = regex.compile(PATTERNS[name].replace(r"\S", r"\P{White_Space}").replace(r"\s", r"\p{White_Space}"))
    ranks = {token: rank for rank, token in enumerate(path.read_bytes().split()[::2])}
    fallback = cache(lambda: tiktoken_engine(name, path))

    @lru_cache(_REMEMBERED)
    def merged(word: str) -> int:
        return _merged(word.encode(), ranks)

    def count(text: str) -> int:
        if not text.isascii():
            text = printable(text)
            if any(category(char) == "Cn" for char in set(text)):
                return fallback()(text)
        found = words.findall(text)
        if any(len(word) > _ENDLESS for word in found):
            return fallback()(text)
        return sum(map(merged, found))

    return count


def _merged(word: bytes, ranks: Mapping[bytes, int]) -> int:
    """How many tokens are left of a word when no two neighbours can be merged; the lowest rank merges first."""
    if b2a_base64(word, newline=False) in ranks:
        return 1
    pieces = [word[place : place + 1] for place in range(len(word))]
    while True:
        pairs = [
            (ranks.get(b2a_base64(first + second, newline=False), _NEVER), place)
            for place, (first, second) in enumerate(pairwise(pieces))
        ]
        rank, place = min(pairs, default=(_NEVER, 0))
        if rank == _NEVER:
            return len(pieces)
        pieces[place : place + 2] = [pieces[place] + pieces[place + 1]]
