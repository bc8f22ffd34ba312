"""The output of `gemini --output-format stream-json`: one event per line.

::

    init           {"session_id", "model"}
    message        {"role": "user" | "assistant", "content", "delta"?}: pieces of an answer
    tool_use       {"tool_name", "tool_id", "parameters"}
    tool_result    {"tool_id", "status", "output"?, "error"?: {"message"}}
    error, result  warnings and sums

A run of `message` and `tool_use` events of the model is one answer. `output` is what the screen
shows of a result. Source: `packages/core/src/output/types.ts` and
`packages/cli/src/nonInteractiveCli.ts` of google-gemini/gemini-cli.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from ctxtrim.formats.base import Insertion, Site, session
from ctxtrim.formats.fields import first_string, members, metadata_in, string
from ctxtrim.formats.gemini import STREAM_ROLES, is_stream_message, knows_stream
from ctxtrim.formats.message_lists import insert_elements
from ctxtrim.formats.message_parts import MessageDraft, add_to_answer, call_part, text_of
from ctxtrim.model import Line, Message, Part, Span, Transcript
from ctxtrim.text.records import JsonRecord


def read(records: Iterable[JsonRecord], lines: Sequence[Line]) -> list[Transcript]:
    """The one conversation of the stream."""
    drafts: list[MessageDraft] = []
    model = name = None
    for line, record in enumerate(records):
        event, span = members(record.value), Span(line)
        kind = event.get("type")
        if kind == "init":
            model = first_string((event.get("model"), model))
            name = first_string((name, event.get("session_id")))
        elif kind == "tool_result" and knows_stream(event):
            drafts.append(MessageDraft("tool", [_result(event, span)], [span], metadata_in(event)))
        elif kind == "tool_use" and knows_stream(event):
            arguments, home = event["parameters"], span.inside("parameters")
            call = call_part(arguments, event["tool_id"], event["tool_name"], home, span)
            add_to_answer("assistant", call, span, drafts)
        elif is_stream_message(event):
            text = Part("text", event["content"], span=span.inside("content"))
            add_to_answer(STREAM_ROLES[event["role"]], text, span, drafts)
    messages = [draft.message(index) for index, draft in enumerate(drafts)]
    return session(messages, lines, model=model, id=name)


def _result(event: dict[str, Any], span: Span) -> Part:
    """A result with the text that the screen shows, or the words of an error."""
    text, home = string(event.get("output")), span.inside("output")
    if text is None:
        text = string(members(event.get("error")).get("message"))
        home = span.inside("error", "message")
    place = None if text is None else home
    call_id, is_error = string(event["tool_id"]), event["status"] == "error"
    return Part("tool_result", text or "", call_id, is_error=is_error, span=place)


def insert(run: Sequence[Message], site: Site) -> Sequence[Insertion]:
    """Each message as an event with the time of its neighbour."""
    neighbour = members(site.value_of(site.neighbour.spans[0]))
    values = [_event(message, neighbour.get("timestamp")) for message in run]
    return insert_elements(run, site, values)


def _event(message: Message, time: Any) -> dict[str, Any]:
    text, result = text_of(message.parts), message.result
    if result is None:
        return {"type": "message", "timestamp": time, "role": message.role, "content": text}
    status = "error" if result.is_error else "success"
    event = {"type": "tool_result", "timestamp": time, "tool_id": result.call_id}
    return event | {"status": status, "output": text}
