"""Blocks of Chat Completions and compatible APIs besides texts."""

from typing import Any

from ctxtrim.formats.fields import members, string
from ctxtrim.formats.media_blocks import block_part, input_text, text_block, untyped_text
from ctxtrim.model import Part, PartKind, Span
from ctxtrim.text.records import dump

_REASONING = ("reasoning", "text", "think")  # of inspect, the AI SDK and Kimi CLI
_AGENTDOJO: dict[str | None, PartKind] = {"text": "text", "thinking": "reasoning"}
"""Kinds of blocks with their text under `content`, as AgentDojo writes them.

[ethz-spylab/agentdojo, `types.py`]
"""


def part_of(block: Any, span: Span) -> Part:
    """A refusal, reasoning, a call of the AI SDK or an attachment; other blocks as their JSON."""
    value = members(block)
    if "type" not in value:
        return _untyped(block, span)
    kind = value["type"]
    part_kind = _AGENTDOJO.get(string(kind))  # a malformed type is no key
    if part_kind is not None and isinstance(value.get("content"), str):
        return Part(part_kind, value["content"], span=span.inside("content"), block=span)
    if kind == "tool-call":
        from ctxtrim.formats.openai.ai_sdk import call  # for its messages only

        return call(block, span)
    if kind == "document":
        return _document(block, span)
    if kind == "refusal" and isinstance(block.get("refusal"), str):
        return Part("text", block["refusal"], span=span.inside("refusal"), block=span)
    if kind in ("reasoning", "think"):
        for key in _REASONING:
            if isinstance(block.get(key), str):
                return Part("reasoning", block[key], span=span.inside(key), block=span)
    if kind == "thinking" and isinstance(block.get("thinking"), list):
        return _thinking(block["thinking"], span)
    return block_part(block, span, input_text if kind == "input_image" else text_block)


def _untyped(block: Any, span: Span) -> Part:
    """A text of Qwen-Agent, which is alone in its block; another block as in `block_part`."""
    text = members(block).get("text")
    if isinstance(text, str) and not any(value for key, value in block.items() if key != "text"):
        return Part("text", text, span=span.inside("text"), block=span)
    return block_part(block, span, untyped_text)


def _document(block: dict[str, Any], span: Span) -> Part:
    """The data of a Cohere document, a text or an object; another block as in `block_part`."""
    data = members(block.get("document")).get("data")
    if isinstance(data, str):
        return Part("text", data, span=span.inside("document", "data"), block=span)
    return Part("text", dump(data), block=span) if data else block_part(block, span)


def _thinking(chunks: list[Any], span: Span) -> Part:
    """The texts of a reasoning block of Mistral; only a single one can be edited. Chunks that cite
    sources count as their JSON.

    [mistralai/client-ts, `ThinkChunk`]
    """
    texts = [string(members(chunk).get("text")) for chunk in chunks]
    text = "".join(
        dump(chunk) if text is None else text for chunk, text in zip(chunks, texts, strict=True)
    )
    place = span.inside("thinking", 0, "text") if len(texts) == 1 and texts[0] is not None else None
    return Part("reasoning", text, span=place, block=span)
