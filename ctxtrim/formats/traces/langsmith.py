"""Runs of LangSmith, of which those with the `run_type` llm are requests.

Messages are LangChain's (`inputs.messages`, `outputs.generations`), or the request and the response
of a provider that the SDK wraps. Runs come one per line, in lists, or inside `child_runs`. The root
of a trace without requests counts if it has messages, as the states of LangGraph.
"""

from typing import Any

from msgspec.structs import replace

from ctxtrim.formats.fields import elements, first_string, members, string
from ctxtrim.formats.message_lists import Envelope
from ctxtrim.formats.traces.requests import (
    Field,
    LoggedRequest,
    LogRecord,
    is_message,
    logged_request,
    opened,
)
from ctxtrim.formats.traces.trace_formats import record_format
from ctxtrim.formats.usage import openai_usage, responses_usage
from ctxtrim.model import Span
from ctxtrim.model.request import Usage
from ctxtrim.text.records import dump

_LOCKED = "the root of a trace has copies of its messages in its input and in other runs"
_CONTAINERS = ("runs", "items", "child_runs")


def _is_run(value: dict[str, Any]) -> bool:
    return isinstance(value.get("run_type"), str) and "inputs" in value


def _request(value: dict[str, Any], span: Span) -> LoggedRequest | None:
    """The request of a run of type llm, or the messages of a root."""
    if value["run_type"] == "chain" and _is_root(value):
        return _root_messages(value, span)
    if value["run_type"] != "llm":
        return None
    input_field = Field(value["inputs"], span.inside("inputs"))
    output_field = Field(value.get("outputs"), span.inside("outputs"))
    inputs, outputs = members(opened(input_field.value)), members(opened(output_field.value))
    extra = members(opened(value.get("extra")))
    settings, metadata = members(extra.get("invocation_params")), members(extra.get("metadata"))
    tools = settings.get("tools") or inputs.get("tools")
    result = members(outputs.get("llm_output"))
    models = (
        settings.get("model"),
        settings.get("model_name"),
        inputs.get("model"),
        metadata.get("ls_model_name"),
        result.get("model_name"),
    )
    facts = Envelope(
        tools=dump(tools) if isinstance(tools, list | dict) else None,
        model=first_string(models),
        id=string(value.get("id")),
        usage=_usage(value, outputs, result),
    )
    record = LogRecord(span, _trace(value), facts)
    return logged_request(record, input_field, output_field)


def _usage(value: dict[str, Any], outputs: dict[str, Any], result: dict[str, Any]) -> Usage | None:
    """The usage of a run: of its response, else next to it."""
    return (
        openai_usage(result.get("token_usage"))
        or responses_usage(outputs.get("usage_metadata"))
        or openai_usage(outputs.get("usage"))
        or openai_usage(value)
    )


def _trace(value: dict[str, Any]) -> str | None:
    return first_string((value.get("trace_id"), _root(value.get("dotted_order"))))


def _is_root(value: dict[str, Any]) -> bool:
    return value.get("parent_run_id") is None and "." not in str(value.get("dotted_order"))


def _root_messages(value: dict[str, Any], span: Span) -> LoggedRequest | None:
    """The messages of a root; None if it has no list of messages.

    A state of LangGraph repeats the messages of the input in the output, which then counts alone.
    """
    input_field = Field(value["inputs"], span.inside("inputs"))
    output_field = Field(value.get("outputs"), span.inside("outputs"))
    input_list, output_list = _message_list(input_field), _message_list(output_field)
    if output_list is not None and any(map(_is_from_user, output_list.value)):
        input_list, output_list = output_list, None
    if input_list is None:
        return None
    record = LogRecord(span, _trace(value), Envelope(id=string(value.get("id"))))
    request = logged_request(record, input_list, output_list)
    if request is None or not request.messages:
        return None
    return replace(request, is_around=True, locked=_LOCKED)


def _message_list(field: Field) -> Field | None:
    """The list of messages of an input or output; None without one."""
    messages = members(opened(field.value)).get("messages")
    is_list = isinstance(messages, list) and all(map(is_message, messages))
    return Field(messages, field.span.inside("messages")) if is_list and messages else None


def _is_from_user(message: dict[str, Any]) -> bool:
    """Whether a message of LangChain or of Chat Completions is one of the user."""
    kinds = (message.get("type"), message.get("role"))
    names = elements(message.get("id"))[-1:]
    return "human" in kinds or "user" in kinds or names == ["HumanMessage"]


def _root(order: object) -> str | None:
    """The first run in a dotted order."""
    return order.split(".", 1)[0] if isinstance(order, str) else None


FORMAT = record_format("langsmith", _CONTAINERS, _is_run, _request)
