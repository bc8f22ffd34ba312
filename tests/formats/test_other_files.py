"""Files without a conversation: the error names what the file is and what to use."""

import json
from typing import Any

import pytest
from conftest import Run

FILES: dict[str, tuple[Any, str]] = {
    "kimi": ({"agents": {}, "workDir": "/tmp", "lastPrompt": "hi", "title": "hi"}, "wire.jsonl"),
    "kimi events": ({"type": "metadata", "protocol_version": "1.2"}, "context.jsonl"),
    "kimi journal": ({"kind": "journal_header", "version": 1, "epoch": "e"}, "wire.jsonl"),
    "grok": ({"info": {}, "num_chat_messages": 2, "chat_format_version": 1}, "chat_history.jsonl"),
    "grok updates": (
        {"timestamp": 1, "method": "session/update", "params": {"sessionId": "s", "update": {}}},
        "chat_history.jsonl",
    ),
    "openhands": ({"agent": {}, "persistence_dir": "p", "execution_status": "idle"}, "events/"),
    "claude-code": ({"agentType": "general-purpose", "spawnDepth": 1}, ".jsonl"),
    "claude-code, workflow": ({"type": "started", "key": "v2:1", "agentId": "a"}, "agent-*.jsonl"),
    "claude-code, result": (
        {"type": "result", "subtype": "success", "result": "Nine.", "num_turns": 3},
        "stream-json",
    ),
    "claude-code, history": (
        {"display": "Sound the bay.", "pastedContents": {}, "timestamp": 1, "project": "/bay"},
        "projects/",
    ),
    "codex, history": ({"session_id": "s", "ts": 1, "text": "Sound the bay."}, "sessions/"),
    "gemini-cli, result": ({"session_id": "s", "response": "Nine.", "stats": {}}, "stream-json"),
    "cline": ([{"ts": 1, "type": "say", "say": "text", "text": "Nine."}], "api_conversation"),
    "inspect": ({"status": "success", "eval": {}, "plan": {}, "stats": {}}, "samples"),
    "toolbench": ({"tree": {}, "answer_generation": {"query": "q"}}, "train_messages"),
    "judge": ({"judge_prompt": "p", "judge_response": "{}"}, "simulations"),
    "scores": ([{"model_id": "m", "domain": "air", "task_results": []}], "simulations"),
    "opencode session": ({"id": "s", "projectID": "p", "directory": "/", "time": {}}, "message/"),
    "opencode message": ({"id": "m", "sessionID": "s1", "role": "user", "time": {}}, "*/s1.json"),
    "opencode part": ({"id": "p", "sessionID": "s1", "messageID": "m", "type": "text"}, "s1.json"),
    "opencode old part": ({"id": "p", "type": "text", "text": "", "time": {}}, "SESSION.json"),
    "few-shot": ({"messages_display": "user: hi\\nassistant: None"}, "one text"),
}


@pytest.mark.parametrize("name", FILES)
def test_the_error_says_why_and_what_to_use(ctxtrim: Run, name: str) -> None:
    value, remedy = FILES[name]
    ran = ctxtrim("count", stdin=json.dumps(value).encode())
    assert ran.code == 1
    (line,) = ran.err.splitlines()
    assert line.startswith("<stdin>: error: no transcript found: ")
    assert remedy in line


def test_an_unknown_file_is_an_unknown_format(ctxtrim: Run) -> None:
    ran = ctxtrim("count", stdin=b'{"agents": {}}')
    assert "unknown format" in ran.err
