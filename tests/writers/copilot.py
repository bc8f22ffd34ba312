"""A plain conversation as the events of a Copilot CLI session."""

import json
from typing import Any


def events(talk: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The events of a session: calls are announced, and a subagent speaks in between."""
    values = [("session.start", {"sessionId": "s", "selectedModel": "gpt-5"})]
    for number, message in enumerate(talk):
        if message["role"] == "system":
            values.append(("system.message", {"content": "An older prompt.", "role": "system"}))
            values.append(("system.message", {"content": message["texts"][0], "role": "system"}))
        elif message["role"] == "user":
            values.append(("user.message", _prompt(message)))
        elif message["role"] == "tool":
            values.append(("tool.execution_complete", _result(message)))
        else:
            values += _answer(message, number)
    return _linked(values)


def compacted(talk: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A session after a compaction, and one that failed."""
    done = {"success": True, "summaryContent": "They greeted each other."}
    values: list[tuple[str, dict[str, Any]]] = [
        ("user.message", {"content": "Hello!", "attachments": []}),
        ("session.compaction_complete", done),
        ("session.compaction_complete", {"success": False, "error": "no"}),
    ]
    return _linked([*values, *((event["type"], event["data"]) for event in events(talk))])


def _linked(values: list[tuple[str, dict[str, Any]]]) -> list[dict[str, Any]]:
    return [
        {
            "type": kind,
            "data": data,
            "id": f"u{number}",
            "timestamp": "2026-01-01T00:00:00Z",
            "parentId": f"u{number - 1}" if number else None,
        }
        for number, (kind, data) in enumerate(values)
    ]


def _prompt(message: dict[str, Any]) -> dict[str, Any]:
    text = "\n".join(message["texts"])
    sent = {"transformedContent": f"<time>noon</time>\n{text}"} if len(text) % 2 else {}
    return {"content": text, "attachments": []} | sent


def _answer(message: dict[str, Any], number: int) -> list[tuple[str, dict[str, Any]]]:
    requests = [
        {
            "toolCallId": call["id"],
            "name": call["name"],
            "arguments": call["input"] if number % 2 else json.dumps(call["input"]),
        }
        for call in message["calls"]
    ]
    data = {"content": "".join(message["texts"]), "toolRequests": requests, "outputTokens": 3}
    if number % 3 == 0:
        data |= {"reasoningText": "to do", "encryptedContent": "gAAA" * 30}
    starts = [("tool.execution_start", {"toolCallId": call["toolCallId"]}) for call in requests]
    inner = {"content": "A part of it.", "toolRequests": [], "parentToolCallId": "c1"}
    return [("assistant.message", data), *starts, ("assistant.message", inner)]


def _result(message: dict[str, Any]) -> dict[str, Any]:
    text = "\n".join(message["texts"])
    data = {"toolCallId": message["id"], "success": not message["error"]}
    if message["error"] and len(text) % 2:
        return data | {"error": {"message": text, "code": "failure"}}
    return data | {"result": {"content": text, "detailedContent": text}}
