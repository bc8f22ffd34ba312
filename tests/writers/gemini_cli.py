"""A plain conversation as Gemini CLI writes it down."""

from typing import Any

from writers.gemini import call_part, result_parts, said_parts

Talk = list[dict[str, Any]]


def messages(talk: Talk) -> Talk:
    """The messages of a session: results are in the message with their calls, or in a user
    message.
    """
    values: Talk = []
    waiting: dict[str, dict[str, Any]] = {}
    for position, message in enumerate(talk):
        fields = {"id": f"m{position}", "timestamp": "2026-01-01T00:00:00Z"}
        if message["role"] == "system":
            continue
        if message["role"] == "user":
            content: Any = message["texts"][0]
            content = (
                said_parts(message)
                if len(message["texts"]) > 1 or message.get("image")
                else content
            )
            values.append(fields | {"type": "user", "content": content, "displayContent": "x"})
        elif message["role"] == "assistant":
            calls = [call | {"args": call.pop("input")} for call in map(dict, message["calls"])]
            waiting = {
                call["id"]: call | {"status": "success", "resultDisplay": "x" * 99}
                for call in calls
            }
            text = message["texts"][0] if message["texts"] else ""
            values.append(
                fields
                | {
                    "type": "gemini",
                    "content": text,
                    "toolCalls": list(waiting.values()),
                    "model": "g",
                }
            )
            if position % 3 == 0:
                values[-1]["thoughts"] = [{"subject": "Plan", "description": "to do"}]
        elif message["id"] in waiting and position % 4:
            waiting.pop(message["id"])["result"] = result_parts(message)
        else:
            waiting.pop(message["id"], None)
            values.append(fields | {"type": "user", "content": result_parts(message)})
        if position % 5 == 4:
            values.append(
                fields | {"id": f"i{position}", "type": "info", "content": "Update available!"}
            )
    return values


def session(talk: Talk, number: int = 0) -> dict[str, Any]:
    """A session in a document."""
    return {"sessionId": str(number), "projectHash": "p", "messages": messages(talk)}


def log(talk: Talk) -> list[Any]:
    """A session in a log: messages are written again with their results, and one message is
    discarded.
    """
    lines: list[Any] = [{"sessionId": "s", "projectHash": "p", "messages": []}]
    for position, message in enumerate(messages(talk)):
        if message.get("toolCalls"):
            calls = [
                {key: call[key] for key in call if key != "result"} for call in message["toolCalls"]
            ]
            lines.append(message | {"toolCalls": calls})
            lines.append({"$set": {"lastUpdated": "now"}})
        if position == 2:
            lines += [{"id": "gone", "type": "user", "content": "a mistake"}, {"$rewindTo": "gone"}]
        lines.append(message)
    return lines


def calls_in_content(message: dict[str, Any]) -> dict[str, Any]:
    """A message of the model that has its calls in its content too."""
    parts = [
        {"text": message["content"]},
        *(call_part(item | {"input": item["args"]}) for item in message["toolCalls"]),
    ]
    return message | {"content": parts}
