"""A plain conversation as contents of the Gemini API."""

import json
from typing import Any

from pictures import PICTURE

Talk = list[dict[str, Any]]
IMAGE = {"inlineData": {"mimeType": "image/png", "data": PICTURE}}


def call_part(call: dict[str, Any], has_ids: bool = True) -> dict[str, Any]:
    """A call, with its id or without."""
    fields = {"name": call["name"], "args": call["input"]}
    return {"functionCall": fields | {"id": call["id"]} if has_ids else fields}


def result_parts(message: dict[str, Any], has_ids: bool = True) -> list[dict[str, Any]]:
    """A result: its text alone, next to other members, or as a list; media follow it."""
    texts = message["texts"]
    response: dict[str, Any] = {"error" if message["error"] else "output": texts[0]}
    if len(texts) == 2:
        response["status"] = texts[1]
    elif len(texts) > 2:
        response = {"lines": texts}
    fields = {"name": "bash", "response": response}
    part = {"functionResponse": fields | {"id": message["id"]} if has_ids else fields}
    return [part, IMAGE] if message["image"] else [part]


def said_parts(message: dict[str, Any]) -> list[dict[str, Any]]:
    """The texts of a message, and its image."""
    texts: list[dict[str, Any]] = [{"text": text} for text in message["texts"]]
    return [*texts, IMAGE] if message.get("image") else texts


def contents(talk: Talk, has_ids: bool = True) -> Talk:
    """Consecutive results share a content, and every second time also with the next text of the
    user.
    """
    values: Talk = []
    for position, message in enumerate(talk):
        role = {"assistant": "model", "system": "system"}.get(message["role"], "user")
        if message["role"] == "tool":
            parts = result_parts(message, has_ids)
        else:
            parts = said_parts(message) + [
                call_part(call, has_ids) for call in message.get("calls", ())
            ]
        last = talk[position - 1]["role"] if position else None
        if last == "tool" and (message["role"] == "tool" or (role == "user" and position % 2)):
            values[-1]["parts"] += parts
        else:
            values.append({"role": role, "parts": parts, "extra": 1.10})
    return values


def conversation(talk: Talk, number: int = 0) -> dict[str, Any]:
    """A request: with ids in camel case, or without any in snake case."""
    system = [message for message in talk if message["role"] == "system"]
    rest = [message for message in talk if message["role"] != "system"]
    value: dict[str, Any] = {"id": str(number), "contents": contents(rest, number % 2 == 0)}
    if system:
        value["systemInstruction"] = {"parts": said_parts(system[0])}
    value["tools"] = [{"functionDeclarations": [{"name": "bash"}]}]
    return value if number % 2 == 0 else snake(value)


def snake(value: dict[str, Any]) -> dict[str, Any]:
    """The same with the other key style."""
    text = json.dumps(value)
    for camel, other in (
        ("functionCall", "function_call"),
        ("functionResponse", "function_response"),
        ("inlineData", "inline_data"),
        ("systemInstruction", "system_instruction"),
    ):
        text = text.replace(f'"{camel}": ', f'"{other}": ')
    return json.loads(text)


def adk_session(talk: Talk, number: int = 0) -> dict[str, Any]:
    """The same as events of the Agent Development Kit."""
    return {
        "id": str(number),
        "events": [
            {"author": message["role"], "content": message, "id": f"e{position}", "timestamp": 1.5}
            for position, message in enumerate(contents(talk))
        ],
    }
