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

from ctxtrim.formats.base import Format, Insertion, Layout, Site, no_owner, session
from ctxtrim.formats.fields import first_string, members, metadata_in, role_in, string
from ctxtrim.formats.message_lists import insert_elements
from ctxtrim.formats.message_parts import MessageDraft, call_part, text_of
from ctxtrim.model import Line, Message, Part, Role, Span, Transcript
from ctxtrim.text.records import JsonRecord

_ROLES: dict[object, Role] = {"user": "user", "assistant": "assistant"}
_OWN = {
    "init": {"session_id", "model"},
    "tool_use": {"tool_name", "tool_id", "parameters"},
    "tool_result": {"tool_id", "status"},
}
"""The members of the events that only this stream has, by their type."""


def sniff(value: object) -> Layout | None:
    """Whether a value is an event that only this stream has."""
    event = members(value)
    own = _OWN.get(string(event.get("type")) or "")
    is_own = own is not None and "timestamp" in event and own <= event.keys()
    return "events" if is_own else None


def takes(value: object) -> Layout | None:
    """The same, and the other events of a stream, which other programs write too."""
    event = members(value)
    is_other = event.get("type") in ("error", "result") and "timestamp" in event
    return "events" if is_other or _is_message(event) else sniff(value)


def _is_message(event: dict[str, Any]) -> bool:
    is_message = event.get("type") == "message" and "timestamp" in event
    return is_message and role_in(event, "role", _ROLES) is not None and "content" in event


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
        elif kind == "tool_result" and sniff(event) is not None:
            drafts.append(MessageDraft("tool", [_result(event, span)], [span], metadata_in(event)))
        elif kind == "tool_use" and sniff(event) is not None:
            arguments, home = event["parameters"], span.inside("parameters")
            call = call_part(arguments, event["tool_id"], event["tool_name"], home, span)
            _add("assistant", call, span, drafts)
        elif _is_message(event):
            text = Part("text", string(event["content"]) or "", span=span.inside("content"))
            _add(_ROLES[event["role"]], text, span, drafts)
    messages = [draft.message(index) for index, draft in enumerate(drafts)]
    return session(messages, lines, model=model, id=name)


def _add(role: Role, part: Part, span: Span, drafts: list[MessageDraft]) -> None:
    """Add a part to the answer before it, or as a message."""
    if role == "assistant" and drafts and drafts[-1].role == role:
        drafts[-1].parts.append(part)
        drafts[-1].spans.append(span)
    else:
        drafts.append(MessageDraft(role, [part], [span]))


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
    neighbour = members(site.value_of((site.later or site.earlier or site.any).spans[0]))
    return insert_elements(run, site, lambda message: _event(message, neighbour.get("timestamp")))


def _event(message: Message, time: Any) -> dict[str, Any]:
    text, result = text_of(message.parts), message.result
    if result is None:
        return {"type": "message", "timestamp": time, "role": message.role, "content": text}
    status = "error" if result.is_error else "success"
    event = {"type": "tool_result", "timestamp": time, "tool_id": result.call_id}
    return event | {"status": status, "output": text}


FORMAT = Format("gemini-cli-stream", sniff, read, no_owner, insert, takes=takes)
