"""gigatoken within bounds: it remembers every word that it ever met, and two threads at once are an error to it."""

from collections.abc import Callable
from mmap import PAGESIZE
from pathlib import Path
from threading import Lock
from typing import Any

_SIZES = Path("/proc/self/statm")  # Linux: what this process takes, in pages; the second number is what is resident
_ROOM = 80_000_000  # bytes by which the process may grow before the tokenizer is made anew
_LOOK = 4_000_000  # characters between two looks at it
_BLIND = 64_000_000  # characters after which it is made anew where the system does not tell what a process takes


def renewed(make: Callable[[], Any]) -> Callable[[str], int]:
    """A count with such a tokenizer."""
    tokens_of = arrays(make)
    return lambda text: int(tokens_of(text).size)


def arrays(make: Callable[[], Any]) -> Callable[[str], Any]:
    """The tokens of a text, as an array, by a tokenizer of gigatoken that is made anew when it remembers too much.

    Ordinary text repeats its words: the 1.3 million different ones that gigatoken's authors found in a gigabyte of web
    pages have room. Ever-new words would take ten times the size of their text. How many it remembers the tokenizer
    does not tell, so the growth of the process is what counts; where something else made it grow, a fraction of a
    second is lost. A lone surrogate counts as U+FFFD. What `make` raises is raised at once.
    """
    encode: Callable[[str], Any] | None = make().backend.encode
    least = _resident()
    counted = 0  # characters since the last look
    lock = Lock()

    def tokens_of(text: str) -> Any:
        nonlocal encode, counted, least
        with lock:
            if encode is None:
                encode, least = make().backend.encode, _resident()
            try:
                tokens = encode(text)
            except TypeError:  # it refuses lone surrogates
                tokens = encode(printable(text))
            counted += len(text)
            if counted >= (_LOOK if least else _BLIND):
                counted = 0
                size = _resident()
                least = min(least, size)
                if not size or size - least > _ROOM:
                    encode = None  # so that its memory is there for the next one
            return tokens

    return tokens_of


def printable(text: str) -> str:
    """The text as a provider can receive it: a lone surrogate has no UTF-8 spelling and becomes U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _resident() -> int:
    """The bytes of memory that this process takes; 0 where the system does not tell."""
    try:
        return int(_SIZES.read_bytes().split()[1]) * PAGESIZE
    except OSError:
        return 0
