"""OpenHands: a history of events, in its own document or next to the results of an evaluation.

::

    {"instance_id", "history": [{"id", "source", "action", "args"},
                                {"id", "cause", "observation", "content"}, …]}
    {"history": [[action, observation], …]}    2024; either may be a `null` placeholder
    {"id", "source", "kind": "ActionEvent", "tool_call", …}    version 1, per line or in a list

Actions of one model answer are one message with several calls. Events that a condensation forgets
are not read; its summary replaces them, and is removed together with them.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ctxtrim.formats.base import Edit
from ctxtrim.formats.fields import members, string
from ctxtrim.formats.message_lists import Dialect, Element, Envelope, ListContents
from ctxtrim.formats.message_parts import joined_message
from ctxtrim.formats.openhands import actions, sdk
from ctxtrim.formats.openhands.actions import Contents
from ctxtrim.formats.usage import openai_usage
from ctxtrim.loading.lazy_table import lazy_function
from ctxtrim.model import Message, Part, Span
from ctxtrim.text.json_paths import Path

_PROMPTS = (("args", "content"), ("system_prompt", "text"))
"""The ends of the paths of system prompts. Other messages are removed with their events."""


def knows(value: object) -> bool:
    """Whether a value is an event, or a pair of an action and an observation."""
    if isinstance(value, list):
        return 0 < len(value) <= 2 and all(map(actions.is_event, value))
    return actions.is_event(value) or sdk.is_event(value)


class _Event(Struct, frozen=True):
    """One event, its span, and the span to remove with its message."""

    value: dict[str, Any]
    span: Span
    whole: tuple[Span, ...]


class _Answer(Struct):
    """The index of the first message of a model answer, the messages with its further calls, and
    the ids of its calls so far.
    """

    index: int
    rest: list[Message]
    calls: set[str | None]


def read(elements: Iterable[Element], found: ListContents) -> None:
    """Read one message per event; actions of one answer share a message."""
    events = list(_events(elements))
    condensed = _Condensed(events)
    answers: dict[str, list[_Answer]] = {}  # by the id of the answer; only the last may continue
    for position, event in enumerate(events):
        if condensed.summary is not None and position == condensed.place:
            found.messages.append(replace(condensed.summary, index=len(found.messages)))
        if position in condensed.forgotten:
            continue
        contents = _contents_of(event)
        if contents is None:
            found.uncounted += _is_unknown(event.value)
        else:
            _take(contents, event, answers, found)
    for answer in chain.from_iterable(answers.values()):
        found.messages[answer.index] = joined_message(found.messages[answer.index], answer.rest)


def _events(elements: Iterable[Element]) -> Iterator[_Event]:
    """All events. If one event of a pair has no contents, both are removed together."""
    for value, span, whole in elements:
        if isinstance(value, dict):
            yield _Event(value, span, (whole,))
        elif isinstance(value, list):
            places = [
                (event, span.inside(index))
                for index, event in enumerate(value)
                if isinstance(event, dict)
            ]
            idle = tuple(
                inner_span
                for event, inner_span in places
                if actions.is_event(event) and _is_idle(event)
            )
            for event, inner_span in places:
                yield _Event(
                    event,
                    inner_span,
                    (inner_span, *(idle_span for idle_span in idle if idle_span != inner_span)),
                )


def _is_idle(value: dict[str, Any]) -> bool:
    return "null" in (value.get("action"), value.get("observation"))


def _contents_of(event: _Event) -> Contents | None:
    if sdk.is_event(event.value):
        return sdk.contents_of(event.value, event.span)
    return actions.contents_of(event.value, event.span) if actions.is_event(event.value) else None


def _is_unknown(value: dict[str, Any]) -> bool:
    """Whether an event without contents may be a message of an unknown kind."""
    if isinstance(value.get("kind"), str):
        return "source" in value and value["kind"] not in sdk.SILENT
    return "role" in value


def _take(
    contents: Contents, event: _Event, answers: dict[str, list[_Answer]], found: ListContents
) -> None:
    """Add the contents of an event: a message, or another call of an existing answer."""
    message = replace(contents.message, spans=contents.message.spans or event.whole)
    found.tools = found.tools or contents.tools
    found.model = contents.model or found.model
    calls = tuple(message.calls)
    names = {call.call_id for call in calls}
    alike = answers.get(contents.response, []) if contents.response is not None else []
    if alike and names.isdisjoint(alike[-1].calls):
        alike[-1].rest.append(replace(message, parts=calls))
        alike[-1].calls |= names
        return
    if contents.message.role == "system" and not contents.message.parts:
        return
    if contents.response is not None:
        answers.setdefault(contents.response, []).append(_Answer(len(found.messages), [], names))
    usage = openai_usage(contents.usage, len(found.messages))
    if usage is not None:
        found.usages.append(replace(usage, model=contents.model))
    found.messages.append(replace(message, index=len(found.messages)))


class _Condensed:
    """The combined condensations: forgotten positions, and the last `summary` with its `place`."""

    def __init__(self, events: Sequence[_Event]) -> None:
        self.forgotten: set[int] = set()
        self.summary: Message | None = None
        self.place = 0
        condensations = [
            position
            for position, event in enumerate(events)
            if _condensation(event.value) is not None
        ]
        if not condensations:
            return
        names = {
            event.value["id"]: position
            for position, event in enumerate(events)
            if _is_name(event.value.get("id"))
        }
        numbers = sorted(name for name in names if isinstance(name, int))
        text: Part | None = None
        for position in reversed(condensations):
            event = events[position]
            inner = _condensation(event.value) or {}
            inner_span = event.span if inner is event.value else event.span.inside("args")
            self.forgotten |= {
                names[name]
                for name in _forgotten(inner, numbers)
                if name in names and names[name] < position
            }
            if text is None and isinstance(inner.get("summary"), str):
                text = Part("text", inner["summary"], span=inner_span.inside("summary"))
        self.forgotten |= set(condensations)
        if text is not None:
            places = sorted(self.forgotten)
            self.place = places[0]
            spans = tuple(span for position in places for span in events[position].whole)
            self.summary = Message("user", (text,), is_injected=True, is_summary=True, spans=spans)


def _is_name(value: object) -> bool:
    return isinstance(value, (int, str))


def _condensation(value: dict[str, Any]) -> dict[str, Any] | None:
    """The condensation in an event, or None."""
    if value.get("kind") == "Condensation":
        return value
    inner = value.get("args")
    return inner if value.get("action") == "condensation" and isinstance(inner, dict) else None


def _forgotten(inner: dict[str, Any], numbers: list[int]) -> list[Any]:
    """The ids of the events that a condensation forgets: a list of them, or the
    first and the last.

    The ids between these are removed from the sorted `numbers`: an earlier condensation forgets no
    other of them.
    """
    ids = inner.get("forgotten_event_ids")
    if isinstance(ids, list):
        return [name for name in ids if _is_name(name)]
    first, last = inner.get("forgotten_events_start_id"), inner.get("forgotten_events_end_id")
    if not isinstance(first, int) or not isinstance(last, int):
        return []
    start, end = bisect_left(numbers, first), bisect_right(numbers, last)
    found = numbers[start:end]
    del numbers[start:end]
    return found


def envelope(value: dict[str, Any], span: Span) -> Envelope:
    """The id of the instance and the evaluated model. The events contain the tools."""
    config = members(members(value.get("metadata")).get("llm_config"))
    names = (value.get(key) for key in ("instance_id", "id", "question_id"))
    return Envelope(
        model=string(config.get("model")),
        id=next((name for name in names if isinstance(name, str)), None),
    )


def owner(array: Path) -> Path | None:
    """A pair is removed with both of its events; an answer stays without its calls."""
    return array if isinstance(array[-1], int) else None


def relink(edit: Edit) -> Edit:
    """The edit in which a dropped system prompt is an empty text, which its event requires."""
    emptied = {span for span in edit.removed if span.path[-2:] in _PROMPTS}
    return edit.with_value(emptied, "") if emptied else edit


DIALECT = Dialect(
    "openhands",
    knows,
    read,
    lazy_function("ctxtrim.formats.openhands.insert:insert"),
    envelope=envelope,
    owner=owner,
    relink=relink,
    places=("history", "[*].history", "trajectory", ""),
)
