"""Results of which the user repeats a whole line that is in no other result.

White space is folded, and `> ` at the beginning of lines is ignored. Lines of more than 40
characters are compared by their first 40.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping

from ctxtrim.evidence.paths_in_text import Named, line_has_content
from ctxtrim.evidence.quoted_runs import SHORT

_LEAST = 20  # minimum non-blank characters of a line
_KEY = 40  # characters that identify a line
_REACH = 80  # characters of a line that usually contain its first 20 without folded space
_ANCHOR = re.compile(r"\w+|[^\w\s]")  # where a line may begin in typed text: not inside a word
_MARKS = re.compile(r"^[ \t]*(?:>[ \t]?)+", re.MULTILINE)
_MARK = re.compile(r"\s*(?:>[ \t]?)+")

Begun = Callable[[str], bool]
"""Whether typed text may contain the first 20 characters of a line, folded."""


def quoted_lines(
    results: Mapping[int, str], typed: Mapping[int, str], named: Named
) -> dict[int, tuple[int, int]]:
    """The range of the first quoted line of each result.

    `results` and `typed` are texts by position.
    """
    folded = {position: " ".join(_MARKS.sub("", text).split()) for position, text in typed.items()}
    sources = _sources(results, _beginnings(folded.values()), named)
    if not sources:
        return {}
    lengths: dict[str, set[int]] = {}
    for key in sources:
        lengths.setdefault(key[:_LEAST], set()).add(len(key))
    quotations: dict[int, tuple[int, int]] = {}
    for later, text in folded.items():
        for anchor in _anchors(text):
            for length in lengths.get(text[anchor : anchor + _LEAST], ()):  # at most 21 lengths
                source = sources.get(text[anchor : anchor + length])
                if source and source[0] < later:
                    position, start, end = source
                    quotations[position] = min(quotations.get(position, (start, end)), (start, end))
    return quotations


def _beginnings(texts: Collection[str]) -> Begun:
    """Whether typed text may contain the beginning of a line."""
    if sum(map(len, texts)) <= SHORT:
        return "\n".join(texts).__contains__
    begun = {
        hash(text[anchor : anchor + _LEAST])  # needs less memory than the text
        for text in texts
        for anchor in _anchors(text)
    }
    return lambda beginning: hash(beginning) in begun


def _sources(
    results: Mapping[int, str], is_begun: Begun, named: Named
) -> dict[str, tuple[int, int, int] | None]:
    """The result with a line that may be quoted, and its range; None if several results have it."""
    sources: dict[str, tuple[int, int, int] | None] = {}
    for position, text in results.items():
        paths: tuple[str, ...] | None = None
        for line, start, end in _lines(text, is_begun):
            if paths is None:
                paths = tuple(" ".join(path.split()) for path in named(position))
            if line_has_content(line, paths):
                key = line[:_KEY]
                source = sources.setdefault(key, (position, start, end))
                if source and source[0] != position:
                    sources[key] = None
    return sources


def _anchors(text: str) -> list[int]:
    """The positions in typed text at which a line of the minimum length may begin."""
    end = max(len(text) - _LEAST + 1, 0)
    return [match.start() for match in _ANCHOR.finditer(text, 0, end)]


def _lines(text: str, is_begun: Begun) -> Iterator[tuple[str, int, int]]:
    """The lines that are long enough and begin like typed text, folded, each with its start and end
    in the text.
    """
    start = 0
    for line in text.split("\n"):
        if len(line) >= _LEAST:
            mark = _MARK.match(line) if ">" in line else None
            bare = line[mark.end() :] if mark else line
            beginning = " ".join(bare[:_REACH].split())
            if len(beginning) < _LEAST or is_begun(beginning[:_LEAST]):
                words = bare.split()
                folded = " ".join(words)
                if sum(map(len, words)) >= _LEAST and is_begun(folded[:_LEAST]):
                    begin = start + len(line) - len(bare.lstrip())
                    yield folded, begin, begin + len(bare.strip())
        start += len(line) + 1
