"""A plain conversation as the records of a Kimi Code session."""

import json
from typing import Any

from pictures import URL


def records(talk: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The records of a session. Every third answer is one message, the others are steps."""
    values: list[dict[str, Any]] = [
        {"type": "metadata", "protocol_version": "1.4", "created_at": 1},
        {"type": "config.update", "modelAlias": "kimi-k2", "time": 2},
    ]
    is_open = False
    for number, message in enumerate(talk):
        role = message["role"]
        if is_open and role != "tool":
            values.append(_event("step.end", uuid=f"s{number}", usage={"inputOther": 9}))
            is_open = False
        if role == "system":
            values[1]["systemPrompt"] = message["texts"][0]
        elif role == "user":
            values.append({"type": "turn.prompt", "input": _blocks(message), "time": 3})
            values.append(_message(message, origin={"kind": "user"}))
        elif role == "tool" and is_open:
            values.append(_result(message))
        elif role == "tool":
            values.append(_message(message, toolCallId=message["id"]))
        elif number % 3 == 2:
            values.append(_message(message, toolCalls=list(map(_call, message["calls"]))))
        else:
            values += _step(message, number)
            is_open = True
    return values


def compacted(talk: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A session after compactions in the older and the newer form, and an undone turn."""
    undone = {"role": "user", "texts": ["Never mind."]}
    earlier = [_message({"role": "assistant", "texts": ["An old answer."]}), _message(undone)]
    older = {"type": "context.apply_compaction", "summary": "They greeted.", "compactedCount": 2}
    newer = {"type": "context.apply_compaction", "summary": "x", "contextSummary": "They met."}
    return [
        *earlier,
        _message(undone),
        older,
        _message(undone),
        newer | {"compactedCount": 3, "keptUserMessageCount": 2},
        *records(talk),
        _event("step.end", uuid="last"),
        _message(undone),
        {"type": "context.undo", "count": 1},
    ]


def _event(kind: str, **event: Any) -> dict[str, Any]:
    return {
        "type": "context.append_loop_event",
        "event": {"type": kind} | event,
        "time": 4,
        "agentId": "main",
    }


def _step(message: dict[str, Any], number: int) -> list[dict[str, Any]]:
    step = f"s{number}"
    values = [_event("step.begin", uuid=step, turnId="0")]
    if number % 2:
        values.append(_event("content.part", stepUuid=step, part={"type": "think", "think": "hm"}))
    values += [_event("content.part", stepUuid=step, part=part) for part in _blocks(message)]
    for call in message["calls"]:
        facts = {"toolCallId": call["id"], "name": call["name"], "args": call["input"]}
        values.append(_event("tool.call", stepUuid=step, **facts))
    return values


def _result(message: dict[str, Any]) -> dict[str, Any]:
    blocks = _blocks(message)
    result: dict[str, Any] = {"output": blocks if len(blocks) > 1 else message["texts"][0]}
    if message["error"] is not None:
        result |= {"isError": message["error"], "note": "took 3 s"}
    return _event("tool.result", toolCallId=message["id"], result=result)


def _message(message: dict[str, Any], **more: Any) -> dict[str, Any]:
    body = {"role": message["role"], "content": _blocks(message), "toolCalls": []}
    return {"type": "context.append_message", "message": body | more, "time": 5}


def _call(call: dict[str, Any]) -> dict[str, Any]:
    arguments = json.dumps(call["input"])
    return {"type": "function", "id": call["id"], "name": call["name"], "arguments": arguments}


def _blocks(message: dict[str, Any]) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = [{"type": "text", "text": text} for text in message["texts"]]
    if message.get("image"):
        blocks.append({"type": "image_url", "imageUrl": {"url": URL}})
    return blocks
