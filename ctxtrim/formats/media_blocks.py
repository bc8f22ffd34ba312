"""Reads attachment blocks of OpenAI, Anthropic, Gemini and compatible formats."""

from collections.abc import Callable, Mapping
from typing import Any

from ctxtrim.model import Media, MediaKind, Part, Span
from ctxtrim.text.records import dump
from ctxtrim.tokens.media.headers import byte_size, image_size, media_type, pdf_pages, wav_seconds

Block = Mapping[str, Any]


def text_block(text: str) -> dict[str, Any]:
    """A text as a block of Chat Completions, Anthropic, MCP and pi."""
    return {"type": "text", "text": text}


def input_text(text: str) -> dict[str, Any]:
    """A text as a block of the user's, or of an output, in OpenAI's Responses."""
    return {"type": "input_text", "text": text}


def output_text(text: str) -> dict[str, Any]:
    """A text as a block of an answer in OpenAI's Responses."""
    return {"type": "output_text", "text": text}


def block_part(value: Any, span: Span, spell: Callable[[str], Any] = text_block) -> Part:
    """An attachment block; any other block counts as its whole JSON text and is never edited.

    `spell` writes a text that replaces the attachment.
    """
    media = media_of(value) if isinstance(value, dict) else None
    if media is not None:
        return Part("attachment", media=media, block=span, text_block=spell)
    return Part("text", dump(value), block=span)


def media_of(block: Block) -> Media | None:
    """The attachment in a block; None if there is none, or if it is a text document.

    Never raises. URLs and file ids have no size. A video counts as a file.
    """
    kind = block.get("type")
    reader = _READERS.get(kind) if isinstance(kind, str) else None
    return reader(block) if reader else _gemini(block)


def _image_url(block: Block) -> Media:
    """OpenAI: `image_url` is an object with `url` and `detail`, or a URL with `detail` next to it.

    LLaMA-Factory writes the URL under `value`.
    """
    inner = block.get("image_url")
    if isinstance(inner, Mapping):
        return _inline(inner.get("url"), None, "image", inner.get("detail", block.get("detail")))
    return _inline(_first(block, "image_url", "value"), None, "image", block.get("detail"))


def _document_url(block: Block) -> Media:
    """Mistral: `document_url` is a document's URL or data; a PDF unless it shows another type."""
    inner = block.get("document_url")
    url = inner.get("url") if isinstance(inner, Mapping) else inner
    return _inline(
        url if isinstance(url, str) and url[:5].lower() == "data:" else None, None, "pdf"
    )


def _image(block: Block) -> Media:
    """Anthropic's `source`, or the data under `data` (MCP, pi), `image` (inspect) or `url`."""
    source = block.get("source")
    if isinstance(source, Mapping):
        return _inline(source.get("data"), None, "image")
    return _inline(_first(block, "data", "image", "url"), None, "image", block.get("detail"))


def _audio(block: Block) -> Media:
    """OpenAI: `input_audio` with `data` and `format`; or the data under `data` (MCP) or `audio`."""
    inner = block.get("input_audio")
    if isinstance(inner, Mapping):
        return _inline(inner.get("data"), None, "audio")
    return _inline(_first(block, "data", "audio"), None, "audio")


def _file(block: Block) -> Media:
    """OpenAI: `file` with `file_data`, or the same keys in the block (`input_file`).

    A file without data counts as a PDF, the only file type that Chat Completions accepts.
    """
    inner = block.get("file")
    inner = inner if isinstance(inner, Mapping) else block
    data = inner.get("file_data")
    if not isinstance(data, str):
        return Media("pdf", detail=_detail(inner.get("detail")))
    name = inner.get("filename")
    is_pdf = isinstance(name, str) and name.lower().endswith(".pdf")
    return _inline(data, None, "pdf" if is_pdf else "file", inner.get("detail"))


def _document(block: Block) -> Media | None:
    """Anthropic: a PDF unless its source names another type.

    None for a source of text or blocks.
    """
    source = block.get("source")
    if not isinstance(source, Mapping):
        return Media("pdf")
    if source.get("type") in ("text", "content"):
        return None
    return _inline(source.get("data"), source.get("media_type"), "pdf")


def _video(block: Block) -> Media:
    """A video, as a file of unknown size."""
    return Media("file")


def _sealed(block: Block) -> Media:
    """OpenAI: `encrypted_content` in base64, of reasoning, compactions or other
    agents' messages.
    """
    data = block.get("encrypted_content")
    return Media("sealed", size=len(data) * 3 // 4 if isinstance(data, str) else None)


def _generated(block: Block) -> Media:
    """OpenAI: an image made by a built-in tool, in base64 under `result`."""
    return _inline(block.get("result"), None, "image")


def _gemini(block: Block) -> Media | None:
    """Gemini: `inlineData` or `fileData`, in camel or snake case, and the part's resolution."""
    inner = next((block[key] for key in _GEMINI if isinstance(block.get(key), Mapping)), None)
    if inner is None:
        return None
    mime = inner.get("mimeType", inner.get("mime_type"))
    level = block.get("mediaResolution", block.get("media_resolution"))
    level = level.get("level") if isinstance(level, Mapping) else level
    if isinstance(level, str):
        level = level.lower().removeprefix("media_resolution_")
    return _inline(inner.get("data"), mime, "file", level)


_GEMINI = ("inlineData", "inline_data", "fileData", "file_data")
_READERS: dict[str, Callable[[Block], Media | None]] = {
    "image_url": _image_url,
    "document_url": _document_url,
    "input_image": _image_url,
    "computer_screenshot": _image_url,
    "image_generation_call": _generated,
    "image": _image,
    "input_audio": _audio,
    "audio": _audio,
    "file": _file,
    "input_file": _file,
    "document": _document,
    "video": _video,
    "video_url": _video,
    "input_video": _video,
    "encrypted_content": _sealed,
}


def _inline(data: object, mime: object, kind: MediaKind, detail: object = None) -> Media:
    """The attachment in base64 data.

    Its kind comes from the media type or the first bytes, else from `kind`.
    """
    wanted = _detail(detail)
    if not isinstance(data, str):
        return Media(_kind(mime, "") or kind, detail=wanted)
    kind = _kind(mime if isinstance(mime, str) else media_type(data), data) or kind
    size = byte_size(data)
    if kind == "image":
        width, height = image_size(data) or (None, None)
        return Media(kind, width, height, wanted, size=size)
    if kind == "audio":
        return Media(kind, seconds=wav_seconds(data), size=size)
    return Media(kind, detail=wanted, pages=pdf_pages(data) if kind == "pdf" else None, size=size)


def _first(block: Block, *keys: str) -> str | None:
    """The first string under one of the keys."""
    return next((block[key] for key in keys if isinstance(block.get(key), str)), None)


def _kind(mime: object, data: str) -> MediaKind | None:
    mime = mime.strip().lower() if isinstance(mime, str) else ""
    if mime.startswith("image/"):
        return "image"
    if mime.startswith("audio/"):
        return "audio"
    if mime.startswith("application/pdf") or data.startswith("JVBERi0"):  # %PDF-
        return "pdf"
    return "file" if mime.startswith(("text/", "video/")) else None


def _detail(value: object) -> str | None:
    return value.lower() if isinstance(value, str) else None
