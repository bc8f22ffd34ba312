"""A plain conversation as Anthropic Messages."""

from typing import Any

from pictures import PICTURE


def elements(talk: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The elements of the list: consecutive results share an element, often with the next text of
    the user.
    """
    values: list[dict[str, Any]] = []
    for position, message in enumerate(talk):
        blocks = _blocks(message, position)
        last = values[-1] if values else None
        joins = last is not None and isinstance(last["content"], list) and last["content"][-1:]
        joins = joins and joins[0]["type"] == "tool_result"
        if (
            last is not None
            and joins
            and (message["role"] == "tool" or (message["role"] == "user" and position % 2))
        ):
            last["content"] += blocks
            continue
        role = "user" if message["role"] == "tool" else message["role"]
        is_text = [block["type"] for block in blocks] == ["text"]
        content = blocks[0]["text"] if is_text else blocks
        values.append(
            {"role": role, "content": content}
            if position % 3
            else {"content": content, "role": role}
        )
    return values


def _blocks(message: dict[str, Any], position: int) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = [{"type": "text", "text": text} for text in message["texts"]]
    if message.get("image"):
        blocks.append(
            {
                "type": "image",
                "source": {"type": "base64", "media_type": "image/png", "data": PICTURE},
            }
        )
    if message["role"] == "tool":
        result = {"type": "tool_result", "tool_use_id": message["id"]}
        if blocks != [{"type": "text", "text": ""}]:
            result["content"] = message["texts"][0] if len(blocks) == 1 else blocks
        if message["error"] is not None:
            result["is_error"] = message["error"]
        return [result]
    if message["role"] == "assistant":
        if position % 4 == 1:
            blocks.insert(0, {"type": "thinking", "thinking": "hm", "signature": "c2ln"})
        for call in message["calls"]:
            blocks.append(
                {"type": "tool_use", "id": call["id"], "name": call["name"], "input": call["input"]}
            )
    return blocks


def conversation(talk: list[dict[str, Any]], number: int = 0) -> dict[str, Any]:
    """A conversation as a value; only the first in a file is recognizable by itself as not
    OpenAI's.
    """
    value: dict[str, Any] = {"id": str(number), "extra": 1.10}
    if talk and talk[0]["role"] == "system":
        texts, talk = talk[0]["texts"], talk[1:]
        value["system"] = (
            [{"type": "text", "text": text} for text in texts] if number % 2 else texts[0]
        )
    value["messages"] = elements(talk)
    if number % 2 == 0:
        value["tools"] = [{"name": "bash", "input_schema": {"type": "object"}}]
    return value
