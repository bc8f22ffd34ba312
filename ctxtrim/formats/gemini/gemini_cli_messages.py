"""Reads the messages of a Gemini CLI session: its prompts, answers, calls and results."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from operator import itemgetter
from typing import Any

from msgspec.structs import replace

from ctxtrim.formats.fields import (
    Located,
    elements,
    first_string,
    located,
    members,
    metadata_in,
)
from ctxtrim.formats.gemini.gemini_cli import MODEL, SCREEN
from ctxtrim.formats.gemini.gemini_cli_log import LoggedMessage, replayed
from ctxtrim.formats.gemini.parts import call_of, member, messages_of, part_of, parts_of_response
from ctxtrim.formats.message_lists import Element, ListContents
from ctxtrim.formats.usage import gemini_usage
from ctxtrim.model import Message, Part, Span

# Commands that the client answers itself, and texts that it inserts.
_INJECTED = re.compile(r"\s*(?:/[a-z][\w:-]*(?:\s|$)|\?|<session_context>|<hook_context>)")


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
        if kind in MODEL:
            own_failures = _failures(value)
            calls.update(dict.fromkeys(own_failures, number))
            failures |= own_failures
            _model(entry, copies.get(number, set()), contents)
        elif kind == "user":
            for message in _user(entry):
                _add_user_message(_with_failure(message, failures), calls, result_indices, contents)
        else:
            contents.uncounted += kind not in SCREEN and "content" in value
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
        if entry.value.get("type") in MODEL:
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


def _take_copy(call: Part, positions: dict[object, list[int]]) -> int | None:
    """The position of the first copy of a call, which is taken from the positions; None without
    one.
    """
    copies = [
        positions[key] for key in (call.call_id, (call.name, call.text)) if positions.get(key)
    ]
    return min(copies, key=itemgetter(-1)).pop() if copies else None


def _model(entry: LoggedMessage, copy_ids: Set[str], contents: ListContents) -> None:
    """A model message and its results."""
    value, span = entry.value, entry.span
    contents.model = first_string((value.get("model"), contents.model))
    contents.add_usage(gemini_usage(value.get("tokens"), len(contents.messages), contents.model))
    parts = _content_parts(entry)
    results: list[Message | None] = []
    call_positions = _call_positions(parts)
    for position, call in enumerate(elements(value.get("toolCalls"))):
        if not isinstance(call, dict):
            continue
        call_span = span.inside("toolCalls", position)
        part = call_of(call, call_span)
        copy = _take_copy(part, call_positions)
        if copy is None:
            parts.append(part)
        else:  # some versions also write it in the content
            parts[copy] = part
        if part.call_id not in copy_ids:
            result_span = entry.results.get(position, call_span.inside("result"))
            results.append(_result(call, call_span, result_span, part))
    contents.add("assistant", parts, *entry.lines)
    for result in filter(None, results):
        contents.add_message(result)


def _content_parts(entry: LoggedMessage) -> list[Part]:
    """The thoughts and the content of a model message."""
    pieces = _pieces(entry)
    parts = [part_of(part, span, calls=True) for part, span in pieces]
    if not any(_is_whole(part) for part, _ in pieces):
        parts = [*_thoughts(entry.value, entry.span), *parts]
    if isinstance(entry.value.get("content"), list):
        return parts
    return [replace(part, block=None) if part.kind == "text" else part for part in parts]


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
    return parts_of_response(piece, span)


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
            contents.change(index, spans=(*contents.messages[index].spans, *message.spans))
            return
        result_indices[key] = len(contents.messages)
    contents.add_message(message)
