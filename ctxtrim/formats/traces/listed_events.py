"""A list of events in an attribute, each with a message: `events` and `all_messages_events`.

::

    {"event.name": "gen_ai.user.message", "role": "user", "content": …}
    {"event.name": "gen_ai.choice", "index": 0, "message": {"role": "assistant", "content": …}}

Pydantic AI (version 1 of its format) and Logfire write such lists. Old versions write no names.
[pydantic/pydantic-ai, `models/instrumented.py`, `_emit_events`]
"""

from collections.abc import Iterator
from typing import Any

from ctxtrim.formats.fields import elements, members, string
from ctxtrim.formats.message_lists import Element
from ctxtrim.formats.traces.attributes import Attributes
from ctxtrim.formats.traces.message_events import EVENT_ROLES, chat_request
from ctxtrim.formats.traces.requests import Field, LoggedRequest, LogRecord, opened
from ctxtrim.model import Span


def listed_request(
    record: LogRecord, events: Field, attributes: Attributes
) -> LoggedRequest | None:
    """The request in a list of events; None if the list has no messages."""
    prompts: list[Element] = []
    answers: list[Element] = []
    for index, event in enumerate(map(members, elements(opened(events.value)))):
        side = answers if _is_choice(event) else prompts
        side += _elements(event, events.span.inside(index))
    return attributes.located(chat_request(record, prompts, answers))


def _is_choice(event: dict[str, Any]) -> bool:
    """Whether an event is an answer, or a part of one."""
    return isinstance(event.get("message"), dict)


def _elements(event: dict[str, Any], span: Span) -> Iterator[Element]:
    """The message of an event, as Chat Completions writes it."""
    name, value, place = string(event.get("event.name")), event, span
    if _is_choice(event):
        value, place = event["message"], span.inside("message")
        if event.get("index", 0) != 0:  # another answer
            return
    elif name is not None and name not in EVENT_ROLES:
        return
    role = value.get("role", EVENT_ROLES.get(name))
    if role is None:
        return
    message = value | {"role": role, "content": _content(value.get("content"))}
    yield Element(message, place, span)


def _content(content: Any) -> Any:
    """A content whose blocks have types: `kind` is that of a part of Pydantic AI."""
    if not isinstance(content, list):
        return content
    return [_block(block) if "kind" in members(block) else block for block in content]


def _block(block: dict[str, Any]) -> dict[str, Any]:
    kind = block["kind"]
    if kind == "thinking":
        return block | {"type": "reasoning"}
    if kind == "image-url":
        return {"type": "image_url", "image_url": {"url": block.get("url")}}
    if kind == "binary" and str(block.get("media_type")).startswith("image/"):
        data = f"data:{block['media_type']};base64,{block.get('binary_content', '')}"
        return {"type": "image_url", "image_url": {"url": data}}
    return block | {"type": kind}
