"""Results of which the user repeats a whole line that stands in no other result.

White space is folded, `> ` at the beginning of lines is none of them. Of a line of more than 40 characters the first
40 stand for the whole.
"""

import re
from collections.abc import Iterator, Mapping

from ctxtrim.evidence.paths_in_text import line_says

_LEAST = 20  # characters of a line that are not blank
_KEY = 40  # characters that stand for a line
_ANCHOR = re.compile(r"\w+|[^\w\s]")  # where a line may begin in what the user wrote: not inside a word
_MARKS = re.compile(r"^[ \t]*(?:>[ \t]?)+", re.MULTILINE)
_MARK = re.compile(r"\s*(?:>[ \t]?)+")


def quoted_lines(
    results: Mapping[int, str], said: Mapping[int, str], named: Mapping[int, tuple[str, ...]]
) -> dict[int, tuple[int, int]]:
    """Where the first such line stands in each result.

    All by position: the texts of the results, what the user said, and the paths that a result's own call named.
    """
    spoken = {position: " ".join(_MARKS.sub("", text).split()) for position, text in said.items()}
    begun = {text[place : place + _LEAST] for text in spoken.values() for place in _anchors(text)}
    held: dict[str, tuple[int, int, int] | None] = {}  # which result holds a line, and where; None for several
    for position, text in results.items():
        paths = tuple(" ".join(path.split()) for path in named.get(position, ()))
        for line, start, end in _lines(text):
            key = line[:_KEY]
            if key[:_LEAST] in begun and line_says(line, paths):
                one = held.setdefault(key, (position, start, end))
                if one and one[0] != position:
                    held[key] = None
    lengths: dict[str, set[int]] = {}
    for key in held:
        lengths.setdefault(key[:_LEAST], set()).add(len(key))
    found: dict[int, tuple[int, int]] = {}
    for later, text in spoken.items():
        for place in _anchors(text):
            for length in lengths.get(text[place : place + _LEAST], ()):  # at most 21 of them
                one = held.get(text[place : place + length])
                if one and one[0] < later:
                    position, start, end = one
                    found[position] = min(found.get(position, (start, end)), (start, end))
    return found


def _anchors(text: str) -> Iterator[int]:
    last = len(text) - _LEAST
    return (place for match in _ANCHOR.finditer(text) if (place := match.start()) <= last)


def _lines(text: str) -> Iterator[tuple[str, int, int]]:
    """The lines that are long enough, folded, each with its start and end in the text."""
    start = 0
    for line in text.split("\n"):
        if len(line) >= _LEAST:
            mark = _MARK.match(line) if ">" in line else None
            bare = line[mark.end() :] if mark else line
            words = bare.split()
            if sum(map(len, words)) >= _LEAST:
                begin = start + len(line) - len(bare.lstrip())
                yield " ".join(words), begin, begin + len(bare.strip())
        start += len(line) + 1
