"""Reads the parts of Responses items: texts, reasoning, calls and outputs."""

from collections.abc import Callable, Iterator
from typing import Any, Literal

from msgspec.structs import replace

from ctxtrim.formats.fields import elements, members, string
from ctxtrim.formats.json_in_string import Wrapped, failed, unwrapped
from ctxtrim.formats.media_blocks import block_part, input_text, media_of, output_text, sealed_media
from ctxtrim.formats.message_parts import call_part, content_parts
from ctxtrim.formats.openai.item_kinds import call_id_in
from ctxtrim.model import Message, Part, PartKind, ServerLink, Span
from ctxtrim.text.records import dump

# calls that always have an output
_PAIRED = ("function_call", "custom_tool_call", "local_shell_call", "tool_call")
_ARGUMENTS = ("arguments", "input", "action", "actions", "operation")
PROGRAMS = {"program": "code", "program_output": "result"}
"""The items of a program that OpenAI runs, and the keys of their texts."""


def content(value: dict[str, Any], span: Span) -> tuple[Part, ...]:
    """The parts of a message's content; that of a report of the client is an output.

    A message of another Codex agent may have encrypted content instead.
    """
    if not value.get("content") and isinstance(value.get("encrypted_content"), str):
        return (Part("attachment", media=sealed_media(value["encrypted_content"]), source=span),)
    key = "content"
    if key not in value:
        key = "output" if "output" in value else "message"
    block = _answer_block if value.get("role") == "assistant" else _block
    return content_parts(value.get(key), span.inside(key), block)


def _answer_block(block: Any, span: Span) -> Part:
    return _block(block, span, output_text)


def _block(block: Any, span: Span, spell: Callable[[str], Any] = input_text) -> Part:
    """A block of any content."""
    if isinstance(block, dict):
        if isinstance(block.get("text"), str):
            kind: PartKind = "reasoning" if block.get("type") == "reasoning" else "text"
            return Part(kind, block["text"], span=span.inside("text"), block=span)
        if isinstance(block.get("refusal"), str):
            return Part("text", block["refusal"], span=span.inside("refusal"), block=span)
    return block_part(block, span, spell)


def answer_parts(value: dict[str, Any], span: Span, whole: Span) -> Iterator[Part]:
    """The parts of one item of an answer.

    Calls and reasoning can be removed alone.
    """
    kind = value.get("type")
    if kind in ("message", None):
        yield from content(value, span)
    elif kind == "reasoning":
        yield from reasoning(value, span, whole)
    elif kind in PROGRAMS:
        yield _program(value, span)
    elif is_own_call(value):
        yield _call(value, span, whole)
    else:
        yield from _built_in(value, span)


def is_own_call(value: dict[str, Any]) -> bool:
    """Whether the client runs a call."""
    return isinstance(call_id_in(value), str) or value.get("type") in _PAIRED


def reasoning(value: dict[str, Any], span: Span, whole: Span | None) -> Iterator[Part]:
    """The text of reasoning, or its public summary and the encrypted text; the summary alone if the
    API stored the text under the id.
    """
    texts = _texts(value.get("text")) + _texts(value.get("content"))
    texts += _texts(value.get("rawContent"))  # of the Agents SDK for JavaScript
    is_sealed = isinstance(value.get("encrypted_content"), str)
    is_stored = not is_sealed and not any(texts) and bool(value.get("id"))
    texts += _texts(value.get("summary"))
    if not texts and not is_sealed:
        texts = [""]
    for text in texts:
        yield Part("reasoning", text, block=whole, source=span, stored=is_stored)
    if is_sealed:
        media = sealed_media(value["encrypted_content"])
        yield Part("reasoning", media=media, block=whole, source=span)


def needs_reasoning(value: dict[str, Any]) -> bool:
    """Whether the API accepts an item of an answer only with all reasoning of its response."""
    if value.get("id") is None:
        return False
    if value.get("type") != "reasoning":
        return True
    return not any(value.get(key) for key in ("text", "content", "summary", "encrypted_content"))


def with_needed_reasoning(message: Message) -> Message:
    """The message whose reasoning cannot be removed alone."""
    parts = tuple(
        replace(part, block=None) if part.kind == "reasoning" else part for part in message.parts
    )
    return replace(message, parts=parts)


def communication(value: dict[str, Any], span: Span) -> tuple[Part, ...]:
    """The parts of a message of another Codex agent, as Codex sends it
    [openai/codex, codex-rs/protocol/src/protocol.rs, `to_model_input_item`].
    """
    if not isinstance(value.get("encrypted_content"), str):
        return content(value, span)
    kind = "NEW_TASK" if value.get("trigger_turn") is True else "MESSAGE"
    to, sender = value.get("recipient"), value.get("author")
    text = f"Message Type: {kind}\nTask name: {to}\nSender: {sender}\nPayload:\n"
    return (
        Part("text", text, source=span),
        Part("attachment", media=sealed_media(value["encrypted_content"]), source=span),
    )


def _texts(content: Any) -> list[str]:
    """The texts of a string, or of a block or a list of them."""
    blocks = content if isinstance(content, list) else [content]
    texts = (block.get("text") if isinstance(block, dict) else block for block in blocks)
    return [text for text in texts if isinstance(text, str)]


def _call(value: dict[str, Any], span: Span, whole: Span) -> Part:
    name = value.get("name", members(value.get("function")).get("name"))
    if not isinstance(name, str):
        name = value["type"].removesuffix("_call")
    key = next((key for key in _ARGUMENTS if value.get(key) is not None), "arguments")
    part = call_part(value.get(key), call_id(value), name, span.inside(key), whole)
    if "namespace" in value:
        part = replace(part, namespace=string(value["namespace"]))
    return replace(part, server=program_links(value)) if "caller" in value else part


def call_id(value: dict[str, Any]) -> str | None:
    """The id of a call, or of the call that an output answers.

    A local shell call may have it under `id`.
    """
    name = string(call_id_in(value))
    if name is None and value["type"].startswith("local_shell_call"):
        name = string(value.get("id"))
    return name


def _built_in(value: dict[str, Any], span: Span) -> Iterator[Part]:
    """A call that the provider ran itself: its whole JSON, except images.

    The provider stored its output, and what a prompt contains of it is not documented.
    """
    media = media_of(value)
    if media is not None:
        yield Part("attachment", media=media, source=span, stored=True)
        return
    outputs = elements(value.get("outputs"))
    pictures = [item for item in outputs if isinstance(item, dict) and "url" in item]
    for picture in pictures:
        media = media_of({"type": "image", "image": picture["url"]})
        place = span.inside("outputs", outputs.index(picture))
        yield Part("attachment", media=media, source=place, stored=True)
    if pictures:
        value = value | {"outputs": [item for item in outputs if item not in pictures]}
    yield Part("text", dump(value), source=span, server=approval_links(value), stored=True)


def _program(value: dict[str, Any], span: Span) -> Part:
    """A program that OpenAI runs, or its output; only OpenAI may change either.

    What a prompt contains besides the text, such as the fingerprint, is not documented.
    """
    text = string(value.get(PROGRAMS[value["type"]])) or ""
    return Part("text", text, source=span, server=program_links(value), stored=True)


def program_links(value: dict[str, Any]) -> tuple[ServerLink, ...]:
    """The link between a program, the calls that it makes, and its output.

    They are in several responses, because the program waits for the outputs of its calls.
    """
    kind, caller = value.get("type"), members(value.get("caller"))
    name: object = None
    relation: Literal["use", "result", "call"] = "call"
    if kind == "program":
        relation, name = "use", call_id_in(value)
    elif kind == "program_output":
        relation, name = "result", call_id_in(value)
    elif caller.get("type") == "program":
        name = caller.get("caller_id", caller.get("callerId"))
    return (ServerLink(relation, name),) if isinstance(name, str) else ()


def approval_links(value: dict[str, Any]) -> tuple[ServerLink, ...]:
    """The link between a request for approval, its answer, and the call that was approved."""
    if value.get("type") == "mcp_approval_request":
        request = value.get("id")
        return (ServerLink("use", request),) if isinstance(request, str) else ()
    request = value.get("approval_request_id")
    return (ServerLink("result", request),) if isinstance(request, str) else ()


def output(value: Any, span: Span, answers: str | None, name: str | None) -> Iterator[Part]:
    """The parts of an output: a string, an object with a text, or a list of blocks."""
    if isinstance(value, str):
        inner = unwrapped(value) or Wrapped(value, None, None)
        yield Part(
            "tool_result",
            inner.text,
            answers,
            name,
            inner.is_error,
            span=span,
            wrapper=inner.wrapper,
        )
        return
    fields = members(value)
    if isinstance(fields.get("content"), str):
        success, text = fields.get("success"), fields["content"]
        is_error = not success if isinstance(success, bool) else None
        yield Part("tool_result", text, answers, name, is_error, span=span.inside("content"))
        return
    blocks = [_block(block, span.inside(index)) for index, block in enumerate(elements(value))]
    if isinstance(value, dict):  # cannot be removed alone
        blocks = [replace(_block(value, span), block=None, source=span, text_block=None)]
    if all(part.media is not None for part in blocks):
        text = "" if value is None or isinstance(value, (list, dict)) else dump(value)
        yield Part("tool_result", text, answers, name)
    is_error = failed(fields)
    for part in blocks:
        kind: PartKind = "tool_result" if part.media is None else "attachment"
        error = is_error if part.media is None else None
        yield replace(part, kind=kind, call_id=answers, name=name, is_error=error)
