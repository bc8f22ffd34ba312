"""A plain conversation as `codex exec --json` prints it: without user messages, and each call with
its result.
"""

from itertools import count
from typing import Any

from pictures import PICTURE


def exec_events(talk: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The events of a stream; every item is shown when it starts and when it is complete."""
    events: list[dict[str, Any]] = [
        {"type": "thread.started", "thread_id": "t"},
        {"type": "turn.started"},
    ]
    numbers = count()

    def add(item: dict[str, Any], **late: Any) -> None:
        item = {"id": f"item_{next(numbers)}"} | item
        events.append({"type": "item.started", "item": item})
        events.append({"type": "item.completed", "item": item | late})

    commands: dict[str, str] = {}
    for message in talk:
        if message["role"] == "assistant":
            for text in message["texts"]:
                add({"type": "agent_message", "text": text})
            commands |= {call["id"]: call["input"]["x"] for call in message["calls"]}
        elif message["role"] == "tool" and message["image"]:
            blocks = [{"type": "text", "text": text} for text in message["texts"]]
            result = {
                "content": [*blocks, {"type": "image", "data": PICTURE, "mimeType": "image/png"}]
            }
            add(
                {"type": "mcp_tool_call", "server": "s", "tool": "look", "arguments": {}},
                result=result,
            )
        elif message["role"] == "tool":
            command = {"type": "command_execution", "command": commands.get(message["id"], "ls")}
            code = None if message["error"] is None else int(message["error"])
            add(
                command,
                aggregated_output="\n".join(message["texts"]),
                exit_code=code,
                status="completed",
            )
    events.append(
        {"type": "turn.completed", "usage": {"input_tokens": 24763, "output_tokens": 122}}
    )
    return events
