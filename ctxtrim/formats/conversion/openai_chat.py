"""Chat Completions: `{"model", "messages", "tools"?}`.

Reasoning texts become `reasoning_content`, which DeepSeek, Moonshot, vLLM and others read. A tool
message has texts only, so its images and files follow the results in a user message.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from ctxtrim.formats.conversion.arguments import is_object, object_of
from ctxtrim.formats.conversion.attachments import WEB_IMAGES, Attachment
from ctxtrim.formats.conversion.losses import Losses
from ctxtrim.formats.conversion.pieces import Piece, content_blocks, content_of
from ctxtrim.formats.conversion.target import CallResult, Dialogue, Target, Turn
from ctxtrim.formats.conversion.tools import Tool
from ctxtrim.model import Message, Role
from ctxtrim.text.records import dump

_SOUNDS = {"audio/wav": "wav", "audio/x-wav": "wav", "audio/mp3": "mp3", "audio/mpeg": "mp3"}
_NO_AUTHOR = re.compile(r"[\s<|\\/>]")
_LONGEST_AUTHOR = 64
_DETAILS = ("low", "high", "auto")


def write(dialogue: Dialogue, losses: Losses) -> dict[str, Any]:
    """The request of a dialogue."""
    request: dict[str, Any] = {} if dialogue.model is None else {"model": dialogue.model}
    request["messages"] = [
        message for turn in dialogue.turns for message in _messages(turn, losses)
    ]
    tools = [*map(_tool, dialogue.tools), *dialogue.native_tools]
    return request | ({"tools": tools} if tools else {})


def _messages(turn: Turn, losses: Losses) -> Iterator[dict[str, Any]]:
    if turn.role == "tool":
        yield from _results(turn.results, losses)
        return
    author = _author(turn.message, losses)
    if turn.role == "assistant":
        yield {"role": "assistant", **author, **_answer(turn, losses), **turn.members}
        return
    role = "developer" if turn.is_developer else turn.role
    yield {"role": role, **author, "content": content_of(content_blocks(turn.pieces))}


def _author(message: Message | None, losses: Losses) -> dict[str, str]:
    """The name of the author of a message, in characters that the API accepts."""
    if message is None or message.role == "tool" or not message.name:
        return {}
    name = _NO_AUTHOR.sub("_", message.name)[:_LONGEST_AUTHOR]
    if name != message.name:
        losses.change("author name", f"the author {message.name} is now {name}", message)
    return {"name": name}


def _answer(turn: Turn, losses: Losses) -> dict[str, Any]:
    """The content, refusal, sound, reasoning and calls of an answer."""
    texts = [piece for piece in turn.pieces if piece.kind == "text"]
    content = content_blocks(piece for piece in texts if not piece.is_refusal)
    refusals = [piece.text for piece in texts if piece.is_refusal]
    reasoning = [piece.value for piece in turn.pieces if piece.kind == "reasoning"]
    calls = [_call(piece, turn.message, losses) for piece in turn.pieces if piece.kind == "call"]
    sounds = [piece.value for piece in turn.pieces if piece.kind == "attachment"]
    answer: dict[str, Any] = {"content": None if calls or refusals or sounds else ""}
    if content:
        answer["content"] = content_of(content)
    if refusals:
        answer["refusal"] = "\n".join(refusals)
    if sounds:  # one: an answer of other formats has none
        answer["audio"] = sounds[0]
    if reasoning:
        answer["reasoning_content"] = "\n\n".join(reasoning)
    return answer | ({"tool_calls": calls} if calls else {})


def _call(piece: Piece, message: Message | None, losses: Losses) -> dict[str, Any]:
    if piece.is_custom:
        custom = {"name": piece.name, "input": piece.text}
        return {"id": piece.call_id, "type": "custom", "custom": custom, **piece.members}
    is_kept = bool(piece.text.strip()) and is_object(piece)
    text = piece.text if is_kept else dump(object_of(piece, message, losses))
    function = {"name": piece.name, "arguments": text}
    return {"id": piece.call_id, "type": "function", "function": function, **piece.members}


def _results(answers: Iterable[CallResult], losses: Losses) -> Iterator[dict[str, Any]]:
    """A tool message for each result, then a user message with their images and files."""
    attachments: list[dict[str, Any]] = []
    for answer in answers:
        texts = content_blocks(piece for piece in answer.pieces if piece.kind == "text")
        content = content_of(texts) if texts else ""
        yield {"role": "tool", "tool_call_id": answer.call.call_id, "content": content}
        blocks = content_blocks(piece for piece in answer.pieces if piece.kind != "text")
        if blocks:
            what = "the attachment of a result is in a user message after the results"
            losses.change("attachment", what, answer.message)
        attachments += blocks
    if attachments:
        yield {"role": "user", "content": attachments}


def _attachment(attachment: Attachment, role: Role) -> dict[str, Any] | None:
    """An image, a sound or a PDF; the id of a spoken answer; None if the API does not accept it."""
    if role == "assistant" and attachment.kind == "audio" and attachment.is_file_of("openai"):
        return {"id": attachment.file_id}
    if role not in ("user", "tool"):
        return None
    has_content = attachment.data is not None or attachment.is_public
    if attachment.kind == "image" and attachment.has_type(WEB_IMAGES) and has_content:
        detail = {"detail": attachment.detail} if attachment.detail in _DETAILS else {}
        return {"type": "image_url", "image_url": {"url": attachment.data_url} | detail}
    if attachment.kind == "audio" and attachment.data is not None and attachment.mime in _SOUNDS:
        sound = {"data": attachment.data, "format": _SOUNDS[attachment.mime]}
        return {"type": "input_audio", "input_audio": sound}
    if attachment.kind != "pdf":
        return None
    if attachment.data is not None:
        file = {"filename": attachment.file_name, "file_data": attachment.data_url}
        return {"type": "file", "file": file}
    if not attachment.is_file_of("openai"):
        return None
    return {"type": "file", "file": {"file_id": attachment.file_id}}


def _grammar(grammar: dict[str, Any] | None) -> dict[str, Any]:
    """The format of a custom tool; a grammar is a separate object here."""
    if grammar is None:
        return {}
    inner = {key: value for key, value in grammar.items() if key != "type"}
    return {"format": {"type": "grammar", "grammar": inner}}


def _tool(tool: Tool) -> dict[str, Any]:
    if tool.is_custom:
        return {"type": "custom", "custom": tool.head | _grammar(tool.grammar)}
    function = {**tool.head, "parameters": tool.schema, **tool.members}
    return {"type": "function", "function": function}


TARGET = Target(
    "openai-chat",
    write,
    reasoning=lambda piece: piece.text or None,
    attachment=_attachment,
    is_native=lambda value: False,
    is_native_tool=lambda tool: False,
    invalid_name=re.compile(r"[^a-zA-Z0-9_-]"),
    longest_id=40,
    may_end_with_reasoning=True,
    names_authors=True,
    has_custom_tools=True,
    has_refusals=True,
    members=("extra_content",),
    message_members=("extra_content",),
    tool_members=("strict",),
)
