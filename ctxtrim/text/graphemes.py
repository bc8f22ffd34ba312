"""Cut positions between grapheme clusters, the characters that a reader sees.

A grapheme cluster (Unicode Standard Annex 29) may contain many code points: a letter and its
accents, a family emoji, a flag, a line break of two characters. Only the text near a cut is
inspected.
"""

from functools import cache
from typing import Any

from ctxtrim.text import Range

_LONG = 1000
"""A cluster of more characters is long."""


def cut_before(text: str, position: int) -> int:
    """The last position at or before a position that does not split a grapheme cluster."""
    return position if _is_plain(text, position) else _around(text, position)[0]


def cut_after(text: str, position: int) -> int:
    """The first position at or after a position that does not split a grapheme cluster."""
    return position if _is_plain(text, position) else _around(text, position)[1]


class Cuts:
    """The cut positions of one text.

    The clusters in which a cut would be are remembered if they are long: the search for the start
    of such a cluster takes long.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._clusters: list[Range] = []

    def before(self, position: int) -> int:
        """The same as `cut_before`."""
        return position if _is_plain(self.text, position) else self._around(position)[0]

    def after(self, position: int) -> int:
        """The same as `cut_after`."""
        return position if _is_plain(self.text, position) else self._around(position)[1]

    def _around(self, position: int) -> Range:
        for start, end in self._clusters:
            if start < position <= end:
                return (start if position < end else end), end
        start, end = _around(self.text, position)
        if end - start > _LONG:
            self._clusters.append((start, end))
        return start, end


def _is_plain(text: str, position: int) -> bool:
    """Whether a position is at an end of the text or between two ASCII characters, except inside a
    CRLF.
    """
    if not 0 < position < len(text):
        return True
    pair = text[position - 1 : position + 1]
    return pair.isascii() and pair != "\r\n"


def _around(text: str, position: int) -> Range:
    """The start and end of the cluster around a position.

    Twice the position if a cluster ends there.
    """
    cluster = _patterns()[1]
    start = _start(text, position)
    while start < position:
        end: int = cluster.match(text, start).end()
        if end > position:
            return start, end
        start = end
    return position, position


def _start(text: str, position: int) -> int:
    """The nearest position at or before a position that certainly starts a cluster.

    Two regional indicators are one flag, so every second position in a run of them starts a
    cluster. The run is measured at once, because matching it flag by flag takes quadratic time.
    """
    boundary, _, other = _patterns()
    while True:
        match = boundary.search(text, 0, position)
        start: int = match.start() if match else 0
        if not match or match.lastgroup != "flags":
            return start
        before = other.search(text, 0, start)
        run: int = before.end() if before else 0
        if (start - run) % 2 == 0:
            return start
        if start - 1 > run:
            return start - 1
        position = run  # the first flag may continue a cluster


@cache
def _patterns() -> tuple[Any, Any, Any]:
    """Patterns for a cluster boundary (searched backwards), a cluster, and a non-flag character.

    Two characters alone decide a boundary. Between two regional indicators it is uncertain; group
    `flags` matches there. A flag before another flag is matched without `\\X`, which looks back
    over the whole run.
    """
    import regex  # imported here: most cuts are between ASCII characters

    boundary = (
        r"(?r)(?:(?<=[\x00-\x7f])(?=[\x20-\x7f])"  # most frequent first
        r"|(?<=[^\p{GCB=Prepend}\p{GCB=ZWJ}])(?=(?=\p{InSC=Other})\p{GCB=Other})"
        r"|(?<=\P{GCB=Prepend})(?=(?=\p{InSC=Other})(?!\p{ExtPict})\p{GCB=Other})"
        r"|(?<=[^\p{GCB=Prepend}\p{GCB=ZWJ}\p{GCB=Extend}\p{InSC=Consonant_With_Stacker}])(?=\p{GCB=Other})"
        r"|(?<=[\p{GCB=Control}\p{GCB=LF}])|(?<=\r)(?=[^\n])|(?=[\p{GCB=Control}\p{GCB=CR}])|(?<!\r)(?=\n)"
        r"|(?<=\P{GCB=Prepend})(?=\p{GCB=Prepend})"
        r"|(?<=[^\p{GCB=Prepend}\p{GCB=L}])(?=[\p{GCB=L}\p{GCB=LV}\p{GCB=LVT}])"
        r"|(?<=[^\p{GCB=Prepend}\p{GCB=L}\p{GCB=V}\p{GCB=LV}])(?=\p{GCB=V})"
        r"|(?<=[^\p{GCB=Prepend}\p{GCB=V}\p{GCB=T}\p{GCB=LV}\p{GCB=LVT}])(?=\p{GCB=T})"
        r"|(?<=[^\p{GCB=Prepend}\p{GCB=RI}])(?=\p{GCB=RI})|(?P<flags>(?<=\p{GCB=RI})(?=\p{GCB=RI})))"
    )
    return (
        regex.compile(boundary),
        regex.compile(r"\p{GCB=RI}{2}(?=\p{GCB=RI})|\X"),
        regex.compile(r"(?r)\P{GCB=RI}"),
    )
