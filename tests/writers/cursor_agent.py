"""A plain conversation as `cursor-agent` streams it."""

from typing import Any


def events(talk: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The events of a stream, which ends with a copy of all texts."""
    values: list[dict[str, Any]] = [{"type": "system", "subtype": "init", "model": "m"}]
    names: dict[str, str] = {}
    for number, message in enumerate(talk):
        text = "\n".join(message["texts"])
        if message["role"] == "tool":
            values.append(_result(message, text, names.get(message["id"], "read")))
            continue
        role = "assistant" if message["role"] == "assistant" else "user"
        if role == "assistant" and number % 3 == 0:
            values.append({"type": "thinking", "subtype": "delta", "text": "to do"})
            values.append({"type": "thinking", "subtype": "completed"})
        if text or role == "user":
            content = [{"type": "text", "text": text}]
            values.append({"type": role, "message": {"role": role, "content": content}})
        for call in message.get("calls", ()):
            names[call["id"]] = call["name"]
            tool_call = {f"{call['name']}ToolCall": {"args": call["input"]}}
            started = {"type": "tool_call", "subtype": "started", "call_id": call["id"]}
            values.append(started | {"tool_call": tool_call})
    values.append({"type": "result", "subtype": "success", "result": "Done."})
    return [value | {"session_id": "s", "timestamp_ms": 1} for value in values]


def _result(message: dict[str, Any], text: str, name: str) -> dict[str, Any]:
    outcome = {"error" if message["error"] else "success": {"content": text}}
    tool_call = {f"{name}ToolCall": {"args": {}, "result": outcome}}
    completed = {"type": "tool_call", "subtype": "completed", "call_id": message["id"]}
    return completed | {"tool_call": tool_call}
