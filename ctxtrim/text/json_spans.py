"""Character ranges of the values in a JSON text. Values are scanned only to find their ends."""

import json
import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property

Range = tuple[int, int]
"""A range of a text: start and end, in characters."""


_decoder = json.JSONDecoder(parse_int=str, parse_float=str)  # only spans are needed, not numbers
_value = _decoder.raw_decode
_space = re.compile(r"[ \t\r\n]*").match
_ESCAPE = re.compile(r"\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|u....|.)", re.DOTALL)

_SPACE = r"[ \t\r\n]*+"
_STRING = r'"[^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*+)*+"'
_SCALAR = rf"{_STRING}|-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?|true|false|null"
_ELEMENT = re.compile(rf"{_SPACE}({_SCALAR}){_SPACE}[,\]]")
_MEMBER = re.compile(rf"{_SPACE}({_STRING}){_SPACE}:{_SPACE}({_SCALAR}){_SPACE}[,}}]")
"""An array element or object member without nested containers, and the comma or
bracket after it.
"""

Member = tuple[int, int, int]
"""The start of a member's key, the start of its value, and their end.

For elements both starts are equal.
"""


def skip(text: str, position: int) -> int:
    """The first position at or after a position that is not white space."""
    if text[position : position + 1] > " ":
        return position
    found = _space(text, position)
    return found.end() if found else position


def _string(text: str, start: int) -> tuple[object, int]:
    """The string at a position, and its end."""
    if text[start : start + 1] != '"':
        raise ValueError("expected a string")
    return _value(text, start)


def members(text: str, start: int) -> tuple[list[Member], int]:
    """The members of the object or array that starts at a position, in order, and its end.

    Raises a `ValueError` if there is no valid one, and a `RecursionError` if something in it is
    nested too deeply.
    """
    is_object = text[start] == "{"
    simple = (_MEMBER if is_object else _ELEMENT).match
    closing = "}" if is_object else "]"
    found: list[Member] = []
    position = skip(text, start + 1)
    if text[position : position + 1] == closing:
        return [], position + 1
    while True:
        match = simple(text, position)
        if match is not None:
            spans = match.regs
            position = spans[0][1]
            found.append((spans[1][0], *spans[-1]))
        else:
            begin = value = skip(text, position)
            if is_object:
                value = skip(text, _string(text, begin)[1])
                if text[value : value + 1] != ":":
                    raise ValueError("expected a colon")
                value = skip(text, value + 1)
            end = _value(text, value)[1]
            found.append((begin, value, end))
            position = skip(text, end) + 1
        if text[position - 1 : position] != ",":
            if text[position - 1 : position] != closing:
                raise ValueError("expected a comma")
            return found, position


def document(text: str) -> tuple[list[Member], Range] | None:
    """The members of a text that is one object or array, and its range; None for other texts."""
    start = skip(text, 0)
    if text[start : start + 1] not in ("[", "{"):
        return None
    try:
        found, end = members(text, start)
    except (ValueError, RecursionError):
        return None
    return (found, (start, end)) if skip(text, end) == len(text) else None


@dataclass(frozen=True)
class Leaf:
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
