"""The output of `droid exec --output-format stream-json`: one event per line.

A run of `reasoning`, assistant `message` and `tool_call` events is one answer. `completion` repeats
the last text of the model, and is a message only if it does not. Droid's stored sessions are read
as `anthropic`.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import Struct, field

from ctxtrim.formats.base import Format, layout_of_events, session
from ctxtrim.formats.fields import (
    first_string,
    members,
    metadata_in,
    role_in,
    stream_session,
    string,
)
from ctxtrim.formats.message_lists import each_as
from ctxtrim.formats.message_parts import MessageDraft, add_to_answer, call_part, text_of
from ctxtrim.model import Line, Message, Part, Role, Span, Transcript
from ctxtrim.text.records import JsonRecord, dump

_ROLES: dict[object, Role] = {"user": "user", "assistant": "assistant", "system": "system"}
_MEMBERS = {
    "message": "text",
    "reasoning": "text",
    "tool_call": "toolName",
    "tool_result": "value",
    "completion": "finalText",
}
"""A member that each event of the conversation has, by its type."""
_OTHERS = {"uuid", "parentUuid", "content", "data"}
"""Members of such events in other formats."""
_TEXTS = ("stdout", "output", "content", "text")
"""Members of a result that can contain its text; the first one present is used."""


def knows(value: object) -> bool:
    """Whether a value is an event of the stream."""
    if not isinstance(value, dict) or not ("session_id" in value or "sessionId" in value):
        return False
    kind = string(value.get("type"))
    if kind not in _MEMBERS or _MEMBERS[kind] not in value:
        return False
    return kind != "message" or role_in(value, "role", _ROLES) is not None


def admits(value: object) -> bool:
    """The same, and the other events of a stream, which other agents write too."""
    event = members(value)
    is_other = event.get("type") in ("system", "error") and not _OTHERS & event.keys()
    return is_other or knows(value)


class _Stream(Struct):
    """The messages so far, and the last text of the model with its message."""

    drafts: list[MessageDraft] = field(default_factory=list)
    answer: MessageDraft | None = None
    text: str | None = None

    def take(self, value: dict[str, Any], span: Span) -> None:
        """Add an event to the last answer, or as a message."""
        kind = value["type"]
        if kind == "tool_result":
            part = _result(value, span)
            self.drafts.append(MessageDraft("tool", [part], [span], metadata_in(value)))
            return
        part = _part(value, span)
        if kind == "completion" and self.answer is not None and part.text == self.text:
            self.answer.spans.append(span)  # it is removed with the text that it repeats
            return
        role = _ROLES[value["role"]] if kind == "message" else "assistant"
        add_to_answer(role, part, span, self.drafts)
        if role == "assistant" and part.kind == "text":
            self.answer, self.text = self.drafts[-1], part.text


def read(records: Iterable[JsonRecord], lines: Sequence[Line]) -> list[Transcript]:
    """The one conversation of the stream."""
    stream = _Stream()
    model: str | None = None
    name: str | None = None
    for line, record in enumerate(records):
        value, span = members(record.value), Span(line)
        if value.get("type") == "system" and value.get("subtype") == "init":
            model = first_string((value.get("model"), model))
        elif knows(value):
            name = first_string((name, value.get("session_id"), value.get("sessionId")))
            stream.take(value, span)
    messages = [draft.message(index) for index, draft in enumerate(stream.drafts)]
    return session(messages, lines, model=model, id=name)


def _part(value: dict[str, Any], span: Span) -> Part:
    """The part of an event of an answer or a prompt."""
    kind = value["type"]
    if kind == "tool_call":
        call_id = first_string((value.get("toolCallId"), value.get("id")))
        return call_part(
            value.get("parameters"), call_id, value["toolName"], span.inside("parameters"), span
        )
    key = "finalText" if kind == "completion" else "text"
    text = string(value[key]) or ""
    if kind == "reasoning":
        return Part("reasoning", text, block=span)
    return Part("text", text, span=span.inside(key))


def _result(value: dict[str, Any], span: Span) -> Part:
    """A result: a text, or an object with a text; any other value counts as its JSON."""
    content, content_span = value["value"], span.inside("value")
    error, code = value.get("isError"), members(content).get("exitCode")
    is_error = error if isinstance(error, bool) else None
    if isinstance(code, int):
        is_error = code != 0 or error is True
    key = next((key for key in _TEXTS if string(members(content).get(key)) is not None), None)
    if key is not None and set(content) <= {key, "exitCode"}:
        content, content_span = content[key], content_span.inside(key)
    text = content if isinstance(content, str) else dump(content)
    call_id = first_string((value.get("toolCallId"), value.get("id")))
    name = string(value.get("toolName")) or string(value.get("toolId"))
    return Part(
        "tool_result",
        text,
        call_id,
        name,
        is_error,
        span=content_span if isinstance(content, str) else None,
    )


def _json_value(message: Message) -> dict[str, Any]:
    text, result = text_of(message.parts), message.result
    if result is not None:
        return {"type": "tool_result", "session_id": "", "id": result.call_id, "value": text}
    return {"type": "message", "session_id": "", "role": message.role, "text": text}


FORMAT = Format(
    "droid-exec",
    layout_of_events(knows),
    read,
    each_as(_json_value),
    takes=layout_of_events(admits),
    session_of=stream_session,
)
