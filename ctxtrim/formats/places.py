"""JSON paths as people write them: `messages`, `[*].traj`, `simulations[*].messages`; `[*]` is every element."""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from ctxtrim.errors import UsageError
from ctxtrim.model import Path

EVERY = None
"""The key of a pattern that stands for every element of an array."""

Pattern = tuple[str | int | None, ...]
_KEY = re.compile(r"\[(\*|\d+)\]|(?:^|\.)([^.\[\]]+)")


class Place(NamedTuple):
    """A message list in a document: its path, its elements, and the object around it (empty where there is none)."""

    path: Path
    items: list[Any]
    envelope: dict[str, Any]
    home: Path  # of the object around it


def pattern(text: str) -> Pattern:
    """The keys of a path; the empty path is the document itself. A `UsageError` where it is none."""
    keys: list[str | int | None] = []
    position = 0
    while position < len(text):
        found = _KEY.match(text, position)
        if found is None:
            raise UsageError(
                f"--messages-path {text}: expected keys and brackets, as in simulations[*].messages, "
                f"at character {position + 1}"
            )
        index, key = found.groups()
        keys.append(key if key is not None else EVERY if index == "*" else int(index))
        position = found.end()
    return tuple(keys)


def places(value: Any, keys: Pattern) -> Iterator[Place]:
    """Every array that a pattern leads to."""
    return _places(value, keys, (), {}, ())


def _places(value: Any, keys: Pattern, path: Path, envelope: dict[str, Any], home: Path) -> Iterator[Place]:
    if not keys:
        if isinstance(value, list):
            yield Place(path, value, envelope, home)
        return
    key, rest = keys[0], keys[1:]
    if isinstance(key, str):
        if isinstance(value, dict) and key in value:
            yield from _places(value[key], rest, (*path, key), value, path)
    elif isinstance(value, list):
        for index in range(len(value)) if key is EVERY else (key,) if key < len(value) else ():
            yield from _places(value[index], rest, (*path, index), envelope, home)
