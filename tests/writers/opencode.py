"""A plain conversation as an exported session of opencode."""

from itertools import count
from typing import Any

from pictures import URL

Talk = list[dict[str, Any]]


def session(talk: Talk, number: int = 0) -> dict[str, Any]:
    """A session. Even ones have a message for each step; in odd ones, the steps of a turn share a
    message. Long ones were compacted, and some of those kept the last messages.
    """
    values: Talk = []
    names = count(1)
    results = {(at, name): message for at, name, message in results_in(talk)}
    for position, message in enumerate(talk):
        if message["role"] == "user":
            values.append(_message("user", next(names), _prompt(message)))
        elif message["role"] == "assistant":
            answers = [results.get((position, call["id"])) for call in message["calls"]]
            parts = _step(message, answers, position)
            if number % 2 and values and values[-1]["info"]["role"] == "assistant":
                values[-1]["parts"] += parts
            else:
                values.append(_message("assistant", next(names), parts))
    if len(values) > 4:
        values[2:2] = _compaction(values[1]["info"]["id"] if len(values) % 2 else None)
    for value in values:
        for place, part in enumerate(value["parts"]):
            part |= {"id": f"prt_{value['info']['id'][4:]}{place:03}"}
            part |= {"messageID": value["info"]["id"], "sessionID": "ses_1"}
    return {
        "info": {"id": f"ses_{number}", "title": "Tides", "version": "1.1.0"},
        "messages": values,
    }


def results_in(talk: Talk) -> list[tuple[int, str, dict[str, Any]]]:
    """The results of calls, with the position of their answer."""
    found, answer = [], 0
    for position, message in enumerate(talk):
        if message["role"] == "assistant":
            answer = position
        elif message["role"] == "tool":
            found.append((answer, message["id"], message))
    return found


def _message(role: str, number: int, parts: Talk, **more: Any) -> dict[str, Any]:
    info: dict[str, Any] = {"id": f"msg_{number:06}", "sessionID": "ses_1", "role": role}
    info |= {"time": {"created": 1000 * number}, "agent": "build"}
    if role == "user":
        info["model"] = {"providerID": "p", "modelID": "m"}
    else:
        info |= {"parentID": "msg_000001", "providerID": "p", "modelID": "m", "finish": "stop"}
    return {"info": info | more, "parts": parts}


def _prompt(message: dict[str, Any]) -> Talk:
    parts: Talk = [{"type": "text", "text": text} for text in message["texts"]]
    parts.append({"type": "text", "text": "for the screen", "ignored": True})
    if message.get("image"):
        parts.append({"type": "file", "mime": "image/png", "url": URL})
    return parts


def _step(message: dict[str, Any], answers: Talk, position: int) -> Talk:
    """A step, with thoughts now and then."""
    tokens = {"input": 10, "output": 2, "reasoning": 0, "cache": {"read": 5, "write": 0}}
    parts: Talk = [{"type": "step-start", "snapshot": "s"}]
    if position % 3 == 0:
        parts.append({"type": "reasoning", "text": "to do", "time": {"start": 1}})
    parts += [{"type": "text", "text": text} for text in message["texts"]]
    for call, answer in zip(message["calls"], answers, strict=True):
        state = {"status": "running"} if answer is None else _state(answer, position)
        part = {"type": "tool", "callID": call["id"], "tool": call["name"]}
        parts.append(part | {"state": state | {"input": call["input"]}})
    return [*parts, {"type": "step-finish", "reason": "stop", "tokens": tokens}]


def _state(message: dict[str, Any], position: int) -> dict[str, Any]:
    text = "\n".join(message["texts"])
    if message.get("error"):
        return {"status": "error", "error": text, "time": {"start": 1, "end": 2}}
    state = {"status": "completed", "output": text, "title": "", "metadata": {"exit": 0}}
    if message.get("image"):
        state["attachments"] = [{"type": "file", "mime": "image/png", "url": URL}]
    return state | {"time": {"start": 1, "end": 2} | ({"compacted": 3} if position == 2 else {})}


def _compaction(tail: str | None) -> Talk:
    """A compaction of the messages before it; `tail` names the first one that stays."""
    mark = {"type": "compaction", "auto": True} | ({"tail_start_id": tail} if tail else {})
    text = {"type": "text", "text": "We looked up the tides."}
    return [
        _message("user", 800_000, [mark]),
        _message("assistant", 800_001, [text], parentID="msg_800000", summary=True),
    ]
