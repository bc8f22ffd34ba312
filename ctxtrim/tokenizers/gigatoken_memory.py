"""Limits the memory of gigatoken, which caches every word, and locks it: it is not thread-safe."""

from collections.abc import Callable
from mmap import PAGESIZE
from pathlib import Path
from threading import Lock
from typing import Any

# Linux: memory of this process in pages; the second number is the resident set
_SIZES = Path("/proc/self/statm")
_ROOM = 80_000_000  # bytes by which the process may grow before a rebuild
_WORST = 10  # bytes that the cache takes for a character, at most
_LOOK = 4_000_000  # characters between two measurements
_BLIND = 64_000_000  # characters before a rebuild if memory cannot be measured


def bounded_count(make: Callable[[], Any]) -> Callable[[str], int]:
    """A counting function with such a tokenizer."""
    tokens_of = bounded_encode(make)
    return lambda text: int(tokens_of(text).size)


def bounded_encode(make: Callable[[], Any]) -> Callable[[str], Any]:
    """The token ids of a text, as an array, from a gigatoken tokenizer that is rebuilt when its
    cache grows too large.

    Ordinary text repeats its words: the 1.3 million different words that gigatoken's authors found
    in a gigabyte of web pages fit. Texts of only new words would take ten times their size. The
    tokenizer does not report the size of its cache, so the growth of the process is measured; what
    exceeds ten times the characters is something else. A lone surrogate counts as U+FFFD.
    Exceptions of `make` are raised at once.
    """
    encode: Callable[[str], Any] | None = make().backend.encode
    least = _resident()
    counted = 0  # characters since the last measurement
    fed = 0  # characters since the tokenizer was built
    lock = Lock()

    def tokens_of(text: str) -> Any:
        nonlocal encode, counted, fed, least
        with lock:
            if encode is None:
                encode, least, fed = make().backend.encode, _resident(), 0
            try:
                tokens = encode(text)
            except TypeError:  # gigatoken rejects lone surrogates
                tokens = encode(printable(text))
            counted += len(text)
            if counted >= (_LOOK if least else _BLIND):
                fed += counted
                counted = 0
                size = _resident()
                least = max(min(least, size), size - _WORST * fed)
                if not size or size - least > _ROOM:
                    encode = None  # frees its memory before the next one is built
            return tokens

    return tokens_of


def printable(text: str) -> str:
    """The text as a provider can receive it: a lone surrogate has no UTF-8 form and
    becomes U+FFFD.
    """
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _resident() -> int:
    """The resident memory of this process, in bytes; 0 if the system does not report it."""
    try:
        return int(_SIZES.read_bytes().split()[1]) * PAGESIZE
    except OSError:
        return 0
