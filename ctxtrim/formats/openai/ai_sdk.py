"""Messages of the AI SDK (`ModelMessage`, before version 5 `CoreMessage`) in a list of Chat
Completions.

Calls and results are content blocks, and a message with the role `tool` may have several results:
each is a message. A call that the provider executes has its result in the same content; both count
as their JSON. [ai-sdk.dev, reference of `ModelMessage`]
"""

from collections.abc import Sequence
from typing import Any

from ctxtrim.formats.fields import boolean, located, members, string
from ctxtrim.formats.media_blocks import block_part, text_or_block
from ctxtrim.formats.message_lists import ListContents
from ctxtrim.formats.message_parts import result_parts
from ctxtrim.formats.openai import SDK_RESPONSE, SDK_RESULT
from ctxtrim.model import Part, Span
from ctxtrim.text.records import dump

DENIED = "Tool execution denied."
"""The result of a call that the person denied without a reason."""

_ERRORS = ("error-text", "error-json")


def call(block: dict[str, Any], span: Span) -> Part:
    """A `tool-call` block. The arguments are `input`, in old versions `args`."""
    if block.get("providerExecuted"):
        return block_part(block, span)
    arguments = block["input"] if "input" in block else block.get("args")
    text = "" if arguments is None else dump(arguments)
    name, call_id = string(block.get("toolName")), string(block.get("toolCallId"))
    return Part("tool_call", text, call_id, name, block=span)


def add_results(contents: ListContents, content: Sequence[Any], span: Span) -> None:
    """Add the messages in a content with results.

    Answers to requests for approval are not sent. Other blocks are messages of the client.
    """
    for block, block_span in located(content, span):
        kind = members(block).get("type")
        if kind == SDK_RESULT:
            parts = _result(block, block_span)
            contents.add("tool", parts, block_span, value=block, name=parts[0].name)
        elif kind != SDK_RESPONSE:
            part = block_part(block, block_span)
            contents.add("user", [part], block_span, is_injected=True)


def _result(block: dict[str, Any], span: Span) -> tuple[Part, ...]:
    """The parts of a `tool-result` block. The result is `output`, in old versions `result`."""
    call_id, name = string(block.get("toolCallId")), string(block.get("toolName"))
    is_error = boolean(block.get("isError"))
    output, value_span = block.get("output"), span.inside("output", "value")
    if members(output).get("type") == "execution-denied":
        return (_denial(members(output), call_id, name, span.inside("output", "reason")),)
    if "output" not in block:
        value, value_span = block.get("result"), span.inside("result")
    elif isinstance(output, dict) and isinstance(output.get("type"), str):
        value = output.get("value")
        is_error = True if output["type"] in _ERRORS else is_error
    else:
        value, value_span = output, span.inside("output")
    if isinstance(value, str):
        return (Part("tool_result", value, call_id, name, is_error, span=value_span),)
    if isinstance(output, dict) and output.get("type") == "content":
        parts = [text_or_block(*inner) for inner in located(value, value_span)]
        return result_parts(parts, call_id, name, is_error)
    text = "" if value is None else dump(value)
    return (Part("tool_result", text, call_id, name, is_error),)


def _denial(output: dict[str, Any], call_id: str | None, name: str | None, span: Span) -> Part:
    """The result of a call that the person denied: the reason, if there is one."""
    reason = string(output.get("reason"))
    if reason is None:
        return Part("tool_result", DENIED, call_id, name, True)
    return Part("tool_result", reason, call_id, name, True, span=span)
