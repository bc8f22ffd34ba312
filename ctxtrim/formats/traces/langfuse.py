"""Exports of Langfuse: observations, of which those of type GENERATION are requests.

Observations come from the API (`{"data": […]}`, `traceId`), the export of tables and the storage
integration (`trace_id`), or a trace (`{"id", "observations": […]}`). `input` and `output` are
values, or JSON in a string.
"""

from typing import Any

from ctxtrim.formats.fields import elements, first_string, members, string
from ctxtrim.formats.message_lists import Envelope
from ctxtrim.formats.traces.requests import Field, LoggedRequest, LogRecord, logged_request, opened
from ctxtrim.formats.traces.trace_formats import record_format
from ctxtrim.formats.usage import langfuse_usage
from ctxtrim.model import Span
from ctxtrim.text.names import snake_case
from ctxtrim.text.records import dump

_KINDS = (
    "GENERATION", "SPAN", "EVENT", "AGENT", "TOOL", "CHAIN", "RETRIEVER", "EVALUATOR",
    "EMBEDDING", "GUARDRAIL",
)  # fmt: skip
_SCHEMAS = ("parameters", "input_schema")
_CONTAINERS = ("data", "observations", "trace")


def _is_observation(value: dict[str, Any]) -> bool:
    is_traced = isinstance(value.get("traceId", value.get("trace_id")), str)
    return is_traced and value.get("type") in _KINDS and ("input" in value or "output" in value)


def _request(value: dict[str, Any], span: Span) -> LoggedRequest | None:
    """The request of a generation."""
    if value["type"] != "GENERATION":
        return None
    prompt = Field(opened(value.get("input")), span.inside("input"))
    input_field, schemas = _without_tools(prompt)
    settings = members(opened(_value_of(value, "modelParameters")))
    tools = schemas or members(input_field.value).get("tools") or settings.get("tools")
    usage = _value_of(value, "usageDetails") or _value_of(value, "usage") or None
    model = first_string((value.get("model"), _value_of(value, "providedModelName")))
    facts = Envelope(
        tools=dump(tools) if isinstance(tools, list | dict) else None,
        model=model,
        id=string(value.get("id")),
        usage=langfuse_usage(opened(usage), model),
    )
    output_field = Field(value.get("output"), span.inside("output"))
    record = LogRecord(span, _value_of(value, "traceId"), facts)
    return logged_request(record, input_field, output_field)


def _without_tools(input_field: Field) -> tuple[Field, list[Any]]:
    """The messages of a request, and the tool schemas after them.

    LangChain's callback adds each schema as a message with the role `tool`.
    [langfuse/langfuse-python, `langfuse/langchain/CallbackHandler.py`]
    """
    values = elements(input_field.value)
    end = len(values)
    while end and _is_schema(members(values[end - 1])):
        end -= 1
    if end == len(values):
        return input_field, []
    return Field(values[:end], input_field.span), [value["content"] for value in values[end:]]


def _is_schema(message: dict[str, Any]) -> bool:
    """Whether a message is the schema of a tool."""
    content = members(message.get("content"))
    is_named = "name" in content and not content.keys().isdisjoint(_SCHEMAS)
    is_schema = isinstance(content.get("function"), dict) or is_named
    return message.get("role") == "tool" and is_schema and "tool_call_id" not in message


def _value_of(value: dict[str, Any], name: str) -> Any:
    """The value under a name in camel or snake case."""
    return value.get(name, value.get(snake_case(name)))


FORMAT = record_format("langfuse", _CONTAINERS, _is_observation, _request)
