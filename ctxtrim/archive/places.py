"""The places of tool results in stored JSON lines, so that no text is stored twice.

A place is a list of offsets in bytes. The first is the offset of a JSON string; each further offset
is that of a JSON string in the text of the string before it (a result that is itself JSON, as in
Codex).
"""

import json
import re
from collections.abc import Iterator

_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
# Without its end, a string reaches to the end of the bytes: the search must not start again at each
# quotation mark inside it.
_STRING_OR_REST = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)', re.DOTALL)
_SHORTEST = 48  # bytes of the shortest JSON string to search for: shorter texts are stored again
_DEEPEST = 3


def places(data: bytes, texts: set[str]) -> dict[str, list[int]]:
    """The place of each text that is a JSON string in `data`.

    Takes time in proportion to `data`.
    """
    by_text: dict[str, list[int]] = {}
    for place, text in _strings(data, 1):
        if text in texts:
            by_text.setdefault(text, place)
    return by_text


def literal(text: str) -> bytes:
    """The JSON string of a text."""
    return json.dumps(text).encode()


def text_at(data: bytes, place: list[int]) -> str:
    """The text at a place; a `ValueError` if there is no JSON string."""
    for start in place:
        string = _STRING.match(data, start)
        if string is None:
            raise ValueError("no JSON string here")
        text = _decoded(string[0])
        data = text.encode("utf-8", "surrogatepass")
    return text


def _strings(data: bytes, depth: int) -> Iterator[tuple[list[int], str]]:
    """The long JSON strings in some bytes, and those in texts that look like JSON objects."""
    for string in _STRING_OR_REST.finditer(data):
        start, end = string.span()
        if end - start < _SHORTEST:
            continue
        try:
            text = _decoded(string[0])
        except ValueError:
            continue
        yield [start], text
        if depth < _DEEPEST and text.startswith("{"):
            for place, inner in _strings(text.encode("utf-8", "surrogatepass"), depth + 1):
                yield [start, *place], inner


def _decoded(string: bytes) -> str:
    return str(json.loads(string.decode("utf-8", "surrogatepass")))
