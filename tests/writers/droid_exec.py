"""A plain conversation as `droid exec` streams it."""

from typing import Any


def events(talk: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The events of a stream, which ends with a copy of the last text."""
    values: list[dict[str, Any]] = [{"type": "system", "subtype": "init", "model": "droid-model"}]
    for number, message in enumerate(talk):
        text = "\n".join(message["texts"])
        if message["role"] == "tool":
            values.append(_result(message, text, number))
            continue
        if message["role"] == "assistant" and number % 3 == 0:
            values.append({"type": "reasoning", "text": "to do"})
        if text or message["role"] != "assistant":
            values.append({"type": "message", "role": message["role"], "text": text})
        for call in message.get("calls", ()):
            named = {"id": call["id"], "toolId": call["name"], "toolName": call["name"]}
            values.append({"type": "tool_call", **named, "parameters": call["input"]})
    texts = [value["text"] for value in values if value.get("role") == "assistant"]
    values.append({"type": "completion", "finalText": texts[-1] if texts else "Done."})
    return [value | {"session_id": "s", "timestamp": 1} for value in values]


def _result(message: dict[str, Any], text: str, number: int) -> dict[str, Any]:
    value: Any = {"stdout": text, "exitCode": 0} if number % 2 else text
    error = {} if message["error"] is None else {"isError": message["error"]}
    return {"type": "tool_result", "id": message["id"], "value": value} | error
