"""Media: sizes from headers, and blocks of every format."""

import base64
import json
import struct
from collections.abc import Callable
from typing import Any

import pytest
from depth import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxtrim.formats.media_blocks import media_of
from ctxtrim.model import Media
from ctxtrim.tokens.media.headers import byte_size, image_size, pdf_pages, wav_seconds
from ctxtrim.tokens.media.policies import POLICIES


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def png(width: int, height: int) -> bytes:
    return b"\x89PNG\r\n\x1a\n" + struct.pack(
        ">I4sIIBBBBB", 13, b"IHDR", width, height, 8, 6, 0, 0, 0
    )


def gif(width: int, height: int) -> bytes:
    return b"GIF89a" + struct.pack("<HHBBB", width, height, 0xF0, 0, 0)


def bmp(width: int, height: int) -> bytes:
    return b"BM" + struct.pack("<IHHIIiiHH", 0, 0, 0, 54, 40, width, height, 1, 24)


def old_bmp(width: int, height: int) -> bytes:
    return b"BM" + struct.pack("<IHHIIHHHH", 0, 0, 0, 26, 12, width, height, 1, 24)


def webp(kind: bytes, body: bytes) -> bytes:
    return (
        b"RIFF"
        + struct.pack("<I", 12 + len(body))
        + b"WEBP"
        + kind
        + struct.pack("<I", len(body))
        + body
    )


def vp8(width: int, height: int) -> bytes:
    return webp(
        b"VP8 ", b"\x10\x02\x00\x9d\x01\x2a" + struct.pack("<HH", width | 0x4000, height | 0x8000)
    )


def vp8l(width: int, height: int) -> bytes:
    return webp(b"VP8L", b"\x2f" + struct.pack("<I", (width - 1) | (height - 1) << 14))


def vp8x(width: int, height: int) -> bytes:
    sides = (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    return webp(b"VP8X", b"\x10\0\0\0" + sides)


def segment(marker: int, body: bytes) -> bytes:
    return struct.pack(">BBH", 0xFF, marker, len(body) + 2) + body


def jpeg(width: int, height: int, frame: int = 0xC0, before: bytes = b"") -> bytes:
    start = segment(frame, struct.pack(">BHHB", 8, height, width, 3) + b"\1\x22\0" * 3)
    return b"\xff\xd8" + before + start + segment(0xDA, b"\3" + b"\1\0" * 3 + b"\0\x3f\0")


def progressive(width: int, height: int) -> bytes:
    return jpeg(
        width,
        height,
        0xC2,
        segment(0xE0, b"JFIF\0\1\1\0\0\1\0\1\0\0") + segment(0xDB, b"\0" + b"\1" * 64),
    )


def with_exif(width: int, height: int) -> bytes:
    """A thumbnail inside the EXIF block has its own frame, and fills 60 kB."""
    thumbnail = jpeg(160, 120) + b"\0" * 60_000
    return jpeg(
        width,
        height,
        before=segment(0xE1, b"Exif\0\0" + thumbnail) + b"\xff\xff" + segment(0xC4, b"\0" * 20),
    )


HEADERS: list[Callable[[int, int], bytes]] = [
    png, gif, bmp, old_bmp, vp8, vp8l, vp8x, jpeg, progressive, with_exif,
]  # fmt: skip


@pytest.mark.parametrize("header", HEADERS, ids=lambda header: header.__name__)
@given(width=st.integers(1, 16_000), height=st.integers(1, 16_000), rest=st.binary(max_size=40))
@settings(max_examples=examples(20))
def test_every_kind_of_header_gives_its_size(
    header: Callable[[int, int], bytes], width: int, height: int, rest: bytes
) -> None:
    data = b64(header(width, height) + rest + b"\0\0")
    assert image_size(data) == (width, height)
    assert image_size("data:image/any;base64," + data) == (width, height)
    assert image_size("DATA:image/any;charset=x;BASE64," + data.rstrip("=")) == (width, height)
    assert image_size(
        "\r\n".join(data[position : position + 76] for position in range(0, len(data), 76))
    ) == (width, height)
    assert image_size(data.replace("+", "-").replace("/", "_")) == (width, height)


@pytest.mark.parametrize("header", HEADERS, ids=lambda header: header.__name__)
def test_a_header_that_ends_too_soon_has_no_size(header: Callable[[int, int], bytes]) -> None:
    whole = header(640, 480)
    seen = {image_size(b64(whole[:length])) for length in range(min(len(whole), 200))}
    assert seen <= {None, (640, 480)}
    assert image_size(b64(whole[:9])) is None


def test_a_top_down_bitmap_has_a_height() -> None:
    assert image_size(b64(bmp(640, -480))) == (640, 480)


@pytest.mark.parametrize(
    "data",
    [
        "", "=", "====", "a", "data:", "data:,", "data:image/png;base64,",
        "https://example.com/a.png", "\ud800", "data:image/svg+xml,<svg width='9' height='9'/>",
        b64(b"<svg/>"), b64(png(0, 9)), b64(gif(9, 0)), b64(b"\xff\xd8\xff\xda" + b"\0" * 99),
        b64(b"\xff\xd8\xff\xe0\0\0" + b"\0" * 99), b64(jpeg(9, 0)),
        b64(b"\xff\xd8" + segment(0xFE, b"\0" * 60_000) * 5 + jpeg(9, 9)[2:]), "!" + b64(png(9, 9)),
        b64(bmp(-9, 9)),
    ],
)  # fmt: skip
def test_an_odd_header_has_no_size(data: str) -> None:
    assert image_size(data) is None


def test_an_image_is_never_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    decode = base64.b64decode

    def watched(text: str, validate: bool) -> bytes:
        seen.append(len(text))
        return decode(text, validate=validate)

    monkeypatch.setattr(base64, "b64decode", watched)
    data = b64(png(800, 600) + b"\0" * 3_000_000)
    assert image_size(data) == (800, 600)
    assert sum(seen) <= 4_096
    seen.clear()
    assert image_size(b64(b"\xff\xd8" + segment(0xFE, b"\0" * 60_000) * 99)) is None
    assert max(seen) <= 349_528


@given(
    st.binary(max_size=200)
    | st.sampled_from(HEADERS).flatmap(lambda kind: st.binary().map(kind(9, 9)[:30].__add__))
)
def test_no_bytes_raise(data: bytes) -> None:
    text = b64(data)
    assert image_size(text) is None or min(image_size(text) or ()) > 0
    assert wav_seconds(text) is None
    assert pdf_pages(text) is None
    assert byte_size(text) in (range(len(data), len(data) + 3) if data else [None])


@given(st.text())
def test_no_text_raises(text: str) -> None:
    for data in (text, "data:" + text, "data:image/png;base64," + text):
        image_size(data), wav_seconds(data), pdf_pages(data), byte_size(data)


def wav(
    seconds: float, rate: int = 16_000, declared: int | None = None, before: bytes = b""
) -> bytes:
    data = b"\0" * int(seconds * rate * 2)
    form = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, rate, rate * 2, 2, 16)
    length = len(data) if declared is None else declared
    return b"RIFF\0\0\0\0WAVE" + form + before + struct.pack("<4sI", b"data", length) + data


def test_a_wav_file_gives_its_duration() -> None:
    assert wav_seconds(b64(wav(2.5))) == 2.5
    assert wav_seconds(b64(wav(2.5, before=struct.pack("<4sI", b"LIST", 5) + b"\0" * 6))) == 2.5
    for unknown in (0, 0xFFFFFFFF):
        assert wav_seconds(b64(wav(2.5, declared=unknown))) == pytest.approx(2.5, abs=0.001)
    assert wav_seconds(b64(wav(1, rate=0, declared=9) + b"\0" * 99)) is None
    assert wav_seconds(b64(b"ID3\4" + b"\0" * 99)) is None


def pdf(pages: int, tail: bytes = b"") -> bytes:
    tree = b"1 0 obj <</Type /Pages /Count %d>> endobj " % pages
    page = b"obj <</Type/Page /Parent 1 0 R>> endobj stream endstream "
    return b"%PDF-1.7\n" + tree + page * pages + tail


def test_a_pdf_gives_its_visible_page_count() -> None:
    assert pdf_pages(b64(pdf(3))) == 3
    assert pdf_pages(b64(pdf(0))) is None
    assert pdf_pages(b64(b"no PDF /Type /Page")) is None
    hidden = b"<</Type /ObjStm>> stream endstream " + b"stream endstream " * 4
    assert pdf_pages(b64(pdf(0, hidden))) == 5  # no page can be missing
    assert pdf_pages(b64(pdf(3) + b"\0" * 7_000_000)) is None
    for other in ("JVBERi0xLjQ!", "https://docs.example/a.pdf"):
        assert pdf_pages(other) is None


PICTURE = b64(png(640, 480))
PICTURE_SIZE = byte_size(PICTURE)
URL = "data:image/png;base64," + PICTURE
PAPER = b64(pdf(2))
SOUND = b64(wav(1.5))


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        (
            {"type": "image_url", "image_url": {"url": URL, "detail": "Low"}},
            ("image", 640, 480, "low"),
        ),
        ({"type": "image_url", "image_url": URL}, ("image", 640, 480, None)),
        (
            {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}},
            ("image", None, None, None),
        ),
        (
            {"type": "input_image", "image_url": URL, "detail": "original"},
            ("image", 640, 480, "original"),
        ),
        (
            {"type": "input_image", "image_url": None, "file_id": "file-1"},
            ("image", None, None, None),
        ),
        (
            {
                "type": "image",
                "source": {"type": "base64", "media_type": "image/png", "data": PICTURE},
            },
            ("image", 640, 480, None),
        ),
        (
            {"type": "image", "source": {"type": "url", "url": "https://example.com"}},
            ("image", None, None, None),
        ),
        ({"type": "image", "data": PICTURE, "mimeType": "image/png"}, ("image", 640, 480, None)),
        ({"type": "image", "base64": PICTURE, "mime_type": "image/png"}, ("image", 640, 480, None)),
        ({"type": "image", "image": URL, "detail": "high"}, ("image", 640, 480, "high")),
        ({"inlineData": {"mimeType": "image/png", "data": PICTURE}}, ("image", 640, 480, None)),
        (
            {
                "inline_data": {"mime_type": "image/png", "data": PICTURE},
                "mediaResolution": {"level": "MEDIA_RESOLUTION_ULTRA_HIGH"},
            },
            ("image", 640, 480, "ultra_high"),
        ),
        (
            {"fileData": {"mimeType": "image/png", "fileUri": "gs://a/b"}},
            ("image", None, None, None),
        ),
        ({"type": "image", "url": URL}, ("image", 640, 480, None)),
        ({"type": "image_url", "value": URL}, ("image", 640, 480, None)),
        (
            {"type": "image_url", "image_url": {"url": "<base64-data-removed>"}},
            ("image", None, None, None),
        ),
        ({"type": "image_url"}, ("image", None, None, None)),
        (
            {"type": "media", "mime_type": "image/png", "data": PICTURE},
            ("image", 640, 480, None),
        ),
        ({"type": "image", "source": 7, "data": [1]}, ("image", None, None, None)),
    ],
)
def test_images_are_read_from_every_format(
    block: dict[str, Any], expected: tuple[object, ...]
) -> None:
    media = media_of(block)
    assert media is not None
    assert (media.kind, media.width, media.height, media.detail) == expected
    assert media.size == (PICTURE_SIZE if media.width else None)


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        (
            {"type": "input_audio", "input_audio": {"data": SOUND, "format": "wav"}},
            ("audio", 1.5, None),
        ),
        (
            {"type": "input_audio", "input_audio": {"data": b64(b"ID3\4"), "format": "mp3"}},
            ("audio", None, None),
        ),
        ({"inlineData": {"mimeType": "audio/wav", "data": SOUND}}, ("audio", 1.5, None)),
        ({"type": "audio", "base64": SOUND, "mime_type": "audio/wav"}, ("audio", 1.5, None)),
        (
            {"type": "file", "file": {"file_data": "data:application/pdf;base64," + PAPER}},
            ("pdf", None, 2),
        ),
        ({"type": "file", "file": {"filename": "a.PDF", "file_data": PAPER}}, ("pdf", None, 2)),
        ({"type": "file", "file": {"file_id": "file-1"}}, ("pdf", None, None)),
        ({"type": "input_file", "file_data": PAPER}, ("pdf", None, 2)),
        (
            {"type": "file", "file": {"file_data": "data:text/csv;base64,YSxi"}},
            ("file", None, None),
        ),
        ({"type": "document", "source": {"type": "base64", "data": PAPER}}, ("pdf", None, 2)),
        (
            {"type": "document", "source": {"type": "url", "url": "https://example.com"}},
            ("pdf", None, None),
        ),
        ({"inlineData": {"mimeType": "application/pdf", "data": PAPER}}, ("pdf", None, 2)),
        ({"type": "file", "base64": PAPER, "mime_type": "application/pdf"}, ("pdf", None, 2)),
        ({"inlineData": {"mimeType": "video/mp4", "data": "AAAA"}}, ("file", None, None)),
        ({"type": "video_url", "video_url": {"url": "https://example.com"}}, ("file", None, None)),
        (
            {"type": "audio_url", "audio_url": {"url": f"data:audio/wav;base64,{SOUND}"}},
            ("audio", 1.5, None),
        ),
        ({"type": "audio_url", "audio_url": "https://example.com/a.wav"}, ("audio", None, None)),
        (
            {"type": "audio_url", "audioUrl": {"url": "https://example.com/a.wav"}},
            ("audio", None, None),
        ),
        ({"type": "encrypted_content", "encrypted_content": "gAAA"}, ("sealed", None, None)),
        ({"type": "image_generation_call", "result": None}, ("image", None, None)),
        (
            {"type": "file-data", "data": PAPER, "mediaType": "application/pdf"},
            ("pdf", None, 2),
        ),
        ({"type": "file-data", "data": "YSxi", "mediaType": "text/csv"}, ("file", None, None)),
        ({"type": "media", "data": SOUND, "mediaType": "audio/wav"}, ("audio", 1.5, None)),
        ({"type": "media", "data": SOUND, "mime_type": "audio/wav"}, ("audio", 1.5, None)),
        (
            {"type": "media", "mime_type": "image/png", "file_uri": "gs://pier/a.png"},
            ("image", None, None),
        ),
        ({"type": "image-url", "url": "https://example.com"}, ("image", None, None)),
        ({"type": "image-file-id", "fileId": "file-1"}, ("image", None, None)),
        ({"type": "file-url", "url": "https://example.com"}, ("pdf", None, None)),
    ],
)
def test_other_attachments_are_read(block: dict[str, Any], expected: tuple[object, ...]) -> None:
    media = media_of(block)
    assert media is not None
    assert (media.kind, media.seconds, media.pages) == expected


@pytest.mark.parametrize(
    "data", ["AAAA", "/9j/", "iVBO", "REDACTED", "omitted", "IMAGE_DATA", b64(b"no picture at all")]
)
def test_data_that_is_no_image_costs_the_maximum(data: str) -> None:
    """A note or a few bytes replace the data in many logs; the image that was sent is unknown."""
    for block in (
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}},
        {"inlineData": {"mimeType": "image/png", "data": data}},
    ):
        media = media_of(block)
        assert media is not None
        for policy in POLICIES.values():
            assert policy.tokens(media) == policy.tokens(Media("image"))


def test_an_image_of_unknown_size_costs_the_maximum() -> None:
    for url in (
        "https://example.com/a.png",
        "data:image/avif;base64," + b64(bytes(100)),
        "data:image/png;base64,",
    ):
        media = media_of({"type": "image_url", "image_url": {"url": url}})
        assert media is not None
        assert POLICIES["unknown"].tokens(media) == POLICIES["unknown"].image_most


def test_a_removed_image_costs_the_maximum() -> None:
    for data in ("", "[removed]", "data:audio/mp3;base64,<removed>"):
        media = media_of({"type": "input_audio", "input_audio": {"data": data, "format": "mp3"}})
        assert media == Media("audio")


@pytest.mark.parametrize(
    "block",
    [
        {}, {"type": "text", "text": "a"}, {"type": ["image"]}, {"inlineData": "a"},
        {"type": "document",
         "source": {"type": "text", "media_type": "text/plain", "data": "words"}},
        {"type": "document", "source": {"type": "content", "content": []}},
    ],
)  # fmt: skip
def test_other_blocks_are_not_attachments(block: dict[str, Any]) -> None:
    assert media_of(block) is None


NAMES = [
    "type",
    "image_url",
    "url",
    "detail",
    "source",
    "data",
    "file",
    "file_data",
    "filename",
    "input_audio",
]
VALUES = st.recursive(
    st.none()
    | st.integers()
    | st.text(max_size=9)
    | st.sampled_from([URL, PAPER, SOUND, "image", "file", "document"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from([*NAMES, "inlineData"]), inner)
    ),
)


KINDS = [
    "image",
    "image_url",
    "input_audio",
    "file",
    "document",
    "encrypted_content",
    "image_generation_call",
    "image-data",
    "odd",
]


@given(st.sampled_from(KINDS), VALUES)
def test_no_block_raises(kind: str, value: Any) -> None:
    block = {"type": kind, **(value if isinstance(value, dict) else {kind: value})}
    for each in (block, {**block, "type": kind}, json.loads(json.dumps(block))):
        media = media_of(each)
        for policy in POLICIES.values():
            assert media is None or policy.tokens(media) >= 0


@pytest.mark.parametrize("as_object", [False, True])
def test_a_document_in_a_data_url_is_media_and_not_text(as_object: bool) -> None:
    """Mistral: `document_url` is the URL, or an object with it; Z.ai: `file_url`."""
    url = "data:application/pdf;base64," + b64(b"%PDF-1.4\n1 0 obj << /Type /Page >> endobj\n")
    media = media_of({"type": "document_url", "document_url": {"url": url} if as_object else url})
    assert media is not None
    assert (media.kind, media.pages) == ("pdf", 1)
    assert media_of({"type": "file_url", "file_url": {"url": url} if as_object else url}) == media
    assert media_of({"type": "document_url", "document_url": "https://x.test/a.pdf"}) == Media(
        "pdf"
    )
