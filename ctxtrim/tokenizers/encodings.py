"""OpenAI's byte-level BPE encodings, from the vocabularies inside this package.

gigatoken counts if it is installed, otherwise tiktoken: the same tokens at a tenth to a twentieth
of the speed. `small_engine` counts small inputs before either has loaded its vocabulary. Nothing is
downloaded: all engines use the packaged files.
"""

import re
from binascii import a2b_base64, b2a_base64
from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property, lru_cache, partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING
from unicodedata import category

from msgspec import Struct

from ctxtrim.errors import TokenizerError
from ctxtrim.loading import lazy_pattern
from ctxtrim.tokens.tokenizer import Exactness, without_lone_surrogates

if TYPE_CHECKING:
    import tiktoken

VOCABULARIES = Path(__file__).parent / "vocabularies"

# The word patterns of each encoding, which are part of it like its vocabulary.
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
# The same for texts that are cut where a look-ahead would end a word (`_between_words`). Without
# look-aheads and possessive repeats, tiktoken takes a fifth to a half less time, and it does not
# fail on long runs of blanks.
_FAST_PATTERNS = {
    "cl100k_base": (
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
        r"|\s+$|\s*[\r\n]|\s"
    ),
    "o200k_base": PATTERNS["o200k_base"].replace(r"|\s+(?!\S)", ""),
}
_IN_ASCII = {
    _LOWER: "[a-z]",
    _UPPER: "[A-Z]",
    r"\p{L}++": "[A-Za-z]++",  # outside of a set
    r"\p{L}": "A-Za-z",
    r"\p{N}": r"\d",
}
"""Sets of characters in the patterns as those of them that ASCII has."""

_PRETOKENIZERS = {"cl100k_base": "cl100k", "o200k_base": "o200k"}  # gigatoken's names for them
_ENDLESS = 100  # maximum characters of a word merged by the small engine
_NEVER = 1 << 30  # above every rank
_REMEMBERED = 100_000  # cached words of the small engine
_SPECIAL = "<|endoftext|>"  # counts as text; but without a special token, arrays take long
_LINE_BREAKS = "\r\n"
_BLANK = "[\t\x0b\x0c \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]"  # no line breaks
_RUN = lazy_pattern(rf"{_BLANK}{{2,}}+")
_SPACES = lazy_pattern("  ++")  # found faster


class Encoding(Struct, frozen=True, dict=True):
    """One encoding: exact for its own models, `estimated` if it replaces another.

    `is_light`: the input is small, so the engine that starts first is the fastest.
    """

    name: str
    exactness: Exactness = "exact"
    is_light: bool = False

    @cached_property
    def count(self) -> Callable[[str], int]:
        """The function that counts the tokens of a text. Special tokens count as text."""
        return _engine(self.name, self.is_light)

    def encode(self, text: str) -> list[int]:
        """The token ids of a text."""
        return _encoder(self.name)(text)

    def ceiling(self, text: str) -> int:
        """The UTF-8 bytes of a text: every token covers at least one byte."""
        try:
            return len(text) if text.isascii() else len(text.encode())
        except UnicodeEncodeError:  # lone surrogates
            return len(without_lone_surrogates(text).encode())


O200K = partial(Encoding, "o200k_base", "exact")
CL100K = partial(Encoding, "cl100k_base", "exact")


def _vocabulary(name: str) -> Path:
    path = VOCABULARIES / f"{name}.tiktoken"
    if not path.is_file():
        raise TokenizerError(
            f"{path}: the vocabulary is missing from the installation; reinstall ctxtrim"
        )
    return path


@cache
def _encoder(name: str) -> Callable[[str], list[int]]:
    from ctxtrim.tokenizers.pieces import pieces  # small inputs need none

    encode = tiktoken_encoder(name, _vocabulary(name))
    return lambda text: [token for piece in pieces(text) for token in encode(piece)]


@cache
def _engine(name: str, is_light: bool) -> Callable[[str], int]:
    path = _vocabulary(name)
    if is_light:
        return small_engine(name, path)
    try:
        return gigatoken_engine(name, path)
    except ImportError:  # an optional dependency, or its numpy does not work here
        return tiktoken_engine(name, path)


def gigatoken_engine(name: str, path: Path) -> Callable[[str], int]:
    """Counts with gigatoken; an `ImportError` if it is not installed or cannot load numpy.

    Texts with characters that gigatoken may not know are left to tiktoken.
    """
    from gigatoken import Tokenizer

    from ctxtrim.tokenizers.gigatoken_memory import bounded_count
    from ctxtrim.tokenizers.unicode_17 import may_have_letters

    fallback = cache(lambda: tiktoken_engine(name, path))
    return bounded_count(
        lambda: Tokenizer.from_tiktoken(path, _PRETOKENIZERS[name], {}),
        lambda data: fallback()(data.decode()) if may_have_letters(data) else None,
        lambda text, encode: _long_count(text, encode, path),
    )


def _long_count(text: str, encode: Callable[[str], Sequence[int]], path: Path) -> int:
    """The number of tokens of a piece of a long text."""
    from ctxtrim.tokenizers.long_runs import LONG, window_count  # small inputs need none

    if len(text) <= LONG:
        return len(encode(text))
    return window_count(text, encode, _widths(path))


@cache
def _widths(path: Path) -> bytes:
    from ctxtrim.tokenizers.long_runs import token_widths

    return token_widths(path)


def tiktoken_engine(name: str, path: Path) -> Callable[[str], int]:
    """Counts with tiktoken, in an array of tokens if this version makes them: lists take longer."""
    from ctxtrim.tokenizers.pieces import PIECE, pieces  # small inputs need none

    encoding = _tiktoken(name, path)
    to_array = getattr(encoding._core_bpe, "encode_to_tiktoken_buffer", None)
    no_specials: set[str] = set()

    def encode(text: str) -> Sequence[int]:
        if to_array is None:
            return encoding.encode_ordinary(text)
        try:
            tokens = to_array(text, no_specials)
        except UnicodeEncodeError:  # lone surrogates
            return encoding.encode_ordinary(text)
        return memoryview(tokens).cast("B").cast("I")

    def count(text: str) -> int:
        parts = _between_words(text)
        if len(text) > PIECE:
            all_pieces = (piece for part in parts for piece in pieces(part))
            return sum(_long_count(piece, encode, path) for piece in all_pieces)
        return sum([len(encode(part)) for part in parts])

    return count


def tiktoken_encoder(name: str, path: Path) -> Callable[[str], list[int]]:
    """Encodes with tiktoken."""
    encode = _tiktoken(name, path).encode_ordinary
    return lambda text: [token for piece in _between_words(text) for token in encode(piece)]


def _tiktoken(name: str, path: Path) -> "tiktoken.Encoding":
    """An encoding built from the packaged vocabulary, so that nothing is downloaded."""
    import tiktoken

    fields = path.read_bytes().split()
    ranks = dict(zip(map(a2b_base64, fields[::2]), map(int, fields[1::2]), strict=True))
    return tiktoken.Encoding(
        name,
        pat_str=_FAST_PATTERNS[name],
        mergeable_ranks=ranks,
        special_tokens={_SPECIAL: len(ranks)},
    )


def _between_words(text: str) -> list[str]:
    """A text in parts, cut before the last of several blanks that a word or a sign follows.

    The look-aheads of the patterns end a word there: the last blank belongs to the next one.
    """
    has_spaces_only = (
        text.isascii() and "\t" not in text and "\x0b" not in text and "\x0c" not in text
    )
    parts = []
    start = 0
    for run in (_SPACES if has_spaces_only else _RUN).finditer(text):
        end = run.end()
        if end < len(text) and text[end] not in _LINE_BREAKS:
            parts.append(text[start : end - 1])
            start = end - 1
    parts.append(text[start:])
    return parts


def small_engine(name: str, path: Path) -> Callable[[str], int]:
    """Counts small texts: the same merges, word by word, with a table that loads five times faster.

    The words of the vocabulary file, tokens in base64 and their ranks, are used as the table as
    they are, and pieces of words are looked up in base64. Very long words are left to tiktoken, and
    so are characters that Unicode may have classified after one of the engines was released.
    """
    ascii_words = _ascii_words(name)
    all_words = cache(lambda: _all_words(name))
    fields = iter(path.read_bytes().split())
    ranks = dict(zip(fields, fields, strict=True))
    fallback = cache(lambda: tiktoken_engine(name, path))

    @lru_cache(_REMEMBERED)
    def count_word(word: str) -> int:
        return _count_word(word.encode(), ranks)

    def count(text: str) -> int:
        if text.isascii():
            words = ascii_words(text)
        else:
            text = without_lone_surrogates(text)
            if any(category(char) == "Cn" for char in set(text)):
                return fallback()(text)
            words = all_words()(text)
        if any(len(word) > _ENDLESS for word in words):
            return fallback()(text)
        return sum(map(count_word, words))

    return count


def _ascii_words(name: str) -> Callable[[str], list[str]]:
    """The function that finds the words of a text of ASCII."""
    pattern = PATTERNS[name]
    for characters, ascii_characters in _IN_ASCII.items():
        pattern = pattern.replace(characters, ascii_characters)
    return re.compile(pattern, re.ASCII).findall


def _all_words(name: str) -> Callable[[str], list[str]]:
    """The function that finds the words of any text."""
    import regex  # texts of ASCII need none

    pattern = PATTERNS[name].replace(r"\S", r"\P{White_Space}").replace(r"\s", r"\p{White_Space}")
    find: Callable[[str], list[str]] = regex.compile(pattern).findall
    return find


def _count_word(word: bytes, ranks: Mapping[bytes, bytes]) -> int:
    """The number of tokens in a word after all merges. The lowest rank merges first."""
    if b2a_base64(word, newline=False) in ranks:
        return 1
    pieces = [word[position : position + 1] for position in range(len(word))]
    while True:
        pairs = [
            (int(ranks.get(b2a_base64(first + second, newline=False), _NEVER)), position)
            for position, (first, second) in enumerate(pairwise(pieces))
        ]
        rank, position = min(pairs, default=(_NEVER, 0))
        if rank == _NEVER:
            return len(pieces)
        pieces[position : position + 2] = [pieces[position] + pieces[position + 1]]
