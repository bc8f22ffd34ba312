"""Transcripts of Antigravity (`transcript.jsonl`, `transcript_full.jsonl`): one step per line.

A `PLANNER_RESPONSE` is an answer with its calls, which have no ids. The steps of the model after it
are their results, in order. The program is not open source: kinds and sources of steps are taken
from sessions and from the reader of agent-sessions (`AntigravityTranscriptParser`, 2026).
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ctxtrim.formats.base import Format, Insertion, Site, layout_of_events, session
from ctxtrim.formats.fields import members, string
from ctxtrim.formats.message_lists import ListContents, insert_elements
from ctxtrim.formats.message_parts import listed_calls, text_of
from ctxtrim.model import Line, Message, Part, Role, Span, Transcript
from ctxtrim.text.records import JsonRecord

_ERROR_STATUSES = ("ERROR", "CANCELED")
_STEP_KINDS: dict[Role, tuple[str, str]] = {
    "user": ("USER_EXPLICIT", "USER_INPUT"),
    "assistant": ("MODEL", "PLANNER_RESPONSE"),
    "tool": ("MODEL", "GENERIC"),
    "system": ("SYSTEM", "SYSTEM_MESSAGE"),
}
"""Source and type of an inserted step."""


def knows(value: object) -> bool:
    """Whether a value is a step."""
    if not isinstance(value, dict) or type(value.get("step_index")) is not int:
        return False
    return isinstance(value.get("type"), str)


def session_of(value: Mapping[str, Any]) -> str | None:
    """The time of the first prompt of a conversation; None for other steps.

    An inserted step has the time of its neighbour.
    """
    is_first = value.get("type") == "USER_INPUT" and value.get("step_index") == 0
    return string(value.get("created_at")) if is_first else None


def read(records: Iterable[JsonRecord], lines: Sequence[Line]) -> list[Transcript]:
    """The one conversation of the transcript."""
    contents = ListContents()
    names: list[str | None] = []  # of the calls without a result
    for line, record in enumerate(records):
        if not knows(record.value):
            continue
        value, span = members(record.value), Span(line)
        role = _role(value, bool(names))
        if role is None:
            contents.uncounted += "content" in value
            continue
        name = names.pop(0) if role == "tool" else None
        parts = _parts(role, value, span, name)
        if role == "assistant":
            names = [part.name for part in parts if part.kind == "tool_call"]
        is_injected = role == "user" and value["type"] != "USER_INPUT"
        contents.add(role, parts, span, value=value, is_injected=is_injected)
    return session(contents.messages, lines, contents.uncounted)


def _role(value: dict[str, Any], has_calls: bool) -> Role | None:
    """The role of a step; None if it is unknown.

    A text of the client is a user message. So is a step of the model that answers no call, because
    the client ran it without one.
    """
    source, kind = value.get("source"), value["type"]
    if kind == "PLANNER_RESPONSE":
        return "assistant"
    if source == "MODEL" and has_calls:
        return "tool"
    has_text = source in ("MODEL", "SYSTEM") and string(value.get("content"))
    return "user" if kind == "USER_INPUT" or has_text else None


def _parts(role: Role, value: dict[str, Any], span: Span, name: str | None) -> tuple[Part, ...]:
    """The parts of a step; `name` is that of the call that it answers."""
    text = string(value.get("content"))
    content_span = span.inside("content") if text is not None else None
    if role == "tool":
        is_error = True if value.get("status") in _ERROR_STATUSES else None
        return (Part("tool_result", text or "", None, name, is_error, span=content_span),)
    parts = [] if text is None else [Part("text", text, span=content_span)]
    if role == "user":
        return tuple(parts)
    if string(value.get("thinking")):
        parts.insert(0, Part("reasoning", value["thinking"]))
    parts += listed_calls(value.get("tool_calls"), span.inside("tool_calls"), "args")
    return tuple(parts)


def insert(run: Sequence[Message], site: Site) -> Sequence[Insertion]:
    """Each message as a step with the index and the time of its neighbour."""
    neighbour = members(site.value_of(site.neighbour.spans[0]))
    return insert_elements(run, site, [_json_value(message, neighbour) for message in run])


def _json_value(message: Message, neighbour: dict[str, Any]) -> dict[str, Any]:
    source, kind = _STEP_KINDS[message.role]
    time = {"created_at": neighbour["created_at"]} if "created_at" in neighbour else {}
    fields = {"step_index": neighbour.get("step_index", 0), "source": source, "type": kind}
    return fields | {"status": "DONE"} | time | {"content": text_of(message.parts)}


FORMAT = Format("antigravity", layout_of_events(knows), read, insert, session_of=session_of)
