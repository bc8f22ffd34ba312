"""A plain conversation as an exported session of Goose, and as an older session file."""

from typing import Any

from pictures import PICTURE

Talk = list[dict[str, Any]]
IMAGE = {"type": "image", "data": PICTURE, "mimeType": "image/png"}


def session(talk: Talk, number: int = 0) -> dict[str, Any]:
    """An export. Odd ones have results as plain lists, and messages without metadata."""
    found = _messages(talk, is_old=bool(number % 2))
    if len(found) > 4 and number % 2 == 0:  # compacted before
        found.insert(0, {**found[0], "id": "hidden", "metadata": _seen(agent=False)})
        notice = {"type": "systemNotification", "notificationType": "inlineMessage", "msg": "Done"}
        found[-1]["content"].append(notice)
    return {
        "id": f"20260102_{number}",
        "working_dir": "/bay",
        "name": "Tides",
        "extension_data": {},
        "model_config": {"model_name": "m"},
        "conversation": found,
        "message_count": len(found),
    }


def lines(talk: Talk) -> Talk:
    """The lines of an older session file."""
    first = {"working_dir": "/bay", "description": "Tides", "message_count": len(talk)}
    return [first | {"total_tokens": None}, *_messages(talk, is_old=True)]


def _seen(agent: bool = True) -> dict[str, bool]:
    return {"userVisible": True, "agentVisible": agent}


def _messages(talk: Talk, is_old: bool) -> Talk:
    values: Talk = []
    for position, message in enumerate(talk):
        role = "assistant" if message["role"] == "assistant" else "user"
        blocks = _blocks(message, position, is_old)
        if values and role == "user" == values[-1]["role"] and position % 3:
            values[-1]["content"] += blocks  # results share a message, also with a text
            continue
        value = {"role": role, "created": 1767350000 + position, "content": blocks}
        if not is_old:
            value = {"id": f"msg_{position}", **value, "metadata": _seen()}
        values.append(value)
    return values


def _blocks(message: dict[str, Any], position: int, is_old: bool) -> Talk:
    texts: Talk = [{"type": "text", "text": text} for text in message["texts"]]
    texts += [IMAGE] if message.get("image") else []
    if message["role"] == "tool":
        result: dict[str, Any] = {"status": "success", "value": texts}
        if message["error"]:
            result = {"status": "error", "error": "\n".join(message["texts"])}
        elif not is_old:
            shown = {"type": "text", "text": "for eyes", "annotations": {"audience": ["user"]}}
            result["value"] = {"content": [shown, *texts], "isError": False}
        return [{"type": "toolResponse", "id": message["id"], "toolResult": result}]
    if message["role"] == "assistant" and position % 4 == 0:
        texts.insert(0, {"type": "thinking", "thinking": "Tide tables first.", "signature": "s"})
    for call in message.get("calls", ()):
        value = {"name": call["name"], "arguments": call["input"]}
        request = {"type": "toolRequest", "id": call["id"]}
        texts.append(request | {"toolCall": {"status": "success", "value": value}})
    return texts
