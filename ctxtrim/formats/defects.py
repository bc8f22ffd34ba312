"""Finds malformed values in lines: values of a wrong type, and links to missing events; and calls
without a result that have no id.

Formats read around such values. An edit may still be impossible, because the result would read back
differently. The error then names the cause found here.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from ctxtrim.conversation.turns import shape
from ctxtrim.formats.chunks import Chunk
from ctxtrim.formats.fields import elements, members
from ctxtrim.formats.openai import SDK_RESPONSE, SDK_RESULT
from ctxtrim.model import Line, Transcript
from ctxtrim.text.json_paths import Path
from ctxtrim.text.records import BLANK, NOT_JSON, value_of

_NAMES = ("role", "type", "from")
_IDS = ("id", "uuid", "call_id", "tool_call_id", "tool_use_id", "parentId", "parentUuid")
_LISTS = ("content", "parts", "messages", "contents", "tool_calls", "toolCalls", "blocks")
_CONTENTS = ("parts", "Prompt", "ToolUseResults", "CancelledToolUses")
"""Members of objects that some formats write as a content."""
_TEXTS = ("text", "value", "output")
_MESSAGE = (
    "content", "parts", "tool_calls", "function_call", "toolCalls", "summary", "text", "output",
)  # fmt: skip
_FREE = (
    "input", "args", "arguments", "extra", "extras", "metadata", "usage", "response", "scores",
)  # fmt: skip
"""Members of any type; their contents are not checked."""
_PARENTS = ("parentId", "parentUuid")


class Malformed(NamedTuple):
    """A malformed value: its line in the file, and the reason."""

    line: int
    reason: str


def first_defect(chunk: Chunk) -> Malformed | None:
    """Why the transcripts of a chunk may not be editable; None if nothing is wrong with them."""
    return malformed(chunk.lines) or next(_open_calls(chunk.transcripts), None)


def _open_calls(transcripts: Iterable[Transcript]) -> Iterator[Malformed]:
    """Calls without an id and without a result: a later message could become their result."""
    for transcript in transcripts:
        messages, turn_shape = transcript.messages, shape(transcript.messages)
        waiting = {position for position, call in turn_shape.unanswered if call.call_id is None}
        callers = enumerate(turn_shape.caller)
        answered = {caller for position, caller in callers if caller != position}
        for position, message in enumerate(messages[:-1]):
            acts = message.action is not None and position not in answered
            if acts or position in waiting:
                line = transcript.line_of(message) or transcript.line
                yield Malformed(line, f"the call in message {position} has no result")


def malformed(lines: Sequence[Line]) -> Malformed | None:
    """The first malformed value of some lines; None if there is none.

    An id of several events comes first, as in files whose ids were replaced by one placeholder.
    """
    values = [
        (line.number, value)
        for line in lines
        if (value := value_of(line.data)) is not BLANK and value is not NOT_JSON
    ]
    events = [(number, value) for number, value in values if isinstance(value, dict)]
    reused_id = next(_reused_ids(events), None)
    if reused_id is not None:
        return reused_id
    for number, value in values:
        if len(values) > 1 and not isinstance(value, dict):
            return Malformed(number, f"the line is {_kind(value)}, but other lines are objects")
        reason = next(_oddities(value), None)
        if reason is not None:
            return Malformed(number, reason)
    return next(_loose_links(events), None)


def _oddities(value: Any) -> Iterator[str]:
    """The problems of a value and of the values inside it, in order."""
    pending: list[tuple[Any, Path]] = [(value, ())]
    while pending:
        value, path = pending.pop()
        inside = []
        if isinstance(value, dict):
            yield from _of_object(value, path)
            inside = [(inner, (*path, key)) for key, inner in value.items() if key not in _FREE]
        elif isinstance(value, list):
            inside = [(inner, (*path, index)) for index, inner in enumerate(value)]
        pending += reversed(inside)


def _of_object(value: dict[str, Any], path: Path) -> Iterator[str]:
    """The problems of an object and its members, without those inside of members."""
    for key, inner in value.items():
        pointer = _pointer((*path, key))
        if key in _NAMES and not isinstance(inner, str | dict):
            yield f"`{pointer}` is {_kind(inner)}, not a string"
        elif key in _IDS and (isinstance(inner, bool | float | list | dict) or inner == ""):
            yield f"`{pointer}` is {_kind(inner)}, not an id"
        elif key in _TEXTS and isinstance(inner, bool | int | float) and not _has_counters(value):
            yield f"`{pointer}` is {_kind(inner)}, not a text"
        elif key == "parts" and inner == []:
            yield f"`{pointer}` is an empty array, and a content has at least one part"
        elif key == "input":
            yield from _of_items(elements(inner), pointer)
        elif key in _LISTS:
            yield from _of_content(inner, pointer)
    role = value.get("role")
    if role == "tool":
        yield from _of_results(value.get("content"), _pointer((*path, "content")))
    if isinstance(role, str) and not any(value.get(key) is not None for key in _MESSAGE):
        yield f"`{_pointer(path) or '.'}` has the role {role!r:.40} and no content"


def _of_content(value: Any, pointer: str) -> Iterator[str]:
    """The problem of a value that is a text, a list of objects, or an object of `_CONTENTS`."""
    if isinstance(value, list):
        for index, item in enumerate(value):
            if not isinstance(item, str | dict) or not item:
                yield f"`{pointer}[{index}]` is {_kind(item)}, not an object with members"
                return
    elif isinstance(value, dict):
        if not any(key in value for key in _CONTENTS):
            yield f"`{pointer}` is {_kind(value)}, not a text or an array"
    elif not isinstance(value, str | None):
        yield f"`{pointer}` is {_kind(value)}, not a text or an array"


def _of_items(items: Sequence[Any], pointer: str) -> Iterator[str]:
    """The problem of a result of Chat Completions among items of the Responses API."""
    if not any(str(members(item).get("type")).startswith("function_call") for item in items):
        return
    for index, item in enumerate(items):
        if members(item).get("role") in ("tool", "function"):
            yield f"`{pointer}[{index}]` has the role of a result, but results here are items"


def _of_results(content: Any, pointer: str) -> Iterator[str]:
    """The problem of a content of the AI SDK with results and other blocks."""
    kinds = [members(block).get("type") for block in elements(content)]
    for index, kind in enumerate(kinds):
        if SDK_RESULT in kinds and kind not in (SDK_RESULT, SDK_RESPONSE):
            yield f"`{pointer}[{index}]` is not a result, but other blocks of this message are"
            return


def _has_counters(value: dict[str, Any]) -> bool:
    """Whether an object counts the tokens or costs of an input and an output."""
    return isinstance(value.get("input"), int | float)


def _reused_ids(events: Sequence[tuple[int, dict[str, Any]]]) -> Iterator[Malformed]:
    """Events that reuse an id with another parent or after other events, or that are their own
    parent. Lines of one event follow each other.
    """
    parents: dict[str, Any] = {}
    first_lines: dict[str, int] = {}
    before: Any = None
    for number, value in events:
        name = value.get("uuid", value.get("id"))
        links = [value[key] for key in _PARENTS if key in value]
        parent = links[0] if links else None
        if isinstance(name, str):
            if parent is not None and (parent == name or parents.get(name, parent) != parent):
                yield Malformed(number, f"the id {name!r:.60} belongs to another line")
            first = first_lines.setdefault(name, number)
            if links and first != number and before != name:
                text = f"the id {name!r:.60} is that of line {first}, as in a file joined to itself"
                yield Malformed(number, text)
            parents.setdefault(name, parent)
        before = name


def _loose_links(events: Sequence[tuple[int, dict[str, Any]]]) -> Iterator[Malformed]:
    """Events whose parent is not defined before them."""
    ids: set[str] = set()
    for number, value in events:
        for key in _PARENTS:
            parent = value.get(key)
            if isinstance(parent, str) and parent not in ids:
                yield Malformed(
                    number, f"`{key}` is {parent!r:.60}, but no line before it has that id"
                )
        name = value.get("uuid", value.get("id"))
        if isinstance(name, str):
            ids.add(name)


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, str):
        return "a string" if value else "an empty string"
    if isinstance(value, dict):
        return "an object" if value else "an empty object"
    return "an array"


def _pointer(path: Path) -> str:
    return "".join(
        f"[{key}]" if isinstance(key, int) else f".{key:.40}" for key in path
    ).removeprefix(".")
