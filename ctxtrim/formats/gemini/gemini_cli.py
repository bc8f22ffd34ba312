"""Gemini CLI sessions: one document `{"sessionId", "messages": [{id, type, content, toolCalls?}]}`, or a log of lines.

A message of the model holds its calls and their results, which are messages of their own; newer versions write the
results once more as a message of the user, and that one is sent. `info`, `warning` and `error` are for the screen, and
so are `resultDisplay` and `displayContent`.

How a log is replayed is told in `gemini_log`.
"""

import re
from collections.abc import Iterator, Sequence, Set
from dataclasses import replace
from typing import Any

from ctxtrim.formats.base import Insertion, Site
from ctxtrim.formats.gemini.gemini_cli_log import Entry, is_same, mend, replayed
from ctxtrim.formats.gemini.parts import (
    Piece,
    call_of,
    element_of,
    is_media,
    member,
    messages_of,
    metadata_of,
    part_of,
    put,
    result_of,
    spelled_part,
)  # fmt: skip
from ctxtrim.formats.ids import made_id
from ctxtrim.formats.message_lists import Dialect, Element, Envelope, Found
from ctxtrim.formats.usage import gemini_usage
from ctxtrim.model import Message, Part, Span
from ctxtrim.text.json_paths import Path
from ctxtrim.text.records import dump

_MODEL = ("gemini", "model")
_SCREEN = ("info", "warning", "error")
# What the client answers itself, and what it puts in.
_INJECTED = re.compile(r"\s*(?:/[a-z][\w:-]*(?:\s|$)|\?|<session_context>|<hook_context>)")


def knows(value: object) -> bool:
    """A message with an id and one of the types, and something said."""
    if not isinstance(value, dict) or not isinstance(value.get("id"), str):
        return False
    kind = value.get("type")
    if kind not in ("user", *_MODEL, *_SCREEN) or "message" in value:
        return False
    return "content" in value or "toolCalls" in value or isinstance(value.get("parts"), list)


def opens(value: object) -> bool:
    """The first line of a log."""
    return isinstance(value, dict) and {"sessionId", "projectHash"} <= value.keys() and not value.get("messages")


def read(elements: Sequence[Element], found: Found) -> None:
    """The messages of each entry, in the order in which they first appeared."""
    entries = replayed(elements)
    copies = _copies(entries)
    calls: dict[str, int] = {}  # by id: the entry that last made the call
    answered: dict[tuple[int, str], int] = {}  # the results that the user's messages hold: where each is found
    for number, entry in enumerate(entries):
        kind, value = entry.value.get("type"), entry.value
        if kind in _MODEL:
            calls.update({call["id"]: number for call in _calls(value) if isinstance(call.get("id"), str)})
            _model(entry, copies.get(number, set()), found)
        elif kind == "user":
            for message in _user(entry):
                _take(message, calls, answered, found)
        else:
            found.uncounted += kind not in _SCREEN and "content" in value
    headers = (value for value, _, _ in elements if isinstance(value, dict) and "id" not in value)
    found.id = next((value["sessionId"] for value in headers if isinstance(value.get("sessionId"), str)), None)


def _calls(value: dict[str, Any]) -> list[dict[str, Any]]:
    calls = value.get("toolCalls")
    return [call for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []


def _pieces(value: dict[str, Any], at: Span) -> list[Piece]:
    """The parts of a message's content; a string is one."""
    key = "content" if "content" in value else "parts"
    content, where = value.get(key), at.inside(key)
    if isinstance(content, list):
        return [(part, where.inside(index)) for index, part in enumerate(content)]
    return [] if content is None else [(content, where)]


def _copies(entries: Sequence[Entry]) -> dict[int, set[str]]:
    """By entry: the ids of its calls whose results a message of the user holds too."""
    calls: dict[str, int] = {}
    copies: dict[int, set[str]] = {}
    for number, entry in enumerate(entries):
        if entry.value.get("type") in _MODEL:
            calls.update({call["id"]: number for call in _calls(entry.value) if isinstance(call.get("id"), str)})
        elif entry.value.get("type") == "user" and isinstance(entry.value.get("content"), list):
            for part in entry.value["content"]:
                name = (member(part, ("functionResponse",)) or {}).get("id")
                if isinstance(name, str) and name in calls:
                    copies.setdefault(calls[name], set()).add(name)
    return copies


def _model(entry: Entry, copied: Set[str], found: Found) -> None:
    """A message of the model, and the results in it."""
    value, at = entry.value, entry.at
    model = value.get("model")
    if isinstance(model, str):
        found.model = model
    usage = gemini_usage(value.get("tokens"), len(found.messages))
    if usage is not None:
        found.usages.append(replace(usage, model=found.model))
    parts = [*_thoughts(value, at), *(part_of(part, where, True) for part, where in _pieces(value, at))]
    if not isinstance(value.get("content"), list):
        parts = [replace(part, block=None) if part.kind == "text" else part for part in parts]
    results: list[Message] = []
    waiting = [place for place, part in enumerate(parts) if part.kind == "tool_call"]
    for place, call in enumerate(value["toolCalls"] if isinstance(value.get("toolCalls"), list) else ()):
        if not isinstance(call, dict):
            continue
        part = call_of(call, at.inside("toolCalls", place))
        same = next((one for one in waiting if is_same(parts[one], part)), None)
        if same is None:
            parts.append(part)
        else:  # some versions write it in the content too
            waiting.remove(same)
            parts[same] = part
        if part.call_id not in copied:
            results += _results(call, at.inside("toolCalls", place), part)
    found.messages.append(Message("assistant", tuple(parts), index=len(found.messages), spans=tuple(entry.lines)))
    for result in results:
        found.messages.append(replace(result, index=len(found.messages)))


def _thoughts(value: dict[str, Any], at: Span) -> Iterator[Part]:
    """What the model thought, spelled as the client sends it back."""
    thoughts = value.get("thoughts")
    for place, thought in enumerate(thoughts if isinstance(thoughts, list) else ()):
        if isinstance(thought, dict):
            subject, text = thought.get("subject"), thought.get("description")
            told = [f"**{subject}**"] if subject else []
            yield Part("reasoning", " ".join([*told, str(text or "")]), block=at.inside("thoughts", place))


def _results(call: dict[str, Any], where: Span, made: Part) -> Iterator[Message]:
    """The result beside a call: a function response with what belongs to it, or a string."""
    result, at = call.get("result"), where.inside("result")
    is_error = True if call.get("status") in ("error", "cancelled") else None
    if isinstance(result, str):
        part = Part("tool_result", result, made.call_id, made.name, is_error, None, at)
        yield Message("tool", (part,), metadata=metadata_of(call), spans=(where,))
        return
    pieces = [(result, at)] if isinstance(result, dict) else []
    if isinstance(result, list):
        pieces = [(part, at.inside(place)) for place, part in enumerate(result)]
    parts: list[Part] = []
    homes: list[tuple[dict[str, Any], Span]] = []  # what goes with the result, and may hold what a stage notes
    for piece, place in pieces:
        response = member(piece, ("functionResponse",))
        if response is not None and made.call_id is not None and response.get("id", made.call_id) != made.call_id:
            continue  # of a call beside this one, where it stands again
        more = result_of(piece, place, 0).parts if response is not None else (part_of(piece, place, False),)
        parts += [_answering(part, made, is_error) for part in more]
        homes.append((piece, place) if isinstance(piece, dict) else (call, where))
    if parts:
        if not any(part.kind == "tool_result" for part in parts):
            parts.insert(0, Part("tool_result", "", made.call_id, made.name, is_error))
        else:  # only the response tells whether it is an error, so a text beside it would not be read as that
            parts = [replace(part, text_block=None) for part in parts]
        yield Message("tool", tuple(parts), metadata=metadata_of(homes[0][0]), spans=tuple(span for _, span in homes))


def _answering(part: Part, call: Part, is_error: bool | None) -> Part:
    """A part of a result, as one that answers a call."""
    if part.kind == "text" and part.block is not None:  # beside the response, not in it
        part = replace(part, kind="tool_result")
    return replace(
        part, call_id=call.call_id, is_error=part.is_error or is_error if part.kind == "tool_result" else None
    )


def _user(entry: Entry) -> list[Message]:
    pieces = _pieces(entry.value, entry.at)
    first = pieces[0][0] if pieces else ""
    text = first.get("text") if isinstance(first, dict) else first
    is_injected = isinstance(text, str) and _INJECTED.match(text) is not None
    messages = messages_of("user", pieces, tuple(entry.lines), 0, is_injected=is_injected)
    if any(isinstance(entry.value.get(key), list) for key in ("content", "parts")):
        return messages
    (message,) = messages  # what is no list has nothing that could go alone
    parts = tuple(replace(part, block=None) for part in message.parts)
    return [replace(message, parts=parts, metadata=metadata_of(entry.value), spans=tuple(entry.lines))]


def _take(message: Message, calls: dict[str, int], answered: dict[tuple[int, str], int], found: Found) -> None:
    """Take in a message of the user. A result that was there before goes with that one: it is not sent twice."""
    name = message.result.call_id if message.result is not None else None
    if name is not None and name in calls:
        key = calls[name], name
        if key in answered:
            first = found.messages[answered[key]]
            found.messages[answered[key]] = replace(first, spans=(*first.spans, *message.spans))
            return
        answered[key] = len(found.messages)
    found.messages.append(replace(message, index=len(found.messages)))


def envelope(value: dict[str, Any], at: Span) -> Envelope:
    """The session's id; the model stands in its messages."""
    name = value.get("sessionId")
    return Envelope(id=name if isinstance(name, str) else None)


def owner(array: Path) -> Path | None:
    """A message goes when the last of its content goes; a call stays without its result."""
    if is_media(array):
        return array
    return array[:-1] if array[-1] in ("content", "parts") else None


def insert(run: Sequence[Message], site: Site) -> Sequence[Insertion]:
    """Each message as one of the list, results together in one of the user's; see `put`."""
    return put(run, site, _home, ("content",), _spelled)


def _home(span: Span) -> Span:
    if "toolCalls" in span.path:
        return Span(span.line, span.path[: span.path.index("toolCalls")])
    outer = element_of(span, ("content",))
    return outer if outer != span else element_of(span, ("parts",))


def _spelled(messages: Sequence[Message], near: Any, number: int) -> dict[str, Any]:
    """Messages of one role as one of the session; its id is made of what it says and where."""
    content = [spelled_part(one) for one in messages]
    name = made_id(near.get("id"), dump(content), number)
    told = {"timestamp": near["timestamp"]} if "timestamp" in near else {}
    return {"id": name} | told | {"type": "gemini" if messages[0].role == "assistant" else "user", "content": content}


DIALECT = Dialect(
    "gemini-cli",
    knows,
    read,
    envelope,
    owner,
    insert,
    places=("messages", "[*].messages", ""),
    mend=mend,
    opens=opens,
    must_alternate=True,
)
