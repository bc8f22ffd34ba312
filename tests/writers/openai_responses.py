"""A plain conversation as items of OpenAI's Responses, in a request, in a response and in logs of
both.
"""

import json
from typing import Any

from pictures import URL


def reasoned(talk: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The items of a conversation, every other answer with reasoning before it."""
    return items(talk, is_reasoned=True)


def items(talk: list[dict[str, Any]], is_reasoned: bool = False) -> list[dict[str, Any]]:
    """The items of a conversation; error results are JSON in a string."""
    values: list[dict[str, Any]] = []
    for position, message in enumerate(talk):
        if message["role"] == "tool":
            values.append(
                {
                    "type": "function_call_output",
                    "call_id": message["id"],
                    "output": _output(message),
                }
            )
            continue
        if message["role"] != "assistant":
            values.append(_message(message, "input_text"))
            continue
        if is_reasoned and position % 2:
            values.append(
                {
                    "type": "reasoning",
                    "id": f"rs_{position}",
                    "summary": [],
                    "encrypted_content": "gAAA" * 300,
                }
            )
        if message["texts"]:
            values.append(_message(message, "output_text") | {"status": "completed", "extra": 1.10})
        for call in message["calls"]:
            arguments = json.dumps(call["input"])
            if call["name"] == "bash":
                values.append(_call("function_call", call, arguments=arguments))
            else:
                values.append(_call("custom_tool_call", call, input=arguments))
    return values


def _call(kind: str, call: dict[str, Any], **more: str) -> dict[str, Any]:
    return {"type": kind, "call_id": call["id"], "name": call["name"]} | more


def _message(message: dict[str, Any], kind: str) -> dict[str, Any]:
    blocks = [{"type": kind, "text": text} for text in message["texts"]]
    if message.get("image"):
        blocks.append({"type": "input_image", "image_url": URL})
    content: Any = blocks if kind == "output_text" or len(blocks) > 1 else message["texts"][0]
    return {"type": "message", "role": message["role"], "content": content}


def _output(message: dict[str, Any]) -> Any:
    if message["image"] or len(message["texts"]) > 1:
        blocks = [{"type": "input_text", "text": text} for text in message["texts"]]
        return [*blocks, {"type": "input_image", "image_url": URL}][
            : None if message["image"] else -1
        ]
    text = message["texts"][0]
    if message["error"] is None:
        return text
    metadata = {"exit_code": int(message["error"]), "duration_seconds": 0.1}
    return json.dumps({"output": text, "metadata": metadata}, ensure_ascii=len(text) % 2 == 0)


def conversation(talk: list[dict[str, Any]], number: int = 0) -> dict[str, Any]:
    """A conversation as a request."""
    return {
        "id": str(number),
        "input": items(talk),
        "model": "gpt-5",
        "tools": [{"type": "function"}],
    }


def rollout(talk: list[dict[str, Any]], number: int = 0) -> dict[str, Any]:
    """A conversation as a value: a request, a log of input and output, or a log whose input is a
    string.
    """
    envelope: dict[str, Any] = {"model": "gpt-5", "tools": [{"type": "function", "name": "bash"}]}
    if talk and talk[0]["role"] == "system" and number != 1:
        envelope["instructions"] = talk[0]["texts"][0]
        talk = talk[1:]
    values = reasoned(talk)
    if number == 0 or not values:
        return {"id": "r", "input": values} | envelope
    prompt: Any = values[: len(values) // 2]
    if number == 2 and talk[0]["role"] == "user" and not isinstance(values[0]["content"], list):
        prompt = talk[0]["texts"][0]
    output = values[1:] if isinstance(prompt, str) else values[len(prompt) :]
    response = {
        "id": "resp_1",
        "object": "response",
        "output": output,
        "usage": {"input_tokens": 9, "output_tokens": 2},
    }
    return {
        "responses_create_params": envelope | {"input": prompt},
        "response": response,
        "reward": 1.0,
    }
