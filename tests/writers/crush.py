"""A plain conversation as a session of Crush, from its database and as shown."""

import json
from typing import Any

from pictures import PICTURE

Talk = list[dict[str, Any]]


def session(talk: Talk, number: int = 0) -> dict[str, Any]:
    """A session. Long ones with an odd number were summarized."""
    values: Talk = []
    for position, message in enumerate(talk):
        parts = _parts(message, position)
        if message["role"] == "tool" and values and values[-1]["role"] == "tool":
            values[-1]["parts"][-1:] = [*parts, _part("finish", reason="stop")]
            continue
        values.append(_message(message["role"], len(values), parts))
    if len(values) > 5 and number % 2:
        summary = _message("assistant", 99, [_part("text", text="The tides were looked up.")])
        values.insert(2, summary | {"is_summary_message": True})
    return {"session": {"id": f"ses-{number}", "title": "Tides"}, "messages": values}


def shown(talk: Talk, number: int = 0) -> dict[str, Any]:
    """A session as `crush session show --json` writes it: without files."""
    values = session(talk)["messages"]
    for value in values:
        value["created"] = "2026-01-02T10:00:00Z"
        kept = [part for part in value["parts"] if part["type"] != "binary"]
        value["parts"] = [_flat(part["type"], **part["data"]) for part in kept]
    return {"meta": {"uuid": f"ses-{number}", "title": "Tides"}, "messages": values}


def _flat(kind: str, **data: Any) -> dict[str, Any]:
    unseen = ("metadata", "signature", "finished", "Data", "data", "Path")
    data = {key: value for key, value in data.items() if key not in unseen}
    if kind == "tool_call":
        data["tool_call_id"] = data.pop("id")
    return {"type": kind} | data


def _message(role: str, number: int, parts: Talk) -> dict[str, Any]:
    value: dict[str, Any] = {"id": f"msg-{number}", "session_id": "ses", "role": role}
    value |= {"model": "m", "provider": "p"} if role == "assistant" else {}
    value |= {"created_at": 1767350000, "parts": parts}
    value["parts"].append(_part("finish", reason="stop", time=0))
    return value


def _part(kind: str, **data: Any) -> dict[str, Any]:
    return {"type": kind, "data": data}


def _parts(message: dict[str, Any], position: int) -> Talk:
    text = "\n".join(message["texts"])
    if message["role"] == "tool":
        error = bool(message["error"])
        file = {"data": PICTURE, "mime_type": "image/png"} if message["image"] and not error else {}
        result = {"tool_call_id": message["id"], "name": "bash", "content": text, "is_error": error}
        return [_part("tool_result", **result, metadata="", **file)]
    parts = [_part("text", text=text)]
    if message["role"] == "assistant" and position % 4 == 0:
        parts.insert(0, _part("reasoning", thinking="Tide tables first.", signature="s"))
    if message.get("image"):
        parts.append(_part("binary", Path="pier.png", MIMEType="image/png", Data=PICTURE))
    for call in message.get("calls", ()):
        fields = {"id": call["id"], "name": call["name"], "input": json.dumps(call["input"])}
        parts.append(_part("tool_call", **fields, finished=True))
    return parts
