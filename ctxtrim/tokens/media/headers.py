"""Facts from the first bytes of an attachment: image sizes, sound lengths, PDF pages.

Every reader takes base64, bare or as a data URL, decodes a small part of it, and returns None for
unusual input. Layouts: PNG (W3C) IHDR, GIF89a logical screen, BMP info header, JPEG (ITU T.81)
frame header, WebP container (RFC 9649), RIFF/WAVE, PDF (ISO 32000-1, 7.5 and 7.7).
"""

import base64
import re
import struct
from collections.abc import Iterator

_STEPS = (4_096, 32_768, 349_528)  # characters of base64; the last are 256 KiB of data
_PDF_CHARACTERS = 8_000_000  # some 6 MB, searched in about 50 ms
_DATA_URL = re.compile(r"data:([^,]{0,200}),", re.IGNORECASE)
_CLEAN = str.maketrans({"-": "+", "_": "/", " ": "", "\t": "", "\r": "", "\n": ""})
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}  # the JPEG markers of frame headers
_ALONE = frozenset((0x01, *range(0xD0, 0xD9)))  # the JPEG markers without a length
_PAGE = re.compile(rb"/Type\s*/Page(?![A-Za-z])")


def image_size(data: str) -> tuple[int, int] | None:
    """Width and height in pixels of a PNG, JPEG, GIF, WebP or BMP; None for other input.

    Only the header is read; for a JPEG, segments within the first 256 KiB.
    """
    for head in _heads(data):
        size = _pixels(head)
        if size is not None:
            return size if min(size) > 0 else None
        if not head.startswith(b"\xff\xd8"):
            return None
    return None


def wav_seconds(data: str) -> float | None:
    """The length of a WAV in seconds, from its header and data size; None for other sounds."""
    for head in _heads(data):
        if head[:4] != b"RIFF" or head[8:12] != b"WAVE":
            return None
        seconds = _wav(head, byte_size(data) or 0)
        if seconds is not None:
            return seconds
    return None


def pdf_pages(data: str) -> int | None:
    """The maximum number of pages of a PDF, from its page objects; None for large or unusual files.

    If page objects may be inside compressed object streams, every stream counts as a page: each
    visible page has at least one stream.
    """
    start = _start(data)
    if start is None or len(data) - start > _PDF_CHARACTERS:
        return None
    document = _decode(data[start:])
    if document is None or b"%PDF-" not in document[:1024]:
        return None
    pages = len(_PAGE.findall(document))
    if b"/ObjStm" in document:
        pages = max(pages, document.count(b"endstream"))
    return pages or None


def byte_size(data: str) -> int | None:
    """The decoded bytes of base64 data, never too few; padding and line breaks may add some.

    None for empty input and for other text: a URL, or a note that replaces removed data.
    """
    start = _start(data)
    if start is None or not _decode(data[start : start + _STEPS[0]]):
        return None
    return (len(data) - start + 3) // 4 * 3


def plain_base64(data: str) -> str | None:
    """The data in the usual alphabet of base64, without line breaks; None if it is not base64."""
    return None if byte_size(data) is None else data.translate(_CLEAN)


def media_type(data: str) -> str | None:
    """The media type in a data URL, in lower case."""
    match = _DATA_URL.match(data)
    return (match[1].split(";")[0].strip().lower() or None) if match else None


def _start(data: str) -> int | None:
    """The start of the base64; None in a data URL of another encoding."""
    match = _DATA_URL.match(data)
    if match is None:
        return 0
    return match.end() if match[1].lower().rstrip().endswith(";base64") else None


def _heads(data: str) -> Iterator[bytes]:
    """Growing beginnings of the data; none if it is not base64."""
    start = _start(data)
    if start is None:
        return
    for step in _STEPS:
        head = _decode(data[start : start + step])
        if head is None:
            return
        yield head
        if start + step >= len(data):
            return


def _decode(text: str) -> bytes | None:
    """The bytes of base64 text, without an incomplete last group."""
    text = text.translate(_CLEAN)
    try:
        return base64.b64decode(text[: len(text) & ~3], validate=True)
    except ValueError:
        return None


def _pixels(head: bytes) -> tuple[int, int] | None:
    try:
        if head.startswith(b"\x89PNG\r\n\x1a\n"):
            return struct.unpack_from(">II", head, 16) if head[12:16] == b"IHDR" else None
        if head.startswith((b"GIF87a", b"GIF89a")):
            return struct.unpack_from("<HH", head, 6)
        if head.startswith(b"BM"):
            return _bmp(head)
        if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
            return _webp(head)
        if head.startswith(b"\xff\xd8"):
            return _jpeg(head)
    except (struct.error, IndexError):  # truncated
        pass
    return None


def _bmp(head: bytes) -> tuple[int, int] | None:
    (length,) = struct.unpack_from("<I", head, 14)
    if length == 12:
        return struct.unpack_from("<HH", head, 18)
    if not 16 <= length <= 124:
        return None
    width, height = struct.unpack_from("<ii", head, 18)
    return width, abs(height)  # negative if rows start at the top


def _webp(head: bytes) -> tuple[int, int] | None:
    kind = head[12:16]
    if kind == b"VP8 " and not head[20] & 1 and head[23:26] == b"\x9d\x01\x2a":
        width, height = struct.unpack_from("<HH", head, 26)
        return width & 0x3FFF, height & 0x3FFF
    if kind == b"VP8L" and head[20] == 0x2F:
        (bits,) = struct.unpack_from("<I", head, 21)
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if kind == b"VP8X" and len(head) >= 30:
        return int.from_bytes(head[24:27], "little") + 1, int.from_bytes(head[27:30], "little") + 1
    return None


def _jpeg(head: bytes) -> tuple[int, int] | None:
    """The size in the first frame header, after any number of segments."""
    position = 2
    while head[position] == 0xFF:
        marker = head[position + 1]
        if marker == 0xFF:  # fill byte
            position += 1
        elif marker in _ALONE:
            position += 2
        elif marker in _FRAMES:
            height, width = struct.unpack_from(">HH", head, position + 5)
            return width, height
        elif marker in (0xD9, 0xDA):  # image data starts, or the file ends
            return 0, 0
        else:
            (length,) = struct.unpack_from(">H", head, position + 2)
            if length < 2:
                return 0, 0
            position += 2 + length
    return 0, 0


def _wav(head: bytes, size: int) -> float | None:
    place, rate = 12, 0
    while place + 8 <= len(head):
        name, length = struct.unpack_from("<4sI", head, place)
        if name == b"fmt ":
            if place + 20 > len(head):
                return None
            (rate,) = struct.unpack_from("<I", head, place + 16)
        elif name == b"data":
            rest = max(0, size - place - 8)
            if not rate:
                return None
            # a streamed file has the size 0 or the maximum
            return (min(length, rest) if length else rest) / rate
        place += 8 + length + length % 2
    return None
