"""Measures attachment blocks of OpenAI, Anthropic, Gemini and compatible formats."""

from collections.abc import Callable
from typing import Any

from ctxtrim.formats.media_sources import Block, media_source
from ctxtrim.model import Media, MediaKind, Part, Span
from ctxtrim.text.records import dump
from ctxtrim.tokens.media.headers import byte_size, image_size, media_type, pdf_pages, wav_seconds


def text_block(text: str) -> dict[str, Any]:
    """A text as a block of Chat Completions, Anthropic, MCP and pi."""
    return {"type": "text", "text": text}


def untyped_text(text: str) -> dict[str, Any]:
    """A text as a block without a type, of Gemini, Bedrock's Converse and Qwen-Agent."""
    return {"text": text}


def input_text(text: str) -> dict[str, Any]:
    """A text as a block of the user's, or of an output, in OpenAI's Responses."""
    return {"type": "input_text", "text": text}


def output_text(text: str) -> dict[str, Any]:
    """A text as a block of an answer in OpenAI's Responses."""
    return {"type": "output_text", "text": text}


def block_part(value: Any, span: Span, spell: Callable[[str], Any] = text_block) -> Part:
    """An attachment block; any other block counts as its whole JSON text and is never edited.

    A block of an unknown type may refer to more, such as a file, so its count is an estimate.
    `spell` writes a text that replaces the attachment.
    """
    media = media_of(value) if isinstance(value, dict) else None
    if media is not None:
        return Part("attachment", media=media, block=span, text_block=spell)
    return Part("text", dump(value), block=span, stored=isinstance(value, dict))


def typed_text(value: Any, span: Span) -> Part | None:
    """The text of a block with the type `text`, which can be edited; None for another value."""
    if not isinstance(value, dict) or value.get("type") != "text":
        return None
    text = value.get("text")
    if not isinstance(text, str):
        return None
    return Part("text", text, span=span.inside("text"), block=span)


def text_or_block(value: Any, span: Span) -> Part:
    """The text of a block, which can be edited; a block without one as in `block_part`."""
    text = value.get("text") if isinstance(value, dict) else None
    if isinstance(text, str):
        return Part("text", text, span=span.inside("text"), block=span)
    return block_part(value, span)


def media_of(block: Block) -> Media | None:
    """The attachment in a block; None if there is none, or if it is a text document.

    Never raises. URLs and file ids have no size. A video counts as a file.
    """
    if block.get("type") == "encrypted_content":
        return sealed_media(block.get("encrypted_content"))
    source = media_source(block)
    if source is None:
        return None
    return inline_media(source.data, source.mime, source.kind, source.detail)


def sealed_media(data: object) -> Media:
    """Encrypted content in base64, of OpenAI's reasoning, compactions or other agents' messages."""
    return Media("sealed", size=len(data) * 3 // 4 if isinstance(data, str) else None)


def inline_media(
    data: object, mime: object, kind: MediaKind = "file", detail: object = None
) -> Media:
    """The attachment in base64 data.

    Its kind comes from the media type or the first bytes, else from `kind`.
    """
    level = _detail(detail)
    if not isinstance(data, str):
        return Media(_kind(mime, "") or kind, detail=level)
    kind = _kind(mime if isinstance(mime, str) else media_type(data), data) or kind
    size = byte_size(data)
    if kind == "image":
        width, height = image_size(data) or (None, None)
        return Media(kind, width, height, level, size=size)
    if kind == "audio":
        return Media(kind, seconds=wav_seconds(data), size=size)
    return Media(kind, detail=level, pages=pdf_pages(data) if kind == "pdf" else None, size=size)


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
