"""OpenHands: a history of events, in a document of their own or beside what an evaluation noted of it.

::

    {"instance_id", "history": [{"id", "source", "action", "args"}, {"id", "cause", "observation", "content"}, …]}
    {"history": [[action, observation], …]}                     2024; either may be filled with a `null` one
    {"id", "source", "kind": "ActionEvent", "tool_call", …}     version 1, one a line or in a list

Actions of one answer of the model are one message with several calls. What a condensation forgets is no message: its
summary stands there instead, and goes together with all that it stands for.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ctxtrim.formats.message_lists import Dialect, Element, Envelope, Found
from ctxtrim.formats.openhands import actions, sdk
from ctxtrim.formats.openhands.actions import Told
from ctxtrim.formats.openhands.insert import insert
from ctxtrim.formats.usage import openai_usage
from ctxtrim.model import Message, Part, Span
from ctxtrim.text.json_paths import Path


def knows(value: object) -> bool:
    """An event, or a pair of an action and an observation."""
    if isinstance(value, list):
        return 0 < len(value) <= 2 and all(map(actions.is_event, value))
    return actions.is_event(value) or sdk.is_event(value)


@dataclass(frozen=True, slots=True)
class _Event:
    """One event, where it is spelled, and what goes when its message goes."""

    value: dict[str, Any]
    at: Span
    whole: tuple[Span, ...]


def read(elements: Sequence[Element], found: Found) -> None:
    """A message an event, actions of one answer together."""
    events = list(_events(elements))
    condensed = _Condensed(events)
    answers: dict[str, int] = {}  # by the id of an answer of the model: its message
    for place, event in enumerate(events):
        if condensed.summary is not None and place == condensed.place:
            found.messages.append(replace(condensed.summary, index=len(found.messages)))
        if place in condensed.gone:
            continue
        told = _told(event)
        if told is None:
            found.uncounted += _is_unknown(event.value)
        else:
            _take(told, event, answers, found)


def _events(elements: Sequence[Element]) -> Iterator[_Event]:
    """All events; with one of a pair goes the other, where that says nothing."""
    for value, at, whole in elements:
        if isinstance(value, dict):
            yield _Event(value, at, (whole,))
        elif isinstance(value, list):
            places = [(one, at.inside(index)) for index, one in enumerate(value) if isinstance(one, dict)]
            idle = tuple(where for one, where in places if actions.is_event(one) and _is_idle(one))
            for one, where in places:
                yield _Event(one, where, (where, *(place for place in idle if place != where)))


def _is_idle(value: dict[str, Any]) -> bool:
    return "null" in (value.get("action"), value.get("observation"))


def _told(event: _Event) -> Told | None:
    if sdk.is_event(event.value):
        return sdk.told(event.value, event.at)
    return actions.told(event.value, event.at) if actions.is_event(event.value) else None


def _is_unknown(value: dict[str, Any]) -> bool:
    """Whether an event of which nothing is read may be a message that nobody understands."""
    if isinstance(value.get("kind"), str):
        return "source" in value and value["kind"] not in sdk.SILENT
    return "role" in value


def _take(told: Told, event: _Event, answers: dict[str, int], found: Found) -> None:
    """Take in what an event says: a message, or another call of an answer that is there."""
    message = replace(told.message, spans=told.message.spans or event.whole)
    found.tools = found.tools or told.tools
    found.model = told.model or found.model
    home = answers.get(told.response) if told.response is not None else None
    if home is not None:
        first, calls = found.messages[home], tuple(message.calls)
        if {call.call_id for call in calls}.isdisjoint(call.call_id for call in first.calls):
            found.messages[home] = replace(first, parts=first.parts + calls, spans=first.spans + message.spans)
            return
    if told.message.role == "system" and not told.message.parts:
        return
    if told.response is not None:
        answers[told.response] = len(found.messages)
    usage = openai_usage(told.usage, len(found.messages))
    if usage is not None:
        found.usages.append(replace(usage, model=told.model))
    found.messages.append(replace(message, index=len(found.messages)))


class _Condensed:
    """What condensations forget: the places of `gone` events, and the last `summary`, which stands at `place`."""

    def __init__(self, events: Sequence[_Event]) -> None:
        self.gone: set[int] = set()
        self.summary: Message | None = None
        self.place = 0
        made = [place for place, event in enumerate(events) if _condensation(event.value) is not None]
        if not made:
            return
        names = {event.value["id"]: place for place, event in enumerate(events) if _is_name(event.value.get("id"))}
        text: Part | None = None
        for place in made:
            event = events[place]
            inner = _condensation(event.value) or {}
            where = event.at if inner is event.value else event.at.inside("args")
            self.gone |= {names[one] for one in _forgotten(inner, names) if one in names and names[one] < place}
            if isinstance(inner.get("summary"), str):
                text = Part("text", inner["summary"], span=where.inside("summary"))
        self.gone |= set(made)
        if text is not None:
            places = sorted(self.gone)
            self.place = places[0]
            spans = tuple(span for place in places for span in events[place].whole)
            self.summary = Message("user", (text,), is_injected=True, is_summary=True, spans=spans)


def _is_name(value: object) -> bool:
    return isinstance(value, (int, str))


def _condensation(value: dict[str, Any]) -> dict[str, Any] | None:
    """What a condensation says; None where an event is none."""
    if value.get("kind") == "Condensation":
        return value
    inner = value.get("args")
    return inner if value.get("action") == "condensation" and isinstance(inner, dict) else None


def _forgotten(inner: dict[str, Any], names: dict[Any, int]) -> list[Any]:
    """The ids of the events that a condensation forgets: a list of them, or the first and the last."""
    ids = inner.get("forgotten_event_ids")
    if isinstance(ids, list):
        return [one for one in ids if _is_name(one)]
    first, last = inner.get("forgotten_events_start_id"), inner.get("forgotten_events_end_id")
    if not isinstance(first, int) or not isinstance(last, int):
        return []
    return [one for one in names if isinstance(one, int) and first <= one <= last]


def envelope(value: dict[str, Any], at: Span) -> Envelope:
    """The instance's id, and the model that was evaluated; tools stand in the events."""
    told = value.get("metadata")
    config = told.get("llm_config") if isinstance(told, dict) else None
    model = config.get("model") if isinstance(config, dict) else None
    names = (value.get(key) for key in ("instance_id", "id", "question_id"))
    return Envelope(
        model=model if isinstance(model, str) else None, id=next((one for one in names if isinstance(one, str)), None)
    )


def owner(array: Path) -> Path | None:
    """A pair goes when both of it go; an answer stays without its calls."""
    return array if isinstance(array[-1], int) else None


DIALECT = Dialect(
    "openhands", knows, read, envelope, owner, insert, places=("history", "[*].history", "trajectory", "")
)
