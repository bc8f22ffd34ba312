"""A plain conversation as a transcript or an export of Windsurf."""

from typing import Any

from pictures import URL
from writers.openai_chat import openai_message


def steps(talk: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The steps of a transcript: texts, and a code action for each call; results are missing."""
    values: list[dict[str, Any]] = []
    for message in talk:
        text = "".join(message["texts"])
        if message["role"] == "user":
            values.append({"type": "user_input", "user_input": {"user_response": text}})
        elif message["role"] == "assistant":
            values.append({"type": "planner_response", "planner_response": {"response": text}})
            for call in message["calls"]:
                action = {"path": "/app/a.py", "new_content": str(call["input"])}
                values.append({"type": "code_action", "code_action": action})
    return [{"status": "completed"} | value for value in values]


def export(talk: list[dict[str, Any]], number: int = 0) -> dict[str, Any]:
    """An export: texts with a sender and parts, calls and results as in Chat Completions."""
    messages = [_message(message) for message in talk]
    return {"app": "Windsurf", "conversation": {"id": f"w{number}", "messages": messages}}


def _message(message: dict[str, Any]) -> dict[str, Any]:
    if message["role"] == "tool" or message.get("calls"):
        return openai_message(message) | {"createdAt": "2026-11-02T06:00:00Z"}
    parts: list[dict[str, Any]] = [{"type": "text", "text": text} for text in message["texts"]]
    parts += [{"type": "image_url", "image_url": {"url": URL}}] if message.get("image") else []
    return {"sender": message["role"], "parts": parts, "timestamp": 1764655200000}
