"""The texts of blocks that no other module reads: results as JSON, documents, MCP resources."""

from typing import Any

from ctxtrim.formats.conversion.numbers import json_text
from ctxtrim.formats.fields import elements, members, string
from ctxtrim.formats.media_blocks import media_of, text_block

TEXT_KEYS = ("type", "text", "resource")
"""The members of a block whose text `own_text` returns."""
_SHORT = ("output", "result", "error")  # members whose name says nothing about their text


def own_text(value: dict[str, Any]) -> str | None:
    """The text of a block, or of the MCP resource in it; None if it has none."""
    resource = members(value.get("resource"))
    return string(resource.get("text", value.get("text")))


def has_data(value: dict[str, Any]) -> bool:
    """Whether a block is an MCP resource of bytes."""
    return "blob" in members(value.get("resource"))


def result_text(value: dict[str, Any]) -> str:
    """The text of a result that is an object: its only text, else its JSON."""
    text = own_text(value)
    if text is not None and all(key in TEXT_KEYS for key in value):
        return text
    if value.get("type") == "json" and "json" in value:
        return json_text(value["json"])
    if len(value) == 1:
        key, inner = next(iter(value.items()))
        if key in _SHORT and isinstance(inner, str):
            return inner
    return json_text(value)


def heading(value: dict[str, Any]) -> list[str]:
    """The title, context and address of a document or a search result."""
    values = (value.get("title"), value.get("context"), value.get("source"))
    return [text for text in values if isinstance(text, str) and text]


def document_blocks(value: dict[str, Any]) -> list[dict[str, Any]]:
    """The texts and attachments in a document or a search result, as blocks."""
    source = members(value.get("source"))
    content = value.get("content", source.get("content", source.get("data")))
    if isinstance(content, str):
        return [text_block(content)]
    blocks = map(members, elements(content))
    return [block for block in blocks if _is_readable(block)]


def _is_readable(block: dict[str, Any]) -> bool:
    return isinstance(block.get("text"), str) or media_of(block) is not None
