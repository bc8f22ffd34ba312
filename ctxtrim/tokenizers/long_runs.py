"""Counts texts with long runs of similar characters, such as a megabyte of brackets, in windows.

A run is a single word for the encodings, and an engine merges a word as a whole: of 24 MB, each
character costs five times as much as in 32 kB, and 27 bytes. In windows, time and memory per
character stay the same, and so does the count: tokens are the encoding of their word if each two
neighbours are that of their own bytes. (Proved in the documentation of github/rust-gems, `bpe`.)
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from ctxtrim.loading import lazy_pattern
from ctxtrim.tokenizers.pieces import PIECE

WINDOW = 1 << 15
"""Characters encoded at a time."""
LONG = PIECE + 2 * WINDOW
"""Characters above which a piece of a text may have a run worth a search: `pieces` found no end of
a word in the last two windows."""
_TAIL = 16
"""Tokens at the end of a window that are encoded again, because the window cuts their word."""

# No word ends within such a run, but after its first three characters (`'re` before letters), and
# before the last blank. A slash may belong to the line breaks before it.
_RUN = lazy_pattern(r"[!-.:-@\[-`{-~]++|/++|[\t ]++|[\r\n]++|[a-z]++|[A-Z]++")

Encode = Callable[[str], Sequence[int]]


def token_widths(vocabulary: Path) -> bytes:
    """The bytes of each token of a vocabulary file, by its rank: at most 128 in OpenAI's."""
    fields = vocabulary.read_bytes().split()
    return bytes([len(token) * 3 // 4 - token.count(b"=") for token in fields[::2]])


def window_count(text: str, encode: Encode, widths: bytes, window: int = WINDOW) -> int:
    """The number of tokens of a text: that of `len(encode(text))`."""
    total = begin = 0
    seam: int | None = None  # the token that begins the next window
    for start, end in _long_runs(text, 2 * window):
        window_end = start + window
        while window_end + window < end:
            tokens = encode(text[begin:window_end])
            if seam is not None and tokens[0] != seam:
                return len(encode(text))
            tail = [int(token) for token in tokens[-_TAIL:]]
            seam = tail[0]
            total += len(tokens) - _TAIL
            begin = window_end - sum(widths[token] for token in tail)
            window_end = begin + window
    tokens = encode(text[begin:])
    if seam is not None and tokens[0] != seam:
        return len(encode(text))
    return total + len(tokens)


def _long_runs(text: str, least: int) -> Iterator[tuple[int, int]]:
    """The starts and ends of the runs with more than some characters."""
    for run in _RUN.finditer(text):
        start, end = run.span()
        if end - start > least and not _depends_on_neighbours(text, start, end):
            yield start, end


def _depends_on_neighbours(text: str, start: int, end: int) -> bool:
    """Whether the words of a run may depend on what is before and after it.

    Blanks after a line break are in its word if another line break follows, line breaks after a
    sign in the word of a slash after them, slashes after a line break in another word than a sign
    after them, and capital letters after an ideograph in its word if a small letter follows.
    """
    first, before, after = text[start], text[start - 1 : start], text[end : end + 1]
    if first in "\t ":
        return before.isspace()
    if first in "\r\n":
        return after == "/"
    if first == "/":
        return before in ("\r", "\n")
    return first.isupper() and not before.isascii()
