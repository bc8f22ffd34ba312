"""Replaces, removes and inserts values inside a JSON text, and leaves every other character as it
is.

The text is scanned for the spans of the values at the given paths; nothing else is encoded again.
If an object contains a key twice, the last one counts, as in JSON parsers.
"""

import json
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ctxtrim.text.json_paths import Path

Patch = tuple[int, int, str]  # replace text[start:end]

_scan = json.JSONDecoder(
    parse_int=str, parse_float=str
).raw_decode  # only spans are needed, not numbers
_SPACE = " \t\r\n"


@dataclass
class _Wish:
    """The edits of one value, and of the values inside it."""

    replacement: str | None = None
    is_removed: bool = False
    added: Sequence[tuple[str, str]] = ()
    inserted: Sequence[tuple[int, str]] = ()
    cuts: Sequence[tuple[int, str]] = ()
    inside: dict[str | int, "_Wish"] = field(default_factory=dict)


def splice(
    text: str,
    replace: Mapping[Path, str] | None = None,
    remove: Collection[Path] = (),
    add: Mapping[Path, Sequence[tuple[str, str]]] | None = None,
    insert: Mapping[Path, Sequence[tuple[int, str]]] | None = None,
    cut: Mapping[Path, Sequence[tuple[int, str]]] | None = None,
) -> str:
    """The text with values replaced, elements or members removed, members added and elements
    inserted.

    `replace` maps a path to its new JSON text. `remove` contains paths of array elements and object
    members. `add` maps an object's path to (key, JSON text) pairs with new keys. `insert` maps an
    array's path to (index, JSON text) pairs, in order; indices are those of the original array.
    `cut` maps an array's path to (index, text) pairs: the text replaces the comma before that
    element; the element before it must be kept. Raises a `KeyError` for a path that does not exist.
    """
    root = _Wish()
    for path, new in (replace or {}).items():
        _at(root, path).replacement = new
    for path in remove:
        _at(root, path).is_removed = True
    for path, members in (add or {}).items():
        _at(root, path).added = members
    for path, elements in (insert or {}).items():
        _at(root, path).inserted = elements
    for path, elements in (cut or {}).items():
        _at(root, path).cuts = elements
    patches: list[Patch] = []
    _value(text, _skip(text, text.startswith("\ufeff")), root, (), patches)
    pieces: list[str] = []
    done = 0
    for start, end, new in sorted(patches):
        pieces += (text[done:start], new)
        done = end
    return "".join(pieces) + text[done:]


def _at(root: _Wish, path: Path) -> _Wish:
    for key in path:
        root = root.inside.setdefault(key, _Wish())
    return root


def _skip(text: str, position: int) -> int:
    while text[position] in _SPACE:
        position += 1
    return position


def _value(text: str, start: int, wish: _Wish, path: Path, patches: list[Patch]) -> None:
    """Collect the patches for the value that starts at `start`."""
    if wish.replacement is not None:
        patches.append((start, _scan(text, start)[1], wish.replacement))
    elif wish.inside or wish.added or wish.inserted or wish.cuts:
        if text[start] not in "[{":
            raise KeyError(path)
        _container(text, start, wish, path, patches)


def _container(text: str, start: int, wish: _Wish, path: Path, patches: list[Patch]) -> None:
    members, values, colon = _members(text, start)
    for key, inner in wish.inside.items():
        if key not in values:
            raise KeyError((*path, key))
        if not inner.is_removed:
            _value(text, values[key], inner, (*path, key), patches)
    is_removed = [key in wish.inside and wish.inside[key].is_removed for _, _, key in members]
    kept = [index for index, is_gone in enumerate(is_removed) if not is_gone]
    if not kept and members:
        patches.append((members[0][0], members[-1][1], ""))
    elif kept:
        if kept[0] > 0:
            patches.append((members[0][0], members[kept[0]][0], ""))
        for index in range(kept[0], len(members)):
            if is_removed[index]:
                patches.append((members[index - 1][1], members[index][1], ""))
    if wish.added:
        between = text[members[0][1] : members[1][0]] if len(members) > 1 else ", "
        new = between.join(f"{json.dumps(key)}{colon}{value}" for key, value in wish.added)
        end = members[-1][1] if members else start + 1
        patches.append((end, end, between + new if kept else new))
    if wish.inserted:
        patches += _insertions(text, start, members, kept, wish.inserted)
    for index, new in wish.cuts:
        patches.append((members[index - 1][1], members[index][0], new))


def _insertions(
    text: str,
    start: int,
    members: Sequence[tuple[int, int, str | int]],
    kept: Sequence[int],
    inserted: Sequence[tuple[int, str]],
) -> Iterator[Patch]:
    """Patches for new elements, each before the first kept element at or after its index, separated
    alike.
    """
    if len(members) > 1:
        between = text[members[0][1] : members[1][0]]
    else:
        between = "," + (text[start + 1 : members[0][0]] if members else "")
    places: dict[int | None, list[str]] = {}
    for index, new in inserted:
        following = bisect_left(kept, index)
        places.setdefault(kept[following] if following < len(kept) else None, []).append(new)
    for before, additions in places.items():
        new = between.join(additions)
        if before is not None:
            yield members[before][0], members[before][0], new + between
        elif kept:
            yield members[kept[-1]][1], members[kept[-1]][1], between + new
        else:
            position = members[0][0] if members else start + 1
            yield position, position, new


def _members(
    text: str, start: int
) -> tuple[list[tuple[int, int, str | int]], dict[str | int, int], str]:
    """The members of a container: (start, end, key) of each, the start of each key's value, and the
    colon style.

    If a key occurs twice, the last value counts.
    """
    is_object = text[start] == "{"
    members: list[tuple[int, int, str | int]] = []
    values: dict[str | int, int] = {}
    colon = ": "
    position = _skip(text, start + 1)
    while text[position] not in "]}":
        begin = position
        key: str | int = len(members)
        if is_object:
            key, after = _scan(text, position)
            position = _skip(text, _skip(text, after) + 1)
            colon = text[after:position]
        values[key] = position
        position = _scan(text, position)[1]
        members.append((begin, position, key))
        position = _skip(text, position)
        if text[position] == ",":
            position = _skip(text, position + 1)
    return members, values, colon


def locate(text: str, paths: Iterable[Path]) -> dict[Path, int]:
    """The positions in a JSON text at which the values at some paths start."""
    root = _Wish()
    for path in paths:
        _at(root, path).replacement = ""
    found: dict[Path, int] = {}
    _locate(text, _skip(text, text.startswith("\ufeff")), root, (), found)
    return found


def _locate(text: str, start: int, wish: _Wish, path: Path, found: dict[Path, int]) -> None:
    if wish.replacement is not None:
        found[path] = start
    if wish.inside:
        values = _members(text, start)[1]
        for key, inner in wish.inside.items():
            begin = values.get(key)
            if begin is not None:
                _locate(text, begin, inner, (*path, key), found)
