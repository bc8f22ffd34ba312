"""Writes inserted messages as OpenHands events, in the form of their neighbours."""

from collections.abc import Sequence
from typing import Any

from ctxtrim.formats.base import Insertion, Site
from ctxtrim.formats.fields import members
from ctxtrim.formats.message_parts import event_id, text_of
from ctxtrim.model import Message, Part, Role, Span

_SOURCES = {"user": "user", "assistant": "agent", "system": "agent"}
_NO_OBSERVATION = {"message": "No observation", "observation": "null", "content": "", "extras": {}}
_NO_ACTION = {"message": "No action", "action": "null", "args": {}}


def insert(run: Sequence[Message], site: Site) -> Sequence[Insertion]:
    """Each message as an event, or as a pair among pairs.

    A result replaces the placeholder in its pair.
    """
    neighbour = _event((site.earlier or site.later or site.last).spans[0], site)
    values: list[Any] = [
        _json_value(message, neighbour, site, number) for number, message in enumerate(run)
    ]
    span, is_after = _place(run, site)
    placeholder = _placeholder(run[0], site)
    replacements: list[Insertion] = []
    if placeholder is not None:
        replacements.append(Insertion(values.pop(0), placeholder, replaces=True))
    if span.path and isinstance(site.value_of(span), list):
        values = list(map(_pair, values))
    return [*replacements, *(Insertion(value, span, is_after=is_after) for value in values)]


def _pair(value: dict[str, Any]) -> list[dict[str, Any]]:
    """An event with the placeholder that makes it a pair."""
    return [_NO_ACTION, value] if "observation" in value else [value, _NO_OBSERVATION]


def _place(run: Sequence[Message], site: Site) -> tuple[Span, bool]:
    """The position before the next message, or, for results, after their call if possible."""
    later, end = site.later, max((site.earlier or site.last).spans)
    is_answer = run[0].role == "tool" and site.earlier is not None
    if later is not None:
        has_room = later.role != "tool" and end <= later.spans[0]
        if not (is_answer and has_room):
            return _element(later.spans[0], site, False), False
    return _element(end, site, True), True


def _element(span: Span, site: Site, is_after: bool) -> Span:
    """The event at a position, or its pair if the position is on the outer side of the pair."""
    event = _event_around(span)
    is_inside = len(event.path) > 1 and isinstance(event.path[-2], int)
    pair = site.value_of(event.outer) if is_inside else None
    if isinstance(pair, list) and event.path[-1] == (len(pair) - 1 if is_after else 0):
        return event.outer
    return event


def _event_around(span: Span) -> Span:
    """The span of the event that contains a span."""
    while span.path and not isinstance(span.path[-1], int):
        span = span.outer
    return span


def _placeholder(message: Message, site: Site) -> Span | None:
    """The placeholder observation paired with the call that a result answers; None without one."""
    result, earlier = message.result, site.earlier
    if result is None or earlier is None:
        return None
    if all(call.call_id != result.call_id for call in earlier.calls):
        return None
    span = earlier.spans[-1]
    value = site.value_of(span)
    is_pair = len(earlier.spans) > 1 and span.path[:-1] == earlier.spans[-2].path[:-1]
    is_idle = isinstance(value, dict) and value.get("observation") == "null"
    return span if is_pair and is_idle else None


def _event(span: Span, site: Site) -> dict[str, Any]:
    """The event that contains a span."""
    return members(site.value_of(_event_around(span)))


def _json_value(
    message: Message, neighbour: dict[str, Any], site: Site, number: int
) -> dict[str, Any]:
    text, result = text_of(message.parts), message.result
    events = [_event(span, site) for span in site.earlier.spans] if site.earlier is not None else []
    time = {"timestamp": neighbour["timestamp"]} if "timestamp" in neighbour else {}
    if isinstance(neighbour.get("kind"), str):
        name = event_id(neighbour.get("id"), f"{message.role} {text}", number)
        if result is None:
            return {"id": name} | time | _message_sdk(message.role, text)
        return {"id": name} | time | _result_sdk(result, text, events)
    if result is not None:
        return _result(result, text, events, neighbour, time)
    action, arguments = "system", dict[str, Any](content=text)
    if message.role != "system":
        action = "message"
        arguments["wait_for_response"] = message.role == "assistant"
        if _is_flat(neighbour):
            return arguments | {"action": action}
    header = {"source": _SOURCES[message.role], "message": text}
    return time | header | {"action": action, "args": arguments}


def _is_flat(neighbour: dict[str, Any]) -> bool:
    """Whether an event has its arguments next to its kind, as the oldest versions write it."""
    return "args" not in neighbour and "extras" not in neighbour and "source" not in neighbour


def _result(
    result: Part,
    text: str,
    events: Sequence[dict[str, Any]],
    neighbour: dict[str, Any],
    time: dict[str, Any],
) -> dict[str, Any]:
    """An observation of the same kind as its action, with the metadata of the call."""
    kinds = [event.get("action") or event.get("observation") for event in reversed(events)]
    names = (kind for kind in kinds if isinstance(kind, str))
    kind = next((name for name in names if name not in ("error", "null")), "run")
    if result.call_id is None:
        observation = {"content": text, "observation": result.name or kind}
        if _is_flat(neighbour):
            return observation
        return time | {"source": "agent", "message": ""} | observation | _cause(events)
    linked_events = [event for event in events if isinstance(event.get("tool_call_metadata"), dict)]
    calls = [
        event
        for event in linked_events
        if event["tool_call_metadata"].get("tool_call_id") == result.call_id
    ]
    kind = next((event["action"] for event in calls if isinstance(event.get("action"), str)), kind)
    metadata = [event["tool_call_metadata"] for event in (*calls[:1], *linked_events[-1:])]
    call = metadata[0] if metadata else {}
    function = {"function_name": result.name} if result.name is not None else {}
    value = {
        "source": "agent",
        "message": "",
        "observation": kind,
        "content": text,
        "tool_call_metadata": call | function | {"tool_call_id": result.call_id},
    }
    return time | value | _cause(calls)


def _cause(events: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The fields that link an observation to its action."""
    cause = events[-1].get("id") if events else None
    return {"extras": {}} if cause is None else {"cause": cause, "extras": {}}


def _message_sdk(role: Role, text: str) -> dict[str, Any]:
    if role == "system":
        return {
            "source": "agent",
            "system_prompt": {"type": "text", "text": text},
            "kind": "SystemPromptEvent",
        }
    content = {"role": role, "content": [{"type": "text", "text": text}]}
    return {"source": _SOURCES[role], "llm_message": content, "kind": "MessageEvent"}


def _result_sdk(result: Part, text: str, events: Sequence[dict[str, Any]]) -> dict[str, Any]:
    calls = (event for event in events if event.get("tool_call_id") == result.call_id)
    action = next((event for event in calls if "action" in event), {})
    kind = members(action.get("action")).get("kind")
    observation: dict[str, Any] = {"content": [{"type": "text", "text": text}]}
    if isinstance(kind, str):
        observation["kind"] = kind.removesuffix("Action") + "Observation"
    call = {"tool_name": result.name, "tool_call_id": result.call_id}
    if "id" in action:
        call["action_id"] = action["id"]
    return {"source": "environment", "observation": observation, **call, "kind": "ObservationEvent"}
