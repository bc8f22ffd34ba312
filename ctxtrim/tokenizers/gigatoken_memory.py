"""Limits the memory of gigatoken, which caches every word, and shares it between threads."""

from collections.abc import Callable
from importlib import import_module
from mmap import PAGESIZE
from pathlib import Path
from threading import Event, Lock
from typing import Any
from weakref import WeakSet

from ctxtrim.io.forks import call_when_forked
from ctxtrim.io.signals import delayed
from ctxtrim.tokenizers.pieces import pieces
from ctxtrim.tokens.tokenizer import without_lone_surrogates

# Linux: memory of this process in pages; the second number is the resident set
_SIZES = Path("/proc/self/statm")
_FIRST = 20_000_000  # bytes of the cache at first
_ROOM = 120_000_000  # bytes of the cache above which the tokenizer is rebuilt
_WORST = 10  # bytes that the cache takes for a character, at most
_BLIND = 1.5  # bytes for a character if memory cannot be measured
_LOOK = 1_000_000  # characters between two measurements
_WAIT = 0.001  # seconds between two attempts while another thread counts
# gigatoken's error while it works for another thread; a `TypeError` while there is no tokenizer
_REFUSED = (TypeError, RuntimeError, UnicodeEncodeError)

Fallback = Callable[[bytes], int | None]
"""The count of a text in UTF-8 that gigatoken would count wrongly; None for other texts."""
LongCount = Callable[[str, Callable[[str], Any]], int]
"""The count of a piece of a long text, with a function that encodes."""


def _encoded_count(text: str, encode: Callable[[str], Any]) -> int:
    return len(encode(text))


def bounded_count(
    make: Callable[[], Any],
    fallback: Fallback = lambda data: None,
    long_count: LongCount = _encoded_count,
) -> Callable[[str], int]:
    """The counting function of a gigatoken tokenizer that `make` returns.

    An `ImportError` if numpy does not work here. Texts in ASCII are not passed to the `fallback`.
    """
    return _Bounded(make, fallback, long_count).count


def bounded_encode(make: Callable[[], Any]) -> Callable[[str], Any]:
    """The encoding function of a gigatoken tokenizer; it returns token ids as an array.

    Exceptions of `make`, and an `ImportError` if numpy does not work, are raised at once.
    """
    return _Bounded(make).encode


class _Bounded:
    """A gigatoken tokenizer that is rebuilt when its cache grows too large.

    Ordinary text repeats its words: the 1.3 million different words that gigatoken's authors found
    in a gigabyte of web pages fit. Texts of only new words would take ten times their size. The
    tokenizer does not report the size of its cache, so the growth of the process above its peak is
    added up. The cache is a table that doubles when it is full: what exceeds its size and ten bytes
    a character is something else, such as a transcript that was read in between.
    """

    def __init__(
        self,
        make: Callable[[], Any],
        fallback: Fallback = lambda data: None,
        long_count: LongCount = _encoded_count,
    ) -> None:
        self._make = make
        self._fallback = fallback
        self._long_count = long_count
        self._lock = Lock()
        self._build()
        self._left = _LOOK  # characters until the next measurement
        _ALL.add(self)

    def _build(self) -> None:
        encode: Callable[[str | bytes], Any] = self._make().backend.encode
        with delayed():  # numpy cannot be loaded again if a signal interrupts that
            _load_numpy()
            encode("a")
        self._encode: Callable[[str | bytes], Any] | None = encode
        self._peak = _resident()
        self._size: float = _FIRST  # bytes of the cache, estimated

    def forget(self) -> None:
        """Drop the tokenizer and the lock, which another thread may use; the next text builds
        another tokenizer.
        """
        self._lock = Lock()
        self._encode = None

    def count(self, text: str) -> int:
        """The number of tokens of a text. A lone surrogate counts as U+FFFD."""
        if self._left < len(text):  # a long text, or time to measure
            return sum(map(self._count_piece, pieces(text)))
        self._left -= len(text)
        try:
            if text.isascii():
                return len(self._encode(text))  # type: ignore[misc]
            # bytes, because a text keeps its UTF-8 form once something has read it
            data = text.encode()
            tokens = self._fallback(data)
            return len(self._encode(data)) if tokens is None else tokens  # type: ignore[misc]
        except _REFUSED:
            self._left += len(text)  # `encode` subtracts them again
            return self._count_piece(text)

    def _count_piece(self, piece: str) -> int:
        """The number of tokens of a piece of a long text, or of a text that gigatoken refused."""
        is_ascii = piece.isascii()
        tokens = None if is_ascii else self._fallback(without_lone_surrogates(piece).encode())
        return self._long_count(piece, self.encode) if tokens is None else tokens

    def encode(self, text: str) -> Any:
        """The token ids of a text, as an array."""
        try:
            tokens = self._encode(text.encode())  # type: ignore[misc]
        except _REFUSED:
            tokens = self._encode_with_lock(text)
        self._left -= len(text)
        if self._left < 0:
            self._measure()
        return tokens

    def _encode_with_lock(self, text: str) -> Any:
        """The token ids of a text with a lone surrogate, after a rebuild, or when another thread
        has finished: the tokenizer raises a `RuntimeError` while it works for one.
        """
        with self._lock:
            if self._encode is None:
                self._build()
            while True:
                try:
                    return self._encode(without_lone_surrogates(text))  # type: ignore[misc]
                except RuntimeError as error:
                    if "borrowed" not in str(error):
                        raise
                    Event().wait(_WAIT)

    def _measure(self) -> None:
        """Drop the tokenizer if its cache is too large; the next text builds another."""
        with self._lock:
            size, characters = _resident(), _LOOK - self._left
            growth = max(0, size - self._peak) if size else _BLIND * characters
            self._size += min(growth, self._size + _WORST * characters)
            self._peak = max(self._peak, size)
            self._left = _LOOK
            if self._size > _ROOM:
                self._encode = None  # frees its memory before the next one is built


def _load_numpy() -> None:
    """Load numpy, which gigatoken needs. An `ImportError` if that fails: gigatoken would panic."""
    try:
        import_module("numpy")
    except RuntimeError as error:  # this numpy is for newer processors
        raise ImportError(str(error)) from error


_ALL: WeakSet[_Bounded] = WeakSet()


def _forget_all() -> None:
    """Drop all tokenizers of a forked process, where no other thread will release them."""
    for tokenizer in _ALL:
        tokenizer.forget()


call_when_forked(_forget_all)


def _resident() -> int:
    """The resident memory of this process, in bytes; 0 if the system does not report it."""
    try:
        return int(_SIZES.read_bytes().split()[1]) * PAGESIZE
    except OSError:
        return 0
