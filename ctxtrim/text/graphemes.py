"""Where a text may be cut: between the characters that a reader sees, never inside one.

A reader's character (a grapheme cluster, Unicode Standard Annex 29) may be many code points: a letter and its accents,
a family of emoji, a flag, a line break of two. Only the text near a cut is looked at.
"""

from functools import cache
from typing import Any


def cut_before(text: str, position: int) -> int:
    """The last place at or before a position where no grapheme cluster is cut in two."""
    return position if _is_plain(text, position) else _around(text, position)[0]


def cut_after(text: str, position: int) -> int:
    """The first place at or after a position where no grapheme cluster is cut in two."""
    return position if _is_plain(text, position) else _around(text, position)[1]


def _is_plain(text: str, position: int) -> bool:
    """Whether a place is at an end of the text, or between two ASCII characters that are not one line break."""
    if not 0 < position < len(text):
        return True
    pair = text[position - 1 : position + 1]
    return pair.isascii() and pair != "\r\n"


def _around(text: str, position: int) -> tuple[int, int]:
    """The places around a position where a cluster ends, twice the position itself where one ends right there."""
    sure, cluster = _patterns()
    before = sure.search(text, 0, position)
    start = before.start() if before else 0
    while True:
        end: int = cluster.match(text, start).end()
        if end > position:
            return start, end
        if end == position:
            return end, end
        start = end


@cache
def _patterns() -> tuple[Any, Any]:
    """What finds, backwards, a place where a cluster begins whatever stands around it, and what matches a cluster."""
    import regex  # here, because most texts are cut between ASCII characters

    sure = (
        r"(?r)(?:(?<=[\x00-\x7f])(?=[\x20-\x7f])"  # the most frequent first
        r"|(?<=[^\p{GCB=Prepend}\p{GCB=ZWJ}])(?=(?!\p{InSC=Consonant})\p{GCB=Other})"
        r"|(?<=\p{GCB=Other})(?=\p{GCB=Other})"
        r"|(?<=[^\p{GCB=Prepend}\p{GCB=L}])(?=[\p{GCB=L}\p{GCB=LV}\p{GCB=LVT}])"
        r"|(?<=[^\p{GCB=Prepend}\p{GCB=RI}])(?=\p{GCB=RI}))"
    )
    return regex.compile(sure), regex.compile(r"\X")
