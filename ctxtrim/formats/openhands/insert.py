"""Writes inserted messages as OpenHands events, in the form of their neighbours."""

from collections.abc import Sequence
from typing import Any

from ctxtrim.formats.base import Insertion, Site
from ctxtrim.formats.ids import event_id
from ctxtrim.model import Message, Span

_SOURCES = {"user": "user", "assistant": "agent", "system": "agent"}
_IDLE = {"message": "No observation", "observation": "null", "content": "", "extras": {}}
_IDLE_ACTION = {"message": "No action", "action": "null", "args": {}}


def insert(run: Sequence[Message], site: Site) -> Sequence[Insertion]:
    """Each message as an event, or as a pair among pairs.

    A result replaces the placeholder in its pair.
    """
    neighbour = _near(site)
    values: list[Any] = [
        _json_value(message, neighbour, site, number) for number, message in enumerate(run)
    ]
    span, is_after = _where(run, site)
    idle = _idle(run[0], site)
    first = [] if idle is None else [Insertion(values.pop(0), idle, replaces=True)]
    if span.path and isinstance(site.value_of(span), list):
        values = [
            [_IDLE_ACTION, value] if "observation" in value else [value, _IDLE] for value in values
        ]
    return [*first, *(Insertion(value, span, is_after=is_after) for value in values)]


def _where(run: Sequence[Message], site: Site) -> tuple[Span, bool]:
    """The position before the next message, or, for results, after their call if possible."""
    earlier, later = site.earlier, site.later
    is_answer = run[0].role == "tool" and earlier is not None
    if later is not None and (
        not is_answer or later.role == "tool" or _last(earlier) > later.spans[0]
    ):
        return _element(later.spans[0], site, False), False
    return _element(_last(earlier or site.any), site, True), True


def _last(message: Message | None) -> Span:
    return max(message.spans) if message is not None else Span(0)


def _element(span: Span, site: Site, is_after: bool) -> Span:
    """The event at a position, or its pair if the position is on the outer side of the pair."""
    line, path = span
    while path and not isinstance(path[-1], int):
        path = path[:-1]
    pair = (
        site.value_of(Span(line, path[:-1]))
        if len(path) > 1 and isinstance(path[-2], int)
        else None
    )
    if isinstance(pair, list) and path[-1] == (len(pair) - 1 if is_after else 0):
        path = path[:-1]
    return Span(line, path)


def _idle(message: Message, site: Site) -> Span | None:
    """The placeholder observation paired with the call that a result answers, or None."""
    result, earlier = message.result, site.earlier
    if (
        result is None
        or earlier is None
        or all(call.call_id != result.call_id for call in earlier.calls)
    ):
        return None
    span = earlier.spans[-1]
    value = site.value_of(span)
    is_pair = len(earlier.spans) > 1 and span.path[:-1] == earlier.spans[-2].path[:-1]
    return (
        span if is_pair and isinstance(value, dict) and value.get("observation") == "null" else None
    )


def _near(site: Site) -> dict[str, Any]:
    """An event near the position."""
    span = (site.earlier or site.later or site.any).spans[0]
    return _event(span, site)


def _event(span: Span, site: Site) -> dict[str, Any]:
    """The event that contains a span."""
    line, path = span
    while path and not isinstance(path[-1], int):
        path = path[:-1]
    value = site.value_of(Span(line, path))
    return value if isinstance(value, dict) else {}


def _json_value(
    message: Message, neighbour: dict[str, Any], site: Site, number: int
) -> dict[str, Any]:
    text = "".join(part.text for part in message.parts if part.kind in ("text", "tool_result"))
    events = [_event(span, site) for span in site.earlier.spans] if site.earlier is not None else []
    time = {"timestamp": neighbour["timestamp"]} if "timestamp" in neighbour else {}
    if isinstance(neighbour.get("kind"), str):
        name = event_id(neighbour.get("id"), f"{message.role} {text}", number)
        return (
            {"id": name}
            | time
            | (
                _result_sdk(message, text, events)
                if message.result
                else _message_sdk(message, text)
            )
        )
    if message.result is not None:
        return _result(message, text, events, neighbour, time)
    if message.role == "system":
        return time | {
            "source": "agent",
            "message": text,
            "action": "system",
            "args": {"content": text},
        }
    if _is_flat(neighbour):
        return {
            "content": text,
            "wait_for_response": message.role == "assistant",
            "action": "message",
        }
    arguments = {"content": text, "wait_for_response": message.role == "assistant"}
    return time | {
        "source": _SOURCES[message.role],
        "message": text,
        "action": "message",
        "args": arguments,
    }


def _is_flat(neighbour: dict[str, Any]) -> bool:
    """Whether an event has its arguments next to its kind, as the oldest versions write it."""
    return "args" not in neighbour and "extras" not in neighbour and "source" not in neighbour


def _result(
    message: Message,
    text: str,
    events: Sequence[dict[str, Any]],
    neighbour: dict[str, Any],
    time: dict[str, Any],
) -> dict[str, Any]:
    """An observation of the same kind as its action, with the metadata of the call."""
    result = message.result
    name = result.name if result is not None else None
    kinds = [event.get("action") or event.get("observation") for event in events]
    kind = next(
        (
            event
            for event in reversed(kinds)
            if isinstance(event, str) and event not in ("error", "null")
        ),
        "run",
    )
    if result is None or result.call_id is None:
        observed = {"content": text, "observation": name or kind}
        return (
            observed
            if _is_flat(neighbour)
            else time | {"source": "agent", "message": ""} | observed | _caused(events)
        )
    notes = [
        event["tool_call_metadata"]
        for event in events
        if isinstance(event.get("tool_call_metadata"), dict)
    ]
    noted = next(
        (event for event in notes if event.get("tool_call_id") == result.call_id),
        notes[-1] if notes else {},
    )
    named = {"function_name": name} if name is not None else {}
    noted = noted | named | {"tool_call_id": result.call_id}
    action = [
        event
        for event in events
        if (event.get("tool_call_metadata") or {}).get("tool_call_id") == result.call_id
    ]
    kind = next((event["action"] for event in action if isinstance(event.get("action"), str)), kind)
    value = {
        "source": "agent",
        "message": "",
        "observation": kind,
        "content": text,
        "tool_call_metadata": noted,
    }
    return time | value | _caused(action)


def _caused(events: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The fields that link an observation to its action."""
    cause = events[-1].get("id") if events else None
    return {"extras": {}} if cause is None else {"cause": cause, "extras": {}}


def _message_sdk(message: Message, text: str) -> dict[str, Any]:
    if message.role == "system":
        return {
            "source": "agent",
            "system_prompt": {"type": "text", "text": text},
            "kind": "SystemPromptEvent",
        }
    content = {"role": message.role, "content": [{"type": "text", "text": text}]}
    return {"source": _SOURCES[message.role], "llm_message": content, "kind": "MessageEvent"}


def _result_sdk(message: Message, text: str, events: Sequence[dict[str, Any]]) -> dict[str, Any]:
    result = message.result
    call_id, name = (None, None) if result is None else (result.call_id, result.name)
    action = next(
        (event for event in events if event.get("tool_call_id") == call_id and "action" in event),
        {},
    )
    inner = action.get("action")
    kind = inner.get("kind") if isinstance(inner, dict) else None
    seen: dict[str, Any] = {"content": [{"type": "text", "text": text}]}
    if isinstance(kind, str):
        seen["kind"] = kind.removesuffix("Action") + "Observation"
    call = {"tool_name": name, "tool_call_id": call_id} | (
        {"action_id": action["id"]} if "id" in action else {}
    )
    return {"source": "environment", "observation": seen} | call | {"kind": "ObservationEvent"}
