"""A plain conversation as Claude Code writes it down."""

from typing import Any

from pictures import PICTURE


def spoken(message: dict[str, Any]) -> list[dict[str, Any]]:
    """The texts of a message, and its image."""
    blocks: list[dict[str, Any]] = [{"type": "text", "text": text} for text in message["texts"]]
    if message.get("image"):
        blocks.append(
            {
                "type": "image",
                "source": {"type": "base64", "media_type": "image/png", "data": PICTURE},
            }
        )
    return blocks


def claude_events(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A conversation as Claude Code writes it: a block per line, results as side branches, progress
    lines between.
    """
    events: list[dict[str, Any]] = []
    parent: str | None = None
    number = 0

    def add(kind: str, message: dict[str, Any], above: str | None, **more: Any) -> str:
        nonlocal number
        number += 1
        uuid = f"u{number}"
        events.append(
            {
                "parentUuid": above,
                "isSidechain": False,
                "sessionId": "s",
                "type": kind,
                "message": message,
                "uuid": uuid,
            }
            | more
        )
        return uuid

    homes: dict[str, str] = {}
    for position, message in enumerate(messages):
        if message["role"] == "system":
            continue
        if message["role"] == "tool":
            blocks = spoken(message)
            content = message["texts"][0] if len(blocks) == 1 else blocks
            block = {"type": "tool_result", "tool_use_id": message["id"], "content": content}
            if message["error"] is not None:
                block["is_error"] = message["error"]
            home = homes.get(message["id"], parent)
            parent = add(
                "user",
                {"role": "user", "content": [block]},
                home,
                toolUseResult={"stdout": "x"},
                sourceToolAssistantUUID=home,
            )
        elif message["role"] == "user":
            content = (
                message["texts"][0]
                if len(message["texts"]) == 1 and not message.get("image")
                else spoken(message)
            )
            snapshot = {
                "type": "file-history-snapshot",
                "messageId": f"u{number + 1}",
                "snapshot": {},
            }
            events.append(snapshot)
            parent = add("user", {"role": "user", "content": content}, parent)
        else:
            blocks = [{"type": "text", "text": text} for text in message["texts"]]
            blocks += [
                {"type": "tool_use", "id": call["id"], "name": call["name"], "input": call["input"]}
                for call in message["calls"]
            ]
            for block in blocks:
                envelope = {
                    "id": f"msg_{position}",
                    "role": "assistant",
                    "model": "claude-opus-4-6",
                    "content": [block],
                }
                parent = add("assistant", envelope, parent)
                if block["type"] == "tool_use":
                    homes[block["id"]] = parent
        if position % 3 == 2:
            number += 1
            events.append(
                {
                    "parentUuid": parent,
                    "isSidechain": False,
                    "sessionId": "s",
                    "type": "progress",
                    "data": {"output": "…"},
                    "parentToolUseID": next(reversed(homes), None),
                    "uuid": f"u{number}",
                }
            )
            parent = f"u{number}"
    return events
