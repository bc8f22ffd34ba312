"""Bytes to JSON values, one `Record` each, such that the records joined are the bytes again.

orjson decodes what it can; what it refuses and Python's own parser takes (lone surrogates, NaN, a byte order mark)
goes there, and so do integers of more than 64 bits, which orjson would turn into floats. Two values glued on one line,
left by concurrent writers, become two records.
"""

import json
import re
from dataclasses import dataclass
from typing import Any, Final

import orjson

BLANK: Final = object()
"""The value of a line with nothing but white space on it."""

NOT_JSON: Final = object()
"""The value of a line that is no JSON; its record says why."""

MAX_SIZE: Final = 1 << 30
"""Bytes that a line or a document may have by default, after decompression."""

BOM: Final = b"\xef\xbb\xbf"
ZIP: Final = b"PK\x03\x04"
_SPACE: Final = " \t\r\n"


def _integer(digits: str) -> int | float:
    """An integer of any length: beyond 4,300 digits Python refuses, and nobody here needs the value."""
    return int(digits) if len(digits) < 4300 else float("inf")


_DIGITS: Final = bytes(ord("0") if chr(code) in "0123456789" else ord(" ") for code in range(256))
_LONG: Final = b"0" * 19
_INTEGER: Final = re.compile(rb"[:,\[]\s*-?[0-9]{19,}\s*[,}\]]")
_WINDOW: Final = 1 << 20


def _has_long_integer(data: bytes) -> bool:
    """Whether some JSON may have an integer of more than 64 bits. Searching for digits alone is fast."""
    starts = range(0, len(data), _WINDOW)
    if not any(_LONG in data[start : start + _WINDOW + len(_LONG)].translate(_DIGITS) for start in starts):
        return False
    return _INTEGER.search(data) is not None


_decoder: Final = json.JSONDecoder(parse_int=_integer)


@dataclass(slots=True)
class Record:
    """One JSON value and the bytes that spell it, with the white space around it."""

    data: bytes
    number: int
    value: Any
    problem: str | None = None
    is_glued: bool = False


def split(line: bytes, number: int) -> list[Record]:
    """The records of one line: one, or several where values are glued together."""
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError:
        return _split_slowly(line, number)
    return _split_slowly(line, number) if _has_long_integer(line) else [Record(line, number, value)]


def _split_slowly(line: bytes, number: int) -> list[Record]:
    """What orjson refuses: blank lines, values only Python's parser takes, glued values, and broken ones."""
    if not line.strip():
        return [Record(line, number, BLANK)]
    try:
        text = line.decode()
    except UnicodeDecodeError as error:
        reason = f"not UTF-8 at byte {error.start + 1} of the line"
        return [Record(line, number, NOT_JSON, "a zip archive: unpack it first" if line.startswith(ZIP) else reason)]
    found: list[Record] = []
    start = 0
    while start < len(text):
        begin = start + (text[start] == "\ufeff")
        while begin < len(text) and text[begin] in _SPACE:
            begin += 1
        if begin == len(text):  # white space after the last value
            found[-1].data += text[start:].encode()
            break
        try:
            value, end = _decoder.raw_decode(text, begin)
            if not isinstance(value, (dict, list)) and (found or text[end:].strip()):
                raise json.JSONDecodeError("extra data", text, end)  # a log line that starts with a number
        except (ValueError, RecursionError) as error:
            found.append(Record(text[start:].encode(), number, NOT_JSON, _reason(error, text)))
            break
        found.append(Record(text[start:end].encode(), number, value))
        start = end
    for record in found:
        record.is_glued = len(found) > 1
    return found


DEEPEST: Final = 500
"""Levels of nesting that are read; orjson takes twice as many, but nothing can spell them again."""


def give_up_if_deep(record: Record) -> None:
    """Take the value from a record that is nested deeper than `DEEPEST`, and say so."""
    level = [record.value]
    for _ in range(DEEPEST):
        level = [
            inner
            for value in level
            if isinstance(value, (dict, list))
            for inner in (value.values() if isinstance(value, dict) else value)
        ]
        if not level:
            return
    record.value, record.problem = NOT_JSON, "nested too deeply to be read"


def dump(value: object) -> str:
    """A value as compact JSON text, for what the model reads as JSON; never for writing."""
    try:
        return orjson.dumps(value).decode()
    except TypeError:  # lone surrogates, integers of more than 64 bits
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def document(data: bytes) -> Record | None:
    """A whole file as one record where it is a single JSON value, else None.

    A document that breaks off, or breaks, after its first line is a record without value that says where; a file whose
    lines are values of their own is none.
    """
    try:
        value = orjson.loads(data)
        if not _has_long_integer(data):
            return Record(data, 1, value)
    except orjson.JSONDecodeError:
        pass
    try:
        return Record(data, 1, _decoder.decode(data.removeprefix(BOM).decode()))
    except json.JSONDecodeError as error:
        second = data[data.find(b"\n", len(data) - len(data.lstrip())) + 1 :].lstrip().split(b"\n", 1)[0]
        if error.lineno == 1 or not second or split(second, 1)[-1].value is not NOT_JSON:
            return None
        return Record(data, error.lineno, NOT_JSON, _document_reason(error))
    except (ValueError, RecursionError):
        return None


def _document_reason(error: json.JSONDecodeError) -> str:
    if error.pos >= len(error.doc.rstrip()) or error.msg.startswith("Unterminated string"):
        return "the document ends in the middle of a value"
    return f"the document is no JSON ({error.msg[0].lower()}{error.msg[1:]} at character {error.colno})"


def _reason(error: Exception, text: str) -> str:
    if isinstance(error, json.JSONDecodeError):
        if error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string"):
            return "the line ends in the middle of a JSON value"
        return f"not JSON ({error.msg[0].lower()}{error.msg[1:]} at character {error.pos + 1})"
    if isinstance(error, RecursionError):
        return "nested too deeply to be read"
    return f"not JSON ({error})"
