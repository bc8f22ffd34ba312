"""Unified diffs: the headers of files and hunks stay as long as they fit, what stands in the hunks shrinks."""

import re
from collections.abc import Iterator

from ctxtrim.clipping.kind import Cut, Kind
from ctxtrim.clipping.markers import Range
from ctxtrim.clipping.order import Stream, ends, from_head, in_turn
from ctxtrim.clipping.selection import select

_BEGINNING = re.compile(r"^(?:diff --git |--- .*\n\+\+\+ .*\n@@ )", re.MULTILINE)
_FILE = re.compile(
    r"^(?:diff --git .*\n"
    r"(?:(?:index|old mode|new mode|new file|deleted file|similarity|dissimilarity|rename|copy|Binary) .*(?:\n|\Z))*"
    r"(?:--- .*\n\+\+\+ .*(?:\n|\Z))?|--- .*\n\+\+\+ .*\n(?=@@ ))",
    re.MULTILINE,
)
_HUNK = re.compile(r"^@@ .*(?:\n|\Z)", re.MULTILINE)
_SAMPLE = 1 << 13  # characters in which the first header must stand


def _knows(text: str) -> bool:
    return _BEGINNING.search(text, 0, _SAMPLE) is not None


def _clip(cut: Cut) -> str | None:
    files = [match.span() for match in _FILE.finditer(cut.text)]
    hunks = [match.span() for match in _HUNK.finditer(cut.text)]
    return select(cut.text, _order(cut, files, hunks), cut.keep, cut.limit, cut.tokenizer)


def _order(cut: Cut, files: list[Range], hunks: list[Range]) -> Stream:
    """Files, hunks, and then the lines in the hunks: of all of them in turn, or from the end that the mode names."""
    yield from files
    yield from hunks
    if cut.mode == "head-tail":
        yield from in_turn([from_head(cut.text, cut.limit, *body) for body in _bodies(cut.text, files, hunks)])
    else:
        yield from ends(cut.text, cut.limit, cut.mode)


def _bodies(text: str, files: list[Range], hunks: list[Range]) -> Iterator[Range]:
    """What stands between the headers."""
    done = 0
    for start, end in sorted(files + hunks):
        if done < start:
            yield done, start
        done = end
    if done < len(text):
        yield done, len(text)


DIFF = Kind("diff", _knows, _clip)
