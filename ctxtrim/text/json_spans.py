"""Character ranges of the values in a JSON text. Values are scanned only to find their ends."""

import json
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from msgspec import DecodeError, Raw, Struct
from msgspec.json import Decoder

from ctxtrim.loading.lazy_pattern import lazy_pattern

Range = tuple[int, int]
"""A range of a text: start and end, in characters."""

Member = tuple[int, int, int]
"""The start of a member's key, the start of its value, and their end.

For elements both starts are equal.
"""

_decoder: Any = json.JSONDecoder(parse_int=str, parse_float=str)  # only spans are needed
_scan = _decoder.scan_once
_object = Decoder(dict[str, Raw]).decode
_array = Decoder(list[Raw]).decode
_LONG = 4096  # characters of an object or an array whose values are not made to find their ends
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
    """The members of the object or array in a text, in order, and its end."""

    text: str
    spans: Sequence[Member]
    end: int

    @property
    def keys(self) -> Sequence[str | int]:
        """The keys of the members of an object, or the indices of elements."""
        if self.spans and self.spans[0][0] < self.spans[0][1]:
            return [_scan(self.text, begin)[0] for begin, _, _ in self.spans]
        return range(len(self.spans))


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

    It finds the ends of long values without making the values. `data` is the text in bytes, if it
    is ASCII; without it, the range is encoded.
    """
    if end - start >= _LONG:
        try:
            spans = list(_spans_within(text, start, end, data))
        except (ValueError, RecursionError):  # also what msgspec raises
            return members(text, start)
        if spans and skip(text, spans[-1][2]) == end - 1:
            return Members(text, spans, end)
    return members(text, start)


def values_at(text: str, start: int, end: int, keys: Iterable[str | int]) -> list[Range] | None:
    """The ranges of some values of the short object at a range; None if `members_within` must find
    them.

    A string that occurs once in the object is its value wherever it is found.
    """
    if text[start] != "{" or end - start >= _LONG:
        return None
    try:
        values = _object(text[start:end].encode())
    except (ValueError, DecodeError):
        return None
    ranges = []
    for key in keys:
        value = str(values.get(key, b""), "utf-8") if isinstance(key, str) else ""
        if not value.startswith('"') or text.count(value, start, end) != 1:
            return None
        position = text.index(value, start, end)
        ranges.append((position, position + len(value)))
    return ranges


def _spans_within(text: str, start: int, end: int, ascii_data: bytes | None) -> Iterator[Member]:
    """The members of the object or array at a range.

    If a key occurs twice, only its last value is known. Then an end that is not found raises a
    `ValueError`, or the spans end too early. They also do if the space between members differs.
    """
    data = text[start:end].encode() if ascii_data is None else memoryview(ascii_data)[start:end]
    is_object, is_ascii = text[start] == "{", len(data) == end - start
    values = _object(data).items() if is_object else enumerate(_array(data))
    begin = skip(text, start + 1)
    between: str | None = None  # the comma and the space between members, usually alike
    for key, raw in values:
        position = _after_key(text, begin) if is_object else begin
        stop = position + (len(raw) if is_ascii else len(str(raw, "utf-8")))
        if is_object:
            is_same = (
                text.startswith(str(raw, "utf-8"), position)
                if ascii_data is None
                else ascii_data.startswith(raw, position)
            )
            if not is_same or _scan(text, begin)[0] != key:
                raise ValueError("expected another value")
        yield begin, position, stop
        if between is not None and text.startswith(between, stop):
            begin = stop + len(between)
            continue
        separator = _SEPARATOR.match(text, stop)
        if separator is None:
            raise ValueError("expected a comma")
        begin = separator.end()
        between = separator[0] if separator[1] == "," else None


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
        _, found, end = members(text, start)
    except (ValueError, RecursionError):
        return None
    return (found, (start, end)) if skip(text, end) == len(text) else None


class Leaf(Struct, frozen=True, dict=True):
    """A string in a JSON text, as written and without quotes, with a mapping between its characters
    and its value.
    """

    spelling: str

    @cached_property
    def value(self) -> str:
        """The decoded string."""
        return (
            str(_decoder.decode(f'"{self.spelling}"')) if "\\" in self.spelling else self.spelling
        )

    @cached_property
    def _escapes(self) -> tuple[list[int], list[int]]:
        """The ends of the escapes, as positions in the written text and in the value."""
        spelled, meant, excess = [], [], 0
        for match in _ESCAPE.finditer(self.spelling) if "\\" in self.spelling else ():
            excess += match.end() - match.start() - 1
            spelled.append(match.end())
            meant.append(match.end() - excess)
        return spelled, meant

    def spelled(self, position: int) -> int:
        """The position in the written text of a position in the value."""
        spelled, meant = self._escapes
        count = bisect_right(meant, position)
        return position + (spelled[count - 1] - meant[count - 1] if count else 0)

    def meant(self, position: int) -> int:
        """The position in the value of a position in the written text.

        Inside an escape, the start of the escape.
        """
        spelled, meant = self._escapes
        count = bisect_right(spelled, position)
        in_value = position - (spelled[count - 1] - meant[count - 1] if count else 0)
        return min(in_value, meant[count] - 1) if count < len(meant) else in_value
