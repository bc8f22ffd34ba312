"""Caches of the tokens of texts, and of other values that recur in the transcripts of a run."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import TypeVar

from ctxtrim.model import Message

CountText = Callable[[str], int]
K = TypeVar("K")
T = TypeVar("T")

_REMEMBERED = 256  # models, and per model names, frames and schemas
_KEPT = 1_000_000  # characters after which a new transcript starts a new generation
_MAX_CHARACTERS = 8_000_000  # characters of a generation
_ENDS = 200  # characters at both ends of a first text that show whether it recurs
_MARKS = 100_000  # first texts that are noticed when they recur
_WORTH = 0.1  # found characters for each cached one, from which the cache saves time


class TextCounts:
    """The tokens of texts that recur, such as the common start of logged requests.

    The cache holds the texts of this generation and finds those of the generation before. A
    transcript starts a new generation after a million characters, so that texts which do not recur
    make room in the caches of the processor. A generation has at most eight million characters. Of
    longer texts the last one is held, until the next transcript.

    In a file whose texts do not recur, the cache costs more than it saves. If few texts of a
    generation were found after a million characters, nothing is cached until the first text of a
    transcript recurs.
    """

    def __init__(self) -> None:
        self._known: dict[str, int] = {}
        self._before: dict[str, int] = {}
        self._long: dict[str, int] = {}
        self._size = 0  # characters of this generation
        self._hit_size = 0  # characters of texts that this generation found
        self._is_used = True
        self._marks: set[int] = set()  # hashes of first texts, while the cache is not used
        self._is_chosen = False  # whether this transcript uses the cache is decided

    def next_transcript(self) -> None:
        """Start a new generation if the present one is large enough."""
        self._is_chosen = False
        self._long = {}
        if self._size >= _KEPT:
            self._is_used = self._is_worth
            self._renew()

    @property
    def _is_worth(self) -> bool:
        """Whether this generation found enough texts."""
        return self._hit_size >= _WORTH * self._size

    def function(self, messages: Iterable[Message], count: CountText) -> CountText:
        """The function that counts the texts of this transcript, which has these messages."""
        if not self._is_chosen:
            self._is_chosen = True
            if not self._is_used:
                self._choose(messages)
        return partial(self._cached, count) if self._is_used else count

    def _choose(self, messages: Iterable[Message]) -> None:
        """Use the cache again if the first text of a transcript recurs."""
        first = next((part.text for message in messages for part in message.parts), "")
        # a text that is taken for another costs only time
        mark = hash((len(first), first[:_ENDS], first[-_ENDS:]))
        self._is_used = mark in self._marks
        if self._is_used or len(self._marks) >= _MARKS:
            self._marks.clear()
        self._marks.add(mark)

    def _cached(self, count: CountText, text: str) -> int:
        """The tokens of a text. This generation holds it afterwards, unless it is very long."""
        if not self._is_used:
            return count(text)
        size = len(text)
        tokens = self._known.get(text)
        if tokens is not None:
            self._hit_size += size
            return tokens
        if size > _MAX_CHARACTERS:
            return self._of_long(count, text)
        tokens = self._before.get(text)
        if tokens is None:
            tokens = count(text)
        else:
            self._hit_size += size
        if self._size + size > _MAX_CHARACTERS:
            self._renew()
        self._known[text] = tokens
        self._size += size
        if self._size >= _KEPT and not self._is_worth:
            self._is_used = False
        return tokens

    def _of_long(self, count: CountText, text: str) -> int:
        if text not in self._long:
            self._long = {text: count(text)}
        return self._long[text]

    def known(self, text: str) -> int | None:
        """The tokens of a text if a generation holds it."""
        for cache in (self._known, self._before, self._long):
            if text in cache:
                return cache[text]
        return None

    def _renew(self) -> None:
        self._before, self._known = self._known, {}
        self._size = 0
        self._hit_size = 0


def keep(cache: dict[K, T], key: K, value: T) -> T:
    """Cache a value. A full cache is cleared, so that values used once do not accumulate."""
    if len(cache) >= _REMEMBERED:
        cache.clear()
    cache[key] = value
    return value
