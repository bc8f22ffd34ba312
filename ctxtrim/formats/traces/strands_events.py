"""Events of Strands Agents: `gen_ai.user.message` and others, with the content in an attribute.

::

    gen_ai.user.message, gen_ai.assistant.message, gen_ai.tool.message, gen_ai.system.message
        content: blocks of Bedrock's Converse API, as JSON
    gen_ai.choice
        message: the same, or the text of the answer;  finish_reason;  tool.result: a copy

Each event may have several tool results. [strands-agents/sdk-python, `telemetry/tracer.py`]
"""

from collections.abc import Iterable

from ctxtrim.formats import bedrock
from ctxtrim.formats.bedrock import converse
from ctxtrim.formats.fields import string
from ctxtrim.formats.message_lists import ListContents
from ctxtrim.formats.message_parts import result_parts
from ctxtrim.formats.traces.attributes import Attributes
from ctxtrim.formats.traces.message_events import EVENT_ROLES, message_name
from ctxtrim.formats.traces.requests import Field, LoggedRequest, LogRecord, opened, request_of
from ctxtrim.model import Part


def strands_request(record: LogRecord, events: Iterable[Field]) -> LoggedRequest | None:
    """The request whose messages are events; None without such events."""
    contents = ListContents(list(record.facts.preamble))
    answer: int | None = None
    for event in events:
        name = message_name(event.value)
        if name is None or answer is not None:
            continue
        if name == "gen_ai.choice":
            answer = len(contents.messages)
        _add(name, event, contents)
    end = len(contents.messages) if answer is None else answer
    return request_of(record, contents, end)


def _add(name: str, event: Field, contents: ListContents) -> None:
    """Add the messages of an event. A message alone is removed with the event."""
    attributes = Attributes()
    attributes.add(event.value.get("attributes"), event.span.inside("attributes"))
    content = attributes.by_name.get("message" if name == "gen_ai.choice" else "content")
    if content is None or not isinstance(content.value, str):
        return
    role, index = EVENT_ROLES[name], len(contents.messages)
    blocks = opened(content.value)
    if bedrock.knows({"role": "user", "content": blocks}):
        converse.add_content("user" if role == "tool" else role, blocks, content.span, contents)
    elif blocks != []:
        parts: tuple[Part, ...] = (Part("text", content.value, span=content.span),)
        if role == "tool":
            parts = result_parts(parts, string(attributes.get("id")))
        contents.add(role, parts)
    if len(contents.messages) == index + 1:
        contents.change(-1, spans=(event.span,))
