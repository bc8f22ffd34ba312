"""Character ranges of the values in a JSON text. Values are scanned only to find their ends.

A text in UTF-8 is scanned as Latin-1, which has a character for each byte: the syntax of JSON is
ASCII, so the ranges are those of the bytes.
"""

import json
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from msgspec import DecodeError, Raw, Struct
from msgspec.json import Decoder

from ctxtrim.loading import lazy_pattern
from ctxtrim.text import Range

Member = tuple[int, int, int]
"""The start of a member's key, the start of its value, and their end.

For elements both starts are equal.
"""

_decoder: Any = json.JSONDecoder(parse_int=str, parse_float=str)  # only spans are needed
_scan = _decoder.scan_once
_object = Decoder(dict[str, Raw]).decode
_array = Decoder(list[Raw]).decode
_LONG = 4096  # characters of an object or an array whose values are not made to find their ends
_SEARCHED = 1 << 16  # characters of an object or an array in which values are searched
_BLOCK = 1024  # elements that are joined to see whether the same characters are between them
_SPACE = lazy_pattern(r"[ \t\r\n]*")
_COLON = lazy_pattern(r"[ \t\r\n]*:[ \t\r\n]*")
_SEPARATOR = lazy_pattern(r"[ \t\r\n]*([,\]}])[ \t\r\n]*")
_PLAIN = r'"[^"\\\x00-\x1f]*+"'
_SIMPLE = (
    rf"({_PLAIN}|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null)"
    r"[ \t\r\n]*(?:(,)[ \t\r\n]*|(?=[\]}]))"
)
# Runs of simple members are found without a call for each. A single other character ends a run.
_SIMPLE_ELEMENT = lazy_pattern(rf"{_SIMPLE}|[\s\S]")
_SIMPLE_MEMBER = lazy_pattern(rf"{_PLAIN}[ \t\r\n]*:[ \t\r\n]*{_SIMPLE}|[\s\S]")
_ESCAPE = lazy_pattern(r"\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|u....|.)", re.DOTALL)


def skip(text: str, position: int) -> int:
    """The first position at or after a position that is not white space."""
    space = _SPACE.match(text, position)
    return space.end() if space else position


def value_end(text: str, start: int) -> int:
    """The end of the value at a position. Raises a `ValueError` if there is none."""
    try:
        end: int = _scan(text, start)[1]
    except StopIteration:
        raise ValueError("expected a value") from None
    return end


class Members(NamedTuple):
    """The members of the object or array in a text, in order, and its end.

    `is_latin`: the text is UTF-8 as Latin-1.
    """

    text: str
    spans: Sequence[Member]
    end: int
    is_latin: bool = False

    @property
    def keys(self) -> Sequence[str | int]:
        """The keys of the members of an object, or the indices of elements."""
        if self.spans and self.spans[0][0] < self.spans[0][1]:
            return [_key(self.text, begin, self.is_latin) for begin, _, _ in self.spans]
        return range(len(self.spans))


def _key(text: str, begin: int, is_latin: bool) -> str:
    """The key at a position."""
    key, end = _scan(text, begin)
    if is_latin and not key.isascii():
        key = json.loads(text[begin:end].encode("latin-1"))
    return str(key)


def members(text: str, start: int) -> Members:
    """The members of the object or array that starts at a position.

    Raises a `ValueError` if there is no valid one, and a `RecursionError` if something in it is
    nested too deeply.
    """
    is_object = text[start] == "{"
    closing, simple = ("}", _SIMPLE_MEMBER) if is_object else ("]", _SIMPLE_ELEMENT)
    spans: list[Member] = []
    begin = skip(text, start + 1)
    if text.startswith(closing, begin):
        return Members(text, (), begin + 1)
    while True:
        for match in simple.finditer(text, begin) if text[begin : begin + 1] not in "[{" else ():
            if match.lastindex is None:
                break
            spans.append((match.start(), *match.span(1)))
            begin = match.end()
            if match.lastindex == 1:  # no comma follows
                if text.startswith(closing, begin):
                    return Members(text, spans, begin + 1)
                raise ValueError("expected a comma")
        position = _after_key(text, begin) if is_object else begin
        end = value_end(text, position)
        spans.append((begin, position, end))
        separator = _SEPARATOR.match(text, end)
        if separator is not None and separator[1] == closing:
            return Members(text, spans, separator.end(1))
        if separator is None or separator[1] != ",":
            raise ValueError("expected a comma")
        begin = separator.end()


def members_within(text: str, start: int, end: int, data: bytes | None = None) -> Members:
    """The members of the object or array at a range of a valid JSON text, as `members` finds them.

    It finds the ends of long values without making the values. `data`: the text is the Latin-1
    form of these bytes; without it, the range is encoded.
    """
    is_latin = data is not None
    if end - start >= _LONG:
        try:
            spans = _spans_within(text, start, end, data)
        except (ValueError, RecursionError):  # also what msgspec raises
            spans = []
        if spans and skip(text, spans[-1][2]) == end - 1:
            return Members(text, spans, end, is_latin)
    return members(text, start)._replace(is_latin=is_latin)


def values_at(
    text: str, start: int, end: int, keys: Iterable[str | int], data: bytes | None = None
) -> list[Range] | None:
    """The ranges of some values of the object or array at a range; None if `members_within` must
    find them, as in a long text.

    A value that occurs once in the text is wherever it is found. `data` as in `members_within`.
    """
    if end - start >= _SEARCHED:
        return None
    encoding = "utf-8" if data is None else "latin-1"
    content = text[start:end].encode() if data is None else data[start:end]
    ranges = []
    try:
        values: Any = _object(content) if text[start] == "{" else _array(content)
        for key in keys:
            value = str(values[key], encoding)
            position = text.index(value, start, end)
            if text.find(value, position + 1, end) >= 0:
                return None
            ranges.append((position, position + len(value)))
    except (ValueError, DecodeError, LookupError, TypeError):  # not valid, or without such a key
        return None
    return ranges


def _spans_within(text: str, start: int, end: int, data: bytes | None) -> list[Member]:
    """The members of the object or array at a range.

    If a key occurs twice, only its last value is known. Then an end that is not found raises a
    `ValueError`, or the spans end too early.
    """
    value = text[start:end].encode() if data is None else memoryview(data)[start:end]
    if text[start] == "{":
        return list(_object_spans(text, start, _object(value), data))
    elements = _array(value)
    if data is None:
        return list(_array_spans(text, start, [len(str(raw, "utf-8")) for raw in elements]))
    spans = _alike_spans(text, start, elements, data)
    if spans is None:
        spans = list(_array_spans(text, start, map(len, elements)))
    return spans


def _alike_spans(
    text: str, start: int, elements: Sequence[Raw], data: bytes
) -> list[Member] | None:
    """The elements of an array, if the same characters are between all of them."""
    if not elements:
        return None
    begin = skip(text, start + 1)
    separator = _SEPARATOR.match(text, begin + len(elements[0]))
    between = separator[0].encode() if separator is not None else b""
    position = begin
    for first in range(0, len(elements), _BLOCK):
        block = elements[first : first + _BLOCK]
        is_last = first + _BLOCK >= len(elements)
        piece = between.join(block if is_last else (*block, b""))
        if not data.startswith(piece, position):
            return None
        position += len(piece)
    spans: list[Member] = []
    for raw in elements:
        stop = begin + len(raw)
        spans.append((begin, begin, stop))
        begin = stop + len(between)
    return spans


def _array_spans(text: str, start: int, sizes: Iterable[int]) -> Iterator[Member]:
    """The elements of the array at a position, of some sizes in characters."""
    begin = skip(text, start + 1)
    for size in sizes:
        stop = begin + size
        yield begin, begin, stop
        begin = _after_separator(text, stop)


def _object_spans(
    text: str, start: int, values: dict[str, Raw], data: bytes | None
) -> Iterator[Member]:
    """The members of the object at a position, which has some values."""
    begin = skip(text, start + 1)
    for key, raw in values.items():
        position = _after_key(text, begin)
        if data is not None:
            is_same, size = data.startswith(raw, position), len(raw)  # makes no copy of the value
        else:
            value = str(raw, "utf-8")
            is_same, size = text.startswith(value, position), len(value)
        if not is_same or _key(text, begin, data is not None) != key:
            raise ValueError("expected another value")
        stop = position + size
        yield begin, position, stop
        begin = _after_separator(text, stop)


def _after_separator(text: str, stop: int) -> int:
    """The start of the next member after the value that ends at a position."""
    separator = _SEPARATOR.match(text, stop)
    if separator is None:
        raise ValueError("expected a comma")
    return separator.end()


def _after_key(text: str, start: int) -> int:
    """The start of the value after the key at a position."""
    if not text.startswith('"', start):
        raise ValueError("expected a string")
    colon = _COLON.match(text, value_end(text, start))
    if colon is None:
        raise ValueError("expected a colon")
    return colon.end()


def document(text: str) -> tuple[Sequence[Member], Range] | None:
    """The members of a text that is one object or array, and its range; None for other texts."""
    start = skip(text, 0)
    if text[start : start + 1] not in ("[", "{"):
        return None
    try:
        content = members(text, start)
    except (ValueError, RecursionError):
        return None
    if skip(text, content.end) != len(text):
        return None
    return content.spans, (start, content.end)


class Leaf(Struct, frozen=True, dict=True):
    """A string in a JSON text, as written and without quotes, with a mapping between its characters
    and its value.
    """

    spelling: str

    @cached_property
    def value(self) -> str:
        """The decoded string."""
        if "\\" not in self.spelling:
            return self.spelling
        return str(_decoder.decode(f'"{self.spelling}"'))

    @cached_property
    def _escapes(self) -> tuple[list[int], list[int]]:
        """The ends of the escapes, as positions in the written text and in the value."""
        ends, value_ends, excess = [], [], 0
        for match in _ESCAPE.finditer(self.spelling) if "\\" in self.spelling else ():
            excess += match.end() - match.start() - 1
            ends.append(match.end())
            value_ends.append(match.end() - excess)
        return ends, value_ends

    def spelled(self, position: int) -> int:
        """The position in the written text of a position in the value."""
        ends, value_ends = self._escapes
        count = bisect_right(value_ends, position)
        return position + (ends[count - 1] - value_ends[count - 1] if count else 0)

    def meant(self, position: int) -> int:
        """The position in the value of a position in the written text.

        Inside an escape, the start of the escape.
        """
        ends, value_ends = self._escapes
        count = bisect_right(ends, position)
        in_value = position - (ends[count - 1] - value_ends[count - 1] if count else 0)
        return min(in_value, value_ends[count] - 1) if count < len(value_ends) else in_value
