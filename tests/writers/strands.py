"""A conversation as the folder of an agent in a session of Strands Agents."""

import json
from pathlib import Path
from typing import Any

from writers import bedrock

SUMMARY = {"role": "user", "content": [{"text": "The boats were counted: 41 in May."}]}


def store(talk: list[dict[str, Any]], session: Path, name: str = "harbour", **state: Any) -> Path:
    """Write a conversation as an agent of a session, indented as the SDK does; returns its folder.

    `state` is that of the conversation manager.
    """
    folder = session / "agents" / f"agent_{name}"
    times = {"created_at": "2026-05-04T08:00:00+00:00", "updated_at": "2026-05-04T08:00:00+00:00"}
    for number, message in enumerate(bedrock.elements(talk)):
        value = {"message": message, "message_id": number, "redact_message": None, **times}
        write(folder / "messages" / f"message_{number}.json", value)
    manager = {"__name__": "SummarizingConversationManager", "removed_message_count": 0, **state}
    agent = {"agent_id": name, "state": {"berth": "é 4"}, "conversation_manager_state": manager}
    write(folder / "agent.json", agent | {"_internal_state": {}} | times)
    write(
        session / "session.json",
        {"session_id": session.name.removeprefix("session_"), "session_type": "AGENT", **times},
    )
    return folder


def write(path: Path, value: Any) -> None:
    """Write a value as the SDK does."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False), encoding="utf-8")
