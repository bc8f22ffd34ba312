"""A text without its file paths: mentioning a path does not count as quoting the file."""

import re
from collections.abc import Callable
from functools import lru_cache

CallPaths = Callable[[int], tuple[str, ...]]
"""The paths that the call of a result named, by the position of the result."""

_PATH = re.compile(r"[\"'`(\[<]*[\w.~@+:#%=\-]*[\\/][\w.~@+:#%=\-\\/]*[\"'`)\]>,;]*")
_FILE = re.compile(r"[\w.~@+-]+\.\w{1,8}[:,]?")
_REACH = 100  # characters around a range that are searched for the ends of words
_RUN = 10  # minimum number of letters and digits outside of paths


def line_has_content(line: str, paths: tuple[str, ...]) -> bool:
    """Whether a line is more than a path, a file name, or a path that its call named."""
    return (
        line not in paths
        and not _FILE.fullmatch(line)
        and _length_without_paths(line[: 4 * _REACH]) > 0
    )


def run_has_content(text: str, start: int, end: int, paths: tuple[str, ...]) -> bool:
    """Whether a range of a text, extended to whole words, contains more than paths."""
    run = text[start:end]
    if not run[0].isspace():
        run = _last_word(text[max(0, start - _REACH) : start]) + run
    if not run[-1].isspace():
        run += _first_word(text[end : end + _REACH])
    content = text[start:end].strip()
    return _length_without_paths(run) >= _RUN and not any(content in path for path in paths)


@lru_cache(maxsize=64)  # neighbouring ranges share words
def _length_without_paths(text: str) -> int:
    """The number of letters and digits outside of paths."""
    return sum(sum(map(str.isalnum, word)) for word in text.split() if not _PATH.fullmatch(word))


def _last_word(text: str) -> str:
    return text.split()[-1] if text and not text[-1].isspace() else ""


def _first_word(text: str) -> str:
    return text.split(None, 1)[0] if text and not text[0].isspace() else ""
