"""A plain conversation as the items of a Grok CLI session."""

import json
from typing import Any

from pictures import URL


def items(talk: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The items; some answers come after reasoning and a call that the provider ran."""
    values: list[dict[str, Any]] = []
    for number, message in enumerate(talk):
        role, blocks = message["role"], _blocks(message)
        if role == "tool":
            content = blocks if len(blocks) > 1 else message["texts"][0]
            values.append(
                {"type": "tool_result", "tool_call_id": message["id"], "content": content}
            )
        elif role == "assistant":
            values += _answer(message, number)
        elif role == "user":
            values.append({"type": "user", "content": blocks, "prompt_index": number})
        else:
            values.append({"type": "system", "content": message["texts"][0]})
    return values


def _blocks(message: dict[str, Any]) -> list[dict[str, Any]]:
    blocks = [{"type": "text", "text": text} for text in message["texts"]]
    return [*blocks, {"type": "image", "url": URL}] if message.get("image") else blocks


def _answer(message: dict[str, Any], number: int) -> list[dict[str, Any]]:
    calls = [
        {"id": call["id"], "name": call["name"], "arguments": json.dumps(call["input"])}
        for call in message["calls"]
    ]
    answer = {"type": "assistant", "content": "".join(message["texts"]), "tool_calls": calls}
    answer["model_id"] = "grok-4.5"
    if number % 3:
        return [answer]
    summary = [{"type": "summary_text", "text": "to do"}]
    action = {"type": "search", "query": "tides", "sources": []}
    return [
        {"type": "reasoning", "id": "r", "summary": summary, "encrypted_content": "gAAA" * 30},
        {"type": "backend_tool_call", "kind": {"tool_type": "web_search", "action": action}},
        answer,
    ]
