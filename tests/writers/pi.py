"""A plain conversation in pi's formats: a list of messages, a session with links, and a session
from before links.
"""

from typing import Any

from pictures import PICTURE

MODEL = "claude-opus-4-6"
USAGE = {
    "input": 3,
    "output": 7,
    "cacheRead": 40,
    "cacheWrite": 5,
    "totalTokens": 55,
    "cost": {"total": 1.10},
}


def pi_message(message: dict[str, Any], position: int = 0) -> dict[str, Any]:
    """A message in pi's format."""
    blocks: list[dict[str, Any]] = [{"type": "text", "text": text} for text in message["texts"]]
    if message.get("image"):
        blocks.append({"type": "image", "data": PICTURE, "mimeType": "image/png"})
    value: dict[str, Any] = {
        "role": message["role"],
        "content": blocks,
        "timestamp": 1_700_000_000_000 + position,
    }
    if message.get("hidden"):
        value["metadata"] = {"agentVisible": False, "kind": "tool_result_archived"}
    if message["role"] == "tool":
        content = message["texts"][0] if len(blocks) == 1 and position % 2 else blocks
        value |= {
            "role": "toolResult",
            "toolCallId": message["id"],
            "toolName": "bash",
            "content": content,
        }
        return value if message["error"] is None else value | {"isError": message["error"]}
    if message["role"] == "assistant":
        blocks += [
            {"type": "toolCall", "id": call["id"], "name": call["name"], "arguments": call["input"]}
            for call in message["calls"]
        ]
        value |= {
            "api": "anthropic-messages",
            "provider": "anthropic",
            "model": MODEL,
            "usage": USAGE,
        }
        value |= {"stopReason": "toolUse" if message["calls"] else "stop"}
    return value


def conversation(messages: list[dict[str, Any]], number: int) -> dict[str, Any]:
    """A conversation in the form of pi's library for a context, sometimes with messages that are
    hidden from the agent.
    """
    spelled = [
        pi_message(message, position)
        for position, message in enumerate(messages)
        if message["role"] != "system"
    ]
    if number % 2 or not spelled:
        hidden = {
            "role": "user",
            "content": [{"type": "text", "text": "aside"}],
            "metadata": {"agentVisible": False},
        }
        spelled.insert(len(spelled) // 2, hidden)
    prompt = next(
        (message["texts"][0] for message in messages if message["role"] == "system"), None
    )
    context = {
        "model": MODEL,
        "messages": spelled,
        "tools": [{"name": "bash", "parameters": {"type": "object"}}],
    }
    return context if prompt is None else {"systemPrompt": prompt} | context


def sessions(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The entries of a session: a prompt that was abandoned, labels between messages, a compaction
    in longer ones.
    """
    entries: list[dict[str, Any]] = [
        {"type": "session", "version": 3, "id": "s", "timestamp": _time(0), "cwd": "/x"},
        {
            "type": "model_change",
            "id": "p0",
            "parentId": None,
            "timestamp": _time(0),
            "modelId": MODEL,
        },
        {
            "type": "message",
            "id": "dead",
            "parentId": "p0",
            "message": {"role": "user", "content": "abandoned"},
        },
    ]
    parent, written = "p0", []
    for position, body in enumerate(_bodies(messages)):
        name = f"p{len(entries)}"
        if "keeps" in body:
            body["firstKeptEntryId"] = [*written, name][-1 - body.pop("keeps")]
        entries.append({"id": name, "parentId": parent, "timestamp": _time(position)} | body)
        parent = name
        written.append(name)
        if position % 3 == 2:
            parent = f"p{len(entries)}"
            entries.append(
                {"type": "label", "id": parent, "parentId": name, "targetId": name, "label": "here"}
            )
    return entries


def old_sessions(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same from before entries had ids: a compaction holds the position of the first entry that
    it keeps.
    """
    entries: list[dict[str, Any]] = [
        {"type": "session", "id": "s", "timestamp": _time(0), "cwd": "/x"}
    ]
    expected: list[int] = []
    for position, body in enumerate(_bodies(messages)):
        if "keeps" in body:
            body["firstKeptEntryIndex"] = [*expected, len(entries)][-1 - body.pop("keeps")]
        expected.append(len(entries))
        entries.append({"timestamp": _time(position)} | body)
        if position % 3 == 2:
            entries.append(
                {
                    "type": "thinking_level_change",
                    "timestamp": _time(position),
                    "thinkingLevel": "low",
                }
            )
    return entries


def _bodies(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The message of each entry; a session of more than five was compacted once, and the newest
    entries were kept, or none.
    """
    bodies: list[dict[str, Any]] = [
        {"type": "message", "message": pi_message(message, position)}
        for position, message in enumerate(messages)
        if message["role"] != "system"
    ]
    if len(bodies) > 5:
        half, keeps = len(bodies) // 2, len(bodies) % 4
        bodies.insert(
            half,
            {"type": "compaction", "summary": "What was done.", "tokensBefore": 9, "keeps": keeps},
        )
    return bodies


def _time(position: int) -> str:
    return f"2025-12-01T00:00:00.{position:03}Z"
