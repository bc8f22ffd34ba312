"""Results of which the user repeats a whole line that is in no other result.

White space is folded, and `> ` at the beginning of lines is ignored. Lines of more than 40
characters are compared by their first 40.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping

from ctxtrim.evidence.paths_in_text import CallPaths, line_has_content
from ctxtrim.evidence.quoted_runs import SHORT
from ctxtrim.text import Range

_LEAST = 20  # minimum non-blank characters of a line
_KEY = 40  # characters that identify a line
_REACH = 80  # characters of a line that usually contain its first 20 without folded space
_ANCHOR = re.compile(r"\w+|[^\w\s]")  # where a line may begin in typed text: not inside a word
_MARKS = re.compile(r"^[ \t]*(?:>[ \t]?)+", re.MULTILINE)
_MARK = re.compile(r"\s*(?:>[ \t]?)+")

IsBeginning = Callable[[str], bool]
"""Whether typed text may contain the first 20 characters of a line, folded."""


def quoted_lines(
    results: Mapping[int, str], prompts: Mapping[int, str], call_paths: CallPaths
) -> dict[int, Range]:
    """The range of the first quoted line of each result.

    `results` and `prompts` are texts by position.
    """
    folded_texts = {
        position: " ".join(_MARKS.sub("", text).split()) for position, text in prompts.items()
    }
    sources = _sources(results, _beginnings(folded_texts.values()), call_paths)
    if not sources:
        return {}
    lengths: dict[str, set[int]] = {}
    for key in sources:
        lengths.setdefault(key[:_LEAST], set()).add(len(key))
    quotations: dict[int, Range] = {}
    for prompt_position, text in folded_texts.items():
        for anchor in _anchors(text):
            for length in lengths.get(text[anchor : anchor + _LEAST], ()):  # at most 21 lengths
                source = sources.get(text[anchor : anchor + length])
                if source and source[0] < prompt_position:
                    position, start, end = source
                    quotations[position] = min(quotations.get(position, (start, end)), (start, end))
    return quotations


def _beginnings(texts: Collection[str]) -> IsBeginning:
    """A function that returns whether typed text may contain the beginning of a line."""
    if sum(map(len, texts)) <= SHORT:
        return "\n".join(texts).__contains__
    hashes = {
        hash(text[anchor : anchor + _LEAST])  # needs less memory than the text
        for text in texts
        for anchor in _anchors(text)
    }
    return lambda beginning: hash(beginning) in hashes


def _sources(
    results: Mapping[int, str], is_beginning: IsBeginning, call_paths: CallPaths
) -> dict[str, tuple[int, int, int] | None]:
    """The result with a line that may be quoted, and its range; None if several results have it."""
    sources: dict[str, tuple[int, int, int] | None] = {}
    for position, text in results.items():
        paths: tuple[str, ...] | None = None
        for line, start, end in _lines(text, is_beginning):
            if paths is None:
                paths = tuple(" ".join(path.split()) for path in call_paths(position))
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


def _lines(text: str, is_beginning: IsBeginning) -> Iterator[tuple[str, int, int]]:
    """The lines that are long enough and begin like typed text, folded, each with its start and end
    in the text.
    """
    start = 0
    for line in text.split("\n"):
        if len(line) >= _LEAST:
            mark = _MARK.match(line) if ">" in line else None
            content = line[mark.end() :] if mark else line
            beginning = " ".join(content[:_REACH].split())
            if len(beginning) < _LEAST or is_beginning(beginning[:_LEAST]):
                words = content.split()
                folded_line = " ".join(words)
                if sum(map(len, words)) >= _LEAST and is_beginning(folded_line[:_LEAST]):
                    begin = start + len(line) - len(content.lstrip())
                    yield folded_line, begin, begin + len(content.strip())
        start += len(line) + 1
