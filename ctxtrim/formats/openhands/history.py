"""The messages in a history of OpenHands.

Actions of one model answer are one message with several calls. Events that a condensation forgets
are not read; its summary replaces them, and is removed together with them.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ctxtrim.formats.fields import Located
from ctxtrim.formats.message_lists import Element, ListContents
from ctxtrim.formats.message_parts import joined_message
from ctxtrim.formats.openhands import actions, sdk
from ctxtrim.formats.openhands.actions import Contents
from ctxtrim.formats.openhands.event_kinds import (
    SILENT_SDK_EVENTS,
    is_action_or_observation,
    is_sdk_event,
)
from ctxtrim.formats.usage import openai_usage
from ctxtrim.model import Message, Part, Span


class _Event(Struct, frozen=True):
    """One event, its span, and the spans to remove with its message."""

    value: dict[str, Any]
    span: Span
    spans: tuple[Span, ...]


class _Answer(Struct):
    """The index of the first message of a model answer, the messages with its further calls, and
    the ids of its calls so far.
    """

    index: int
    rest: list[Message]
    calls: set[str | None]


def read(elements: Iterable[Element], list_contents: ListContents) -> None:
    """Read one message per event; actions of one answer share a message."""
    events, messages = list(_events(elements)), list_contents.messages
    forgotten = _forgotten(events)
    summary = _summary([events[position] for position in sorted(forgotten)])
    answers: dict[str, list[_Answer]] = {}  # by the id of the answer; only the last may continue
    for position, event in enumerate(events):
        if position in forgotten:
            if summary is not None:  # once, in the place of the first of them
                list_contents.add_message(summary)
                summary = None
            continue
        contents = _contents_of(event)
        if contents is None:
            list_contents.uncounted += _is_unknown(event.value)
        else:
            _add(contents, event, answers, list_contents)
    for answer in chain.from_iterable(answers.values()):
        messages[answer.index] = joined_message(messages[answer.index], answer.rest)


def _events(elements: Iterable[Element]) -> Iterator[_Event]:
    """All events. If one event of a pair has no contents, both are removed together."""
    for value, span, whole in elements:
        if isinstance(value, dict):
            yield _Event(value, span, (whole,))
        elif isinstance(value, list):
            events = [
                (event, span.inside(index))
                for index, event in enumerate(value)
                if isinstance(event, dict)
            ]
            placeholders = [inner_span for event, inner_span in events if _is_placeholder(event)]
            for event, inner_span in events:
                others = [other for other in placeholders if other != inner_span]
                yield _Event(event, inner_span, (inner_span, *others))


def _is_placeholder(value: dict[str, Any]) -> bool:
    """Whether an event is a placeholder for a missing action or observation."""
    kinds = (value.get("action"), value.get("observation"))
    return "null" in kinds and is_action_or_observation(value)


def _contents_of(event: _Event) -> Contents | None:
    if is_sdk_event(event.value):
        return sdk.contents_of(event.value, event.span)
    if is_action_or_observation(event.value):
        return actions.contents_of(event.value, event.span)
    return None


def _is_unknown(value: dict[str, Any]) -> bool:
    """Whether an event without contents may be a message of an unknown kind."""
    if isinstance(value.get("kind"), str):
        return "source" in value and value["kind"] not in SILENT_SDK_EVENTS
    return "role" in value


def _add(
    contents: Contents,
    event: _Event,
    answers: dict[str, list[_Answer]],
    list_contents: ListContents,
) -> None:
    """Add the contents of an event: a message, or another call of an existing answer."""
    message = replace(contents.message, spans=contents.message.spans or event.spans)
    list_contents.tools = list_contents.tools or contents.tools
    list_contents.model = contents.model or list_contents.model
    calls = tuple(message.calls)
    names = {call.call_id for call in calls}
    earlier_answers = answers.get(contents.response, []) if contents.response is not None else []
    if earlier_answers and names.isdisjoint(earlier_answers[-1].calls):
        earlier_answers[-1].rest.append(replace(message, parts=calls))
        earlier_answers[-1].calls |= names
        return
    if contents.message.role == "system" and not contents.message.parts:
        return
    index = len(list_contents.messages)
    if contents.response is not None:
        answers.setdefault(contents.response, []).append(_Answer(index, [], names))
    list_contents.add_usage(openai_usage(contents.usage, index, contents.model))
    list_contents.add_message(message)


def _forgotten(events: Sequence[_Event]) -> set[int]:
    """The positions of all condensations and of the events that they forget."""
    condensations = {
        position: condensation[0]
        for position, event in enumerate(events)
        if (condensation := _condensation(event)) is not None
    }
    if not condensations:
        return set()
    positions: dict[Any, list[int]] = {}  # several if a history is joined to itself
    for position, event in enumerate(events):
        if _is_name(event.value.get("id")):
            positions.setdefault(event.value["id"], []).append(position)
    numbers = sorted(name for name in positions if isinstance(name, int))
    forgotten = set(condensations)
    for position in reversed(condensations):
        for name in _forgotten_ids(condensations[position], numbers):
            places = positions.get(name, [])
            forgotten.update(places[: bisect_left(places, position)])
    return forgotten


def _summary(events: Sequence[_Event]) -> Message | None:
    """The last summary in some events that are not sent, which replaces all of them."""
    for event in reversed(events):
        located = _condensation(event)
        if located is None:
            continue
        condensation, span = located
        if isinstance(condensation.get("summary"), str):
            part = Part("text", condensation["summary"], span=span.inside("summary"))
            spans = tuple(place for replaced in events for place in replaced.spans)
            return Message("user", (part,), is_injected=True, is_summary=True, spans=spans)
    return None


def _is_name(value: object) -> bool:
    return isinstance(value, (int, str))


def _condensation(event: _Event) -> Located | None:
    """The condensation in an event, and its span; None for another event."""
    if event.value.get("kind") == "Condensation":
        return event.value, event.span
    inner = event.value.get("args")
    if event.value.get("action") == "condensation" and isinstance(inner, dict):
        return inner, event.span.inside("args")
    return None


def _forgotten_ids(inner: dict[str, Any], numbers: list[int]) -> list[Any]:
    """The ids of the events that a condensation forgets: a list of them, or the first and the last.

    The ids between these are removed from the sorted `numbers`: an earlier condensation forgets no
    other of them.
    """
    ids = inner.get("forgotten_event_ids")
    if isinstance(ids, list):
        return [name for name in ids if _is_name(name)]
    first_id, last_id = inner.get("forgotten_events_start_id"), inner.get("forgotten_events_end_id")
    if not isinstance(first_id, int) or not isinstance(last_id, int):
        return []
    start, end = bisect_left(numbers, first_id), bisect_right(numbers, last_id)
    ids = numbers[start:end]
    del numbers[start:end]
    return ids
