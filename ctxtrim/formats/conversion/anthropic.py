"""Anthropic Messages: `{"model", "system"?, "messages", "tools"?}`.

Results come first in the user message after their calls. Thinking needs Anthropic's signature. A
request with calls needs tools, so tools without a schema get an empty one.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from ctxtrim.formats.anthropic.blocks import server_links
from ctxtrim.formats.anthropic.detect import is_dated
from ctxtrim.formats.conversion.arguments import object_of
from ctxtrim.formats.conversion.attachments import WEB_IMAGES, Attachment
from ctxtrim.formats.conversion.losses import Losses
from ctxtrim.formats.conversion.pieces import Piece, content_blocks, content_of
from ctxtrim.formats.conversion.target import CallResult, Dialogue, Target, Turn
from ctxtrim.formats.conversion.tools import EMPTY, Tool
from ctxtrim.formats.fields import members, string
from ctxtrim.model import Role
from ctxtrim.stages.repair import ANSWER

_NATIVE = (
    "document", "container_upload", "search_result", "tool_reference", "fallback",
    "mcp_tool_listing", "browser_state",
)  # fmt: skip
_SERVER_TOOLS = ("_tool_use", "_tool_result")
"""The ends of the types of blocks of tools that Anthropic runs."""
_INVALID = re.compile(r"[^a-zA-Z0-9_-]")


def write(dialogue: Dialogue, losses: Losses) -> dict[str, Any]:
    """The request of a dialogue."""
    request: dict[str, Any] = {} if dialogue.model is None else {"model": dialogue.model}
    system = content_blocks(dialogue.system)
    if system:
        request["system"] = content_of(system)
    request["messages"] = _messages(dialogue.turns, losses)
    tools = [*map(_tool, dialogue.tools), *dialogue.native_tools]
    names = _called_names(dialogue.turns)
    if names and not tools:
        losses.change("tool schema", f"an empty schema is inserted for {', '.join(names)}")
        tools = [_tool(Tool(name, EMPTY)) for name in names]
    return request | ({"tools": tools} if tools else {})


def _messages(turns: Iterable[Turn], losses: Losses) -> list[dict[str, Any]]:
    """The messages; results and the user texts after them share a message."""
    messages: list[tuple[str, list[dict[str, Any]]]] = []
    for turn in turns:
        role = "assistant" if turn.role == "assistant" else "user"
        if turn.role == "tool":
            blocks = list(_results(turn.results, losses))
        elif turn.role == "assistant":
            blocks = list(_answer(turn, losses))
        else:
            blocks = content_blocks(turn.pieces)
        if messages and messages[-1][0] == role:
            messages[-1][1].extend(blocks)
        else:
            messages.append((role, blocks))
    return [{"role": role, "content": content_of(blocks)} for role, blocks in messages]


def _answer(turn: Turn, losses: Losses) -> Iterator[dict[str, Any]]:
    """The blocks of an answer."""
    for piece in turn.pieces:
        if piece.kind == "call":
            arguments = object_of(piece, turn.message, losses)
            use = {"type": "tool_use", "id": piece.call_id, "name": piece.name, "input": arguments}
            yield use | dict(piece.members)
        else:
            yield from content_blocks([piece])


def _results(answers: Iterable[CallResult], losses: Losses) -> Iterator[dict[str, Any]]:
    """The results, then the images and files of errors.

    The API refuses an error with other blocks than texts, and one without a text.
    """
    attachments: list[dict[str, Any]] = []
    for answer in answers:
        blocks = content_blocks(answer.pieces)
        if answer.is_error:
            others = [block for block in blocks if block["type"] != "text"]
            if others:
                what = "the attachment of an error is after the results"
                losses.change("attachment", what, answer.message)
                attachments += others
            blocks = _error(answer, losses)
        result: dict[str, Any] = {"type": "tool_result", "tool_use_id": answer.call.call_id}
        result |= {"content": content_of(blocks)} if blocks else {}
        result |= {} if answer.is_error is None else {"is_error": answer.is_error}
        yield result | dict(answer.members)
    yield from attachments


def _error(answer: CallResult, losses: Losses) -> list[dict[str, Any]]:
    """The texts of an error, at least one."""
    texts = [piece for piece in answer.pieces if piece.kind == "text" and piece.text.strip()]
    if not texts:
        losses.change(
            "result", "an error has no text; one is inserted that says so", answer.message
        )
        texts = [Piece("text", ANSWER)]
    return content_blocks(texts)


def _attachment(attachment: Attachment, role: Role) -> dict[str, Any] | None:
    """An image or a PDF; None if the API does not accept it."""
    if role not in ("user", "tool"):
        return None
    source = _source(attachment)
    if source is None:
        return None
    if attachment.kind == "image":
        return {"type": "image", "source": source} if attachment.has_type(WEB_IMAGES) else None
    if attachment.kind != "pdf":
        return None
    title = {"title": attachment.name} if attachment.name else {}
    return {"type": "document", "source": source, **title}


def _source(attachment: Attachment) -> dict[str, Any] | None:
    """The source of an image or a PDF; the API fetches only https."""
    if attachment.data is not None:
        return {"type": "base64", "media_type": attachment.mime, "data": attachment.data}
    if attachment.is_file_of("anthropic"):
        return {"type": "file", "file_id": attachment.file_id}
    if not attachment.is_public or not attachment.data_url.startswith("https://"):
        return None
    return {"type": "url", "url": attachment.url}


def _thinking(piece: Piece) -> dict[str, Any] | None:
    """Thinking with Anthropic's signature."""
    value = members(piece.value)
    if value.get("type") == "redacted_thinking":
        return {"type": "redacted_thinking", "data": value.get("data", "")}
    signature = value.get("signature") if value.get("type") == "thinking" else None
    if not isinstance(signature, str) or not signature:
        return None
    return {"type": "thinking", "thinking": piece.text, "signature": signature}


def _tool(tool: Tool) -> dict[str, Any]:
    return {**tool.head, "input_schema": tool.schema, **tool.members}


def _called_names(turns: Iterable[Turn]) -> list[str]:
    """The names of the tools that are called."""
    calls = (piece for turn in turns for piece in turn.pieces if piece.kind == "call")
    return list(dict.fromkeys(call.name for call in calls))


def _is_native(value: Any) -> bool:
    kind = string(members(value).get("type")) or ""
    return kind in _NATIVE or kind.endswith(_SERVER_TOOLS)


TARGET = Target(
    "anthropic",
    write,
    reasoning=_thinking,
    attachment=_attachment,
    is_native=_is_native,
    is_native_tool=lambda tool: is_dated(tool) or tool.get("type") == "mcp_toolset",
    invalid_name=_INVALID,
    links=server_links,
    invalid_id=_INVALID,
    alternates=True,
    calls_last=True,
    is_blank=lambda text: not text.strip(),
    flags_errors=True,
    has_mcp_servers=True,
    members=("cache_control", "citations", "context", "toolset_name", "caller"),
    tool_members=(
        "cache_control",
        "strict",
        "defer_loading",
        "input_examples",
        "allowed_callers",
        "eager_input_streaming",
    ),
)
