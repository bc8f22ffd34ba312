"""Unified diffs: every line that is kept has the headers of its file and its hunk above it."""

import re
from bisect import bisect_right
from collections.abc import Sequence

from ctxtrim.clipping.kind import Cut, Kind
from ctxtrim.clipping.layout import lines_of, shares_of
from ctxtrim.clipping.selection import select
from ctxtrim.text.json_spans import Range

_BEGINNING = re.compile(r"^(?:diff --git |--- .*\n\+\+\+ .*\n@@ )", re.MULTILINE)
_FILE = re.compile(
    r"^(?:diff --git .*\n"
    r"(?:(?:index|old mode|new mode|new file|deleted file|similarity|dissimilarity|rename|copy|Binary) .*(?:\n|\Z))*"
    r"(?:--- .*\n\+\+\+ .*(?:\n|\Z))?|--- .*\n\+\+\+ .*\n(?=@@ ))",
    re.MULTILINE,
)
_HUNK = re.compile(r"^@@ .*(?:\n|\Z)", re.MULTILINE)
_SHARES = (2, 1)  # of the head and the tail
_NEAR = 400  # characters of headers, or between a line and its headers, that are kept with it
_SAMPLE = 1 << 13  # characters in which the first header must stand


def _knows(text: str) -> bool:
    return _BEGINNING.search(text, 0, _SAMPLE) is not None


def _clip(cut: Cut) -> str | None:
    headers = _Headers(cut.text, cut.keep)
    return select(cut, lines_of(cut.text), shares_of(cut.mode, _SHARES), adjust=headers.completed)


class _Headers:
    """The headers of the files and the hunks of a diff."""

    def __init__(self, text: str, keep: Sequence[Range]) -> None:
        self._text, self._keep = text, keep
        self._files = [match.span() for match in _FILE.finditer(text)]
        self._hunks = [match.span() for match in _HUNK.finditer(text)]

    def completed(self, kept: Sequence[Range]) -> list[Range]:
        """The stretches that are kept, with the headers of the first line of each.

        A stretch starts at a header, follows its headers, or is left out. A stretch in the middle is always kept.
        """
        found: list[Range] = []
        gap_count = (kept[0][0] > 0) + len(kept) - 1 + (kept[-1][1] < len(self._text)) if kept else 0
        for number, (start, end) in enumerate(kept):
            missing = self._missing(start, found)
            if missing is None:
                found.append((start, end))
            elif number + 1 < len(kept):  # in the middle is what must be kept
                found.append((missing[0] if start - missing[0] <= _NEAR else start, end))
            else:
                found += self._headed(start, end, missing, found, gap_count < 2)
        return found

    def _headed(self, start: int, end: int, missing: Range, found: Sequence[Range], has_room: bool) -> list[Range]:
        """The stretch from a header on, or its headers and the rest of it."""
        places = (header[0] for header in sorted((*self._files, *self._hunks)) if start <= header[0] < end)
        place = next((place for place in places if self._missing(place, found) is None), end)
        if any(first < place and last > start for first, last in self._keep):
            return [(start, end)]
        body = self._text.find("\n", start + missing[1] - missing[0]) + 1
        if has_room and 2 * place > start + end and 0 < body < end and missing[1] - missing[0] <= _NEAR:
            return [missing, (body, end)]
        return [(place, end)] if place < end else [] if found else [(start, end)]

    def _missing(self, start: int, found: Sequence[Range]) -> Range | None:
        """The headers of a line that the stretches before it do not show, the first where they are apart; or None."""
        file, hunk = self._header(self._files, start), self._header(self._hunks, start)
        if hunk and file and hunk[0] < file[0]:
            hunk = None
        headers = [header for header in (file, hunk) if header and not _shows(found, header) and header[0] < start]
        if len(headers) == 2 and headers[0][1] < headers[1][0]:
            return headers[0]
        return (headers[0][0], headers[-1][1]) if headers else None

    @staticmethod
    def _header(headers: Sequence[Range], place: int) -> Range | None:
        """The last header that starts at or before a place."""
        number = bisect_right(headers, (place, len(headers) and headers[-1][1]))
        return headers[number - 1] if number else None


def _shows(kept: Sequence[Range], header: Range) -> bool:
    return any(start <= header[0] and header[1] <= end for start, end in kept)


DIFF = Kind("diff", _knows, _clip)
