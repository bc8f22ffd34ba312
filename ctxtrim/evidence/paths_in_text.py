"""What a stretch of a text says beside the paths in it: naming a file is no quotation of what was read."""

import re
from functools import lru_cache

_PATH = re.compile(r"[\"'`(\[<]*[\w.~@+:#%=\-]*[\\/][\w.~@+:#%=\-\\/]*[\"'`)\]>,;]*")
_FILE = re.compile(r"[\w.~@+-]+\.\w{1,8}[:,]?")
_REACH = 100  # characters beside a stretch in which the words at its ends begin and end
_RUN = 10  # letters and digits beside paths that a run of characters needs


def line_says(line: str, paths: tuple[str, ...]) -> bool:
    """Whether a line is more than a path, a file's name, or one of the paths that its call named."""
    return line not in paths and not _FILE.fullmatch(line) and _beside_paths(line[: 4 * _REACH]) > 0


def run_says(text: str, start: int, end: int, paths: tuple[str, ...]) -> bool:
    """Whether a stretch of a text, with the words at its ends whole, is about more than paths."""
    run = text[start:end]
    if not run[0].isspace():
        run = _last_word(text[max(0, start - _REACH) : start]) + run
    if not run[-1].isspace():
        run += _first_word(text[end : end + _REACH])
    bare = text[start:end].strip()
    return _beside_paths(run) >= _RUN and not any(bare in path for path in paths)


@lru_cache(maxsize=64)  # neighbouring stretches begin and end in the same words
def _beside_paths(text: str) -> int:
    """How many letters and digits there are outside of paths."""
    return sum(sum(map(str.isalnum, word)) for word in text.split() if not _PATH.fullmatch(word))


def _last_word(text: str) -> str:
    return text.split()[-1] if text and not text[-1].isspace() else ""


def _first_word(text: str) -> str:
    return text.split(None, 1)[0] if text and not text[0].isspace() else ""
