"""What stands where something was taken out of a text: how it is spelled, found again and summed."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from ctxtrim.text.json_spans import Range

MARKER = re.compile(r"\.\.\. \[truncated (?:(\d+) lines(?: and (\d+) characters)?|(\d+) characters)\] \.\.\.")
"""A marker: so many whole lines went, or so many characters, or both where two cuts became one."""

LEAST = 36
"""Characters of a marker in its line: what is shorter is not worth one."""


@dataclass(frozen=True)
class Gap:
    """A stretch of a text that is not shown, and what earlier cuts had taken out of it already."""

    start: int
    end: int
    hidden: int = 0
    """How much of the stretch is markers, which the original did not have."""
    lines: int = 0
    characters: int = 0


def marker(lines: int, characters: int) -> str:
    """The marker for so many whole lines and so many characters beside them."""
    told = [f"{lines} lines"] * (lines > 0) + [f"{characters} characters"] * (characters > 0 or not lines)
    return f"... [truncated {' and '.join(told)}] ..."


def marked(text: str, start: int = 0) -> list[Gap]:
    """The markers that stand on lines of their own, with the line breaks that belong to them, in order.

    Where characters went, both line breaks around the marker are its own; where lines went, the one after it.
    """
    found = []
    for match in MARKER.finditer(text, start):
        begin, end = match.span()
        if (begin == 0 or text[begin - 1] == "\n") and (end == len(text) or text[end] == "\n"):
            lines, characters = int(match[1] or 0), int(match[2] or match[3] or 0)
            begin -= begin > 0 and characters > 0
            end += end < len(text)
            found.append(Gap(begin, end, end - begin, lines, characters))
    return found


def gaps(size: int, kept: Sequence[Range], markers: Sequence[Gap], least: int) -> list[Gap]:
    """What is not kept of something, in order, each with the markers in it and beside it: no two stand together.

    `kept` are ranges in order that do not overlap. A gap of no more than `least` is none: its marker would be longer.
    """
    edges = [0, *(edge for one in kept for edge in one), size]
    found: list[Gap] = []
    mark = 0
    for start, end in zip(edges[::2], edges[1::2], strict=True):
        if start == end:
            continue
        while mark < len(markers) and markers[mark].end < start:
            mark += 1
        first = mark
        while mark < len(markers) and markers[mark].start <= end:
            start, end = min(start, markers[mark].start), max(end, markers[mark].end)
            mark += 1
        parts = list(markers[first:mark])
        if found and found[-1].end >= start:
            parts.append(found.pop())
            start, end = parts[-1].start, max(end, parts[-1].end)
        hidden, lines = sum(one.hidden for one in parts), sum(one.lines for one in parts)
        found.append(Gap(start, end, hidden, lines, sum(one.characters for one in parts)))
    return [gap for gap in found if gap.hidden or gap.end - gap.start > least]


def joined(ranges: Sequence[Range]) -> list[Range]:
    """The same ranges in order of place, those that overlap or touch made one."""
    whole: list[Range] = []
    for start, end in sorted(ranges):
        if whole and start <= whole[-1][1]:
            whole[-1] = whole[-1][0], max(whole[-1][1], end)
        elif start < end:
            whole.append((start, end))
    return whole


def shown(text: str, kept: Sequence[Range], markers: Sequence[Gap], least: int = LEAST) -> str:
    """The kept ranges of a text, with a marker in the place of everything between, before and after them.

    What has no more than `least` characters stays instead.
    """
    pieces: list[str] = []
    done = 0
    for gap in gaps(len(text), kept, markers, least):
        start = gap.start
        if start == 0 or text[start - 1] == "\n":
            if not gap.characters and (gap.end == len(text) or text[gap.end - 1] == "\n"):
                lines = text.count("\n", start, gap.end) + (text[gap.end - 1] != "\n") - _lines_of(text, gap, markers)
                pieces += (text[done:start], marker(gap.lines + lines, 0), "\n" * (gap.end < len(text)))
                done = gap.end
                continue
            if start > done:  # the line break before the marker is counted as gone, and the marker brings its own
                start -= 2 if text[start - 2 : start] == "\r\n" else 1
        characters = gap.end - start - gap.hidden + gap.characters
        pieces += (text[done:start], "\n" * (start > 0), marker(gap.lines, characters), "\n" * (gap.end < len(text)))
        done = gap.end
    return "".join((*pieces, text[done:]))


def _lines_of(text: str, gap: Gap, markers: Sequence[Gap]) -> int:
    """How many lines of a gap are markers."""
    if not gap.hidden:
        return 0
    first = bisect_left(markers, gap.start, key=lambda one: one.start)
    return bisect_right(markers, gap.end, lo=first, key=lambda one: one.end) - first
