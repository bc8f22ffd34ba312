"""Standard logging payloads of LiteLLM: `{"id", "trace_id", "call_type", "messages", "response"}`.

A payload is a line or a document, alone, under `standard_logging_object` or in a list `data`.
`messages` are those of the request, also of Anthropic's and the Responses API. Rows of spend logs
have no messages, but the request under `proxy_server_request`; all of them may be JSON in a string.
[BerriAI/litellm, `proxy/spend_tracking/spend_tracking_utils.py`]
"""

from typing import Any

from ctxtrim.formats.fields import first_string, members, string
from ctxtrim.formats.message_lists import Envelope
from ctxtrim.formats.request_options import chat_options, choice
from ctxtrim.formats.traces.requests import Field, LoggedRequest, logged_request, opened
from ctxtrim.formats.traces.traces import record_format
from ctxtrim.formats.usage import openai_usage
from ctxtrim.model import Span
from ctxtrim.text.records import dump

_INSIDE = ("kwargs", "standard_logging_object", "data")
_BODY = "proxy_server_request"


def _is_payload(value: dict[str, Any]) -> bool:
    keys = {"call_type", "messages", "response"}
    return keys <= value.keys() and isinstance(value["call_type"], str)


def _request(value: dict[str, Any], span: Span) -> LoggedRequest | None:
    key = "messages" if opened(Field(value["messages"], span)).value else _BODY
    body = members(opened(Field(value.get(_BODY), span)).value)
    settings = members(value.get("model_parameters")) or body
    tools = settings.get("tools")
    facts = Envelope(
        tools=dump(tools) if isinstance(tools, list | dict) else None,
        tool_choice=choice(settings),
        model=string(value.get("model")),
        id=first_string((value.get("id"), value.get("request_id"))),
        usage=openai_usage(value),
        options=chat_options(settings),
    )
    sent = Field(value.get(key), span.inside(key))
    received = Field(value["response"], span.inside("response"))
    trace = first_string((value.get("trace_id"), value.get("session_id")))
    return logged_request(span, trace, (sent,), received, facts)


FORMAT = record_format("litellm", _INSIDE, _is_payload, _request)
