"""Spans and events of OpenTelemetry with the messages of a request, as OTLP JSON or as the SDKs
print them.

::

    {"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId", "attributes": [{key, value}]}]}]}]}
    {"resourceLogs": [{"scopeLogs": [{"logRecords": [{"traceId", "attributes": [ … ]}]}]}]}
    {"name", "context": {"trace_id"}, "attributes": {key: value}}         console exporters of SDKs

A message list is an attribute of the span or of one of its events: a value, or JSON in a string.
Older instrumentations write an attribute for each field of a message (`flat_messages`), or an event
for each message (`message_events`). Attributes of single SDKs are read by `sdk_spans`.
"""

from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from ctxtrim.formats.fields import elements, first_string, members
from ctxtrim.formats.message_lists import Envelope
from ctxtrim.formats.traces import genai_messages
from ctxtrim.formats.traces.attributes import Attributes
from ctxtrim.formats.traces.message_events import event_request, message_name
from ctxtrim.formats.traces.requests import (
    Field,
    LoggedRequest,
    LogRecord,
    logged_request,
    nested,
    opened,
)
from ctxtrim.formats.traces.trace_formats import trace_format
from ctxtrim.formats.usage import responses_usage
from ctxtrim.model import Message, Span
from ctxtrim.text.records import dump

_INPUTS = (
    "gen_ai.input.messages",
    "gen_ai.prompt",
    "gcp.vertex.agent.llm_request",  # Agent Development Kit
    "pydantic_ai.all_messages",
)
_OUTPUTS = ("gen_ai.output.messages", "gen_ai.completion", "gcp.vertex.agent.llm_response")
_SYSTEM = ("gen_ai.system_instructions", "gen_ai.agent.system_prompt")  # the second: Strands Agents
_MODELS = ("gen_ai.response.model", "gen_ai.request.model", "llm.model_name", "ai.model.id")
_TOKENS = (
    (
        "gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt",
        "ai.usage.inputTokens", "ai.usage.promptTokens",
    ),
    (
        "gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens",
        "llm.token_count.completion", "ai.usage.outputTokens", "ai.usage.completionTokens",
    ),
)  # fmt: skip
_CONTAINERS = (
    "resourceSpans", "scopeSpans", "instrumentationLibrarySpans", "spans",
    "resourceLogs", "scopeLogs", "logRecords",
)  # fmt: skip


def is_record(value: object) -> bool:
    """Whether a value is an export or a span."""
    if isinstance(value, list):
        return bool(value) and _is_span(value[0])
    return isinstance(value, dict) and (
        isinstance(value.get("resourceSpans", value.get("resourceLogs")), list) or _is_span(value)
    )


def _is_span(value: Any) -> bool:
    """Whether a value is a span or an event with attributes and the id of its trace."""
    if not isinstance(value, dict) or not isinstance(value.get("attributes"), dict | list):
        return False
    return _trace(value) is not None


def _trace(value: dict[str, Any]) -> str | None:
    return _id_under(value, ("traceId", "trace_id"))


def _id(value: dict[str, Any]) -> str | None:
    return _id_under(value, ("spanId", "span_id"))


def _id_under(value: dict[str, Any], keys: tuple[str, str]) -> str | None:
    """The id under one of two keys of a span, or of its context."""
    context = members(value.get("context", value.get("spanContext")))
    return first_string(source.get(key) for source in (value, context) for key in keys)


def requests(value: Any, span: Span) -> Iterator[LoggedRequest]:
    """The requests of an export."""
    messages: dict[object, list[Field]] = {}
    for record in nested(value, span, _CONTAINERS):
        if message_name(record.value) is not None:
            messages.setdefault((_trace(record.value), _id(record.value)), []).append(record)
        elif _is_span(record.value):
            request = _request(*record)
            if request is not None:
                yield request
    for events in messages.values():  # log records: the messages of a request
        first, first_span = events[0]
        facts = Envelope(id=_id(first))
        request = event_request(LogRecord(first_span, _trace(first), facts), events)
        if request is not None:
            yield request


def _request(value: dict[str, Any], span: Span) -> LoggedRequest | None:
    """The request of a span, or of an event with all messages."""
    attributes = Attributes()
    attributes.add(value["attributes"], span.inside("attributes"))
    events = [
        Field(members(event), span.inside("events", index))
        for index, event in enumerate(elements(value.get("events")))
    ]
    for event in events:
        attributes.add(event.value.get("attributes"), event.span.inside("attributes"))
    from ctxtrim.formats.traces import flat_messages, sdk_spans  # for files of this format only

    kind = sdk_spans.kind_of(attributes)
    if kind is None:
        return None
    facts = _facts(attributes, _id(value))
    if kind == "run":
        facts = replace(facts, usage=None)  # that of all requests
    record = LogRecord(span, _trace(value), facts)
    request = (
        _with_lists(record, attributes)
        or flat_messages.flat_request(record, attributes)
        or event_request(record, events)
        or sdk_spans.request(record, attributes, events)
    )
    if request is None or kind == "request":
        return request
    return replace(request, is_around=True)


def _with_lists(record: LogRecord, attributes: Attributes) -> LoggedRequest | None:
    """The request in attributes with all messages that were sent, or with all of an answer."""
    input_field, output_field = _field(attributes, _INPUTS), _field(attributes, _OUTPUTS)
    if input_field is None and output_field is None:
        return None
    preamble = _without_copies(record.facts.preamble, input_field)
    record = replace(record, facts=replace(record.facts, preamble=preamble))
    return attributes.located(logged_request(record, input_field, output_field))


def _without_copies(preamble: tuple[Message, ...], prompts: Field | None) -> tuple[Message, ...]:
    """The system instructions, without those that are a system message, too.

    [pydantic/pydantic-ai, `models/instrumented.py`, `handle_messages`]
    """
    if not preamble or prompts is None:
        return preamble
    (message,) = preamble
    texts: list[Any] = []
    for element in map(members, elements(opened(prompts.value))):
        if element.get("role") == "system":
            texts += [members(part).get("content") for part in elements(element.get("parts"))]
    parts = tuple(part for part in message.parts if part.text not in texts)
    return (replace(message, parts=parts),) if parts else ()


def _facts(attributes: Attributes, span_id: str | None) -> Envelope:
    """What the attributes say about a request with an id."""
    from ctxtrim.formats.traces import sdk_spans  # for files of this format only

    model = first_string(attributes.get(name) for name in _MODELS)
    prompt, answer = (next(filter(None, map(attributes.get, names)), None) for names in _TOKENS)
    prompt = sdk_spans.prompt_with_cache(attributes, prompt, answer)
    usage = responses_usage({"input_tokens": prompt, "output_tokens": answer}, model=model)
    tools = opened(attributes.get("gen_ai.tool.definitions"))
    tools = tools if isinstance(tools, list | dict) else sdk_spans.tools_in(attributes)
    return Envelope(
        tools=dump(tools) if tools is not None else None,
        model=model,
        id=span_id,
        usage=usage,
        preamble=_instructions(attributes),
    )


def _field(attributes: Attributes, names: tuple[str, ...]) -> Field | None:
    """The first attribute with one of some names."""
    name = next((name for name in names if attributes.get(name) is not None), None)
    return None if name is None else attributes.field_of(name)


def _instructions(attributes: Attributes) -> tuple[Message, ...]:
    """The system instructions, a text or a list of parts, as the first message."""
    field = _field(attributes, _SYSTEM)
    if field is None:
        return ()
    parts = genai_messages.parts_of(opened(field.value), field.span)
    return (Message("system", parts, index=0, spans=(field.span,)),) if parts else ()


FORMAT = trace_format("opentelemetry", is_record, requests)
