"""Splits bytes into JSON values, one `JsonRecord` each. The joined records are the original bytes.

msgspec decodes most values, integers of any length included. Python's own parser decodes what
msgspec rejects (lone surrogates, NaN, a byte order mark). Two values glued together on one line by
concurrent writers become two records.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec
import orjson
from msgspec import Struct

from ctxtrim.errors import too_large

BLANK: Final = object()
"""The value of a line that contains only white space."""

NOT_JSON: Final = object()
"""The value of a line that is not JSON; its record contains the reason."""

MAX_SIZE: Final = 1 << 30
"""Default maximum bytes of a line or document, after decompression."""

BOM: Final = b"\xef\xbb\xbf"
_OTHER_FILES: Final = {
    b"PK\x03\x04": "a zip archive: unpack it first",
    b"BZh": "bzip2 data: unpack it first",
    b"\xfd7zXZ\0": "xz data: unpack it first",
    b"7z\xbc\xaf\x27\x1c": "a 7z archive: unpack it first",
    b"PAR1": "a Parquet file: convert it to JSON lines first",
    b"ARROW1": "an Arrow file: convert it to JSON lines first",
}
"""The first bytes of files of other programs, and the remedies."""
_TAR: Final = b"ustar"
_TAR_START: Final = 257  # of that word in a tar archive
_SPACE: Final = " \t\r\n"
_UTF_16: Final = (b"\xff\xfe", b"\xfe\xff")  # byte order marks
_UTF_32: Final = (b"\xff\xfe\0\0", b"\0\0\xfe\xff")
_NULS: Final = b"\0\0\0"  # between two ASCII characters of UTF-32
_PART: Final = 1 << 20  # bytes of a part of a line
_START: Final = 16  # bytes of a line that show its encoding


def _integer(digits: str) -> int | float:
    """An integer of any length.

    Python refuses more than 4,300 digits; such a value becomes infinity, as it is never used.
    """
    return int(digits) if len(digits) < 4300 else float("inf")


decode: Final = msgspec.json.Decoder().decode
"""The value of the bytes of JSON; one of the errors `REJECTED` for other bytes."""
REJECTED: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)

_decoder: Final = json.JSONDecoder(parse_int=_integer)


class JsonRecord(Struct):
    """One JSON value and its bytes, including the white space around it."""

    data: bytes
    number: int
    value: Any
    problem: str | None = None
    is_glued: bool = False


class LinePart(bytes):
    """A part of a line of more than `limit` bytes, which is passed on but not read."""

    limit = MAX_SIZE
    is_first = True
    is_last = True

    def __reduce__(self) -> tuple[Any, ...]:
        return LinePart, (bytes(self),), vars(self)

    def record(self, number: int) -> JsonRecord:
        """The part as a record; that of the first part says why the line is not read."""
        problem = too_large("the line", self.limit) if self.is_first else None
        return JsonRecord(self, number, NOT_JSON, problem)


def line_parts(
    data: bytes, limit: int, *, begins: bool = True, ends: bool = True
) -> Iterator[LinePart]:
    """The parts of a line, or of some bytes of it: whether the line begins and ends with them."""
    for start in range(0, len(data), _PART):
        part = LinePart(data[start : start + _PART])
        part.limit = limit
        part.is_first = begins and start == 0
        part.is_last = ends and start + _PART >= len(data)
        yield part


def is_blank(line: bytes) -> bool:
    """Whether a line contains only white space."""
    if line.startswith(BOM):
        line = line[len(BOM) :]
    return not line or line.isspace()  # `strip` would copy a document


def split(line: bytes, number: int) -> list[JsonRecord]:
    """The records of one line: one, or several if values are glued together."""
    try:
        return [JsonRecord(line, number, decode(line))]
    except REJECTED:
        return _split_slowly(line, number)


def decoded_again(records: Iterable[JsonRecord]) -> Iterator[JsonRecord]:
    """Some records, their values decoded once more: a first reading takes elements out of lists."""
    for record in records:
        record.value = split(record.data, record.number)[0].value
        yield record


def _split_slowly(line: bytes, number: int) -> list[JsonRecord]:
    """The records of a line that msgspec rejects: blank, invalid or glued values, or only valid for
    Python's parser.
    """
    if is_blank(line):
        return [JsonRecord(line, number, BLANK)]
    try:
        text = line.decode()
    except UnicodeDecodeError as error:
        return [JsonRecord(line, number, NOT_JSON, _not_text(line, number, error))]
    records: list[JsonRecord] = []
    start = 0
    while start < len(text):
        begin = start + (text[start] == "\ufeff")
        while begin < len(text) and text[begin] in _SPACE:
            begin += 1
        if begin == len(text):  # trailing white space
            records[-1].data += text[start:].encode()
            break
        try:
            value, end = _decoder.raw_decode(text, begin)
            if not isinstance(value, (dict, list)) and (records or text[end:].strip()):
                # a log line that starts with a number
                raise json.JSONDecodeError("extra data", text, end)
        except (ValueError, RecursionError) as error:
            problem = _reason(error, text, number)
            records.append(JsonRecord(text[start:].encode(), number, NOT_JSON, problem))
            break
        records.append(JsonRecord(text[start:end].encode(), number, value))
        start = end
    for record in records:
        record.is_glued = len(records) > 1
    return records


DEEPEST: Final = 500
"""Maximum nesting levels. orjson reads twice as many, but Python's encoder cannot write them."""


def shallow(record: JsonRecord) -> JsonRecord:
    """The record; its value is replaced by a problem if it is nested deeper than `DEEPEST`."""
    level = [record.value]
    for _ in range(DEEPEST):
        level = [
            inner
            for value in level
            if isinstance(value, (dict, list))
            for inner in (value.values() if isinstance(value, dict) else value)
        ]
        if not level:
            return record
    record.value, record.problem = NOT_JSON, "nested too deeply to read"
    return record


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
        return JsonRecord(data, 1, decode(data))
    except REJECTED:
        pass
    try:
        return JsonRecord(data, 1, _decoder.decode(data.removeprefix(BOM).decode()))
    except json.JSONDecodeError as error:
        second = _second_line(data)
        if error.lineno == 1 or not second or split(second, 1)[-1].value is not NOT_JSON:
            return None
        return JsonRecord(data, error.lineno, NOT_JSON, _document_reason(error))
    except (ValueError, RecursionError):
        return None


def value_of(data: bytes) -> Any:
    """The value of a document, or the first value of a line."""
    return (document(data) or split(data, 1)[0]).value


def parsed(text: str) -> Any:
    """The value of a JSON text, also if only Python's parser accepts it.

    Raises a `ValueError` if it is not JSON, and a `RecursionError` if it is nested too deeply.
    """
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return json.loads(text)


def _second_line(data: bytes) -> bytes:
    """The second line that is not blank; the first if there is no other."""
    start = len(data) - len(data.lstrip())
    rest = data[data.find(b"\n", start) + 1 :]
    return rest.lstrip().split(b"\n", 1)[0]


def value_in(text: str) -> Any:
    """The object or array that a string contains as JSON; None for other strings."""
    if text.lstrip()[:1] not in ("[", "{"):
        return None
    try:
        record = document(text.encode())
    except UnicodeEncodeError:
        return None
    if record is not None and text.count("[") + text.count("{") > DEEPEST:
        shallow(record)
    return record.value if record and isinstance(record.value, (dict, list)) else None


def _not_text(line: bytes, number: int, error: UnicodeDecodeError) -> str:
    """Why a line is not UTF-8."""
    return _other_kind(line, number) or f"not UTF-8 at byte {error.start + 1} of the line"


def _other_kind(line: bytes, number: int) -> str | None:
    """What the file is instead of UTF-8, and the remedy, if this is its first line and shows it.

    A later line says nothing about the file: the remedy would spoil the lines before it.
    """
    if number > 1:
        return None
    for magic, remedy in _OTHER_FILES.items():
        if line.startswith(magic):
            return remedy
    if line.startswith(_TAR, _TAR_START):
        return "a tar archive: unpack it first"
    start = line[:_START]
    if start.startswith(_UTF_32) or _NULS in start.strip(b"\0"):
        name = "utf-32"
    elif start.startswith(_UTF_16) or _has_every_other_nul(start):
        name = "utf-16"
    else:
        return None
    return f"the file is {name.upper()}; convert it with iconv -f {name} -t utf-8"


def _has_every_other_nul(start: bytes) -> bool:
    """Whether every other byte is NUL, as in UTF-16, and the bytes between are not."""
    odd, even = set(start[1::2]), set(start[::2])
    return (odd == {0} and 0 not in even) or (even == {0} and 0 not in odd)


def _is_cut_off(error: json.JSONDecodeError) -> bool:
    """Whether a text ends in the middle of a value."""
    is_at_end = error.pos >= len(error.doc.rstrip())
    return is_at_end or error.msg.startswith("Unterminated string")


def _document_reason(error: json.JSONDecodeError) -> str:
    if _is_cut_off(error):
        return "the document ends in the middle of a value"
    return (
        f"the document is not JSON ({error.msg[0].lower()}{error.msg[1:]} at character "
        f"{error.colno})"
    )


def _reason(error: Exception, text: str, number: int) -> str:
    if "\0" in text and (problem := _other_kind(text.encode(), number)):
        return problem
    if isinstance(error, json.JSONDecodeError):
        if _is_cut_off(error):
            return "the line ends in the middle of a JSON value"
        return f"not JSON ({error.msg[0].lower()}{error.msg[1:]} at character {error.pos + 1})"
    if isinstance(error, RecursionError):
        return "nested too deeply to read"
    return f"not JSON ({error})"
