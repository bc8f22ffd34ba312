"""A plain conversation as `gemini --output-format stream-json` streams it."""

from typing import Any


def events(talk: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The events of a stream, with each text of the model in two pieces."""
    values: list[dict[str, Any]] = [{"type": "init", "session_id": "s", "model": "gemini-9-pro"}]
    for message in talk:
        text, role = "\n".join(message["texts"]), message["role"]
        if role == "tool":
            values.append(_result(message, text))
            continue
        if role == "assistant":
            half = len(text) // 2
            values += [_message(role, each, True) for each in (text[:half], text[half:]) if each]
        else:
            values.append(_message("user", text))
        for call in message.get("calls", ()):
            named = {"tool_name": call["name"], "tool_id": call["id"]}
            values.append({"type": "tool_use", **named, "parameters": call["input"]})
    values.append({"type": "result", "status": "success", "stats": {"total_tokens": 9}})
    return [value | {"timestamp": "2031-05-04T03:02:01.000Z"} for value in values]


def _message(role: str, text: str, is_piece: bool = False) -> dict[str, Any]:
    delta = {"delta": True} if is_piece else {}
    return {"type": "message", "role": role, "content": text} | delta


def _result(message: dict[str, Any], text: str) -> dict[str, Any]:
    status = "error" if message["error"] else "success"
    return {"type": "tool_result", "tool_id": message["id"], "status": status, "output": text}
