"""A plain conversation as Qwen Code writes it down."""

from typing import Any

from writers.gemini import contents

Talk = list[dict[str, Any]]


def events(talk: Talk) -> list[Any]:
    """A session: messages over two lines, telemetry between, a branch that was rewound, and maybe a
    compression.
    """
    messages = contents([message for message in talk if message["role"] != "system"])
    lines: list[Any] = []
    parent: str | None = None
    number = 0

    def add(kind: str, above: str | None, **more: Any) -> str:
        nonlocal number
        number += 1
        envelope = {
            "uuid": f"u{number}",
            "parentUuid": above,
            "sessionId": "s",
            "timestamp": "t",
            "type": kind,
        }
        lines.append(envelope | more)
        return f"u{number}"

    if len(messages) > 6:
        parent = add("user", parent, message={"role": "user", "parts": [{"text": "long ago"}]})
        history, messages = messages[:3], messages[3:]
        payload = {"compressedHistory": history, "promptIds": [None] * len(history)}
        parent = add("system", parent, subtype="chat_compression", systemPayload=payload)
    for position, content in enumerate(messages):
        parts = content["parts"]
        is_result = any("functionResponse" in part for part in parts)
        kind = "assistant" if content["role"] == "model" else "tool_result" if is_result else "user"
        if kind == "assistant" and len(parts) > 1:
            above = parent
            parent = add(kind, above, message={"role": "model", "parts": parts[:1]})
            lines.append(lines[-1] | {"message": {"role": "model", "parts": parts[1:]}})
        else:
            parent = add(
                kind,
                parent,
                message={"role": content["role"], "parts": parts},
                toolCallResult={"x": "y"},
            )
        if position % 4 == 1:
            parent = add("system", parent, subtype="ui_telemetry", systemPayload={"uiEvent": {}})
        if position == 2:
            dead = add("user", parent, message={"role": "user", "parts": [{"text": "a mistake"}]})
            add("assistant", dead, message={"role": "model", "parts": [{"text": "of mine"}]})
            parent = add("system", parent, subtype="rewind", systemPayload={"targetUuid": parent})
    return lines
