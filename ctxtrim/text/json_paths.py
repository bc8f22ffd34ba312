"""JSON paths of message lists: `messages`, `[*].traj`, `simulations[*].messages`.

`[*]` matches every element of an array, each in its own conversation. `[+]` matches every element
as well, but all of them form one conversation: `question[+]`. Paths joined by a plus also form one
conversation: `request.input + response.output`. A path continues inside a string that contains
JSON.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from functools import lru_cache
from typing import Any, NamedTuple

from ctxtrim.text.records import value_in

Path = tuple[str | int, ...]
"""The path of a value inside a JSON value: object keys and array indices."""


class Every(Enum):
    """Pattern keys that match every element of an array."""

    APART = "*"
    TOGETHER = "+"


Pattern = tuple[str | int | Every, ...]
_JOINT = " + "
_KEY_SETS = 64  # key lists of objects that a `PathTable` remembers
_FEW_KEYS = 64  # keys in the longest of them
_KEY = re.compile(r"\[([*+]|\d+)\]|(?:^|\.)([^.\[\]]+)")


class Place(NamedTuple):
    """A message list in a document: its path, its elements, and the object around it (empty if
    there is none).

    `items` may be a string or an object instead of a list. `among`: the element indices that `[*]`
    matched; each combination is one conversation.
    """

    path: Path
    items: list[Any] | str | dict[str, Any]
    envelope: dict[str, Any]
    envelope_path: Path  # the path of the object around the list
    among: Path


def patterns(text: str) -> list[Pattern]:
    """The pattern of each list of one conversation. Raises a `ValueError` for invalid paths."""
    list_patterns, start = [], 0
    for path in text.split(_JOINT):
        list_patterns.append(_pattern(path.strip(), start + len(path) - len(path.lstrip())))
        start += len(path) + len(_JOINT)
    return list_patterns


def each_element(text: str) -> str:
    """The paths of a text in each element of an array."""
    return _JOINT.join(f"[*].{path}" for path in text.split(_JOINT))


def _pattern(text: str, start: int) -> Pattern:
    """The keys of a path. The empty path is the document itself.

    `start` is the index of the path in the text of all paths, for messages.
    """
    keys: list[str | int | Every] = []
    position = 0
    while position < len(text):
        match = _KEY.match(text, position)
        if match is None:
            raise ValueError(
                f"expected keys and brackets at character {start + position + 1}, "
                "as in simulations[*].messages"
            )
        index, key = match.groups()
        if key is not None:
            keys.append(key)
        else:
            keys.append(int(index) if index.isdecimal() else Every(index))
        position = match.end()
    return tuple(keys)


class PathTable:
    """The paths of the lists of several conversations, looked up by the keys of an object, or of
    the objects in an array.

    `names`: the first keys of paths in objects. An object needs one of them to contain a list.
    """

    def __init__(self, places: Iterable[str]) -> None:
        self._paths = list(map(patterns, places))
        self._first_names = list(map(_first_names, self._paths))
        self._element_names = list(map(_element_names, self._paths))
        self.names = frozenset().union(*self._first_names)
        # the objects of a file have the same keys
        self._with_keys = lru_cache(_KEY_SETS)(self._of_object)

    def __len__(self) -> int:
        return len(self._paths)

    def paths_in(self, value: object) -> Iterable[Sequence[Pattern]]:
        """The paths that may match in a value, in order."""
        if isinstance(value, dict):
            if len(value) > _FEW_KEYS:
                return self._of_object(value)
            return self._with_keys(tuple(value))
        if isinstance(value, list) and set(map(type, value)) <= {dict}:
            return self._that_need(self._element_names, set().union(*value))
        return self._paths

    def _of_object(self, keys: Iterable[str]) -> list[Sequence[Pattern]]:
        return self._that_need(self._first_names, keys)

    def _that_need(
        self, names: Iterable[frozenset[str] | None], keys: Iterable[str]
    ) -> list[Sequence[Pattern]]:
        """The paths that need one of some keys, or none; `names`: the keys that each path needs."""
        return [
            paths
            for needed, paths in zip(names, self._paths, strict=True)
            if needed is None or not needed.isdisjoint(keys)
        ]


def _first_names(paths: Sequence[Pattern]) -> frozenset[str]:
    """The first keys of some paths: an object needs one of them to contain their lists."""
    return frozenset(keys[0] for keys in paths if keys and isinstance(keys[0], str))


def _element_names(paths: Sequence[Pattern]) -> frozenset[str] | None:
    """The keys that an object in an array needs to contain lists at some paths; None if a path
    matches without any.
    """
    names: set[str] = set()
    for keys in paths:
        if keys and isinstance(keys[0], str):
            continue  # the path of an object
        name = keys[1] if len(keys) > 1 else None
        if not isinstance(name, str):
            return None
        names.add(name)
    return frozenset(names)


def matches(path: Path, keys: Pattern) -> bool:
    """Whether a path is one of those that a pattern matches."""
    return len(path) == len(keys) and all(
        isinstance(step, int) if isinstance(key, Every) else step == key
        for step, key in zip(path, keys, strict=True)
    )


def conversations(value: Any, paths: Sequence[Pattern]) -> list[list[Place]]:
    """The lists that some paths match, grouped by conversation, in the order of the value."""
    places: dict[Path, list[Place]] = {}
    for keys in paths:
        for place in _places(value, keys, (), {}, (), ()):
            places.setdefault(place.among, []).append(place)
    return [places[among] for among in sorted(places)]


def _indices(key: int | Every, number: int) -> range:
    """The indices that a key matches in a list of `number` elements."""
    if isinstance(key, Every):
        return range(number)
    return range(key, min(key + 1, number))


def _places(
    value: Any,
    keys: Pattern,
    path: Path,
    envelope: dict[str, Any],
    envelope_path: Path,
    among: Path,
) -> Iterator[Place]:
    if not keys:
        if isinstance(value, (list, str, dict)):
            yield Place(path, value, envelope, envelope_path, among)
        return
    key, rest = keys[0], keys[1:]
    if isinstance(value, str):
        value = value_in(value)
    if isinstance(key, str):
        if isinstance(value, dict) and key in value:
            yield from _places(value[key], rest, (*path, key), value, path, among)
    elif isinstance(value, list):
        for index in _indices(key, len(value)):
            inner = (*among, index) if key is Every.APART else among
            yield from _places(value[index], rest, (*path, index), envelope, envelope_path, inner)
