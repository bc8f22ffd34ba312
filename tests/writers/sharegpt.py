"""A plain conversation in the format of ShareGPT data sets."""

import json
from typing import Any

FROM = {"user": "human", "assistant": "gpt", "system": "system", "tool": "observation"}
TOOLS = json.dumps([{"name": "bash", "description": "run", "parameters": {}}])


def turns(message: dict[str, Any]) -> list[dict[str, Any]]:
    """The text of a message, and its calls in a separate turn: one call, or an array of several."""
    values = (
        [{"from": FROM[message["role"]], "value": "".join(message["texts"])}]
        if message["texts"]
        else []
    )
    calls = [
        {"name": call["name"], "arguments": call["input"]} for call in message.get("calls", ())
    ]
    if calls:
        values.append(
            {"from": "function_call", "value": json.dumps(calls if len(calls) > 1 else calls[0])}
        )
    return values


def conversation(talk: list[dict[str, Any]], number: int = 0) -> dict[str, Any]:
    """A conversation as a value, its system prompt in the list or next to it."""
    members = {}
    if number % 2 and talk and talk[0]["role"] == "system" and len(talk) > 1:
        members = {"system": talk[0]["texts"][0]}
        talk = talk[1:]
    values = [turn for message in talk for turn in turns(message)]
    return {
        "id": f"t{number}",
        "conversations": values,
        "tools": TOOLS,
        "chosen": {"from": "gpt", "value": "x"},
    } | members
