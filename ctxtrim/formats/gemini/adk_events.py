"""The events of a session of the Agent Development Kit that are sent to the model.

A rewind removes the events from the first of an invocation up to itself. A compaction replaces the
events since its start by its content. Events about credentials and confirmations are for the client
alone. Transcriptions of a live session are sent as texts; consecutive ones of one speaker are one
message. [google/adk-python, `flows/llm_flows/contents.py`]
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

from msgspec.structs import replace

from ctxtrim.formats.fields import elements, members, string
from ctxtrim.formats.gemini.parts import SentContent
from ctxtrim.formats.message_lists import Element
from ctxtrim.model import Part, Span

_INTERNAL = ("adk_request_credential", "adk_request_confirmation")
_CALLS = ("functionCall", "function_call", "functionResponse", "function_response")
_START = "start_timestamp"
_SNAKE = {
    "startTimestamp": _START,
    "endTimestamp": "end_timestamp",
    "compactedContent": "compacted_content",
}
_TRANSCRIPTIONS = (
    (("inputTranscription", "input_transcription"), "user"),
    (("outputTranscription", "output_transcription"), "model"),
)


def sent_contents(events: Sequence[Element]) -> list[SentContent]:
    """The contents that some events send, in order."""
    contents: list[SentContent] = []
    spans: list[Span] = []  # of the events that the last compaction replaces
    start: float | None = None  # of the earliest compaction after an event
    for event in reversed(_without_rewinds(events)):
        summary = _summary(event)
        if summary is None and start is not None and _time(event.value) >= start:
            spans.append(event.whole)
            continue
        _cover(contents, spans)
        if summary is None:
            contents += _sent(event)
        else:
            contents.append(summary)
            time = float(_compaction(event.value)[_START])
            start = time if start is None else min(start, time)
    _cover(contents, spans)
    return list(_joined(reversed(contents)))


def _cover(contents: list[SentContent], spans: list[Span]) -> None:
    """Add what the last content replaces to its spans: without it, it would be sent again."""
    if spans:
        contents[-1] = replace(contents[-1], spans=(*contents[-1].spans, *reversed(spans)))
        spans.clear()


def _without_rewinds(events: Sequence[Element]) -> list[Element]:
    """The events that no rewind removes, without rewinds."""
    starts: dict[str | None, int] = {}  # the position of the first event of each invocation
    for position, event in enumerate(events):
        value = members(event.value)
        name = string(value.get("invocationId", value.get("invocation_id")))
        if name is not None:
            starts.setdefault(name, position)
    kept_events: list[Element] = []
    position = len(events) - 1
    while position >= 0:
        actions = members(members(events[position].value).get("actions"))
        target = actions.get("rewindBeforeInvocationId", actions.get("rewind_before_invocation_id"))
        if target:
            position = min(starts.get(string(target), position), position)
        else:
            kept_events.append(events[position])
        position -= 1
    return kept_events[::-1]


def _compaction(event: Any) -> dict[str, Any]:
    """The fields of a compaction with keys in snake case; empty for another event."""
    compaction = members(members(members(event).get("actions")).get("compaction"))
    fields = {_SNAKE.get(key, key): value for key, value in compaction.items()}
    times = (fields.get(_START), fields.get("end_timestamp"))
    return fields if all(isinstance(time, int | float) for time in times) else {}


def _summary(event: Element) -> SentContent | None:
    """The content of a compaction; None for another event."""
    content = _compaction(event.value).get("compacted_content")
    if not isinstance(content, dict):
        return None
    compaction = event.value["actions"]["compaction"]
    key = "compactedContent" if "compactedContent" in compaction else "compacted_content"
    span = event.span.inside("actions", "compaction", key)
    return SentContent(content, span, (event.whole,), {}, is_summary=True)


def _time(event: Any) -> float:
    """The timestamp of an event; without one, it counts as the oldest."""
    time = members(event).get("timestamp")
    return float(time) if isinstance(time, int | float) else float("-inf")


def _sent(event: Element) -> Iterator[SentContent]:
    """The content of an event; none for an event of the client alone, or without content."""
    value = members(event.value)
    content = value.get("content")
    if isinstance(content, dict):
        parts = elements(content.get("parts"))
        if not any(map(_is_internal, parts)):
            yield SentContent(content, event.span.inside("content"), (event.whole,), value)
        return
    for keys, role in _TRANSCRIPTIONS:
        for key in keys:
            text = members(value.get(key)).get("text")
            if isinstance(text, str) and text:
                part = Part("text", text, span=event.span.inside(key, "text"))
                yield SentContent({"role": role}, event.span, (event.whole,), value, (part,))


def _is_internal(part: Any) -> bool:
    return any(members(members(part).get(key)).get("name") in _INTERNAL for key in _CALLS)


def _joined(contents: Iterable[SentContent]) -> Iterator[SentContent]:
    """The contents, with consecutive transcriptions of one speaker as one."""

    def key(content: SentContent) -> tuple[bool, dict[str, Any]]:
        return bool(content.transcriptions), content.content

    for (is_transcription, _), run in groupby(contents, key):
        if not is_transcription:
            yield from run
            continue
        group = list(run)
        parts = tuple(part for content in group for part in content.transcriptions)
        spans = tuple(span for content in group for span in content.spans)
        yield replace(group[0], transcriptions=parts, spans=spans)
