"""Markers in place of removed text: write, find and merge them."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from msgspec import Struct

from ctxtrim.loading import lazy_pattern
from ctxtrim.text import Range

MARKER = lazy_pattern(
    r"\.\.\. \[truncated (?:(\d+) lines(?: and (\d+) characters)?|(\d+) characters)\] \.\.\."
)
"""A marker counts removed whole lines, removed characters, or both if two cuts were merged."""

LEAST = 36
"""The characters of a marker with its line break. Shorter text is not worth a marker."""


class Gap(Struct, frozen=True):
    """A removed range of a text, and the text that earlier cuts in it had removed."""

    start: int
    end: int
    hidden: int = 0
    """The characters of earlier markers in the range."""
    lines: int = 0
    characters: int = 0


def marker(lines: int, characters: int) -> str:
    """The marker for a number of removed whole lines and additional characters."""
    counts = []
    if lines > 0:
        counts.append(f"{lines} lines")
    if characters > 0 or not lines:
        counts.append(f"{characters} characters")
    return f"... [truncated {' and '.join(counts)}] ..."


def marked(text: str) -> list[Gap]:
    """The markers on separate lines, with the line breaks that belong to them, in order.

    Both line breaks around a marker for characters belong to it; for lines, only the one after it.
    """
    markers = []
    for match in MARKER.finditer(text):
        begin, end = match.span()
        if (begin == 0 or text[begin - 1] == "\n") and (end == len(text) or text[end] == "\n"):
            lines, characters = int(match[1] or 0), int(match[2] or match[3] or 0)
            begin -= begin > 0 and characters > 0
            end += end < len(text)
            markers.append(Gap(begin, end, end - begin, lines, characters))
    return markers


def gaps(size: int, kept: Sequence[Range], markers: Sequence[Gap], least: int) -> list[Gap]:
    """The removed ranges of a text, in order, merged with markers inside them or adjacent to them.

    `kept` are ordered ranges without overlap. Gaps of at most `least` characters are filled,
    because a marker is longer.
    """
    edges = [0, *(edge for kept_range in kept for edge in kept_range), size]
    merged: list[Gap] = []
    index = 0
    for start, end in zip(edges[::2], edges[1::2], strict=True):
        if start == end:
            continue
        while index < len(markers) and markers[index].end < start:
            index += 1
        first = index
        while index < len(markers) and markers[index].start <= end:
            start, end = min(start, markers[index].start), max(end, markers[index].end)
            index += 1
        parts = list(markers[first:index])
        if merged and merged[-1].end >= start:
            parts.append(merged.pop())
            start, end = parts[-1].start, max(end, parts[-1].end)
        hidden = sum(part.hidden for part in parts)
        lines = sum(part.lines for part in parts)
        characters = sum(part.characters for part in parts)
        merged.append(Gap(start, end, hidden, lines, characters))
    return [gap for gap in merged if gap.hidden or gap.end - gap.start > least]


def joined(ranges: Sequence[Range]) -> list[Range]:
    """The ranges in order, with overlapping and adjacent ranges merged."""
    merged: list[Range] = []
    for start, end in sorted(ranges):
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(merged[-1][1], end)
        elif start < end:
            merged.append((start, end))
    return merged


def shown(text: str, kept: Sequence[Range], markers: Sequence[Gap], least: int = LEAST) -> str:
    """The kept ranges of a text, with a marker for each gap.

    Gaps of at most `least` characters are filled.
    """
    pieces: list[str] = []
    done = 0
    for gap in gaps(len(text), kept, markers, least):
        start = gap.start
        starts_line = start == 0 or text[start - 1] == "\n"
        ends_line = gap.end == len(text) or text[gap.end - 1] == "\n"
        if starts_line and ends_line and not gap.characters:
            lines = text.count("\n", start, gap.end) + (text[gap.end - 1] != "\n")
            mark = marker(gap.lines + lines - _hidden_lines(gap, markers), 0)
        else:
            if starts_line and start > done:
                # the line break before the marker counts as removed, because the marker has one
                start -= 2 if text[start - 2 : start] == "\r\n" else 1
            characters = gap.end - start - gap.hidden + gap.characters
            mark = "\n" * (start > 0) + marker(gap.lines, characters)
        pieces += (text[done:start], mark, "\n" * (gap.end < len(text)))
        done = gap.end
    return "".join((*pieces, text[done:]))


def _hidden_lines(gap: Gap, markers: Sequence[Gap]) -> int:
    """The number of lines of a gap that are markers."""
    if not gap.hidden:
        return 0
    first = bisect_left(markers, gap.start, key=lambda gap_marker: gap_marker.start)
    return bisect_right(markers, gap.end, lo=first, key=lambda gap_marker: gap_marker.end) - first
