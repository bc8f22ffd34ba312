"""A plain conversation in LLaMA-Factory's format."""

import json
from typing import Any

from pictures import URL


def messages(talk: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Blocks of text, of reasoning and of calls; every second time all results of a step are in one
    message.
    """
    values: list[dict[str, Any]] = []
    for position, message in enumerate(talk):
        blocks = [{"type": "text", "value": text} for text in message["texts"]]
        if message.get("image"):
            blocks.append({"type": "image_url", "value": URL})
        for call in message.get("calls", ()):
            blocks.append(
                {
                    "type": "tool_call",
                    "value": json.dumps({"name": call["name"], "arguments": call["input"]}),
                }
            )
        if message["role"] == "assistant" and position % 2:
            blocks.insert(0, {"type": "reasoning", "value": "because"})
        if message["role"] == "tool" and talk[position - 1]["role"] == "tool" and len(talk) % 2:
            values[-1]["content"] += blocks
        else:
            values.append({"role": message["role"], "content": blocks, "loss_weight": 0.50})
    return values


def conversation(talk: list[dict[str, Any]], number: int = 0) -> dict[str, Any]:
    """A conversation as a value, or a preference of two."""
    tools = json.dumps([{"name": "bash", "parameters": {}}])
    if number == 1:
        return {
            "chosen_messages": messages(talk),
            "rejected_messages": messages(talk[:2]),
            "tools": tools,
        }
    return {"messages": messages(talk), "tools": tools}
