"""Splits bytes into JSON values, one `JsonRecord` each. The joined records are the original bytes.

orjson decodes most values. Python's own parser decodes what orjson rejects (lone surrogates, NaN, a
byte order mark), and integers of more than 64 bits, which orjson would turn into floats. Two values
glued together on one line by concurrent writers become two records.
"""

import json
import re
from typing import Any, Final

import msgspec
import orjson
from msgspec import Struct

BLANK: Final = object()
"""The value of a line that contains only white space."""

NOT_JSON: Final = object()
"""The value of a line that is not JSON; its record contains the reason."""

MAX_SIZE: Final = 1 << 30
"""Default maximum bytes of a line or document, after decompression."""

BOM: Final = b"\xef\xbb\xbf"
ZIP: Final = b"PK\x03\x04"
_SPACE: Final = " \t\r\n"


def _integer(digits: str) -> int | float:
    """An integer of any length.

    Python refuses more than 4,300 digits; such a value becomes infinity, as it is never used.
    """
    return int(digits) if len(digits) < 4300 else float("inf")


_DIGITS: Final = bytes(ord("0") if chr(code) in "0123456789" else ord(" ") for code in range(256))
_LONG: Final = b"0" * 19
_END_OF_INTEGER: Final = re.compile(rb"[0-9]*+\s*+[,}\]]")
_WINDOW: Final = 1 << 16
_STRIDE: Final = 3
_SAMPLED: Final = b"0" * 6  # 19 digits in a row are at least six of every third byte


def _has_long_integer(data: bytes) -> bool:
    """Whether a JSON text may contain an integer of more than 64 bits.

    A search for digits in a sample of the bytes comes first, for speed.
    """
    for start in range(0, len(data), _WINDOW):
        sample = data[start : start + _WINDOW + len(_LONG) : _STRIDE].translate(_DIGITS)
        first = sample.find(_SAMPLED)
        while first >= 0:
            last = sample.find(b" ", first)
            last = len(sample) if last < 0 else last
            least = max(start, start + (first - 1) * _STRIDE)
            if _has_integer(data, least, start + last * _STRIDE):
                return True
            first = sample.find(_SAMPLED, last)
    return False


def _has_integer(data: bytes, start: int, end: int) -> bool:
    """Whether such an integer may begin between two positions."""
    digits = data[start:end].translate(_DIGITS)
    position = digits.find(_LONG)
    while position >= 0:
        if _is_integer(data, start + position):
            return True
        position = digits.find(b" ", position)
        position = digits.find(_LONG, position) if position >= 0 else -1
    return False


def _is_integer(data: bytes, position: int) -> bool:
    """Whether the digits at a position are an integer, not a part of a text or a fraction, and not
    the rest of digits that were looked at before.
    """
    before = position - 1
    if before >= 0 and data[before] in b"-":
        before -= 1
    while before >= 0 and data[before] in b" \t\n\r\x0b\f":
        before -= 1
    is_value = before >= 0 and data[before] in b":,["
    return is_value and _END_OF_INTEGER.match(data, position) is not None


_decoder: Final = json.JSONDecoder(parse_int=_integer)


class JsonRecord(Struct):
    """One JSON value and its bytes, including the white space around it."""

    data: bytes
    number: int
    value: Any
    problem: str | None = None
    is_glued: bool = False


def split(line: bytes, number: int) -> list[JsonRecord]:
    """The records of one line: one, or several if values are glued together."""
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError:
        return _split_slowly(line, number)
    return (
        _split_slowly(line, number)
        if _has_long_integer(line)
        else [JsonRecord(line, number, value)]
    )


def _split_slowly(line: bytes, number: int) -> list[JsonRecord]:
    """The records of a line that orjson rejects: blank, invalid or glued values, or only valid for
    Python's parser.
    """
    if not line.strip():
        return [JsonRecord(line, number, BLANK)]
    try:
        text = line.decode()
    except UnicodeDecodeError as error:
        reason = f"not UTF-8 at byte {error.start + 1} of the line"
        return [
            JsonRecord(
                line,
                number,
                NOT_JSON,
                "a zip archive: unpack it first" if line.startswith(ZIP) else reason,
            )
        ]
    found: list[JsonRecord] = []
    start = 0
    while start < len(text):
        begin = start + (text[start] == "\ufeff")
        while begin < len(text) and text[begin] in _SPACE:
            begin += 1
        if begin == len(text):  # trailing white space
            found[-1].data += text[start:].encode()
            break
        try:
            value, end = _decoder.raw_decode(text, begin)
            if not isinstance(value, (dict, list)) and (found or text[end:].strip()):
                # a log line that starts with a number
                raise json.JSONDecodeError("extra data", text, end)
        except (ValueError, RecursionError) as error:
            found.append(JsonRecord(text[start:].encode(), number, NOT_JSON, _reason(error, text)))
            break
        found.append(JsonRecord(text[start:end].encode(), number, value))
        start = end
    for record in found:
        record.is_glued = len(found) > 1
    return found


DEEPEST: Final = 500
"""Maximum nesting levels. orjson reads twice as many, but Python's encoder cannot write them."""


def give_up_if_deep(record: JsonRecord) -> None:
    """Replace the value of a record that is nested deeper than `DEEPEST` by a problem."""
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
    record.value, record.problem = NOT_JSON, "nested too deeply to read"


def one_line(data: bytes) -> bytes:
    """A JSON text on one line, without white space between its values, which keep their spelling.

    What is only valid for Python's parser, or for none, keeps the white space inside its lines.
    """
    try:
        return msgspec.json.format(data.removeprefix(BOM), indent=-1)
    except (msgspec.DecodeError, RecursionError):
        return b"".join(line.strip() for line in data.removeprefix(BOM).split(b"\n"))


def dump(value: object) -> str:
    """A value as compact JSON text for counting; never for writing."""
    try:
        return orjson.dumps(value).decode()
    except TypeError:  # lone surrogates, integers of more than 64 bits
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def document(data: bytes) -> JsonRecord | None:
    """A whole file as one record if it is a single JSON value, else None.

    A document that ends or breaks after its first line is a record without a value, with the line
    and the reason. A file with one value per line is not a document.
    """
    try:
        value = orjson.loads(data)
        if not _has_long_integer(data):
            return JsonRecord(data, 1, value)
    except orjson.JSONDecodeError:
        pass
    try:
        return JsonRecord(data, 1, _decoder.decode(data.removeprefix(BOM).decode()))
    except json.JSONDecodeError as error:
        second = (
            data[data.find(b"\n", len(data) - len(data.lstrip())) + 1 :].lstrip().split(b"\n", 1)[0]
        )
        if error.lineno == 1 or not second or split(second, 1)[-1].value is not NOT_JSON:
            return None
        return JsonRecord(data, error.lineno, NOT_JSON, _document_reason(error))
    except (ValueError, RecursionError):
        return None


def value_of(data: bytes) -> Any:
    """The value of a document, or the first value of a line."""
    return (document(data) or split(data, 1)[0]).value


def value_in(text: str) -> Any:
    """The object or array that a string contains as JSON; None for other strings."""
    if text.lstrip()[:1] not in ("[", "{"):
        return None
    try:
        record = document(text.encode())
    except UnicodeEncodeError:
        return None
    if record is not None and text.count("[") + text.count("{") > DEEPEST:
        give_up_if_deep(record)
    return record.value if record and isinstance(record.value, (dict, list)) else None


def _document_reason(error: json.JSONDecodeError) -> str:
    if error.pos >= len(error.doc.rstrip()) or error.msg.startswith("Unterminated string"):
        return "the document ends in the middle of a value"
    return (
        f"the document is not JSON ({error.msg[0].lower()}{error.msg[1:]} at character "
        f"{error.colno})"
    )


def _reason(error: Exception, text: str) -> str:
    if isinstance(error, json.JSONDecodeError):
        if error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string"):
            return "the line ends in the middle of a JSON value"
        return f"not JSON ({error.msg[0].lower()}{error.msg[1:]} at character {error.pos + 1})"
    if isinstance(error, RecursionError):
        return "nested too deeply to read"
    return f"not JSON ({error})"
