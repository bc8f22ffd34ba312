"""Finds the data of attachment blocks of OpenAI, Anthropic, Gemini and compatible formats."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ctxtrim.model import MediaKind

Block = Mapping[str, Any]


class MediaSource(NamedTuple):
    """The data of an attachment as its block contains it.

    `kind` applies unless the media type or the first bytes of the data show another. `data` is
    base64, a data URL, or a URL in a field that may contain either; `url` is a URL in a field for
    URLs alone. Values of other types than strings mean that there is none.
    """

    kind: MediaKind
    data: object = None
    mime: object = None
    detail: object = None
    url: object = None
    file_id: object = None
    name: object = None


def media_source(block: Block) -> MediaSource | None:
    """The data of an attachment block; None if there is none, or if it is a text document.

    Never raises.
    """
    kind = block.get("type")
    reader = _READERS.get(kind) if isinstance(kind, str) else None
    return reader(block) if reader else _gemini(block) or _untyped(block)


def _image_url(block: Block) -> MediaSource:
    """OpenAI: `image_url` is an object with `url` and `detail`, or a URL with `detail` next to it.

    LLaMA-Factory writes the URL under `value`.
    """
    inner, file_id = block.get("image_url"), block.get("file_id")
    if isinstance(inner, Mapping):
        detail = inner.get("detail", block.get("detail"))
        return MediaSource("image", inner.get("url"), detail=detail, file_id=file_id)
    url = _first(block, "image_url", "value")
    return MediaSource("image", url, detail=block.get("detail"), file_id=file_id)


def _image_file(block: Block) -> MediaSource:
    """OpenAI's Assistants: `image_file` is an object with `file_id` and `detail`."""
    inner = block.get("image_file")
    inner = inner if isinstance(inner, Mapping) else block
    return MediaSource("image", detail=inner.get("detail"), file_id=inner.get("file_id"))


def _document_url(block: Block) -> MediaSource:
    """Mistral: `document_url`, Z.ai: `file_url`; a URL or data, of a PDF unless it shows another
    type.
    """
    inner = block.get("document_url", block.get("file_url"))
    url = inner.get("url") if isinstance(inner, Mapping) else inner
    if isinstance(url, str) and url[:5].lower() == "data:":
        return MediaSource("pdf", url)
    return MediaSource("pdf", url=url)


def _image(block: Block) -> MediaSource:
    """Anthropic's `source`, or data under `data` (MCP, pi), `image` (inspect, AI SDK), `base64`
    (LangChain) or `url`.
    """
    source = block.get("source")
    if isinstance(source, Mapping):
        return _anthropic(source, "image")
    data = _first(block, "data", "image", "base64", "url")
    return MediaSource("image", data, _first(block, *_MIMES), block.get("detail"))


def _anthropic(source: Mapping[str, Any], kind: MediaKind, name: object = None) -> MediaSource:
    """The `source` of an Anthropic block: `base64`, `url` or `file`."""
    return MediaSource(
        kind,
        source.get("data"),
        source.get("media_type"),
        url=source.get("url"),
        file_id=source.get("file_id"),
        name=name,
    )


def _audio(block: Block) -> MediaSource:
    """OpenAI: `input_audio` with `data` and `format`; or the data under `data` (MCP), `audio` or
    `base64` (LangChain).
    """
    inner = block.get("input_audio")
    if isinstance(inner, Mapping):
        return MediaSource("audio", inner.get("data"), f"audio/{inner.get('format', '')}")
    return MediaSource("audio", _first(block, "data", "audio", "base64"), _first(block, *_MIMES))


def _audio_url(block: Block) -> MediaSource:
    """Kimi: `audio_url` or `audioUrl` is an object with `url`, or the URL."""
    inner = block.get("audio_url", block.get("audioUrl"))
    return MediaSource("audio", inner.get("url") if isinstance(inner, Mapping) else inner)


def _file(block: Block) -> MediaSource:
    """OpenAI: `file` with `file_data`, or the same keys in the block (`input_file`).

    A file without data counts as a PDF, the only file type that Chat Completions accepts.
    """
    inner = block.get("file")
    inner = inner if isinstance(inner, Mapping) else block
    data, name, detail = inner.get("file_data"), inner.get("filename"), inner.get("detail")
    is_pdf = isinstance(name, str) and name.lower().endswith(".pdf")
    if isinstance(data, str):
        return MediaSource("pdf" if is_pdf else "file", data, detail=detail, name=name)
    mime, data = _first(block, *_MIMES), block.get("data", block.get("base64"))
    if mime is not None and ("data" in block or data is not None):  # the AI SDK, LangChain
        return MediaSource("file", data, mime, name=name)
    if isinstance(block.get("mime"), str):  # opencode 1, and results of opencode 2
        data = block.get("url", block.get("uri"))
        return MediaSource("file", data, block["mime"], name=name or block.get("name"))
    url, file_id = inner.get("file_url"), inner.get("file_id")
    return MediaSource("pdf", detail=detail, url=url, file_id=file_id, name=name)


def _in_result(block: Block) -> MediaSource:
    """The AI SDK: a file in a result, as data, URL or id; LangChain: a file for Gemini.

    One without data counts as a PDF.
    """
    kind: MediaKind = "file" if "data" in block else "pdf"
    if block["type"].startswith("image"):
        kind = "image"
    data, mime, url = block.get("data"), _first(block, *_MIMES), _first(block, "url", "file_uri")
    file_id, name = block.get("fileId"), block.get("filename")
    return MediaSource(kind, data, mime, url=url, file_id=file_id, name=name)


def _document(block: Block) -> MediaSource | None:
    """Anthropic: a PDF unless its source names another type.

    None for a source of text or blocks, and for Cohere's documents, which are texts or objects.
    """
    source = block.get("source")
    if not isinstance(source, Mapping):
        return None if "document" in block else MediaSource("pdf")
    if source.get("type") in ("text", "content"):
        return None
    return _anthropic(source, "pdf", block.get("title"))


def _video(block: Block) -> MediaSource:
    """A video, as a file of unknown size."""
    return MediaSource("file")


def _generated(block: Block) -> MediaSource:
    """OpenAI: an image made by a built-in tool, in base64 under `result`."""
    return MediaSource("image", block.get("result"))


def _gemini(block: Block) -> MediaSource | None:
    """Gemini: `inlineData` or `fileData`, in camel or snake case, and the part's resolution."""
    inner = next((block[key] for key in _GEMINI if isinstance(block.get(key), Mapping)), None)
    if inner is None:
        return None
    mime = inner.get("mimeType", inner.get("mime_type"))
    level = block.get("mediaResolution", block.get("media_resolution"))
    level = level.get("level") if isinstance(level, Mapping) else level
    if isinstance(level, str):
        level = level.lower().removeprefix("media_resolution_")
    url = inner.get("fileUri", inner.get("file_uri"))
    name = inner.get("displayName", inner.get("display_name"))
    return MediaSource("file", inner.get("data"), mime, level, url, name=name)


def _untyped(block: Block) -> MediaSource | None:
    """Qwen-Agent and DashScope: `{"image" | "audio" | "video"}`, also with the size of its frames.

    [QwenLM/Qwen-Agent, `ContentItem` in `qwen_agent/llm/schema.py`]
    """
    keys = {key for key, value in block.items() if value is not None} - _FRAMES
    key = next(iter(keys)) if len(keys) == 1 else ""
    is_media = key in ("image", "audio", "video") and isinstance(block[key], (str, list))
    return _READERS[key](block) if is_media else None


_MIMES = ("mediaType", "mimeType", "mime_type")
_GEMINI = ("inlineData", "inline_data", "fileData", "file_data")
_FRAMES = frozenset((
    "min_pixels", "max_pixels", "resized_height", "resized_width", "fps", "nframes",
))  # fmt: skip
_READERS: dict[str, Callable[[Block], MediaSource | None]] = {
    "image_url": _image_url,
    "image_file": _image_file,
    "document_url": _document_url,
    "file_url": _document_url,
    "input_image": _image_url,
    "computer_screenshot": _image_url,
    "image_generation_call": _generated,
    "image": _image,
    "input_audio": _audio,
    "audio": _audio,
    "audio_url": _audio_url,
    "file": _file,
    "input_file": _file,
    "document": _document,
    "video": _video,
    "video_url": _video,
    "input_video": _video,
    "image-data": _in_result,
    "image-url": _in_result,
    "image-file-id": _in_result,
    "file-data": _in_result,
    "file-url": _in_result,
    "file-id": _in_result,
    "media": _in_result,
}


def _first(block: Block, *keys: str) -> str | None:
    """The first string under one of the keys."""
    return next((block[key] for key in keys if isinstance(block.get(key), str)), None)
