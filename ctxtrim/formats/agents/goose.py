"""Goose: exported sessions, sessions in its database, output of runs, and older session files.

::

    {"id", "working_dir", …, "model_config"?, "conversation": [message, …]}     an export
    {"working_dir", "description", …}\\n{message}\\n…                             an older file
    {"messages": [message, …], "metadata": {…}}             `goose run --output-format json`
    {"type": "message", "message": message}\\n…      `goose run --output-format stream-json`

    message   {"role": "user" | "assistant", "created", "content": [block, …], "metadata"?}
    block     text | image | document | thinking | redactedThinking | error | resource
              | resource_link | audio | reasoning (older: thinking)
              toolRequest   {"id", "toolCall": {"status", "value": {"name", "arguments"} | "error"}}
              toolResponse  {"id", "toolResult": {"status", "value": [block] | {"content": [block],
                             "isError"?} | "error"}}

Source: `crates/goose-provider-types/src/conversation/message.rs` and `token_usage.rs`,
`formats/anthropic.rs`, `formats/openai.rs` and `mcp_utils.rs` there, and
`crates/goose-cli/src/session/mod.rs`, of aaif-goose/goose (2026). Goose sends no message with
`agentVisible: false`, which is how it compacts, and no block whose audience is only the user.
Consecutive lines of a stream with the same message id are one message (`Conversation::push`).
"""

from base64 import b64decode
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from ctxtrim.formats.base import Insertion, Site
from ctxtrim.formats.block_messages import add_messages, insert_blocks
from ctxtrim.formats.fields import (
    boolean,
    elements,
    first_string,
    has_chat_messages,
    located,
    members,
    role_in,
    string,
)
from ctxtrim.formats.media_blocks import inline_media, text_block, typed_text
from ctxtrim.formats.message_lists import Dialect, Element, Envelope, ListContents
from ctxtrim.formats.message_parts import (
    call_part,
    joined_message,
    json_part,
    result_parts,
    text_of,
)
from ctxtrim.formats.usage import goose_usage
from ctxtrim.model import Message, Part, Role, Span
from ctxtrim.model.request import Usage
from ctxtrim.text.json_paths import Path
from ctxtrim.text.records import dump

_ROLES: dict[object, Role] = {"user": "user", "assistant": "assistant"}
_UNSENT = (
    "toolConfirmationRequest", "actionRequired", "systemNotification", "conversationCompacted",
    "contextLengthExceeded", "summarizationRequested", "error",
)  # fmt: skip
_NOT_SHOWN = {"resource_link": "[Resource link]", "audio": "[Audio content: not supported]"}
"""Blocks of results of which a model reads at most such a text, depending on the provider."""

_IMAGES = ("image/jpeg", "image/png", "image/gif", "image/webp")
_PDF = "application/pdf"
_CALLS = ("toolRequest", "frontendToolRequest")
_UNREADABLE_CALL = "unparseable_tool_call"
"""The name under which Goose sends a call that has an error, without arguments."""


def knows(value: object) -> bool:
    """Whether a value is a message with a time in seconds and blocks, as only Goose writes it."""
    message, _ = _inner(value)
    if role_in(message, "role", _ROLES) is None:
        return False
    blocks = message.get("content")
    if type(message.get("created")) is not int or not isinstance(blocks, list):
        return False
    return all(isinstance(members(block).get("type"), str) for block in blocks)


def _inner(value: object) -> tuple[dict[str, Any], Path]:
    """The message of an element, and the path to it: lines of a stream have it under `message`."""
    element = members(value)
    if element.get("type") == "message" and isinstance(element.get("message"), dict):
        return element["message"], ("message",)
    return element, ()


def opens(value: object) -> bool:
    """Whether a value is the first line of an older session file."""
    keys = members(value).keys()
    return {"working_dir", "description", "message_count"} <= keys and "conversation" not in keys


def read(items: Iterable[Element], contents: ListContents) -> None:
    """Read the messages of each element that Goose sends."""
    last_id: str | None = None
    has_hidden = False
    usages: dict[int, Usage] = {}  # by the position of the answer
    rest: dict[int, list[Message]] = {}  # by the position of the message that they continue
    for value, span, _ in items:
        message, keys = _inner(value)
        if not knows(value):
            contents.uncounted += "role" in message
            continue
        metadata = members(message.get("metadata"))
        model = _model_in(metadata)
        contents.model = model or contents.model
        if metadata.get("agentVisible") is False:
            has_hidden = True
            usages.clear()  # of requests that had this message
            continue
        index = len(contents.messages)
        blocks = located(message["content"], span.inside(*keys, "content"))
        add_messages(_ROLES[message["role"]], blocks, contents, _part, _result)
        if metadata.get("userVisible") is False:
            is_summary = has_hidden and index == 0
            contents.messages[index:] = [
                _injected(message, is_summary) for message in contents.messages[index:]
            ]
        name = string(message.get("id"))
        if keys and name is not None and name == last_id and _continues(contents.messages, index):
            rest.setdefault(index - 1, []).append(contents.messages.pop(index))
            index -= 1
        last_id = name
        usage = _usage_in(metadata, index, model)
        if usage is not None and _is_answer(contents.messages, index):
            usages[index] = usage
    for position, messages in rest.items():
        contents.messages[position] = joined_message(contents.messages[position], messages)
    contents.usages += usages.values()


def _model_in(metadata: dict[str, Any]) -> str | None:
    """The model that wrote an answer, by the metadata of the message."""
    inference = members(metadata.get("inference"))
    return first_string((inference.get("resolvedModel"), inference.get("requestedModel")))


def _usage_in(metadata: dict[str, Any], index: int, model: str | None) -> Usage | None:
    """The usage of the request for an answer; None for the request that wrote a summary."""
    usage = members(metadata.get("usage"))
    return None if usage.get("isCompaction") is True else goose_usage(usage, index, model)


def _is_answer(messages: Sequence[Message], position: int) -> bool:
    """Whether there is a message of the assistant at a position."""
    return position < len(messages) and messages[position].role == "assistant"


def _continues(messages: Sequence[Message], position: int) -> bool:
    """Whether the message at a position and the message before it are of the assistant."""
    if not 0 < position < len(messages):
        return False
    return messages[position - 1].role == messages[position].role == "assistant"


def _injected(message: Message, is_summary: bool) -> Message:
    """The message, which Goose wrote itself if it is one of the user.

    `is_summary`: Goose hides all messages before it, as it does when it compacts.
    """
    if message.role != "user":
        return message
    return replace(message, is_injected=True, is_summary=is_summary)


def _part(value: Any, span: Span) -> Part | None:
    """What Goose sends of a block; None for confirmations, notices and texts for the user."""
    kind = value["type"]
    if kind in _UNSENT or _is_for_user(value):
        return None
    if kind == "thinking" and isinstance(value.get("thinking"), str):
        return Part("reasoning", value["thinking"], block=span)
    if kind == "reasoning" and isinstance(value.get("text"), str):
        return Part("reasoning", value["text"], block=span)
    if kind == "redactedThinking":
        return Part("reasoning", str(value.get("data", "")), block=span)
    if kind in _CALLS:
        call = members(members(value.get("toolCall")).get("value"))
        arguments, name = call.get("arguments") or {}, call.get("name", _UNREADABLE_CALL)
        return call_part(dump(arguments), value.get("id"), name, None, span)
    return _content(value, span)


def _content(value: Any, span: Span) -> Part:
    """A text, an attachment or a resource of a message or a result; another block as its JSON."""
    block = members(value)
    kind = string(block.get("type")) or ""
    if kind in ("image", "document"):
        media = inline_media(block.get("data"), block.get("mimeType"))
        return Part("attachment", media=media, block=span, text_block=text_block)
    if kind in _NOT_SHOWN:
        return Part("text", _NOT_SHOWN[kind], block=span)
    resource = members(block.get("resource"))
    if kind == "resource" and isinstance(resource.get("text"), str):
        return Part("text", resource["text"], span=span.inside("resource", "text"), block=span)
    if kind == "resource" and isinstance(resource.get("blob"), str):
        return _blob(resource["blob"], string(resource.get("mimeType")), span)
    return typed_text(value, span) or json_part(value, span)


def _blob(data: str, mime: str | None, span: Span) -> Part:
    """A resource in base64: an attachment, or the text in it, or a note about its size.

    Goose sends attachments to Anthropic only, and such a note to others, which costs less.
    """
    if mime == _PDF or mime in _IMAGES:
        media = inline_media(data, mime)
        return Part("attachment", media=media, block=span, text_block=text_block)
    try:
        content = b64decode(data, validate=True)
    except ValueError:
        return Part("text", data, block=span)
    try:
        text = content.decode()
    except UnicodeDecodeError:
        name = mime or "application/octet-stream"
        text = f"[Binary content ({name}) - {len(content)} bytes]"
    return Part("text", text, block=span)


def _result(value: Any, span: Span) -> tuple[Part, ...]:
    """The parts of a result; none for any other block."""
    if value["type"] != "toolResponse":
        return ()
    answer, outer_span = members(value.get("toolResult")), span.inside("toolResult")
    call = string(value.get("id"))
    if isinstance(answer.get("error"), str):
        error = Part("text", answer["error"], span=outer_span.inside("error"))
        return result_parts([error], call, is_error=True)
    inner, place = answer.get("value"), outer_span.inside("value")
    is_error = None
    if isinstance(inner, dict):
        is_error = boolean(inner.get("isError"))
        inner, place = inner.get("content"), place.inside("content")
    blocks = enumerate(elements(inner))
    parts = [
        _content(block, place.inside(index)) for index, block in blocks if not _is_for_user(block)
    ]
    return result_parts(parts, call, is_error=is_error)


def _is_for_user(block: Any) -> bool:
    """Whether the audience of a block is only the user."""
    audience = members(members(block).get("annotations")).get("audience")
    return isinstance(audience, list) and bool(audience) and "assistant" not in audience


def envelope(value: dict[str, Any], span: Span) -> Envelope:
    """The id and the model of the session."""
    model = members(value.get("model_config")).get("model_name")
    return Envelope(model=string(model), id=string(value.get("id")))


def owner(array: Path) -> Path | None:
    """A message is removed with the last block of its content; a result stays without a text."""
    if array[-1] != "content" or array[-2:-1] == ("value",):
        return None
    return array[:-2] if array[-2:-1] == ("message",) else array[:-1]


def insert(run: Sequence[Message], site: Site) -> Sequence[Insertion]:
    """Each message as a message with one block. See `insert_blocks`."""
    return list(map(_on_line, insert_blocks(run, site, "content", _json_value)))


def _on_line(insertion: Insertion) -> Insertion:
    """The insertion, as a separate line in a stream."""
    path = insertion.span.path
    message = path[:-2] if insertion.cuts else path
    if message[-1:] != ("message",):
        return insertion
    span = insertion.span if insertion.cuts else Span(insertion.span.line, message[:-1])
    value = {"type": "message", "message": insertion.value}
    return replace(insertion, value=value, span=span)


def _json_value(message: Message, neighbour: Mapping[str, Any], name: str | None) -> dict[str, Any]:
    text = text_block(text_of(message.parts))
    result = message.result
    if result is not None:
        inner: Any = [text]
        if result.is_error is not None:
            inner = {"content": inner, "isError": result.is_error}
        answer = {"status": "success", "value": inner}
        text = {"type": "toolResponse", "id": result.call_id, "toolResult": answer}
    value: dict[str, Any] = {} if name is None else {"id": name}
    value["role"] = "assistant" if message.role == "assistant" else "user"
    value |= {"created": neighbour.get("created", 0), "content": [text]}
    if "metadata" in neighbour:
        value["metadata"] = {"userVisible": True, "agentVisible": True}
    return value


DIALECT = Dialect(
    "goose",
    knows,
    read,
    insert,
    envelope=envelope,
    owner=owner,
    places=("conversation", "[*].conversation", "messages", ""),
    opens=opens,
    has_foreign=has_chat_messages,
)
