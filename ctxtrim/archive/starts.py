"""The starts of some bytes that are known by their SHA-256, such as outputs of earlier runs."""

import heapq
import re
from collections.abc import Iterator, Set
from hashlib import sha256

_LINE_BREAK = re.compile(rb"\n")
_GLUED_VALUES = re.compile(rb"\}\{")


class Starts:
    """Hashes bytes that come in chunks of whole lines.

    `found` has the length of each start whose SHA-256 is known, by its SHA-256, the shortest first.
    """

    def __init__(self, known: Set[str]) -> None:
        self._known = known
        self._digest = sha256()
        self._length = 0
        self.found: dict[str, int] = {}

    def add(self, data: bytes) -> None:
        """Append bytes."""
        if not self._known:
            self._digest.update(data)
            return
        view, done = memoryview(data), 0
        for place in _ends(data):
            if place > done:
                self._digest.update(view[done:place])
                done = place
                start = self._digest.copy().hexdigest()
                if start in self._known:
                    self.found[start] = self._length + place
        self._length += len(data)

    @property
    def sha256(self) -> str:
        """The SHA-256 of all bytes so far."""
        return self._digest.hexdigest()


def _ends(data: bytes) -> Iterator[int]:
    """Where an output may end, in order: before or after a line break, between two values on a
    line, or at the end.
    """
    breaks = (place for end in _LINE_BREAK.finditer(data) for place in end.span())
    glued = (end.start() + 1 for end in _GLUED_VALUES.finditer(data))
    yield from heapq.merge(breaks, glued)
    yield len(data)
