"""Runs of LangSmith, of which those with the `run_type` llm are requests.

Messages are LangChain's (`inputs.messages`, `outputs.generations`), or the request and the response
of a provider that the SDK wraps. Runs come one per line, in lists, or inside `child_runs`.
"""

from typing import Any

from ctxtrim.formats.fields import first_string, members
from ctxtrim.formats.message_lists import Envelope
from ctxtrim.formats.traces.requests import Field, LoggedRequest, logged_request, opened
from ctxtrim.formats.traces.traces import record_format
from ctxtrim.formats.usage import openai_usage, responses_usage
from ctxtrim.model import Span
from ctxtrim.model.request import Usage
from ctxtrim.text.records import dump

_INSIDE = ("runs", "items", "child_runs")


def _is_run(value: dict[str, Any]) -> bool:
    return isinstance(value.get("run_type"), str) and "inputs" in value


def _request(value: dict[str, Any], span: Span) -> LoggedRequest | None:
    """The request of a run of type llm."""
    if value["run_type"] != "llm":
        return None
    sent = Field(value["inputs"], span.inside("inputs"))
    received = Field(value.get("outputs"), span.inside("outputs"))
    inputs, outputs = members(opened(sent).value), members(opened(received).value)
    extra = members(opened(Field(value.get("extra"), span)).value)
    settings, about = members(extra.get("invocation_params")), members(extra.get("metadata"))
    tools = settings.get("tools") or inputs.get("tools")
    result = members(outputs.get("llm_output"))
    models = (
        settings.get("model"),
        settings.get("model_name"),
        inputs.get("model"),
        about.get("ls_model_name"),
        result.get("model_name"),
    )
    facts = Envelope(
        tools=dump(tools) if isinstance(tools, list | dict) else None,
        model=first_string(models),
        id=first_string((value.get("id"),)),
        usage=_usage(value, outputs, result),
    )
    trace = first_string((value.get("trace_id"), _root(value.get("dotted_order"))))
    return logged_request(span, trace, (sent,), received, facts)


def _usage(value: dict[str, Any], outputs: dict[str, Any], result: dict[str, Any]) -> Usage | None:
    """The usage of a run: of its response, else next to it."""
    return (
        openai_usage(result.get("token_usage"))
        or responses_usage(outputs.get("usage_metadata"))
        or openai_usage(outputs.get("usage"))
        or openai_usage(value)
    )


def _root(order: object) -> str | None:
    """The first run in a dotted order."""
    return order.split(".", 1)[0] if isinstance(order, str) else None


FORMAT = record_format("langsmith", _INSIDE, _is_run, _request)
