"""A plain conversation as a trajectory of SWE-agent's web page."""

from typing import Any


def trajectory(talk: list[dict[str, Any]], number: int = 0) -> dict[str, Any]:
    """A trajectory: its first prompt is the issue, later ones are messages."""
    history: list[dict[str, Any]] = []
    issue = ""
    for message in talk:
        text = "\n".join(message["texts"])
        if message["role"] == "tool":
            history.append({"type": "output", "output_terminal": text, "output_editor": ""})
        elif message["role"] == "assistant":
            history.append({"type": "thought", "thought": text})
            calls = [str(call["input"]) for call in message["calls"]]
            history += [{"type": "action", "action": call} for call in calls]
        elif message["role"] == "user" and not issue and not history:
            issue = text
        elif message["role"] == "user":
            history.append({"type": "message", "narration": text})
    return {"instance_id": f"harbour-{number}", "issue_text": issue, "history": history}
