"""Where the values of a JSON text stand: nothing is parsed but to find out where it ends."""

import json
import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property

from ctxtrim.clipping.markers import Range

_decoder = json.JSONDecoder(parse_int=str, parse_float=str)  # only spans matter, not numbers
_value = _decoder.raw_decode
_space = re.compile(r"[ \t\r\n]*").match
_ESCAPE = re.compile(r"\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|u....|.)", re.DOTALL)

Member = tuple[int, int, int]
"""Where a member of an object begins (its key), where its value does, and where both end; the same for elements."""


def skip(text: str, position: int) -> int:
    """The first place from a position on where there is no space."""
    if text[position : position + 1] > " ":
        return position
    found = _space(text, position)
    return found.end() if found else position


def scan(text: str) -> Range | None:
    """Where the one object or array of a text stands, None where the text is anything else or nests too deeply."""
    start = skip(text, 0)
    if text[start : start + 1] not in ("[", "{"):
        return None
    try:
        end = _decoder.raw_decode(text, start)[1]
    except (ValueError, RecursionError):
        return None
    return (start, end) if skip(text, end) == len(text) else None


def members(text: str, start: int) -> list[Member]:
    """The members of the container that starts at a place of a valid JSON text, in order."""
    is_object = text[start] == "{"
    found: list[Member] = []
    position = skip(text, start + 1)
    while text[position] not in "]}":
        begin = position
        if is_object:
            after = _value(text, position)[1]
            position = skip(text, skip(text, after) + 1)
        end = _value(text, position)[1]
        found.append((begin, position, end))
        position = skip(text, end)
        if text[position] == ",":
            position = skip(text, position + 1)
    return found


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
