"""A plain conversation as `opencode run --format json` prints it: without prompts, and each call
with its result.
"""

from typing import Any

from writers.opencode import session

KINDS = {
    "text": "text",
    "reasoning": "reasoning",
    "tool": "tool_use",
    "step-start": "step_start",
    "step-finish": "step_finish",
}


def events(talk: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The events of a stream. Its last line is no part of a message."""
    parts = [
        part
        for message in session(talk)["messages"]
        if message["info"]["role"] == "assistant"
        for part in message["parts"]
        if part["type"] != "tool" or part["state"]["status"] in ("completed", "error")
    ]
    for part in parts:
        if part["type"] == "tool":
            given = part["state"]["input"]
            part["state"]["input"] = {"command": given["x"], **given}
    values = [_event(KINDS[part["type"]], part=part) for part in parts]
    return [*values, _event("done", reason="idle")]


def _event(kind: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, "timestamp": 1766204176981, "sessionID": "ses_1"} | more
