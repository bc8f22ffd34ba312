"""Messages as events of OpenTelemetry: `gen_ai.user.message`, `gen_ai.choice` and others.

An event is one of a span, with the message in the attribute `gen_ai.event.content`, or a log record
with the message as its body. Records of one span are a request. No message is added to them. Events
of Strands Agents are read by `strands_events`, lists of events by `listed_events`.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec.structs import replace

from ctxtrim.formats.fields import members, metadata_in, string
from ctxtrim.formats.message_lists import Element, Envelope, ListContents
from ctxtrim.formats.openai import chat
from ctxtrim.formats.traces.attributes import Attributes
from ctxtrim.formats.traces.requests import Field, LoggedRequest, opened
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
    found = Attributes()
    found.add(event.get("attributes"), Span(0))
    for name in (event.get("eventName"), event.get("event_name"), event.get("name")):
        if string(name) in EVENT_ROLES:
            return string(name)
    name = string(found.get("event.name"))
    return name if name in EVENT_ROLES else None


def event_request(
    span: Span, trace: str | None, events: Iterable[Field], facts: Envelope
) -> LoggedRequest | None:
    """The request whose messages are events; None without such events."""
    found, attributes = ListContents(list(facts.preamble)), Attributes()
    sent: list[Element] = []
    received: list[Element] = []
    for event in events:
        name = message_name(event.value)
        if name is not None:
            side = received if name == "gen_ai.choice" else sent
            side += _elements(name, event, attributes)
    chat.read(sent, found)
    answer = len(found.messages)
    chat.read(received[:1], found)
    if len(found.messages) == len(facts.preamble):
        return None
    messages = tuple(map(attributes.located, found.messages))
    usages = () if facts.usage is None else (replace(facts.usage, message=answer),)
    return LoggedRequest(span, trace, messages, answer, facts, usages[: len(received)])


def _elements(name: str, event: Field, found: Attributes) -> Iterator[Element]:
    """The message of an event, as Chat Completions writes it."""
    value, span = opened(_content(event, found))
    if name == "gen_ai.choice" and isinstance(members(value).get("message"), dict):
        value, span = value["message"], span.inside("message")
    if isinstance(value, dict):
        more = {"role": EVENT_ROLES[name], "content": None} | dict(metadata_in(event.value))
        yield Element(more | value, span, event.span)


def _content(event: Field, found: Attributes) -> Field:
    """The field with the message of an event."""
    value, span = event
    body = value.get("body")
    if isinstance(body, dict):
        place = span.inside("body")
        is_otlp = len(body) == 1 and next(iter(body)).endswith("Value")
        return Field(found.plain(body, place, place) if is_otlp else body, place)
    own = Attributes()
    own.add(value.get("attributes"), span.inside("attributes"))
    return own.field_of("gen_ai.event.content") or Field(None, span)
