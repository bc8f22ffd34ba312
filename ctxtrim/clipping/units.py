"""Units of text limits: lines, characters, bytes."""

from collections.abc import Callable
from dataclasses import dataclass

from ctxtrim.text.graphemes import cut_after, cut_before


@dataclass(frozen=True)
class TextUnit:
    """A unit of text: the size of a range, the end of its first units, and the start of its last
    units.

    All functions take the text and the start and end of the range. Grapheme clusters are never cut.
    """

    size: Callable[[str, int, int], int]
    head: Callable[[str, int, int, int], int]
    tail: Callable[[str, int, int, int], int]


def _lines(text: str, start: int, end: int) -> int:
    return text.count("\n", start, end) + (start < end and text[end - 1] != "\n")


def _first_lines(text: str, start: int, end: int, count: int) -> int:
    for _ in range(count):
        start = text.find("\n", start, end) + 1 or end
    return start


def _last_lines(text: str, start: int, end: int, count: int) -> int:
    for _ in range(count):
        end = max(text.rfind("\n", start, max(end - 1, start)) + 1, start)
    return end


def _first_characters(text: str, start: int, end: int, count: int) -> int:
    return max(cut_before(text, min(start + count, end)), start)


def _last_characters(text: str, start: int, end: int, count: int) -> int:
    return min(cut_after(text, max(end - count, start)), end)


def _bytes(text: str, start: int, end: int) -> int:
    return len(text[start:end].encode("utf-8", "surrogatepass"))


def _first_bytes(text: str, start: int, end: int, count: int) -> int:
    data = text[start : min(end, start + count)].encode("utf-8", "surrogatepass")
    while count < len(data) and _continues(data[count]):
        count -= 1
    return _first_characters(text, start, end, len(data[:count].decode("utf-8", "surrogatepass")))


def _last_bytes(text: str, start: int, end: int, count: int) -> int:
    data = text[max(start, end - count) : end].encode("utf-8", "surrogatepass")
    first = max(len(data) - count, 0)
    while first < len(data) and _continues(data[first]):
        first += 1
    return _last_characters(text, start, end, len(data[first:].decode("utf-8", "surrogatepass")))


def _continues(byte: int) -> bool:
    """Whether a byte of UTF-8 is not the first of its character."""
    return byte & 0xC0 == 0x80


LINES = TextUnit(_lines, _first_lines, _last_lines)
CHARACTERS = TextUnit(lambda text, start, end: end - start, _first_characters, _last_characters)
BYTES = TextUnit(_bytes, _first_bytes, _last_bytes)
