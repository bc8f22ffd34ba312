"""Attachments without a provider: media type, and base64 data, a URL or a file id."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from ctxtrim.formats.media_sources import MediaSource, media_source
from ctxtrim.model import Media, MediaKind
from ctxtrim.tokens.media.headers import media_type, plain_base64

# the first characters of base64 data, by media type
_STARTS = {
    "iVBORw0KGgo": "image/png",
    "/9j/": "image/jpeg",
    "R0lGOD": "image/gif",
    "JVBERi0": "application/pdf",
    "SUQz": "audio/mp3",
}
_WEBP, _WAV = "image/webp", "audio/wav"
_DEFAULTS = {"image": "image/png", "pdf": "application/pdf", "audio": "audio/wav"}


class Attachment(Struct, frozen=True):
    """An attachment: one of `data` (base64, without a prefix), `url` and `file_id`."""

    kind: MediaKind
    mime: str
    data: str | None = None
    url: str | None = None
    file_id: str | None = None
    name: str | None = None
    detail: str | None = None

    @property
    def data_url(self) -> str:
        """The URL; a data URL for base64 data, empty for a file id."""
        if self.data is not None:
            return f"data:{self.mime};base64,{self.data}"
        return self.url or ""

    @property
    def what(self) -> str:
        """The kind of the attachment as a noun."""
        return _NOUNS.get(self.kind, "file")


_NOUNS = {"image": "image", "audio": "sound", "pdf": "document", "sealed": "encrypted text"}


def attachment_of(value: Any, media: Media) -> Attachment | None:
    """The attachment in a block, or in a string with its data or URL; None without either.

    `media` is the attachment as measured.
    """
    source = MediaSource(media.kind, value) if isinstance(value, str) else None
    if isinstance(value, Mapping):
        source = media_source(value)
    if source is None:
        return None
    data, url, mime = source.data, source.url, source.mime
    if isinstance(data, str) and data[:5].lower() == "data:":
        mime = media_type(data) or mime
        head, _, data = data.partition(",")
        data = data if head.lower().rstrip().endswith(";base64") else None
    elif isinstance(data, str) and "://" in data[:16]:
        data, url = None, data
    data = plain_base64(data) if isinstance(data, str) else None
    mime = _mime(mime, data, media.kind)
    file_id = source.file_id if isinstance(source.file_id, str) else None
    common = {"name": source.name if isinstance(source.name, str) else None, "detail": media.detail}
    if data:
        return Attachment(media.kind, mime, data=data, **common)
    if isinstance(url, str) and url:
        return Attachment(media.kind, mime, url=url, **common)
    return Attachment(media.kind, mime, file_id=file_id, **common) if file_id else None


def _mime(written: object, data: str | None, kind: MediaKind) -> str:
    """The media type: of the first bytes, else as written, else the usual one of its kind."""
    start = data[:24] if data else ""
    found = next((mime for head, mime in _STARTS.items() if start.startswith(head)), None)
    if found is None and start.startswith("UklGR"):
        found = _WEBP if kind == "image" else _WAV
    if found is not None:
        return found
    if isinstance(written, str) and "/" in written.strip("/"):
        return written.strip().lower()
    return _DEFAULTS.get(kind, "application/octet-stream")
