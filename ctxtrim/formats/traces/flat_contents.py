"""Contents of OpenInference with an attribute for each field of a block.

::

    message.contents.0.message_content.text
    message.contents.1.message_content.image.image.url
    message.contents.2.tool_call.function.arguments         a call between other blocks

[Arize-ai/openinference, `spec/multimodal_attributes.md` and `spec/llm_spans.md`]
"""

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from ctxtrim.formats.fields import string
from ctxtrim.formats.media_blocks import inline_media, sealed_media
from ctxtrim.formats.message_parts import call_part
from ctxtrim.formats.traces.attributes import Attribute
from ctxtrim.loading import lazy_pattern
from ctxtrim.model import Media, Part

_FIELD = lazy_pattern(r"contents\.(\d+)\.(?:message_content\.)?(.+)")
_IMAGE, _AUDIO, _FILE = "image.image.url", "audio.audio.url", "file.file.url"
_FILE_ID = "file.file.id"
_ID, _NAME, _ARGUMENTS = "tool_call.id", "tool_call.function.name", "tool_call.function.arguments"
_SIGNATURE = "tool_call.reasoning_signature"
_NAMES = frozenset((
    "type", "text", "id", "signature", "data", "encrypted_content",
    _IMAGE, _AUDIO, "audio.audio.mime_type", "audio.audio.transcript",
    _FILE, _FILE_ID, "file.file.mime_type", "file.file.name",
    _ID, _NAME, _ARGUMENTS, _SIGNATURE,
))  # fmt: skip

_Fields = Mapping[str, Attribute]


def content_parts_of(fields: _Fields) -> Iterator[Part]:
    """The parts of the content in some fields of a message, in order."""
    blocks = _blocks(fields)
    for number in sorted(blocks):
        yield from _parts(blocks[number])


def has_unknown(fields: _Fields) -> bool:
    """Whether a block has a field that is not counted."""
    return any(not _NAMES.issuperset(block) for block in _blocks(fields).values())


def _blocks(fields: _Fields) -> dict[int, dict[str, Attribute]]:
    """The fields of each block, by its number."""
    blocks: dict[int, dict[str, Attribute]] = {}
    for name, attribute in fields.items():
        match = _FIELD.fullmatch(name)
        if match is not None:
            blocks.setdefault(int(match[1]), {})[match[2]] = attribute
    return blocks


def _parts(block: _Fields) -> Iterator[Part]:
    values = {name: attribute.value for name, attribute in block.items()}
    if values.get("type") == "reasoning":
        yield from _reasoning(values)
    elif "text" in block:
        sealed = len(string(values.get("signature")) or "")  # of Gemini
        yield Part("text", str(values["text"]), span=block["text"].span, sealed=sealed)
    if _ID in block or _NAME in block:
        arguments = block.get(_ARGUMENTS)
        yield call(values.get(_ID), values.get(_NAME), arguments, values.get(_SIGNATURE))
    media = _media(values)
    if media is not None:
        yield Part("attachment", media=media)


def _reasoning(values: Mapping[str, Any]) -> Iterator[Part]:
    """Reasoning with its text, or encrypted. The signature of a text is not sent to the model."""
    text = string(values.get("text")) or ""
    sealed = len(string(values.get("data")) or "")
    if not text:
        sealed += len(string(values.get("signature")) or "")
    if text or sealed:
        yield Part("reasoning", text, sealed=sealed)
    if string(values.get("encrypted_content")):  # of OpenAI
        yield Part("reasoning", media=sealed_media(values["encrypted_content"]))


def _media(values: Mapping[str, Any]) -> Media | None:
    """The attachment of a block; None without one."""
    if _IMAGE in values:
        return inline_media(values[_IMAGE], None, "image")
    if _AUDIO in values:
        return inline_media(values[_AUDIO], values.get("audio.audio.mime_type"), "audio")
    if _FILE in values or _FILE_ID in values:
        return inline_media(values.get(_FILE), values.get("file.file.mime_type"), "pdf")
    return None


def call(
    call_id: object, name: object, arguments: Attribute | None, signature: object = None
) -> Part:
    """A call with the attribute of its arguments, and the signature of Gemini's reasoning."""
    value, span = (arguments.value, arguments.span) if arguments else (None, None)
    part = call_part(value, call_id, name, span, None)
    return part if string(signature) is None else replace(part, sealed=len(str(signature)))
