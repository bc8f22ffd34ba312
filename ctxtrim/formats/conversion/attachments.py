"""Attachments without a provider: media type, and base64 data, a URL or a file id."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

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
_ALIASES = {"image/jpg": "image/jpeg", "image/pjpeg": "image/jpeg", "image/x-png": "image/png"}
_SUFFIXES = {
    "png": "image/png",
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "gif": "image/gif",
    "webp": "image/webp",
    "heic": "image/heic",
    "heif": "image/heif",
    "bmp": "image/bmp",
    "svg": "image/svg+xml",
    "tif": "image/tiff",
    "tiff": "image/tiff",
    "avif": "image/avif",
    "pdf": "application/pdf",
    "mp3": "audio/mp3",
    "wav": "audio/wav",
    "mp4": "video/mp4",
}
_NOUNS = {"image": "image", "audio": "sound", "pdf": "document", "sealed": "encrypted text"}
_SOUND_KEYS = {"id", "data", "transcript", "expires_at"}  # of an answer of Chat Completions
_LONGEST = 80  # characters of a URL in a description
_GOOGLE = ("gs://", "https://generativelanguage.googleapis.com/")
_WEB = ("https://", "http://")

Provider = Literal["openai", "anthropic", "gemini"]
WEB_IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")
"""The types of images that OpenAI and Anthropic accept."""


class Attachment(Struct, frozen=True):
    """An attachment: one of `data` (base64, without a prefix), `url` and `file_id`.

    `mime` is None for a URL that does not show its type. `provider`: the provider that stores the
    file; None for data and for URLs of others.
    """

    kind: MediaKind
    mime: str | None
    data: str | None = None
    url: str | None = None
    file_id: str | None = None
    name: str | None = None
    detail: str | None = None
    provider: Provider | None = None

    @property
    def data_url(self) -> str:
        """The URL; a data URL for base64 data, empty for a file id."""
        if self.data is not None:
            return f"data:{self.mime};base64,{self.data}"
        return self.url or ""

    @property
    def is_public(self) -> bool:
        """Whether it is a URL that any provider can fetch."""
        return self.url is not None and self.provider is None and self.url.startswith(_WEB)

    def is_file_of(self, provider: Provider) -> bool:
        """Whether it is the id of a file that a provider stores."""
        return self.file_id is not None and self.provider == provider

    def has_type(self, types: Sequence[str]) -> bool:
        """Whether its type is among `types`, or unknown."""
        return self.mime is None or self.mime in types

    @property
    def file_name(self) -> str:
        """The name of a PDF as a file."""
        name = self.name or "document"
        return name if name.lower().endswith(".pdf") else f"{name}.pdf"

    @property
    def noun(self) -> str:
        """The kind of the attachment as a noun."""
        return noun_of(self.kind)

    @property
    def description(self) -> str:
        """The attachment in a few words."""
        phrase = "an image" if self.noun == "image" else f"a {self.noun}"
        if self.data is not None:
            return f"{phrase} of type {self.mime}"
        if self.url is not None:
            return f"{phrase} at {self.url[:_LONGEST]}"
        return f"{phrase} with a file id of {self.provider}"


def noun_of(kind: MediaKind) -> str:
    """The kind of an attachment as a noun."""
    return _NOUNS.get(kind, "file")


def attachment_of(value: Any, media: Media) -> Attachment | None:
    """The attachment in a block, or in a string with its data or URL; None without either.

    `media` is the attachment as measured.
    """
    source = MediaSource(media.kind, value) if isinstance(value, str) else None
    if isinstance(value, Mapping):
        is_spoken = _SOUND_KEYS.issuperset(value)
        source = _spoken_answer(value) if is_spoken else media_source(value)
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
    url = url if isinstance(url, str) else None
    mime = _mime(mime, data, url, media.kind)
    name = source.name if isinstance(source.name, str) else None
    attachment = Attachment(media.kind, mime, name=name, detail=media.detail)
    if data:
        return replace(attachment, data=data)
    provider: Provider | None
    if url:
        provider = "gemini" if url.startswith(_GOOGLE) else None
        return replace(attachment, url=url, provider=provider)
    if not isinstance(source.file_id, str) or not source.file_id:
        return None
    provider = "anthropic" if "source" in value else "openai"
    return replace(attachment, file_id=source.file_id, provider=provider)


def _spoken_answer(value: Mapping[str, Any]) -> MediaSource:
    """A spoken answer: by its id, else its data. OpenAI takes back only the id."""
    name = value.get("id")
    return MediaSource("audio", None if name else value.get("data"), file_id=name)


def _mime(source_type: object, data: str | None, url: str | None, kind: MediaKind) -> str | None:
    """The media type: that of the first bytes, else the one in the source, else that of the suffix
    of the URL, else the usual one for data of this kind.
    """
    start = data[:24] if data else ""
    mime = next((name for head, name in _STARTS.items() if start.startswith(head)), None)
    if mime is None and start.startswith("UklGR"):
        mime = _WEBP if kind == "image" else _WAV
    if mime is not None:
        return mime
    if isinstance(source_type, str) and "/" in source_type.strip("/"):
        mime = source_type.strip().lower()
        return _ALIASES.get(mime, mime)
    if data is None:
        return None if url is None else _SUFFIXES.get(_suffix(url))
    return _DEFAULTS.get(kind, "application/octet-stream")


def _suffix(url: str) -> str:
    """The suffix of the path of a URL, in small letters."""
    path = url.partition("?")[0].partition("#")[0]
    return path.rpartition("/")[2].rpartition(".")[2].lower()
