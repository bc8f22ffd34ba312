"""Unified diffs: every kept line has the headers of its file and its hunk above it."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from operator import itemgetter

from ctxtrim.clipping.kind import ClipText, Draft, TextKind
from ctxtrim.clipping.layout import shares_of, text_scale
from ctxtrim.clipping.markers import joined
from ctxtrim.clipping.selection import select
from ctxtrim.text import Range

_BEGINNING = re.compile(r"^(?:diff --git |--- .*\n\+\+\+ .*\n@@ )", re.MULTILINE)
_FILE = re.compile(
    r"^(?:diff --git .*\n"
    r"(?:(?:index|old mode|new mode|new file|deleted "
    r"file|similarity|dissimilarity|rename|copy|Binary) .*(?:\n|\Z))*"
    r"(?:--- .*\n\+\+\+ .*(?:\n|\Z))?|--- .*\n\+\+\+ .*\n(?=@@ ))",
    re.MULTILINE,
)
_HUNK = re.compile(r"^@@ .*(?:\n|\Z)", re.MULTILINE)
_SHARES = (2, 1)  # of the head and the tail
_NEAR = 400  # characters of headers, or between a line and its headers, to keep them with it
_SAMPLE = 1 << 13  # characters that must contain the first header


def _knows(text: str) -> bool:
    return _BEGINNING.search(text, 0, _SAMPLE) is not None


def _drafts(source: ClipText) -> Iterator[Draft]:
    headers = _Headers(source.text, source.keep)
    return select(
        source,
        text_scale(source.text),
        shares_of(source.mode, _SHARES),
        adjust=headers.with_headers,
    )


class _Headers:
    """The headers of the files and the hunks of a diff."""

    def __init__(self, text: str, keep: Sequence[Range]) -> None:
        self._text, self._keep = text, keep
        self._files = [match.span() for match in _FILE.finditer(text)]
        self._hunks = [match.span() for match in _HUNK.finditer(text)]

    def with_headers(self, kept: Sequence[Range]) -> list[Range]:
        """The kept ranges with the headers of their first lines.

        A range starts at a header, follows its headers, or is left out. A range in the middle is
        always kept.
        """
        if not kept:
            return []
        ranges: list[Range] = []
        gap_count = (kept[0][0] > 0) + len(kept) - 1 + (kept[-1][1] < len(self._text))
        for index, (start, end) in enumerate(kept):
            missing = self._missing_headers(start, ranges)
            if not missing:
                ranges.append((start, end))
            elif index + 1 < len(kept):  # a range in the middle must be kept
                near = (first for first, _ in missing if start - first <= _NEAR)
                ranges.append((next(near, start), end))
            elif tail := self._tail(start, end, missing, ranges, gap_count < 2):
                ranges += tail
            elif ranges:
                ranges[-1] = self._longer(ranges[-1], end - start)
            else:
                ranges.append((start, end))
        return ranges

    def _tail(
        self, start: int, end: int, missing: Sequence[Range], shown: Sequence[Range], has_room: bool
    ) -> list[Range]:
        """The last range from its next header on, or its headers and its rest; else nothing."""
        positions = (
            header[0] for header in sorted((*self._files, *self._hunks)) if start <= header[0] < end
        )
        position = next(
            (place for place in positions if not self._missing_headers(place, shown)), end
        )
        if any(first < position and last > start for first, last in self._keep):
            return [(start, end)]
        if has_room and 2 * position > start + end:
            body = self._text.find("\n", start + _size(missing)) + 1
            headers = self._missing_headers(body, shown)  # those of the line where the rest starts
            if 0 < body < end and _size(headers) <= _NEAR:
                return [*headers, (body, end)]
        return [(position, end)] if position < end else []

    def _longer(self, kept: Range, size: int) -> Range:
        """A range with about so many more characters, in whole lines."""
        start, end = kept
        return start, self._text.rfind("\n", end, end + size) + 1 or end

    def _missing_headers(self, start: int, shown: Sequence[Range]) -> list[Range]:
        """The headers of a line that earlier ranges do not show; adjacent ones are one range."""
        file, hunk = self._header(self._files, start), self._header(self._hunks, start)
        if hunk and file and hunk[0] < file[0]:
            hunk = None
        headers = [header for header in (file, hunk) if header and header[0] < start]
        missing = [header for header in headers if not _shows(shown, header)]
        return joined(missing) if len(missing) > 1 else missing

    @staticmethod
    def _header(headers: Sequence[Range], position: int) -> Range | None:
        """The last header that starts at or before a position."""
        number = bisect_right(headers, position, key=itemgetter(0))
        return headers[number - 1] if number else None


def _shows(shown: Sequence[Range], header: Range) -> bool:
    return any(start <= header[0] and header[1] <= end for start, end in shown)


def _size(ranges: Sequence[Range]) -> int:
    return sum(stop - start for start, stop in ranges)


DIFF = TextKind("diff", _knows, _drafts)
