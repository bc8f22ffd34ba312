"""A plain conversation as the Converse API, its logs, and Strands Agents write it."""

from typing import Any

from pictures import PICTURE

Talk = list[dict[str, Any]]
IMAGE = {"image": {"format": "png", "source": {"bytes": PICTURE}}}


def elements(talk: Talk) -> Talk:
    """The messages: consecutive results share one, often with the next text of the user."""
    values: Talk = []
    for position, message in enumerate(talk):
        role = "assistant" if message["role"] == "assistant" else "user"
        blocks = _blocks(message, position)
        is_answer = message["role"] == "tool" or position % 2
        if values and role == "user" == values[-1]["role"] and is_answer:
            values[-1]["content"] += blocks
        else:
            values.append({"role": role, "content": blocks})
    return values


def _blocks(message: dict[str, Any], position: int) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = [{"text": text} for text in message["texts"]]
    if message.get("image"):
        blocks.append(IMAGE)
    if message["role"] == "tool":
        answer: dict[str, Any] = {"toolUseId": message["id"], "content": blocks}
        if message["error"] is not None:
            answer["status"] = "error" if message["error"] else "success"
        return [{"toolResult": answer}]
    if message["role"] == "assistant":
        if position % 4 == 1:
            thought = {"reasoningText": {"text": "hm", "signature": "c2ln"}}
            blocks.insert(0, {"reasoningContent": thought})
        for call in message["calls"]:
            use = {"toolUseId": call["id"], "name": call["name"], "input": call["input"]}
            blocks.append({"toolUse": use})
    elif position % 5 == 0:
        blocks.append({"cachePoint": {"type": "default"}})
    return blocks


def request(talk: Talk, number: int = 0) -> dict[str, Any]:
    """A request."""
    value: dict[str, Any] = {"modelId": "m", "inferenceConfig": {"temperature": 1.10}}
    if talk and talk[0]["role"] == "system":
        value["system"] = [{"text": text} for text in talk[0]["texts"]]
        talk = talk[1:]
    value["messages"] = elements(talk)
    if number % 2 == 0:
        tool = {"name": "bash", "inputSchema": {"json": {"type": "object"}}}
        value["toolConfig"] = {"tools": [{"toolSpec": tool}], "toolChoice": {"auto": {}}}
    return value


def log(talk: Talk, number: int = 0) -> dict[str, Any]:
    """A logged invocation, with the last answer as the output."""
    body = request(talk, number)
    value: dict[str, Any] = {
        "schemaType": "ModelInvocationLog",
        "requestId": str(number),
        "modelId": body.pop("modelId"),
        "input": {"inputContentType": "application/json", "inputBodyJson": body},
    }
    messages = body["messages"]
    if messages and messages[-1]["role"] == "assistant":
        answer = {"output": {"message": messages.pop()}, "stopReason": "end_turn"}
        value["output"] = {"outputBodyJson": answer}
    return value


def strands(talk: Talk) -> Talk:
    """The messages of a session of Strands Agents."""
    return [
        {"message": message, "message_id": number, "redact_message": None, "created_at": "now"}
        for number, message in enumerate(elements(talk))
    ]


def session(talk: Talk, number: int = 0) -> dict[str, Any]:
    """The document of an agent of Strands Agents with two messages that the SDK removed."""
    removed = [
        {"role": "user", "content": [{"text": "Is the sluice open?"}]},
        {"role": "assistant", "content": [{"text": "It is shut."}]},
    ]
    state = {"__name__": "SlidingWindowConversationManager", "removed_message_count": 2}
    messages = [
        {"message": message, "message_id": at, "redact_message": None, "created_at": "now"}
        for at, message in enumerate([*removed, *elements(talk)])
    ]
    return {
        "agent": {"agent_id": f"a{number}", "conversation_manager_state": state},
        "messages": messages,
    }
