"""opencode 1: exported sessions `{"info", "messages": [{"info", "parts"}]}`, or only the messages.

An answer is one or more steps. A step is read as an assistant message and one tool result for each
of its calls: a tool part holds a call in `state.input` and its result in `state.output`. Parts that
opencode does not send (`step-start`, `step-finish`, `patch`, `snapshot`, …) are removed with their
step. `sent_messages` finds the messages that opencode sends, `session_edits` inserts messages and
updates links.
"""

from collections.abc import Iterable, Sequence
from functools import partial
from itertools import starmap
from typing import Any

from msgspec.structs import replace

from ctxtrim.formats.fields import Located, elements, located, members, string
from ctxtrim.formats.media_blocks import inline_media, typed_text
from ctxtrim.formats.message_lists import Element, ListContents
from ctxtrim.formats.message_parts import call_part
from ctxtrim.formats.opencode import info_of, knows
from ctxtrim.formats.opencode.sent_messages import SentMessages
from ctxtrim.formats.usage import pi_usage
from ctxtrim.model import Part, Span
from ctxtrim.model.request import Usage
from ctxtrim.text.records import dump

# Texts that opencode sends instead of what a part contains.
CLEARED = "[Old tool result content cleared]"
INTERRUPTED = "[Tool execution was interrupted]"
SUBTASK = "The following tool was executed by the user"

_UNSENT_FILES = ("text/plain", "application/x-directory")  # their text is a synthetic part


def read(items: Iterable[Element], contents: ListContents) -> None:
    """Read the summary of the last compaction, and the messages that opencode still sends."""
    items = list(items)
    messages = [item for item in items if knows(item.value)]
    contents.uncounted += sum(
        isinstance(info_of(item.value).get("role"), str) and not knows(item.value) for item in items
    )
    context = SentMessages([item.value for item in messages])
    if context.summary is not None:
        history = [messages[position] for position in context.history]
        _add_summary(messages[context.summary], history, contents)
    pruning_time = _last_pruning([messages[position].value for position in context.rest])
    for position in context.rest:
        item = messages[position]
        info = info_of(item.value)
        contents.id = contents.id or string(info.get("sessionID"))
        if info["role"] == "user":
            _add_prompt(item, contents)
        elif _is_sent(item.value):
            model = string(info.get("modelID")) or string(members(info.get("model")).get("modelID"))
            contents.model = model or contents.model
            is_current = position > context.boundary and _created(info) > pruning_time
            has_usage = is_current and not info.get("error")
            add_steps(
                located(item.value["parts"], item.span.inside("parts")),
                contents,
                info.get("tokens"),
                has_usage,
            )


def _created(info: dict[str, Any]) -> float:
    time = members(info.get("time")).get("created")
    return time if isinstance(time, (int, float)) else float("inf")


def _last_pruning(values: Sequence[Any]) -> float:
    """The time at which opencode last cleared a result; usage recorded before it is outdated."""
    times = (
        members(members(members(part).get("state")).get("time")).get("compacted")
        for value in values
        for part in value["parts"]
    )
    return max((time for time in times if isinstance(time, (int, float))), default=float("-inf"))


def _is_sent(value: Any) -> bool:
    """Whether opencode sends an answer: a failed one never, an aborted one if it got anywhere."""
    error = info_of(value).get("error")
    if not error:
        return True
    is_aborted = members(error).get("name") == "MessageAbortedError"
    return is_aborted and any(
        members(part).get("type") not in ("step-start", "reasoning") for part in value["parts"]
    )


def _add_summary(summary: Element, history: Sequence[Element], contents: ListContents) -> None:
    """Add the summary of the last compaction.

    It carries the spans of all that it replaces: without it, that would be live again.
    """
    pieces = located(summary.value["parts"], summary.span.inside("parts"))
    sent_parts = filter(None, starmap(_answer_part, pieces))
    parts = [replace(part, block=None) for part in sent_parts]
    texts = [part for part in parts if part.kind == "text"]
    if texts:
        thoughts = [part for part in parts if part.kind == "reasoning"]
        spans = (element.whole for element in (summary, *history))
        contents.add_summary((*texts, *thoughts), *spans)


def _add_prompt(item: Element, contents: ListContents) -> None:
    """Add a user message. opencode writes its synthetic texts, and does not send ignored ones."""
    value, span, whole = item
    parts: list[Part] = []
    is_injected = True
    for piece, inner in located(value["parts"], span.inside("parts")):
        part = _prompt_part(piece, inner)
        if part is not None:
            parts.append(part)
            is_synthetic = piece.get("synthetic") or piece["type"] == "subtask"
            is_injected = is_injected and bool(is_synthetic)
    if parts:
        contents.add("user", parts, whole, is_injected=is_injected)


def _prompt_part(value: Any, span: Span) -> Part | None:
    """A part of a user message; None if it is not sent."""
    if not isinstance(value, dict):
        return None
    kind = value.get("type")
    if kind == "subtask":
        return Part("text", SUBTASK, block=span)
    if kind == "file" and value.get("mime") not in _UNSENT_FILES:
        return replace(_file(value, span), text_block=partial(_text_part, value))
    return None if value.get("ignored") else typed_text(value, span)


def _file(value: Any, span: Span) -> Part:
    """A file, whose URL usually contains its data."""
    file = members(value)
    media = inline_media(file.get("url"), file.get("mime"))
    return Part("attachment", media=media, block=span)


def _text_part(file: dict[str, Any], text: str) -> dict[str, Any]:
    """A text as a part, with the ids of the file that it replaces."""
    ids = {key: file[key] for key in ("id", "sessionID", "messageID") if key in file}
    return ids | {"type": "text", "text": text}


def add_steps(
    pieces: Sequence[Located], contents: ListContents, tokens: Any, has_usage: bool
) -> None:
    """Add the steps of an answer, each followed by its results.

    `pieces`: the parts of the answer and their spans. `tokens`: the usage of the last step, if the
    parts do not record it.
    """
    steps = _steps(pieces)
    for number, step in enumerate(steps):
        if has_usage:
            is_last = number == len(steps) - 1
            contents.add_usage(_step_usage(step, tokens if is_last else None, contents))
        parts = filter(None, starmap(_answer_part, step))
        contents.add("assistant", parts, *(inner for _, inner in step))
        for part, inner in step:
            if _is_tool(part):
                contents.add("tool", _result(part, inner), inner, value=part)


def _step_usage(step: Sequence[Located], tokens: Any, contents: ListContents) -> Usage | None:
    """The last usage that the parts of a step record, else the one in `tokens`."""
    records = [members(part).get("tokens") for part, _ in step if _type(part) == "step-finish"]
    index, model = len(contents.messages), contents.model
    usages = (usage_of(record, index, model) for record in (*reversed(records), tokens))
    return next(filter(None, usages), None)


def _type(part: Any) -> Any:
    return members(part).get("type")


def _steps(pieces: Sequence[Located]) -> list[list[Located]]:
    """The parts of each step that sends something; unsent parts stay with a step next to them.

    A call id occurs once in a step, so that each result has its call.
    """
    steps: list[list[Located]] = [[]]
    calls: set[str] = set()
    is_sent = False
    for part, span in pieces:
        call = call_id_of(part) if _is_tool(part) else None
        if is_sent and (_type(part) == "step-start" or call in calls):
            steps.append([])
            calls.clear()
            is_sent = False
        steps[-1].append((part, span))
        calls |= set() if call is None else {call}
        is_sent = is_sent or _answer_part(part, span) is not None
    if not is_sent:
        rest = steps.pop()
        if steps:
            steps[-1] += rest
    return steps


def _answer_part(value: Any, span: Span) -> Part | None:
    """A part of an assistant message; None if it is not sent."""
    text = members(value).get("text")
    if _type(value) == "reasoning" and isinstance(text, str):
        return Part("reasoning", text, block=span)
    if _is_tool(value):
        value_span = span.inside("state", "input")
        return call_part(
            value["state"].get("input"), call_id_of(value), value.get("tool"), value_span, span
        )
    return None if members(value).get("ignored") else typed_text(value, span)


def _is_tool(value: Any) -> bool:
    return _type(value) == "tool" and members(value.get("state")).get("status") in (
        "completed",
        "error",
        "pending",
        "running",
    )


def call_id_of(part: Any) -> str:
    """The id of a call."""
    return string(part.get("callID")) or string(part.get("id")) or ""


def _result(part: Any, span: Span) -> tuple[Part, ...]:
    """The result of a call, as opencode sends it: also for a call that was interrupted."""
    state = part["state"]
    result = Part("tool_result", INTERRUPTED, call_id_of(part), string(part.get("tool")))
    if state["status"] == "error":
        metadata = members(state.get("metadata"))
        if metadata.get("interrupted") is True and isinstance(metadata.get("output"), str):
            value_span = span.inside("state", "metadata", "output")
            return (replace(result, text=metadata["output"], span=value_span),)
        value_span = span.inside("state", "error")
        return (replace(_with_text(result, state.get("error"), value_span), is_error=True),)
    if state["status"] != "completed":
        return (replace(result, is_error=True),)
    if members(state.get("time")).get("compacted"):
        return (replace(result, text=CLEARED),)
    files = (
        replace(_file(file, span.inside("state", "attachments", position)), call_id=result.call_id)
        for position, file in enumerate(elements(state.get("attachments")))
    )
    return (_with_text(result, state.get("output"), span.inside("state", "output")), *files)


def _with_text(result: Part, text: Any, span: Span) -> Part:
    """The result with a text. Only a string can be edited."""
    if isinstance(text, str):
        return replace(result, text=text, span=span)
    return replace(result, text="" if text is None else dump(text))


def usage_of(tokens: Any, message: int, model: str | None) -> Usage | None:
    """`{input, output, cache: {read, write}}`: three counters of input that do not overlap."""
    counts = members(tokens)
    cache = members(counts.get("cache"))
    caches = {"cacheRead": cache.get("read"), "cacheWrite": cache.get("write")}
    counters = {key: counts.get(key) for key in ("input", "output")} | caches
    return pi_usage(counters, message, model)
