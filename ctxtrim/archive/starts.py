"""The starts of some bytes that are known by their SHA-256, such as outputs of earlier runs."""

import re
from collections.abc import Set
from hashlib import sha256
from itertools import chain

_ENDS = re.compile(rb"\n|\}(?=\{)")
"""Where an output may end: before or after a line break, or between two values on a line."""


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
        places = (place for end in _ENDS.finditer(data) for place in (end.start(), end.end()))
        for place in chain(places, [len(data)]):
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
