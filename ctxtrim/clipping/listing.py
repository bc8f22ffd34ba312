"""Listings: one path per line, rows of `ls -l`, matches of grep.

The head is kept, because the rest is similar.
"""

import re
from collections.abc import Iterator

from ctxtrim.clipping.kind import ClipText, Draft, TextKind
from ctxtrim.clipping.layout import shares_of, text_scale
from ctxtrim.clipping.selection import select

_ROW = re.compile(
    r"\s*+(?:[-dlbcps][rwxsStT-]{9}[.+@]?\s.*"  # ls -l
    r"|total \d+"
    r"|[├└│─\s]*+(?:\.{0,2}/)?[\w@.+~-]+(?:/[\w@.+~()\[\] -]*)*/?"  # a path, or a tree of them
    # grep, not a compiler
    r"|[\w@+~-]*[./][\w@.+~/-]*[:-]\d+[:-](?!\d+:|\s*(?:fatal )?(?:error|warning|note)).*)\r?"
)
_PATH = re.compile(r"[/├└]|\.\w+\s*$|^[-dl][rwx-]{9}", re.MULTILINE)
_SAMPLE = 1 << 13  # characters that must contain the rows
_MIN_LINES, _MAX_LINES = 5, 40  # minimum and maximum number of lines to check


def _knows(text: str) -> bool:
    lines = text[:_SAMPLE].split("\n")
    rows = [line for line in lines[:-1] if line.strip()][:_MAX_LINES]
    listing_rows = [row for row in rows if _ROW.fullmatch(row)]
    paths = sum(_PATH.search(row) is not None for row in listing_rows)
    return (
        len(rows) >= _MIN_LINES and len(listing_rows) >= 0.9 * len(rows) and 2 * paths >= len(rows)
    )


def _drafts(source: ClipText) -> Iterator[Draft]:
    return select(source, text_scale(source.text), shares_of(source.mode, (1, 0)))


LISTING = TextKind("listing", _knows, _drafts)
