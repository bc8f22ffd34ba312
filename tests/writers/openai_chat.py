"""A plain conversation as OpenAI Chat Completions."""

import json
from typing import Any

from pictures import URL


def openai_message(message: dict[str, Any]) -> dict[str, Any]:
    """A message in OpenAI's format."""
    blocks = [{"type": "text", "text": text} for text in message["texts"]]
    if message.get("image"):
        blocks.append({"type": "image_url", "image_url": {"url": URL}})
    content: Any = blocks if len(blocks) != 1 else message["texts"][0]
    value = {"role": message["role"], "content": content if blocks else None, "extra": 1.10}
    if message.get("calls"):
        value["tool_calls"] = [
            {
                "id": call["id"],
                "type": "function",
                "function": {"name": call["name"], "arguments": json.dumps(call["input"])},
            }
            for call in message["calls"]
        ]
    if message["role"] == "tool":
        value["tool_call_id"] = message["id"]
    return value


def conversation(talk: list[dict[str, Any]], number: int = 0) -> dict[str, Any]:
    """A conversation as a value."""
    return {
        "id": str(number),
        "messages": [openai_message(message) for message in talk],
        "tools": [{"type": "function"}],
    }


def ag_ui(talk: list[dict[str, Any]], number: int = 0) -> dict[str, Any]:
    """A conversation as AG-UI writes it: in camel case, each message with an id."""
    names = {"tool_calls": "toolCalls", "tool_call_id": "toolCallId"}
    values = [
        {"id": f"m{position}"}
        | {names.get(key, key): value for key, value in openai_message(message).items()}
        for position, message in enumerate(talk)
    ]
    return {"threadId": str(number), "messages": values, "tools": [], "context": []}


def row(talk: list[dict[str, Any]], number: int = 0) -> dict[str, Any]:
    """A conversation with its messages in a string, as tables export them."""
    value = conversation(talk, number)
    return value | {"messages": json.dumps(value["messages"], ensure_ascii=number % 2 == 0)}
