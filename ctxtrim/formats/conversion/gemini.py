"""Gemini: `{"contents", "systemInstruction"?, "tools"?}`. The model is a part of the API's address.

Results are in the user content after their calls, each followed by its images. Gemini 3 refuses
calls of the current turn without its signature; for calls of other models Google names a word that
takes its place.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from ctxtrim.formats.conversion.arguments import object_of
from ctxtrim.formats.conversion.attachments import Attachment
from ctxtrim.formats.conversion.json_schema import has_unions
from ctxtrim.formats.conversion.losses import Losses
from ctxtrim.formats.conversion.pieces import Piece
from ctxtrim.formats.conversion.reasoning import thought_signature
from ctxtrim.formats.conversion.target import CallResult, Dialogue, Target, Turn
from ctxtrim.formats.conversion.tools import Tool
from ctxtrim.formats.fields import members
from ctxtrim.formats.media_blocks import untyped_text
from ctxtrim.model import Role

UNSIGNED = "skip_thought_signature_validator"
"""The signature of a call that another model made. Source: Gemini API, thought signatures."""
_IMAGES = ("image/png", "image/jpeg", "image/webp", "image/heic", "image/heif")
_SETTINGS = ("scheduling", "willContinue", "will_continue")
_CODE = ("executableCode", "executable_code", "codeExecutionResult", "code_execution_result")
_NATIVE_TOOLS = (
    "googlesearch", "googlesearchretrieval", "googlemaps", "urlcontext", "codeexecution",
    "filesearch", "computeruse", "retrieval", "enterprisewebsearch", "parallelaisearch",
    "exaaisearch", "mcpservers",
)  # fmt: skip
"""The tools of Google, whose names have two spellings: `googleSearch`, `google_search`."""


def write(dialogue: Dialogue, losses: Losses) -> dict[str, Any]:
    """The request of a dialogue."""
    system = list(map(_part, dialogue.system))
    request: dict[str, Any] = {"systemInstruction": {"parts": system}} if system else {}
    request["contents"] = _contents(dialogue.turns, losses)
    declarations = list(map(_declaration, dialogue.tools))
    tools = [{"functionDeclarations": declarations}] if declarations else []
    tools += dialogue.native_tools
    return request | ({"tools": tools} if tools else {})


def _contents(turns: Sequence[Turn], losses: Losses) -> list[dict[str, Any]]:
    """The contents; results and the user texts after them share one."""
    prompts = (position for position, turn in enumerate(turns) if turn.role == "user")
    last_prompt = max(prompts, default=0)
    contents: list[dict[str, Any]] = []
    unsigned_calls = 0
    for position, turn in enumerate(turns):
        role = "model" if turn.role == "assistant" else "user"
        if turn.role == "tool":
            parts = [part for answer in turn.results for part in _result(answer)]
        elif turn.role == "assistant":
            parts = list(_answer(turn, losses, is_current=position > last_prompt))
            unsigned_calls += sum(part.get("thoughtSignature") == UNSIGNED for part in parts)
        else:
            parts = list(map(_part, turn.pieces))
        if contents and contents[-1]["role"] == role:
            contents[-1]["parts"] += parts
        else:
            contents.append({"role": role, "parts": parts})
    if unsigned_calls:
        calls = "1 call" if unsigned_calls == 1 else f"{unsigned_calls} calls"
        what = f"the signature of {calls} of the current turn is {UNSIGNED}"
        losses.change("signature", what)
    return contents


def _answer(turn: Turn, losses: Losses, is_current: bool) -> Iterator[dict[str, Any]]:
    """The parts of an answer. The first call of a current answer needs a signature."""
    needs_signature = is_current
    for piece in turn.pieces:
        if piece.kind != "call":
            yield _part(piece)
            continue
        arguments = object_of(piece, turn.message, losses)
        call = {"id": piece.call_id, "name": piece.name, "args": arguments}
        signature = piece.signature
        if needs_signature:
            signature, needs_signature = signature or UNSIGNED, False
        signature_member = {"thoughtSignature": signature} if signature else {}
        yield {"functionCall": call, **signature_member, **piece.members}


def _result(answer: CallResult) -> Iterator[dict[str, Any]]:
    """A function response, and its images and files after it."""
    texts = [piece for piece in answer.pieces if piece.kind == "text"]
    call = answer.call
    response = _response(texts, bool(answer.is_error))
    result = {"id": call.call_id, "name": call.name, "response": response}
    others = dict(answer.members)
    result |= {key: others.pop(key) for key in _SETTINGS if key in others}
    yield {"functionResponse": result, **others}
    yield from (piece.value for piece in answer.pieces if piece.kind != "text")


def _response(texts: list[Piece], is_error: bool) -> dict[str, Any]:
    """A response: an object as it is, else the texts in one member."""
    value = members(texts[0].value) if len(texts) == 1 else {}
    if value and (not is_error or value.get("error")):
        return value
    return {"error" if is_error else "output": "\n".join(piece.text for piece in texts)}


def _part(piece: Piece) -> Any:
    """A text, with its signature; the value of any other piece."""
    if piece.kind != "text":
        return piece.value
    signature_member = {"thoughtSignature": piece.signature} if piece.signature else {}
    return untyped_text(piece.text) | signature_member | dict(piece.members)


def _attachment(attachment: Attachment, role: Role) -> dict[str, Any] | None:
    """Data or a URL; None for a file id, for other types, and in the system instruction."""
    if role == "system" or (attachment.kind == "image" and not attachment.has_type(_IMAGES)):
        return None
    if attachment.data is not None and attachment.mime != "application/octet-stream":
        return {"inlineData": {"mimeType": attachment.mime, "data": attachment.data}}
    if attachment.is_public or (attachment.url is not None and attachment.provider == "gemini"):
        mime = {} if attachment.mime is None else {"mimeType": attachment.mime}
        return {"fileData": {**mime, "fileUri": attachment.url}}
    return None


def _thought(piece: Piece) -> dict[str, Any] | None:
    if not piece.text:
        return None
    signature = thought_signature(piece.value)
    signature_member = {"thoughtSignature": signature} if signature else {}
    return {"text": piece.text, "thought": True} | signature_member


def _declaration(tool: Tool) -> dict[str, Any]:
    has_members = bool(tool.schema["properties"]) or has_unions(tool.schema)
    schema = {"parametersJsonSchema": tool.schema} if has_members else {}
    return {**tool.head, **schema, **tool.members}


def _is_native(value: Any) -> bool:
    return isinstance(value, dict) and any(key in value for key in _CODE)


def _is_native_tool(tool: dict[str, Any]) -> bool:
    return bool(tool) and all(key.replace("_", "").lower() in _NATIVE_TOOLS for key in tool)


TARGET = Target(
    "gemini",
    write,
    reasoning=_thought,
    attachment=_attachment,
    is_native=_is_native,
    is_native_tool=_is_native_tool,
    invalid_name=re.compile(r"[^a-zA-Z0-9_.:-]|^[^a-zA-Z_]"),
    invalid_id=re.compile(r"[^a-zA-Z0-9_-]"),
    alternates=True,
    is_blank=lambda text: not text,
    signs_parts=True,
    flags_errors=True,
    takes_unions=True,
    members=(
        "videoMetadata",
        "video_metadata",
        "mediaResolution",
        "media_resolution",
        "partMetadata",
        "part_metadata",
        *_SETTINGS,
    ),
    tool_members=("behavior", "response", "responseJsonSchema", "response_json_schema"),
)
