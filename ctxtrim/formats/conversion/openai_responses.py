"""OpenAI Responses: `{"model", "instructions"?, "input", "tools"?}`.

The first system message becomes `instructions` if it is one text. Reasoning needs OpenAI's
encrypted content. A call whose arguments are not a JSON object is a custom tool call, and listed.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from msgspec.structs import replace

from ctxtrim.formats.conversion.arguments import is_object
from ctxtrim.formats.conversion.attachments import WEB_IMAGES, Attachment
from ctxtrim.formats.conversion.losses import Losses
from ctxtrim.formats.conversion.pieces import Piece, content_blocks, content_of
from ctxtrim.formats.conversion.target import CallResult, Dialogue, Target, Turn
from ctxtrim.formats.conversion.tools import Tool
from ctxtrim.formats.fields import elements, members, string
from ctxtrim.formats.media_blocks import input_text, output_text
from ctxtrim.formats.openai.item_parts import approval_links, program_links
from ctxtrim.model import Message, Role, ServerLink

_WITH_ID = (
    "web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call",
    "mcp_call", "mcp_list_tools", "mcp_approval_request", "program", "program_output",
)  # fmt: skip
"""Items that the API refuses without an `id`, as old rollouts of Codex have them
[openai/codex#6926].
"""
_NATIVE = (
    "compaction", "compaction_summary", "context_compaction", "tool_search_call",
    "tool_search_output", "mcp_approval_response",
)  # fmt: skip
_APPROVALS = ("mcp_approval_request", "mcp_approval_response")
_NATIVE_TOOLS = (
    "web_search", "web_search_preview", "file_search", "code_interpreter", "image_generation",
    "mcp", "computer", "computer_use_preview", "local_shell", "shell", "apply_patch",
    "tool_search", "programmatic_tool_calling",
)  # fmt: skip
_DATE = re.compile(r"_\d{4}_\d{2}_\d{2}$")
"""The date of a version of such a tool; those of Anthropic have no `_` in it."""
_PRIVATE = "internal_chat_message_metadata_passthrough"
"""A member of items that only the backend of Codex accepts."""


def write(dialogue: Dialogue, losses: Losses) -> dict[str, Any]:
    """The request of a dialogue."""
    request: dict[str, Any] = {} if dialogue.model is None else {"model": dialogue.model}
    turns = list(dialogue.turns)
    first = turns[0]
    is_instruction = first.role == "system" and not first.is_developer
    if is_instruction and [piece.kind for piece in first.pieces] == ["text"]:
        request["instructions"] = turns.pop(0).pieces[0].text
    request["input"] = [item for turn in turns for item in _items(turn, losses)]
    tools = [*_tools(dialogue.tools), *dialogue.native_tools]
    return request | ({"tools": tools} if tools else {})


def _items(turn: Turn, losses: Losses) -> Iterator[dict[str, Any]]:
    """The items of a turn: runs of texts and attachments as messages, all others alone."""
    for answer in turn.results:
        yield _output(answer)
    for (is_content, phase), pieces in groupby(turn.pieces, _kind):
        if is_content:
            spell = output_text if turn.role == "assistant" else input_text
            content = content_blocks(map(_without_phase, pieces), spell)
            role = "developer" if turn.is_developer else turn.role
            message_members = {"phase": phase} if phase else turn.members
            yield {"type": "message", "role": role, **message_members, "content": content}
        else:
            for piece in pieces:
                if piece.kind == "call":
                    yield _call(piece, turn.message, losses)
                else:
                    yield _public(piece.value)


def _kind(piece: Piece) -> tuple[bool, Any]:
    """Whether a piece belongs in a message, and the phase of its text."""
    return piece.kind in ("text", "attachment"), piece.members.get("phase")


def _without_phase(piece: Piece) -> Piece:
    others = {key: value for key, value in piece.members.items() if key != "phase"}
    return replace(piece, members=others)


def _call(piece: Piece, message: Message | None, losses: Losses) -> dict[str, Any]:
    if piece.value is not None:
        return _with_id(piece.value, piece)
    item = {"call_id": piece.call_id, "name": piece.name, **piece.members}
    if not is_object(piece):
        if not piece.is_custom:
            what = f"the arguments of {piece.name} are not a JSON object; the call is custom now"
            losses.change("call type", what, message)
        return {"type": "custom_tool_call", **item, "input": piece.text}
    return {"type": "function_call", **item, "arguments": piece.text.strip() or "{}"}


def _with_id(item: dict[str, Any], call: Piece) -> dict[str, Any]:
    """A built-in call or its output with the id of the call; older ones have it in `id`."""
    return _public(item) | ({"call_id": call.call_id} if "call_id" in item else {})


def _output(answer: CallResult) -> dict[str, Any]:
    """The output of a call: one text as a string, else blocks."""
    if answer.value is not None:
        return _with_id(answer.value, answer.call)
    content = content_of(content_blocks(answer.pieces, input_text)) or ""
    kind = "function_call_output" if is_object(answer.call) else "custom_tool_call_output"
    caller = {key: value for key, value in answer.members.items() if key == "caller"}
    return {"type": kind, "call_id": answer.call.call_id, **caller, "output": content}


def _attachment(attachment: Attachment, role: Role) -> dict[str, Any] | None:
    """An image or a PDF; None if the API does not accept it."""
    if role == "assistant":
        return None
    if not (attachment.data or attachment.is_public or attachment.is_file_of("openai")):
        return None
    if attachment.kind == "image" and attachment.has_type(WEB_IMAGES):
        details = ("low", "high", "auto", "original")
        detail = {"detail": attachment.detail} if attachment.detail in details else {}
        place = {"image_url": attachment.data_url}
        if attachment.file_id:
            place = {"file_id": attachment.file_id}
        return {"type": "input_image", **place, **detail}
    if attachment.kind != "pdf":
        return None
    detail = {"detail": attachment.detail} if attachment.detail in ("low", "high") else {}
    if attachment.data is not None:
        file = {"filename": attachment.file_name, "file_data": attachment.data_url}
    elif attachment.url is not None:
        file = {"file_url": attachment.url}
    else:
        file = {"file_id": attachment.file_id or ""}
    return {"type": "input_file", **file, **detail}


def _reasoning(piece: Piece) -> dict[str, Any] | None:
    """A reasoning item with encrypted content, without the id of a stored response."""
    value = members(piece.value)
    content = value.get("encrypted_content")
    if value.get("type") != "reasoning" or not isinstance(content, str):
        return None
    return {
        "type": "reasoning", "summary": elements(value.get("summary")), "encrypted_content": content
    }  # fmt: skip


def _tools(tools: Iterable[Tool]) -> Iterator[dict[str, Any]]:
    """The tools; those of a namespace are inside it."""
    for namespace, group in groupby(tools, lambda tool: tool.namespace):
        declarations = map(_tool, group)
        if namespace is None:
            yield from declarations
        else:
            header = {"name": namespace.name, "description": namespace.description}
            yield {"type": "namespace", **header, "tools": list(declarations)}


def _tool(tool: Tool) -> dict[str, Any]:
    if tool.is_custom:
        format_ = {} if tool.grammar is None else {"format": tool.grammar}
        return {"type": "custom", **tool.head, **format_, **tool.members}
    # the default of other APIs is false
    strict = {} if tool.is_of_responses else {"strict": False}
    function = {"type": "function", **tool.head, "parameters": tool.schema}
    return {**function, **strict, **tool.members}


def _is_native(value: Any) -> bool:
    kind, name = members(value).get("type"), members(value).get("id")
    return kind in _NATIVE or (kind in _WITH_ID and isinstance(name, str))


def _links(value: dict[str, Any]) -> tuple[ServerLink, ...]:
    """The links of a program, and those of a request for approval and its answer."""
    return approval_links(value) if value.get("type") in _APPROVALS else program_links(value)


def _public(item: dict[str, Any]) -> dict[str, Any]:
    """An item without its private member."""
    return {key: inner for key, inner in item.items() if key != _PRIVATE}


def _is_native_tool(tool: dict[str, Any]) -> bool:
    return _DATE.sub("", string(tool.get("type")) or "") in _NATIVE_TOOLS


TARGET = Target(
    "openai-responses",
    write,
    reasoning=_reasoning,
    attachment=_attachment,
    is_native=_is_native,
    is_native_tool=_is_native_tool,
    has_built_in_tools=True,
    has_namespaces=True,
    has_custom_tools=True,
    has_refusals=True,
    links=_links,
    members=("annotations", "namespace", "phase", "caller"),
    message_members=("phase",),
    tool_members=("strict", "defer_loading", "allowed_callers", "async", "output_schema"),
    invalid_name=re.compile(r"[^a-zA-Z0-9_-]"),
)
