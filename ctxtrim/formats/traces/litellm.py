"""Standard logging payloads of LiteLLM: `{"id", "trace_id", "call_type", "messages", "response"}`.

A payload is a line or a document, alone, under `standard_logging_object` or in a list `data`.
`messages` are those of the request, also of Anthropic's and the Responses API. Rows of spend logs
have no messages, but the request under `proxy_server_request`; all of them may be JSON in a string.
[BerriAI/litellm, `proxy/spend_tracking/spend_tracking_utils.py`]
"""

from typing import Any

from msgspec.structs import replace

from ctxtrim.formats.anthropic.blocks import block
from ctxtrim.formats.fields import first_string, members, string
from ctxtrim.formats.message_lists import Envelope
from ctxtrim.formats.message_parts import system_prompt
from ctxtrim.formats.request_options import chat_options, choice
from ctxtrim.formats.traces.requests import Field, LoggedRequest, LogRecord, logged_request, opened
from ctxtrim.formats.traces.trace_formats import record_format
from ctxtrim.formats.usage import openai_usage
from ctxtrim.model import Message, Span
from ctxtrim.text.records import dump

_CONTAINERS = ("kwargs", "standard_logging_object", "data")
_PARAMETERS, _BODY = "model_parameters", "proxy_server_request"
_REDACTED = [{"role": "user", "content": "redacted-by-litellm"}]
"""What a log has in place of its messages if these are not to be logged."""
_ANTHROPIC = "anthropic_messages"  # the system prompt of such a request is logged in the body only


def _is_payload(value: dict[str, Any]) -> bool:
    keys = {"call_type", "messages", "response"}
    return keys <= value.keys() and isinstance(value["call_type"], str)


def _request(value: dict[str, Any], span: Span) -> LoggedRequest | None:
    messages = opened(value["messages"])
    key = "messages" if messages else _BODY
    body = members(opened(value.get(_BODY)))
    parameters = members(value.get(_PARAMETERS))
    settings = parameters or body
    tools = settings.get("tools")
    preamble = _system_prompt(parameters, span.inside(_PARAMETERS))
    preamble = preamble or _system_prompt(body, span.inside(_BODY))
    options = chat_options(settings)
    if value["call_type"] == _ANTHROPIC and not (preamble or body):
        options = replace(options, unread=("the log lacks the system prompt of the request",))
    if messages == _REDACTED:
        options = replace(options, unread=("the log lacks the messages of the request",))
    facts = Envelope(
        tools=dump(tools) if isinstance(tools, list | dict) else None,
        tool_choice=choice(settings),
        model=string(value.get("model")),
        id=first_string((value.get("id"), value.get("request_id"))),
        usage=openai_usage(value),
        preamble=preamble,
        options=options,
    )
    input_field = Field(value.get(key), span.inside(key))
    output_field = Field(value["response"], span.inside("response"))
    trace = first_string((value.get("trace_id"), value.get("session_id")))
    return logged_request(LogRecord(span, trace, facts), input_field, output_field)


def _system_prompt(settings: dict[str, Any], span: Span) -> tuple[Message, ...]:
    """The system prompt of a request to the Responses API or to Anthropic, next to its messages."""
    key = "instructions" if settings.get("instructions") else "system"
    return system_prompt(settings.get(key) or None, span.inside(key), block)


FORMAT = record_format("litellm", _CONTAINERS, _is_payload, _request)
