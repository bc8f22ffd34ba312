"""Gemini CLI sessions: one document `{"sessionId", "messages": […]}`, or a log of lines.

A message is `{id, type, content, toolCalls?}`. A model message contains its calls and their
results; the results are read as separate messages. Newer versions repeat the results in a user
message, and send that one. `info`, `warning`, `error`, `resultDisplay` and `displayContent` are
only for the screen. `gemini_cli_log` replays a log.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from operator import itemgetter
from typing import Any

from msgspec.structs import replace

from ctxtrim.formats.base import Insertion, Site
from ctxtrim.formats.fields import (
    Located,
    elements,
    first_string,
    located,
    members,
    metadata_in,
    string,
)
from ctxtrim.formats.gemini.gemini_cli_log import LoggedMessage, relink, replayed
from ctxtrim.formats.gemini.parts import (
    call_of,
    insert_contents,
    is_media,
    member,
    messages_of,
    part_of,
    part_value,
    result_of,
)  # fmt: skip
from ctxtrim.formats.message_lists import Dialect, Element, Envelope, ListContents, element_of
from ctxtrim.formats.message_parts import event_id
from ctxtrim.formats.usage import gemini_usage
from ctxtrim.model import Message, Part, Span
from ctxtrim.text.json_paths import Path
from ctxtrim.text.records import dump

_MODEL = ("gemini", "model")
_SCREEN = ("info", "warning", "error")
# Commands that the client answers itself, and texts that it inserts.
_INJECTED = re.compile(r"\s*(?:/[a-z][\w:-]*(?:\s|$)|\?|<session_context>|<hook_context>)")


def knows(value: object) -> bool:
    """Whether a value is a message with an id, a known type and content."""
    if not isinstance(value, dict) or not isinstance(value.get("id"), str):
        return False
    kind = value.get("type")
    if kind not in ("user", *_MODEL, *_SCREEN) or "message" in value:
        return False
    return "content" in value or "toolCalls" in value or isinstance(value.get("parts"), list)


def opens(value: object) -> bool:
    """Whether a value is the first line of a log."""
    return (
        isinstance(value, dict)
        and {"sessionId", "projectHash"} <= value.keys()
        and not value.get("messages")
    )


def session_of(value: Mapping[str, Any]) -> str | None:
    """The id of the session that a line of a log begins."""
    return string(value["sessionId"]) if opens(value) else None


def read(elements: Iterable[Element], contents: ListContents) -> None:
    """Read the messages of each entry, in the order in which they first appeared."""
    elements = list(elements)
    entries = replayed(elements)
    copies = _copies(entries)
    calls: dict[str, int] = {}  # by call id: the last entry with the call
    failures: dict[str, bool] = {}  # by call id: whether it failed
    result_indices: dict[tuple[int, str], int] = {}  # of the messages with repeated results
    for number, entry in enumerate(entries):
        kind, value = entry.value.get("type"), entry.value
        if kind in _MODEL:
            own_failures = _failures(value)
            calls.update(dict.fromkeys(own_failures, number))
            failures |= own_failures
            _model(entry, copies.get(number, set()), contents)
        elif kind == "user":
            for message in _user(entry):
                _add_user_message(_with_failure(message, failures), calls, result_indices, contents)
        else:
            contents.uncounted += kind not in _SCREEN and "content" in value
    values = (members(element.value) for element in elements)
    contents.id = first_string(value.get("sessionId") for value in values if "id" not in value)


def _failures(value: dict[str, Any]) -> dict[str, bool]:
    """Whether each call in a model message failed, by its id."""
    calls = map(members, elements(value.get("toolCalls")))
    return {call["id"]: _has_failed(call) for call in calls if isinstance(call.get("id"), str)}


def _has_failed(call: dict[str, Any]) -> bool:
    return call.get("status") in ("error", "cancelled")


def _pieces(entry: LoggedMessage) -> list[Located]:
    """The parts of a message's content. A string is one part."""
    key = "content" if "content" in entry.value else "parts"
    content, inner_span = entry.value.get(key), entry.content or entry.span.inside(key)
    if isinstance(content, list):
        return located(content, inner_span)
    return [] if content is None else [(content, inner_span)]


def _copies(entries: Sequence[LoggedMessage]) -> dict[int, set[str]]:
    """The ids of the calls of each entry whose results a user message repeats."""
    calls: dict[str, int] = {}
    copies: dict[int, set[str]] = {}
    for number, entry in enumerate(entries):
        if entry.value.get("type") in _MODEL:
            calls.update(dict.fromkeys(_failures(entry.value), number))
        elif entry.value.get("type") == "user" and isinstance(entry.value.get("content"), list):
            for part in entry.value["content"]:
                call_id = (member(part, ("functionResponse",)) or {}).get("id")
                if isinstance(call_id, str) and call_id in calls:
                    copies.setdefault(calls[call_id], set()).add(call_id)
    return copies


def _call_positions(parts: Sequence[Part]) -> dict[object, list[int]]:
    """The positions of the calls in a content, by id, else by name and arguments; the first is
    last.
    """
    positions: dict[object, list[int]] = {}
    for position in reversed(range(len(parts))):
        part = parts[position]
        if part.kind == "tool_call":
            key = (part.name, part.text) if part.call_id is None else part.call_id
            positions.setdefault(key, []).append(position)
    return positions


def _model(entry: LoggedMessage, copy_ids: Set[str], contents: ListContents) -> None:
    """A model message and its results."""
    value, span = entry.value, entry.span
    model = value.get("model")
    if isinstance(model, str):
        contents.model = model
    usage = gemini_usage(value.get("tokens"), len(contents.messages))
    if usage is not None:
        contents.usages.append(replace(usage, model=contents.model))
    pieces = _pieces(entry)
    parts = [part_of(part, inner_span, calls=True) for part, inner_span in pieces]
    if not any(_is_whole(part) for part, _ in pieces):
        parts = [*_thoughts(value, span), *parts]
    if not isinstance(value.get("content"), list):
        parts = [replace(part, block=None) if part.kind == "text" else part for part in parts]
    results: list[Message | None] = []
    call_positions = _call_positions(parts)
    for position, call in enumerate(elements(value.get("toolCalls"))):
        if not isinstance(call, dict):
            continue
        call_span = span.inside("toolCalls", position)
        part = call_of(call, call_span)
        matches = map(call_positions.get, (part.call_id, (part.name, part.text)))
        match = min(filter(None, matches), key=itemgetter(-1), default=None)
        if match is None:
            parts.append(part)
        else:  # some versions also write it in the content
            parts[match.pop()] = part
        if part.call_id not in copy_ids:
            result_span = entry.results.get(position, call_span.inside("result"))
            results.append(_result(call, call_span, result_span, part))
    contents.add("assistant", parts, None, *entry.lines)
    for result in filter(None, results):
        contents.add_message(result)


def _is_whole(part: Any) -> bool:
    """Whether a part shows that a content has all that is sent, also the thoughts
    [google-gemini/gemini-cli, packages/core/src/utils/sessionUtils.ts,
    `convertSessionToClientHistory`].
    """
    return isinstance(part, dict) and bool(part.get("thought") or part.get("functionCall"))


def _thoughts(value: dict[str, Any], span: Span) -> Iterator[Part]:
    """The model's thoughts next to its content, as the client sends them back."""
    for position, thought in enumerate(elements(value.get("thoughts"))):
        if isinstance(thought, dict):
            subject, text = thought.get("subject"), str(thought.get("description") or "")
            text = f"**{subject}** {text}" if subject else text
            yield Part("reasoning", text, block=span.inside("thoughts", position))


def _result(
    call: dict[str, Any], call_span: Span, result_span: Span, call_part: Part
) -> Message | None:
    """The result of a call: a function response with its media, or a string; None without one."""
    result, call_id, name = call.get("result"), call_part.call_id, call_part.name
    is_error = True if _has_failed(call) else None
    if isinstance(result, str):
        part = Part("tool_result", result, call_id, name, is_error, span=result_span)
        return Message("tool", (part,), metadata=metadata_in(call), spans=(call_span,))
    pieces = located(result, result_span)
    if isinstance(result, dict):
        pieces = [(result, result_span)]
    pieces = [(piece, span) for piece, span in pieces if not _answers_other(piece, call_id)]
    if not pieces:
        return None
    parts = [
        _result_part(part, call_part, is_error)
        for piece, span in pieces
        for part in _response_parts(piece, span)
    ]
    if any(part.kind == "tool_result" for part in parts):
        # only a function response has an error flag: a text next to it would differ
        parts = [replace(part, text_block=None) for part in parts]
    else:
        parts.insert(0, Part("tool_result", "", call_id, name, is_error))
    first_piece = pieces[0][0]
    metadata = metadata_in(first_piece if isinstance(first_piece, dict) else call)
    spans = (span if isinstance(piece, dict) else call_span for piece, span in pieces)
    return Message("tool", tuple(parts), metadata=metadata, spans=tuple(spans))


def _answers_other(piece: Any, call_id: str | None) -> bool:
    """Whether a piece of a result repeats the result of another call."""
    response = member(piece, ("functionResponse",))
    return response is not None and call_id is not None and response.get("id", call_id) != call_id


def _response_parts(piece: Any, span: Span) -> tuple[Part, ...]:
    """The parts of a function response or of another piece of a result."""
    if member(piece, ("functionResponse",)) is None:
        return (part_of(piece, span),)
    return result_of(piece, span, 0).parts


def _result_part(part: Part, call: Part, is_error: bool | None) -> Part:
    """A part of a result, with the id of its call."""
    if part.kind == "text" and part.block is not None:  # next to the response, not inside it
        part = replace(part, kind="tool_result")
    return replace(
        part,
        call_id=call.call_id,
        is_error=part.is_error or is_error if part.kind == "tool_result" else None,
    )


def _user(entry: LoggedMessage) -> list[Message]:
    pieces = _pieces(entry)
    first_part = pieces[0][0] if pieces else ""
    text = first_part.get("text") if isinstance(first_part, dict) else first_part
    is_injected = isinstance(text, str) and _INJECTED.match(text) is not None
    messages = messages_of("user", pieces, tuple(entry.lines), 0, is_injected=is_injected)
    if any(isinstance(entry.value.get(key), list) for key in ("content", "parts")):
        return messages
    (message,) = messages  # only list elements can be removed alone
    parts = tuple(replace(part, block=None) for part in message.parts)
    return [
        replace(message, parts=parts, metadata=metadata_in(entry.value), spans=tuple(entry.lines))
    ]


def _with_failure(message: Message, failures: Mapping[str, bool]) -> Message:
    """The message; a result of a call that failed is an error."""
    result = message.result
    if result is None or not failures.get(result.call_id or ""):
        return message
    parts = (
        replace(part, is_error=True) if part.kind == "tool_result" else part
        for part in message.parts
    )
    return replace(message, parts=tuple(parts))


def _add_user_message(
    message: Message,
    calls: dict[str, int],
    result_indices: dict[tuple[int, str], int],
    contents: ListContents,
) -> None:
    """Read a user message.

    A repeated result shares the removal of the first copy: it is sent only once.
    """
    call_id = message.result.call_id if message.result is not None else None
    if call_id is not None and call_id in calls:
        key = calls[call_id], call_id
        if key in result_indices:
            index = result_indices[key]
            spans = (*contents.messages[index].spans, *message.spans)
            contents.messages[index] = replace(contents.messages[index], spans=spans)
            return
        result_indices[key] = len(contents.messages)
    contents.add_message(message)


def envelope(value: dict[str, Any], span: Span) -> Envelope:
    """The id of the session. Its messages name the model."""
    return Envelope(id=string(value.get("sessionId")))


def owner(array: Path) -> Path | None:
    """A message is removed with the last part of its content; a call stays without its result.

    A content in a patch becomes empty: without it, the older one would be read.
    """
    if is_media(array):
        return array
    if array[0] == "$patch":
        return None
    return array[:-1] if array[-1] in ("content", "parts") else None


def insert(run: Sequence[Message], site: Site) -> Sequence[Insertion]:
    """Each message as an element of the list; results share one user message.

    See `insert_contents`.
    """
    return insert_contents(run, site, _content_around, ("content",), _json_value)


def _content_around(span: Span) -> Span:
    if "toolCalls" in span.path:
        return Span(span.line, span.path[: span.path.index("toolCalls")])
    return element_of(span, ("content",), ("parts",))


def _json_value(messages: Sequence[Message], neighbour: Any, number: int) -> dict[str, Any]:
    """Messages of one role as a session message, with an id from their content and position."""
    content = [part_value(message) for message in messages]
    name = event_id(neighbour.get("id"), dump(content), number)
    time = {"timestamp": neighbour["timestamp"]} if "timestamp" in neighbour else {}
    kind = "gemini" if messages[0].role == "assistant" else "user"
    return {"id": name, **time, "type": kind, "content": content}


DIALECT = Dialect(
    "gemini-cli",
    knows,
    read,
    insert,
    envelope=envelope,
    owner=owner,
    relink=relink,
    opens=opens,
    session_of=session_of,
    must_alternate=True,
)
