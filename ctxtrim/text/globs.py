"""Patterns for paths, with the rules of `.gitignore`.

::

    *.jsonl          files and folders of this name, in any folder
    data/*.jsonl     in the folder `data` of the base: a slash ties the pattern to the base
    /a.jsonl         in the base itself
    data/            folders only
    data/**          everything in `data`; `**/` is any number of folders

`*` and `?` match no slash. `[a-c]` and `[!a-c]` are one character, and `\\` makes the next
character plain.
"""

import re
from collections.abc import Sequence
from fnmatch import translate
from functools import cached_property

from msgspec import Struct

_DEEP = "**"
_STEPS = re.compile(r"\\(.)|(\[[!^]?\]?[^\]]*\])|(\[)", re.DOTALL)


class Glob(Struct, frozen=True, dict=True):
    """A pattern, as its `text` is written. After `!` it includes paths again."""

    text: str

    @property
    def is_negated(self) -> bool:
        """Whether the pattern begins with `!`."""
        return self.text.startswith("!")

    @property
    def _plain(self) -> str:
        return self.text.removeprefix("!")

    @property
    def is_for_folders(self) -> bool:
        """Whether the pattern matches folders only."""
        return self.text.endswith("/")

    @cached_property
    def _segments(self) -> tuple[re.Pattern[str] | None, ...]:
        """A regular expression for each name of the pattern; None for any number of folders."""
        names = self._plain.strip("/").split("/")
        if "/" not in self._plain.rstrip("/"):
            names = [_DEEP, *names]
        if names[-1] == _DEEP:  # everything in a folder, but not the folder
            names.append("*")
        return tuple(None if name == _DEEP else _name_pattern(name) for name in names)

    def matches(self, names: Sequence[str], *, is_folder: bool) -> bool:
        """Whether the pattern matches a path, given by its names from the base."""
        if self.is_for_folders and not is_folder:
            return False
        return _matches(self._segments, names)

    def covers(self, names: Sequence[str], *, is_folder: bool = False) -> bool:
        """Whether the pattern matches a path or a folder that the path is in."""
        return self.matches(names, is_folder=is_folder) or any(
            self.matches(names[:end], is_folder=True) for end in range(1, len(names))
        )


def _name_pattern(name: str) -> re.Pattern[str]:
    """The regular expression of one name.

    `translate` writes expressions that never take exponential time.
    """
    return re.compile(translate(_STEPS.sub(_as_fnmatch, name)), re.DOTALL)


def _as_fnmatch(match: re.Match[str]) -> str:
    """A part of a pattern as `fnmatch` writes it."""
    plain, characters, bracket = match.groups()
    if characters is not None:
        return characters.replace("[^", "[!", 1)
    special = plain or bracket
    return f"[{special}]" if special in "*?[" else special


def _matches(segments: Sequence[re.Pattern[str] | None], names: Sequence[str]) -> bool:
    """Whether segments match all names. After a failure, the last None takes one name more."""
    index = position = 0
    retry: tuple[int, int] | None = None
    while position < len(names):
        if index < len(segments) and segments[index] is None:
            index += 1
            retry = index, position
            continue
        segment = segments[index] if index < len(segments) else None
        if segment is not None and segment.match(names[position]):
            index, position = index + 1, position + 1
            continue
        if retry is None:
            return False
        retry = retry[0], retry[1] + 1
        index, position = retry
    return all(segment is None for segment in segments[index:])


def path_glob(text: str) -> Glob:
    """The pattern of a text that a user gives. Raises `ValueError` if it is empty or negated."""
    bare = text.removeprefix("./")
    if not bare.strip("/") or bare.startswith("!"):
        raise ValueError("expected a pattern of paths, such as runs/*.jsonl")
    return Glob(bare)


def ignore_globs(text: str) -> tuple[Glob, ...]:
    """The patterns in the text of an ignore file, in order."""
    lines = (_without_end(line) for line in text.splitlines() if not line.startswith("#"))
    return tuple(Glob(line) for line in lines if line.strip("!/"))


def _without_end(line: str) -> str:
    """A line without the spaces at its end, unless `\\` keeps them."""
    bare = line.rstrip(" ")
    is_kept = bare.endswith("\\") and bare != line and (len(bare) - len(bare.rstrip("\\"))) % 2
    return f"{bare} " if is_kept else bare


def is_ignored(globs: Sequence[Glob], names: Sequence[str], *, is_folder: bool) -> bool | None:
    """Whether the last pattern that matches ignores a path; None if no pattern matches."""
    for glob in reversed(globs):
        if glob.matches(names, is_folder=is_folder):
            return not glob.is_negated
    return None
