"""Replaces, removes and inserts values inside a JSON text, and leaves every other character as it
is.

A path may continue inside a string that contains JSON. The text is scanned for the spans of the
values at the given paths; nothing else is encoded again. If an object contains a key twice, the
last one counts, as in JSON parsers.
"""

import json
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from itertools import chain, pairwise

from msgspec import Struct, field

from ctxtrim.text import Range
from ctxtrim.text.json_paths import Path
from ctxtrim.text.json_spans import Leaf, Member, members_within, skip, value_end, values_at

Patch = tuple[int, int, bytes]
"""The start and the end of a range of bytes, and the bytes that replace it."""
_TextPatch = tuple[int, int, str]

_UTF_8 = ("utf-8", "surrogatepass")  # a text that is not from a file may have lone surrogates
_MARK = "\ufeff".encode().decode("latin-1")  # a byte order mark in a UTF-8 text as Latin-1


class ValueEdits(Struct):
    """The edits of values in a JSON text.

    - `replace`: by path, the new JSON text
    - `remove`: paths of array elements and object members
    - `add`: by the path of an object, (key, JSON text) pairs with new keys
    - `insert`: by the path of an array, (index, JSON text) pairs, in order; indices are those of
      the original array
    - `cut`: by the path of an array, (index, text) pairs: the text replaces the comma before that
      element; the element before it must be kept
    - `is_ascii`: other characters are escaped in strings that contain JSON; by default, if the text
      has none
    """

    replace: Mapping[Path, str] = {}
    remove: Collection[Path] = ()
    add: Mapping[Path, Sequence[tuple[str, str]]] = {}
    insert: Mapping[Path, Sequence[tuple[int, str]]] = {}
    cut: Mapping[Path, Sequence[tuple[int, str]]] = {}
    is_ascii: bool | None = None


class _Wish(Struct):
    """The edits of one value, and of the values inside it. `removed` are keys of values inside."""

    replacement: str | None = None
    removed: Set[str | int] = frozenset()
    added: Sequence[tuple[str, str]] = ()
    inserted: Sequence[tuple[int, str]] = ()
    cuts: Sequence[tuple[int, str]] = ()
    inside: dict[str | int, "_Wish"] = field(default_factory=dict)


def splice(text: str, edits: ValueEdits) -> str:
    """The edited text; a `KeyError` for a path that does not exist."""
    data = text.encode(*_UTF_8)
    pieces: list[bytes] = []
    done = 0
    for start, end, new in patches(data, edits):
        pieces += (data[done:start], new)
        done = end
    return b"".join((*pieces, data[done:])).decode(*_UTF_8)


def patches(data: bytes, edits: ValueEdits) -> list[Patch]:
    """The ranges of a text in UTF-8 that the edits replace, in order, each with the new bytes; a
    `KeyError` for a path that does not exist.
    """
    is_ascii = data.isascii() if edits.is_ascii is None else edits.is_ascii
    text = _Text(data.decode("latin-1"), is_ascii, data)
    text_patches: list[_TextPatch] = []
    _value(text, _whole(text.text, _MARK), _root(edits), (), text_patches)
    return [(start, end, new.encode()) for start, end, new in sorted(text_patches)]


def _root(edits: ValueEdits) -> _Wish:
    """The edits of the whole value, with those of the values inside it."""
    root = _Wish()
    for path, new in edits.replace.items():
        _wish_at(root, path).replacement = new
    removed: dict[Path, set[str | int]] = {}
    for path in edits.remove:
        removed.setdefault(path[:-1], set()).add(path[-1])
    for path, keys in removed.items():
        _wish_at(root, path).removed = keys
    for path, added in edits.add.items():
        _wish_at(root, path).added = added
    for path, elements in edits.insert.items():
        _wish_at(root, path).inserted = elements
    for path, elements in edits.cut.items():
        _wish_at(root, path).cuts = elements
    return root


def _wish_at(root: _Wish, path: Path) -> _Wish:
    """The edits of the value at a path, empty at first."""
    for key in path:
        inner = root.inside.get(key)
        if inner is None:
            inner = root.inside[key] = _Wish()
        root = inner
    return root


class _Text(Struct, frozen=True):
    """A JSON text, and whether new characters in it are escaped to ASCII.

    `data`: the text is the Latin-1 form of these bytes, so its ranges are theirs; None for the text
    in a string.
    """

    text: str
    is_ascii: bool
    data: bytes | None = None


def _whole(text: str, mark: str = "\ufeff") -> Range:
    """The range of the value that is the whole text, after a byte order mark."""
    end = len(text)
    while end and text[end - 1].isspace():
        end -= 1
    return skip(text, len(mark) if text.startswith(mark) else 0), end


def _value(
    source: _Text, span: Range, wish: _Wish, path: Path, text_patches: list[_TextPatch]
) -> None:
    """Collect the patches for the value at a range."""
    text, (start, end) = source.text, span
    if wish.replacement is not None:
        text_patches.append((start, end, wish.replacement))
    elif wish.inside or wish.removed or wish.added or wish.inserted or wish.cuts:
        if text[start] == '"':
            text_patches += _in_string(source, span, wish, path)
            return
        if text[start] not in "[{":
            raise KeyError(path)
        _container(source, span, wish, path, text_patches)


def _in_string(source: _Text, span: Range, wish: _Wish, path: Path) -> Iterator[_TextPatch]:
    """The patches for the JSON inside the string at a range, escaped once more."""
    start, end = span
    spelling = source.text[start + 1 : end - 1]
    is_latin = source.data is not None and not spelling.isascii()
    if is_latin:
        spelling = spelling.encode("latin-1").decode(*_UTF_8)
    leaf = Leaf(spelling)
    inner: list[_TextPatch] = []
    try:
        _value(_Text(leaf.value, leaf.value.isascii()), _whole(leaf.value), wish, path, inner)
    except (ValueError, IndexError):
        raise KeyError(path) from None
    spans = [(leaf.spelled(begin), leaf.spelled(end)) for begin, end, _ in inner]
    places = _sizes(spelling, chain.from_iterable(spans)) if is_latin else None
    for (begin, end), (_, _, new) in zip(spans, inner, strict=True):
        escaped = json.dumps(new, ensure_ascii=source.is_ascii)[1:-1]
        if places is not None:
            begin, end = places[begin], places[end]
        yield start + 1 + begin, start + 1 + end, escaped


def _sizes(text: str, positions: Iterable[int]) -> dict[int, int]:
    """The bytes of a text before each of some positions."""
    sizes: dict[int, int] = {}
    size = before = 0
    for position in sorted(set(positions)):
        size += len(text[before:position].encode(*_UTF_8))
        sizes[position] = size
        before = position
    return sizes


def _container(
    source: _Text, span: Range, wish: _Wish, path: Path, text_patches: list[_TextPatch]
) -> None:
    text, (start, end) = source.text, span
    if not (wish.removed or wish.added or wish.inserted or wish.cuts):
        ranges = values_at(text, start, end, wish.inside, source.data)
        if ranges is not None:
            for (key, inner), inner_span in zip(wish.inside.items(), ranges, strict=True):
                _value(source, inner_span, inner, (*path, key), text_patches)
            return
    content = members_within(text, start, end, source.data)
    inside, keys, removed = content.spans, content.keys, wish.removed
    key_set = keys if isinstance(keys, range) else set(keys)
    unknown_key = next((key for key in (*wish.inside, *removed) if key not in key_set), None)
    if unknown_key is not None:
        raise KeyError((*path, unknown_key))
    values = _values(keys, inside, wish.inside)
    for key, inner in wish.inside.items():
        if key not in removed:
            _value(source, values[key], inner, (*path, key), text_patches)
    kept = [index for index, key in enumerate(keys) if key not in removed]
    if removed:
        text_patches += _removals(inside, kept)
    if wish.added:
        text_patches.append(_addition(text, start, inside, bool(kept), wish.added))
    if wish.inserted:
        text_patches += _insertions(text, start, inside, kept, wish.inserted)
    text_patches += [(inside[index - 1][2], inside[index][0], new) for index, new in wish.cuts]


def _values(
    keys: Sequence[str | int], inside: Sequence[Member], selection: Collection[str | int]
) -> dict[str | int, Range]:
    """The ranges of the values with some keys. If a key occurs twice, the last value counts."""
    if isinstance(keys, range):
        return {key: inside[key][1:] for key in selection if key in keys}  # type: ignore[index]
    return {
        key: (value, end)
        for key, (_, value, end) in zip(keys, inside, strict=True)
        if key in selection
    }


def _removals(inside: Sequence[Member], kept: Sequence[int]) -> Iterator[_TextPatch]:
    """Patches that remove the members between those kept, with the comma before or after them."""
    if not kept:
        if inside:
            yield inside[0][0], inside[-1][2], ""
        return
    if kept[0] > 0:
        yield inside[0][0], inside[kept[0]][0], ""
    for earlier, later in pairwise((*kept, len(inside))):
        if later - earlier > 1:
            yield inside[earlier][2], inside[later - 1][2], ""


def _addition(
    text: str,
    start: int,
    inside: Sequence[Member],
    has_kept: bool,
    added: Sequence[tuple[str, str]],
) -> _TextPatch:
    """The patch for new members at the end of an object, spelled like the others."""
    between, colon, end = ", ", ": ", start + 1
    if inside:
        begin, value, end = inside[-1]
        colon = text[value_end(text, begin) : value]
    if len(inside) > 1:
        between = text[inside[0][2] : inside[1][0]]
    new = between.join(f"{json.dumps(key)}{colon}{value}" for key, value in added)
    return end, end, between + new if has_kept else new


def _insertions(
    text: str,
    start: int,
    inside: Sequence[Member],
    kept: Sequence[int],
    inserted: Sequence[tuple[int, str]],
) -> Iterator[_TextPatch]:
    """Patches for new elements, each before the first kept element at or after its index, separated
    alike.
    """
    if len(inside) > 1:
        between = text[inside[0][2] : inside[1][0]]
    else:
        between = "," + (text[start + 1 : inside[0][0]] if inside else "")
    places: dict[int | None, list[str]] = {}
    for index, new in inserted:
        following = bisect_left(kept, index)
        places.setdefault(kept[following] if following < len(kept) else None, []).append(new)
    for before, additions in places.items():
        new = between.join(additions)
        if before is not None:
            yield inside[before][0], inside[before][0], new + between
        elif kept:
            yield inside[kept[-1]][2], inside[kept[-1]][2], between + new
        else:
            position = inside[0][0] if inside else start + 1
            yield position, position, new


def locate(text: str, paths: Iterable[Path]) -> dict[Path, int]:
    """The positions in a JSON text at which the values at some paths start.

    A value inside a string that contains JSON has the position of the string.
    """
    root = _Wish()
    for path in paths:
        _wish_at(root, path).replacement = ""
    positions: dict[Path, int] = {}
    _locate(text, _whole(text), root, (), positions)
    return positions


def _locate(text: str, span: Range, wish: _Wish, path: Path, positions: dict[Path, int]) -> None:
    """Collect the positions of the value at a range and of values inside it."""
    start, end = span
    if wish.replacement is not None:
        positions[path] = start
    if wish.inside and text[start] == '"':
        for key, inner in wish.inside.items():
            _locate(text, span, inner, (*path, key), positions)
    elif wish.inside and text[start] in "[{":
        content = members_within(text, start, end)
        values = _values(content.keys, content.spans, wish.inside)
        for key, inner in wish.inside.items():
            value = values.get(key)
            if value is not None:
                _locate(text, value, inner, (*path, key), positions)
