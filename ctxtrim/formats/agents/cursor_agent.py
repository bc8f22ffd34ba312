"""The output of `cursor-agent --output-format stream-json`: one event per line.

::

    {"type": "user" | "assistant", "message": {"role", "content": [text block, …]}, "session_id"}
    {"type": "thinking", "subtype": "delta", "text"}
    {"type": "tool_call", "subtype": "started", "call_id", "tool_call": {"readToolCall": {"args"}}}
    {"type": "tool_call", "subtype": "completed", "call_id",
     "tool_call": {"readToolCall": {"args", "result": {"success": {…} | "error": {…}}}}}

A run of thinking, texts and calls is one answer. With `--stream-partial-output`, a text follows its
pieces as a whole, before each call and at the end. `result` repeats all texts; it is no message.
Source: https://cursor.com/docs/cli/reference/output-format
"""

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import Struct, field

from ctxtrim.formats.agents import knows_cursor
from ctxtrim.formats.base import session
from ctxtrim.formats.fields import elements, first_string, members, metadata_in, string
from ctxtrim.formats.media_blocks import text_block
from ctxtrim.formats.message_lists import each_as
from ctxtrim.formats.message_parts import MessageDraft, call_part, text_of
from ctxtrim.model import Line, Message, Part, Span, Transcript
from ctxtrim.text.records import JsonRecord, dump

_CALL = "ToolCall"
_TEXTS = ("content", "stdout", "output")
"""Members of a result that can contain its text."""


class _GrowingText(Struct):
    """A text in pieces. They are joined only to compare it with a text of its length."""

    texts: list[str] = field(default_factory=list)
    size: int = 0

    def add(self, text: str) -> None:
        """Add a piece."""
        self.texts.append(text)
        self.size += len(text)

    def clear(self) -> None:
        """Remove all pieces."""
        self.texts.clear()
        self.size = 0

    def equals(self, text: str) -> bool:
        """Whether a text is the same."""
        return len(text) == self.size and text == "".join(self.texts)


class _Stream(Struct):
    """The messages so far, and the ids of their calls without a result.

    `answer`: the text of the last answer; `segment`: its text after the last call or repetition.
    """

    drafts: list[MessageDraft] = field(default_factory=list)
    calls: set[str | None] = field(default_factory=set)
    answer: _GrowingText = field(default_factory=_GrowingText)
    segment: _GrowingText = field(default_factory=_GrowingText)

    def take(self, value: dict[str, Any], span: Span) -> None:
        """Add an event to the last answer, or as a message."""
        if value["type"] == "tool_call":
            self._take_call(value, span)
            return
        outer_span = span.inside("message", "content")
        parts = [
            Part("text", block["text"], span=outer_span.inside(index, "text"))
            for index, block in enumerate(elements(members(value["message"]).get("content")))
            if isinstance(members(block).get("text"), str)
        ]
        if value["type"] == "user":
            self.drafts.append(MessageDraft("user", parts, [span]))
        else:
            self.add(parts, span)

    def add(self, parts: Sequence[Part], span: Span) -> None:
        """Add parts to the last answer, or as a new answer; a repeated text is no part."""
        if not self.drafts or self.drafts[-1].role != "assistant":
            self.drafts.append(MessageDraft("assistant", [], []))
            self.answer.clear()
            self.segment.clear()
        draft = self.drafts[-1]
        draft.spans.append(span)
        text = "".join(part.text for part in parts if part.kind == "text")
        if text and (self.segment.equals(text) or self.answer.equals(text)):
            self.segment.clear()
            return
        draft.parts += parts
        self.answer.add(text)
        self.segment.add(text)
        if any(part.kind == "tool_call" for part in parts):
            self.segment.clear()

    def _take_call(self, value: dict[str, Any], span: Span) -> None:
        """Add a call, a result, or both if the call did not start on an earlier line."""
        call_id, calls = string(value["call_id"]), value["tool_call"]
        key = next(iter(calls), "")
        call, outer_span = members(calls.get(key)), span.inside("tool_call", key)
        name = string(call.get("name")) or key.removesuffix(_CALL)
        is_completed = value.get("subtype") == "completed"
        if not is_completed or call_id not in self.calls:
            arguments = "args" if "args" in call else "arguments"
            block = None if is_completed else span
            place = outer_span.inside(arguments)
            self.add([call_part(call.get(arguments), call_id, name, place, block)], span)
            self.calls.add(call_id)
        if is_completed:
            self.calls.discard(call_id)
            part = _result(call.get("result"), outer_span.inside("result"), call_id, name)
            self.drafts.append(MessageDraft("tool", [part], [span], metadata_in(value)))


def read(records: Iterable[JsonRecord], lines: Sequence[Line]) -> list[Transcript]:
    """The one conversation of the stream."""
    stream = _Stream()
    model: str | None = None
    name: str | None = None
    for line, record in enumerate(records):
        value, span = members(record.value), Span(line)
        text = string(value.get("text"))
        if value.get("type") == "system" and value.get("subtype") == "init":
            model = first_string((value.get("model"), model))
        elif value.get("type") == "thinking" and text:
            stream.add([Part("reasoning", text, block=span)], span)
        elif knows_cursor(value):
            name = first_string((name, value.get("session_id")))
            stream.take(value, span)
    messages = [draft.message(index) for index, draft in enumerate(stream.drafts)]
    return session(messages, lines, model=model, id=name)


def _result(value: Any, span: Span, call_id: str | None, name: str) -> Part:
    """A result: the text of its outcome, or the outcome as JSON, which is never edited."""
    outcome = next(iter(members(value)), None)
    inner = value if outcome is None else value[outcome]
    outer_span = span if outcome is None else span.inside(outcome)
    is_error = True if outcome not in (None, "success") else None
    has_errors = string(members(inner).get("stderr"))
    key = next((key for key in _TEXTS if string(members(inner).get(key)) is not None), None)
    if has_errors or key is None:
        return Part("tool_result", dump(inner), call_id, name, is_error)
    return Part("tool_result", inner[key], call_id, name, is_error, span=outer_span.inside(key))


def _json_value(message: Message) -> dict[str, Any]:
    text, result = text_of(message.parts), message.result
    if result is not None:
        outcome = "error" if result.is_error else "success"
        call = {"args": {}, "result": {outcome: {"content": text}}}
        calls = {f"{result.name or ''}{_CALL}": call}
        event = {"type": "tool_call", "subtype": "completed", "call_id": result.call_id}
        return event | {"tool_call": calls, "session_id": ""}
    role = "assistant" if message.role == "assistant" else "user"
    content = [text_block(text)]
    return {"type": role, "message": {"role": role, "content": content}, "session_id": ""}


insert = each_as(_json_value)
"""Inserts each message as an event."""
