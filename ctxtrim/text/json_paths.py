"""JSON paths as people write them: `messages`, `[*].traj`, `simulations[*].messages`.

`[*]` is every element, each with a conversation of its own. `[+]` is every element too, and all of them are one
conversation: `question[+]`. So are the lists of paths with a plus between them: `request.input + response.output`.
"""

import re
from collections.abc import Iterator, Sequence
from enum import Enum
from typing import Any, NamedTuple

from ctxtrim.errors import UsageError

Path = tuple[str | int, ...]
"""The way to a value inside a JSON value: keys of objects and indices of arrays."""


class Every(Enum):
    """The key of a pattern that stands for every element of an array."""

    APART = "*"
    TOGETHER = "+"


Pattern = tuple[str | int | Every, ...]
_KEY = re.compile(r"\[([*+]|\d+)\]|(?:^|\.)([^.\[\]]+)")


class Place(NamedTuple):
    """A message list in a document: its path, its elements, and the object around it (empty where there is none).

    A string may stand where a list is looked for. `among`: the elements that `[*]` stands for, which tell conversations
    apart.
    """

    path: Path
    items: list[Any] | str
    envelope: dict[str, Any]
    home: Path  # of the object around it
    among: Path


def patterns(text: str) -> list[Pattern]:
    """The paths that lead to the lists of one conversation. A `UsageError` where something is none."""
    return [_pattern(path.strip()) for path in text.split(" + ")]


def _pattern(text: str) -> Pattern:
    """The keys of a path; the empty path is the document itself."""
    keys: list[str | int | Every] = []
    position = 0
    while position < len(text):
        found = _KEY.match(text, position)
        if found is None:
            raise UsageError(
                f"--messages-path {text}: expected keys and brackets, as in simulations[*].messages, "
                f"at character {position + 1}"
            )
        index, key = found.groups()
        keys.append(key if key is not None else int(index) if index.isdecimal() else Every(index))
        position = found.end()
    return tuple(keys)


def conversations(value: Any, paths: Sequence[Pattern]) -> list[list[Place]]:
    """The lists that some paths lead to, those of one conversation together."""
    found: dict[Path, list[Place]] = {}
    for keys in paths:
        for place in _places(value, keys, (), {}, (), ()):
            found.setdefault(place.among, []).append(place)
    return list(found.values())


def _places(
    value: Any, keys: Pattern, path: Path, envelope: dict[str, Any], home: Path, among: Path
) -> Iterator[Place]:
    if not keys:
        if isinstance(value, (list, str)):
            yield Place(path, value, envelope, home, among)
        return
    key, rest = keys[0], keys[1:]
    if isinstance(key, str):
        if isinstance(value, dict) and key in value:
            yield from _places(value[key], rest, (*path, key), value, path, among)
    elif isinstance(value, list):
        for index in range(len(value)) if isinstance(key, Every) else (key,) if key < len(value) else ():
            inner = (*among, index) if key is Every.APART else among
            yield from _places(value[index], rest, (*path, index), envelope, home, inner)
