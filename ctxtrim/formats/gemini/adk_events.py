"""The events of a session of the Agent Development Kit that are sent to the model.

A rewind removes the events from the first of an invocation up to itself. A compaction replaces the
events of a time by its content, and the compactions of a part of that time; events after its end
are sent, also those before it in the session. Events about credentials and confirmations are for
the client alone, and contents with nothing but thoughts are left out. What a tool or an agent did
for a call is in its response (`isolationScope`, `branch`). Transcriptions of a live session are
sent as texts; consecutive ones of one speaker are one message.
[google/adk-python, `flows/llm_flows/contents.py` and `flows/llm_flows/context/_compaction.py`]
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ctxtrim.formats.fields import elements, members, string
from ctxtrim.formats.gemini.parts import CALL, RESPONSE, SentContent, member
from ctxtrim.formats.message_lists import Element
from ctxtrim.model import Part, Span

_INTERNAL = ("adk_request_credential", "adk_request_confirmation", "adk_framework")
_CALLS = (*CALL, *RESPONSE)
_WITH_THOUGHTS = (*_CALLS, "thoughtSignature", "thought_signature")
_START, _END = "start_timestamp", "end_timestamp"
_SNAKE = {
    "startTimestamp": _START,
    "endTimestamp": _END,
    "compactedContent": "compacted_content",
}
_TRANSCRIPTIONS = (
    (("inputTranscription", "input_transcription"), "user"),
    (("outputTranscription", "output_transcription"), "model"),
)


class _Compaction(Struct):
    """A compaction: its content, the times of the events that it replaces, and the spans of what
    would be sent again without it.
    """

    start: float
    end: float
    position: int
    content: SentContent
    replaced: list[Span]


def sent_contents(events: Sequence[Element]) -> list[SentContent]:
    """The contents that some events send, in order."""
    live_events = _without_rewinds(events)
    compactions, runs = _compactions(live_events), _runs(live_events)
    starts = [compaction.start for compaction in compactions]
    contents: list[tuple[float, int, SentContent]] = []  # with times and positions
    run_spans: dict[str, list[Span]] = {}
    for position, event in enumerate(live_events):
        time = _time(event.value)
        index = bisect_right(starts, time) - 1
        if _compaction(event.value):
            continue
        if index >= 0 and time <= compactions[index].end:
            compactions[index].replaced.append(event.whole)
        elif position in runs:
            run_spans.setdefault(runs[position], []).append(event.whole)
        else:
            contents += [(time, position, content) for content in _sent(event)]
    for compaction in compactions:
        spans = (*compaction.content.spans, *sorted(compaction.replaced))
        content = replace(compaction.content, spans=spans)
        contents.append((compaction.end, compaction.position, content))
    if compactions:
        contents.sort(key=itemgetter(0, 1))
    return list(_joined(_with_runs(content, run_spans) for _, _, content in contents))


def _compactions(events: Sequence[Element]) -> list[_Compaction]:
    """The compactions that are sent, each with a later start and a later end than the one before.

    One whose time is inside that of another is not sent.
    """
    compactions: list[_Compaction] = []
    for position, event in enumerate(events):
        content, fields = _summary(event), _compaction(event.value)
        if content is not None:
            times = float(fields[_START]), float(fields[_END])
            compactions.append(_Compaction(*times, position, content, []))
    compactions.sort(key=lambda item: (item.start, -item.end, -item.position))
    sent_compactions: list[_Compaction] = []
    for compaction in compactions:
        if sent_compactions and compaction.end <= sent_compactions[-1].end:
            sent_compactions[-1].replaced += compaction.content.spans
        else:
            sent_compactions.append(compaction)
    return sent_compactions


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


def _runs(events: Sequence[Element]) -> dict[int, str]:
    """The positions of events that a tool or an agent wrote for a call, and the id of the outermost
    call, if it has a response: the agent with the call gets the response alone.
    """
    names = [_run_names(event.value) for event in events]
    if not any(names):  # in most sessions
        return {}
    answers = {
        name: position
        for position, event in enumerate(events)
        for name in _answered(members(event.value))
    }
    runs: dict[int, str] = {}
    for position in reversed(range(len(events))):
        answered = (name for name in names[position] if answers.get(name, -1) > position)
        name = next(answered, None)
        if name is not None:
            runs[position] = runs.get(answers[name], name)
    return runs


def _answered(event: dict[str, Any]) -> Iterator[str]:
    """The ids of the calls to which an event has a response."""
    for part in elements(members(event.get("content")).get("parts")):
        name = string((member(part, RESPONSE) or {}).get("id"))
        if name is not None:
            yield name


def _with_runs(content: SentContent, run_spans: Mapping[str, Sequence[Span]]) -> SentContent:
    """The content that removes the events of runs with the responses to their calls."""
    if not run_spans:
        return content
    names = (name for name in _answered(content.event) if name in run_spans)
    return replace(content, response_spans={name: tuple(run_spans[name]) for name in names})


def _run_names(event: Any) -> list[str]:
    """The ids of the calls for which an event may have been written."""
    value = members(event)
    scope = string(value.get("isolationScope", value.get("isolation_scope")))
    branch = string(value.get("branch")) or ""
    names = [part.partition("@")[2] for part in branch.split(".") if "@" in part]
    return names if scope is None else [*names, scope]


def _compaction(event: Any) -> dict[str, Any]:
    """The fields of a compaction with keys in snake case; empty for another event."""
    compaction = members(members(members(event).get("actions")).get("compaction"))
    fields = {_SNAKE.get(key, key): value for key, value in compaction.items()}
    times = (fields.get(_START), fields.get(_END))
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
        if any(map(_is_sent, parts)) and not any(map(_is_internal, parts)):
            yield SentContent(content, event.span.inside("content"), (event.whole,), value)
        return
    for keys, role in _TRANSCRIPTIONS:
        for key in keys:
            text = members(value.get(key)).get("text")
            if isinstance(text, str) and text:
                part = Part("text", text, span=event.span.inside(key, "text"))
                yield SentContent({"role": role}, event.span, (event.whole,), value, (part,))


def _is_sent(part: Any) -> bool:
    """Whether a content with a part is sent: not if all are empty, or thoughts without a signature.

    [google/adk-python, `_is_part_invisible`]
    """
    keys = {key for key, value in members(part).items() if value}
    return bool(keys) and ("thought" not in keys or not keys.isdisjoint(_WITH_THOUGHTS))


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
