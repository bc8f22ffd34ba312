"""A plain conversation as an exported session of opencode 2."""

from itertools import count
from typing import Any

from pictures import PICTURE, URL
from writers.opencode import results_in

Talk = list[dict[str, Any]]
MODEL = {"id": "m", "providerID": "p"}


def session(talk: Talk, number: int = 0) -> dict[str, Any]:
    """A session. Odd ones have messages that are not sent; long ones were compacted."""
    values: Talk = []
    names = count(1)
    results = {(at, name): message for at, name, message in results_in(talk)}
    if number % 2:
        values.append(_message("model-switched", next(names), model=MODEL))
    for position, message in enumerate(talk):
        if message["role"] == "user":
            values.append(_message("user", next(names), **_prompt(message)))
        elif message["role"] == "assistant":
            answers = [results.get((position, call["id"])) for call in message["calls"]]
            values.append(_answer(message, answers, next(names), position))
            if number % 2:
                values.append(_message("idle", next(names), outcome="succeeded"))
        elif message["role"] == "system":
            values.append(_message("system", next(names), text="\n".join(message["texts"])))
    if len(values) > 4:
        values[2:2] = _compactions()
    info = {"id": f"ses_{number}", "projectID": "p", "title": "Tides", "agent": "build"}
    return {"info": info | {"model": MODEL, "cost": 0}, "messages": values}


def _message(kind: str, number: int, **members: Any) -> dict[str, Any]:
    time = {"created": 1000 * number}
    return {"id": f"msg_{number:06}", "type": kind, "time": time} | members


def _prompt(message: dict[str, Any]) -> dict[str, Any]:
    value: dict[str, Any] = {"text": "\n".join(message["texts"])}
    if message.get("image"):
        source = {"type": "inline"}
        value["files"] = [{"data": PICTURE, "mime": "image/png", "source": source}]
    return value


def _answer(message: dict[str, Any], answers: Talk, number: int, position: int) -> dict[str, Any]:
    """An answer, with thoughts now and then."""
    content: Talk = []
    if position % 3 == 0:
        content.append({"type": "reasoning", "text": "to do", "native": {"signature": "x"}})
    content += [{"type": "text", "text": text} for text in message["texts"]]
    for call, answer in zip(message["calls"], answers, strict=True):
        state = {"status": "running", "metadata": {}} if answer is None else _state(answer)
        part = {"type": "tool", "id": call["id"], "name": call["name"], "time": {"created": 1}}
        content.append(part | {"state": state | {"input": call["input"]}})
    value = _message("assistant", number, agent="build", model=MODEL, content=content)
    value["time"]["completed"] = 1000 * number + 1
    tokens = {"input": 10, "output": 2, "reasoning": 0, "cache": {"read": 5, "write": 0}}
    return value | {"finish": "stop", "tokens": tokens}


def _state(message: dict[str, Any]) -> dict[str, Any]:
    if message.get("error"):
        text = "\n".join(message["texts"])
        return {"status": "error", "error": {"type": "unknown", "message": text}}
    content: Talk = [{"type": "text", "text": text} for text in message["texts"]]
    if message.get("image"):
        content.append({"type": "file", "uri": URL, "mime": "image/png"})
    return {"status": "completed", "content": content, "metadata": {"exit": 0}}


def _compactions() -> Talk:
    """A complete compaction of the messages before it, and one that failed."""
    summary = {"status": "completed", "summary": "We looked up the tides.", "recent": "High at 3."}
    error = {"status": "failed", "error": {"type": "unknown", "message": "no"}}
    return [
        _message("compaction", 800_000, reason="auto", **summary),
        _message("compaction", 800_001, reason="auto", **error),
    ]
