"""Where the values of a JSON text stand: nothing is parsed but to find out where it ends."""

import json
import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property

Range = tuple[int, int]
"""A stretch of a text: start and end, in characters."""


_decoder = json.JSONDecoder(parse_int=str, parse_float=str)  # only spans matter, not numbers
_value = _decoder.raw_decode
_space = re.compile(r"[ \t\r\n]*").match
_ESCAPE = re.compile(r"\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|u....|.)", re.DOTALL)

_SPACE = r"[ \t\r\n]*+"
_STRING = r'"[^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*+)*+"'
_SCALAR = rf"{_STRING}|-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?|true|false|null"
_ELEMENT = re.compile(rf"{_SPACE}({_SCALAR}){_SPACE}[,\]]")
_MEMBER = re.compile(rf"{_SPACE}({_STRING}){_SPACE}:{_SPACE}({_SCALAR}){_SPACE}[,}}]")
"""An element or a member that is neither an object nor an array, with the comma or the bracket after it."""

Member = tuple[int, int, int]
"""Where a member of an object begins (its key), where its value does, and where both end; the same for elements."""


def skip(text: str, position: int) -> int:
    """The first place from a position on where there is no space."""
    if text[position : position + 1] > " ":
        return position
    found = _space(text, position)
    return found.end() if found else position


def _string(text: str, start: int) -> tuple[object, int]:
    """The string at a place, and where it ends."""
    if text[start : start + 1] != '"':
        raise ValueError("expected a string")
    return _value(text, start)


def members(text: str, start: int) -> tuple[list[Member], int]:
    """The members of the object or array that starts at a place, in order, and where it ends.

    A `ValueError` says that there is no valid one, a `RecursionError` that something in it nests too deeply.
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
    """The members of the one object or array that a text is, and where it is; None for anything else."""
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
    """A string of a JSON text as it is spelled, without its quotes, and where each character of its value stands."""

    spelling: str

    @cached_property
    def value(self) -> str:
        """The string that it means."""
        return str(_decoder.decode(f'"{self.spelling}"')) if "\\" in self.spelling else self.spelling

    @cached_property
    def _escapes(self) -> tuple[list[int], list[int]]:
        """Where escapes end in the spelling, and where in the value."""
        spelled, meant, excess = [], [], 0
        for match in _ESCAPE.finditer(self.spelling) if "\\" in self.spelling else ():
            excess += match.end() - match.start() - 1
            spelled.append(match.end())
            meant.append(match.end() - excess)
        return spelled, meant

    def spelled(self, position: int) -> int:
        """Where in the spelling a place of the value stands."""
        spelled, meant = self._escapes
        count = bisect_right(meant, position)
        return position + (spelled[count - 1] - meant[count - 1] if count else 0)

    def meant(self, position: int) -> int:
        """The place in the value at which a place of the spelling stands, or the escape that it cuts begins."""
        spelled, meant = self._escapes
        count = bisect_right(spelled, position)
        place = position - (spelled[count - 1] - meant[count - 1] if count else 0)
        return min(place, meant[count] - 1) if count < len(meant) else place
