"""Files that supported programs write and that contain no conversation, with the reason."""

from collections.abc import Iterable
from typing import Any

_LONGEST = 80  # characters of an id in a message
_SESSION = "use its session file, `session/*/{sessionID}.json` of the storage folder"
_KNOWN: tuple[tuple[frozenset[str], str], ...] = (
    (
        frozenset({"agents", "workDir", "lastPrompt"}),
        "the state of a Kimi Code session has no messages; use `agents/*/wire.jsonl` next to it",
    ),
    (
        frozenset({"type", "protocol_version"}),
        "the events of a Kimi CLI session are for its screen; use `context.jsonl` next to it",
    ),
    (
        frozenset({"kind", "version", "epoch"}),
        "the journal of a Kimi Code server has events for the screen; use `agents/*/wire.jsonl` of "
        "the session",
    ),
    (
        frozenset({"num_chat_messages", "chat_format_version"}),
        "the summary of a Grok CLI session has no messages; use `chat_history.jsonl` next to it",
    ),
    (
        frozenset({"timestamp", "method", "params"}),
        "the updates of a Grok CLI session repeat its messages in pieces; use `chat_history.jsonl` "
        "next to it",
    ),
    (
        frozenset({"persistence_dir", "execution_status", "agent"}),
        "the state of an OpenHands conversation has no messages; use the files in `events/`",
    ),
    (
        frozenset({"agentType", "spawnDepth"}),
        "the description of a Claude Code subagent has no messages; use the `.jsonl` next to it",
    ),
    (
        frozenset({"type", "key", "agentId"}),
        "the journal of a Claude Code workflow has no messages; use the `agent-*.jsonl` next to it",
    ),
    (
        frozenset({"type", "subtype", "result", "num_turns"}),
        "the result of `claude -p` has only the last answer; use `--output-format stream-json`",
    ),
    (
        frozenset({"display", "pastedContents", "timestamp"}),
        "the history of Claude Code has only prompts; use the sessions in `projects/`",
    ),
    (
        frozenset({"session_id", "ts", "text"}),
        "the history of Codex has only prompts; use the rollouts in `sessions/`",
    ),
    (
        frozenset({"response", "stats"}),
        "the result of `gemini -p` has only the last answer; use `--output-format stream-json`",
    ),
    *(
        (
            frozenset({"ts", "type", kind}),
            "the messages of Cline and Roo Code in `ui_messages.json` are for the screen; use "
            "`api_conversation_history.json` next to it",
        )
        for kind in ("say", "ask")
    ),
    (
        frozenset({"status", "eval", "plan", "stats"}),
        "the log of inspect has no samples, so it has no messages; use a log with samples",
    ),
    (
        frozenset({"tree", "answer_generation"}),
        "the search of ToolBench chose no branch, so it has no `train_messages`",
    ),
    (
        frozenset({"judge_prompt", "judge_response"}),
        "verdicts of a judge are no conversation; use the simulations that they name",
    ),
    (
        frozenset({"model_id", "domain", "task_results"}),
        "a list of scores has no messages; use the simulations of the tasks",
    ),
    (
        frozenset({"id", "projectID", "directory", "time"}),
        "a session file of opencode has no messages; use it where opencode stores it, with the "
        "folders `message/` and `part/` of the storage around it",
    ),
    (
        frozenset({"id", "sessionID", "messageID", "type"}),
        f"a part of an opencode message is not a session; {_SESSION}",
    ),
    (
        frozenset({"id", "sessionID", "role", "time"}),
        f"an opencode message has its text in other files; {_SESSION}",
    ),
    (
        frozenset({"id", "type", "text", "time"}),
        "a part of an opencode message is not a session; use the session file "
        "`session/*/SESSION.json` of the storage folder",
    ),
    (
        frozenset({"session_id", "session_type", "created_at"}),
        "the description of a Strands Agents session has no messages; use the folders in `agents/` "
        "next to it",
    ),
    (
        frozenset({"agent_id", "conversation_manager_state"}),
        "the state of a Strands agent has no messages; use the folder around it",
    ),
    (
        frozenset({"node_results", "next_nodes_to_execute"}),
        "the state of a graph or swarm of Strands Agents has the results of its nodes, not their "
        "messages; use the sessions of its agents",
    ),
    (
        frozenset({"messages_display"}),
        "examples printed as one text have neither messages nor calls; use them as a prompt",
    ),
)
"""Members that such an object has, and the reason, which may name `{sessionID}`."""


def reason_in(values: Iterable[Any]) -> str | None:
    """Why the first object among some values has no conversation; None if it is unknown."""
    for value in values:
        candidate = value[0] if isinstance(value, list) and value else value
        if not isinstance(candidate, dict):
            continue
        reason = next((reason for keys, reason in _KNOWN if keys <= candidate.keys()), None)
        return reason and reason.replace("{sessionID}", f"{candidate.get('sessionID')}"[:_LONGEST])
    return None
