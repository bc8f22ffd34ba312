"""Messages as events of OpenTelemetry: `gen_ai.user.message`, `gen_ai.choice` and others.

An event is one of a span, with the message in the attribute `gen_ai.event.content`, or a log record
with the message as its body. Records of one span are a request. No message is added to them. Events
of Strands Agents are read by `strands_events`, lists of events by `listed_events`.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from ctxtrim.formats.fields import members, metadata_in, string
from ctxtrim.formats.message_lists import Element, ListContents
from ctxtrim.formats.openai import chat
from ctxtrim.formats.traces.attributes import Attributes
from ctxtrim.formats.traces.requests import Field, LoggedRequest, LogRecord, opened, request_of
from ctxtrim.model import Role, Span

EVENT_ROLES: dict[object, Role] = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
    "gen_ai.choice": "assistant",
}


def message_name(event: dict[str, Any]) -> str | None:
    """The name of an event with a message; None for other events."""
    attributes = Attributes()
    attributes.add(event.get("attributes"), Span(0))
    for name in (event.get("eventName"), event.get("event_name"), event.get("name")):
        if string(name) in EVENT_ROLES:
            return string(name)
    name = string(attributes.get("event.name"))
    return name if name in EVENT_ROLES else None


def event_request(record: LogRecord, events: Iterable[Field]) -> LoggedRequest | None:
    """The request whose messages are events; None without such events."""
    attributes = Attributes()
    prompts: list[Element] = []
    answers: list[Element] = []
    for event in events:
        name = message_name(event.value)
        if name is not None:
            side = answers if name == "gen_ai.choice" else prompts
            side += _elements(name, event, attributes)
    return attributes.located(chat_request(record, prompts, answers[:1]))


def chat_request(
    record: LogRecord, prompts: Iterable[Element], answers: Iterable[Element]
) -> LoggedRequest | None:
    """The request with some messages of Chat Completions; None without messages."""
    contents = ListContents(list(record.facts.preamble))
    chat.read(prompts, contents)
    answer = len(contents.messages)
    chat.read(answers, contents)
    return request_of(record, contents, answer)


def _elements(name: str, event: Field, attributes: Attributes) -> Iterator[Element]:
    """The message of an event, as Chat Completions writes it."""
    content, span = _content(event, attributes)
    value = opened(content)
    if name == "gen_ai.choice" and isinstance(members(value).get("message"), dict):
        value, span = value["message"], span.inside("message")
    if isinstance(value, dict):
        fields = {"role": EVENT_ROLES[name], "content": None} | dict(metadata_in(event.value))
        yield Element(fields | value, span, event.span)


def _content(event: Field, attributes: Attributes) -> Field:
    """The field with the message of an event."""
    value, span = event
    body = value.get("body")
    if isinstance(body, dict):
        place = span.inside("body")
        is_otlp = len(body) == 1 and next(iter(body)).endswith("Value")
        return Field(attributes.plain(body, place, place) if is_otlp else body, place)
    event_attributes = Attributes()
    event_attributes.add(value.get("attributes"), span.inside("attributes"))
    return event_attributes.field_of("gen_ai.event.content") or Field(None, span)
