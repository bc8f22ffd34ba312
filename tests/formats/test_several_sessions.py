"""Several sessions in a file, as `cat *.jsonl` joins them: they are read as one, and reported."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from conftest import Ran, Run

Event = dict[str, Any]

PROMPT = "Which berths are free?"
ANSWER = "Berths 2 and 4."
REPORTED = "the file has 2 sessions, but is read as one"


def claude(name: str, kind: str, parent: str | None, number: int, **more: Any) -> Event:
    content = PROMPT if kind == "user" else [{"type": "text", "text": ANSWER}]
    return {
        "type": kind,
        "uuid": f"{name}-{number}",
        "parentUuid": parent,
        "sessionId": name,
        "isSidechain": False,
        "message": {"role": kind, "id": f"{name}-{number}", "content": content},
    } | more


def claude_code(name: str) -> list[Event]:
    return [claude(name, "user", None, 1), claude(name, "assistant", f"{name}-1", 2)]


def claude_stream(name: str) -> list[Event]:
    answer = {"role": "assistant", "id": f"{name}-1", "content": [{"type": "text", "text": ANSWER}]}
    return [
        {"type": "system", "subtype": "init", "session_id": name, "tools": []},
        {"type": "assistant", "session_id": name, "parent_tool_use_id": None, "message": answer},
    ]


def qwen(name: str) -> list[Event]:
    common = {"sessionId": name, "cwd": "/bay"}
    user = {"role": "user", "parts": [{"text": PROMPT}]}
    model = {"role": "model", "parts": [{"text": ANSWER}]}
    return [
        common | {"uuid": f"{name}-1", "parentUuid": None, "type": "user", "message": user},
        common
        | {"uuid": f"{name}-2", "parentUuid": f"{name}-1", "type": "assistant", "message": model},
    ]


def gemini_cli(name: str) -> list[Event]:
    return [
        {"sessionId": name, "projectHash": "h", "startTime": "t", "kind": "main"},
        {"id": f"{name}-1", "type": "user", "content": [{"text": PROMPT}]},
        {"id": f"{name}-2", "type": "gemini", "content": ANSWER},
    ]


def gemini_stream(name: str) -> list[Event]:
    return [
        {"type": "init", "timestamp": "t", "session_id": name, "model": "gemini-3-pro"},
        {"type": "message", "timestamp": "t", "role": "user", "content": PROMPT},
        {
            "type": "message",
            "timestamp": "t",
            "role": "assistant",
            "content": ANSWER,
            "delta": True,
        },
    ]


def pi(name: str) -> list[Event]:
    user = {"role": "user", "content": [{"type": "text", "text": PROMPT}], "timestamp": 1}
    return [
        {"type": "session", "version": 3, "id": name, "cwd": "/bay"},
        {"type": "message", "id": f"{name}-1", "parentId": None, "message": user},
    ]


def copilot(name: str) -> list[Event]:
    first, second = f"{name}-1", f"{name}-2"
    start = {"sessionId": name, "version": 1}
    return [
        {"type": "session.start", "id": first, "parentId": None, "data": start},
        {"type": "user.message", "id": second, "parentId": first, "data": {"content": PROMPT}},
    ]


def codex_header(name: str, **more: Any) -> Event:
    payload = {"id": name, "cwd": "/bay", "originator": "codex", **more}
    return {"timestamp": "t", "type": "session_meta", "payload": payload}


def codex(name: str) -> list[Event]:
    content = [{"type": "input_text", "text": PROMPT}]
    item = {"type": "message", "role": "user", "content": content}
    return [
        codex_header(name),
        {"timestamp": "t", "type": "response_item", "payload": item},
    ]


def codex_exec(name: str) -> list[Event]:
    item = {"id": "item_0", "type": "agent_message", "text": ANSWER}
    return [
        {"type": "thread.started", "thread_id": name},
        {"type": "item.completed", "item": item},
    ]


def droid(name: str) -> list[Event]:
    message = {"role": "user", "content": [{"type": "text", "text": PROMPT}]}
    return [
        {"type": "session_start", "id": name, "title": "t", "cwd": "/bay"},
        {"type": "message", "id": f"{name}-1", "parentId": None, "message": message},
    ]


def droid_exec(name: str) -> list[Event]:
    return [
        {"type": "system", "subtype": "init", "session_id": name, "tools": []},
        {"type": "message", "session_id": name, "role": "user", "text": PROMPT},
        {"type": "message", "session_id": name, "role": "assistant", "text": ANSWER},
    ]


def cursor_agent(name: str) -> list[Event]:
    message = {"role": "user", "content": [{"type": "text", "text": PROMPT}]}
    event = {"type": "thinking", "subtype": "delta", "text": "Berths.", "session_id": name}
    return [
        {"type": "system", "subtype": "init", "session_id": name, "cwd": "/bay"},
        {"type": "user", "message": message, "session_id": name},
        event,
    ]


def kimi(name: str) -> list[Event]:
    message = {"role": "user", "content": [{"type": "text", "text": PROMPT}], "toolCalls": []}
    return [
        {"type": "metadata", "protocol_version": "1.5", "created_at": int(name, 36)},
        {"type": "context.append_message", "message": message},
    ]


def antigravity(name: str) -> list[Event]:
    """A conversation that is restarted has its next steps in the same file."""
    step = {"step_index": 0, "created_at": name, "status": "DONE", "content": PROMPT}
    later = {"created_at": f"{name}, later"}
    return [
        step | {"source": "USER_EXPLICIT", "type": "USER_INPUT"},
        step | {"step_index": 1, "source": "MODEL", "type": "PLANNER_RESPONSE"},
        step | {"step_index": 2, "source": "USER_EXPLICIT", "type": "USER_INPUT"} | later,
    ]


PROGRAMS: list[Callable[[str], list[Event]]] = [
    claude_code, claude_stream, qwen, gemini_cli, gemini_stream, pi, copilot, codex, codex_exec,
    droid, droid_exec, cursor_agent, kimi, antigravity,
]  # fmt: skip


def lines(*events: Event) -> bytes:
    return b"".join(json.dumps(event).encode() + b"\n" for event in events)


def strict(ctxtrim: Run, *events: Event) -> Ran:
    return ctxtrim("check", "--strict", "-m", "gpt-4o", stdin=lines(*events))


@pytest.mark.parametrize("session", PROGRAMS)
def test_two_sessions_in_a_file_are_reported_and_an_estimate(
    ctxtrim: Run, session: Callable[[str], list[Event]]
) -> None:
    alone = strict(ctxtrim, *session("s1"))
    assert alone.code == 0
    both = strict(ctxtrim, *session("s1"), *session("s2"))
    assert both.code == 4
    assert REPORTED in both.out.decode()
    assert "≈" in both.out.decode()
    assert "the cost of a part is assumed" not in both.out.decode()


@pytest.mark.parametrize("session", PROGRAMS)
def test_a_session_that_its_program_begins_again_is_one(
    ctxtrim: Run, session: Callable[[str], list[Event]]
) -> None:
    assert strict(ctxtrim, *session("s1"), *session("s1")).code == 0


def test_a_trimmed_file_is_still_reported(ctxtrim: Run) -> None:
    both = lines(*claude_code("s1"), *claude_code("s2"))
    ran = ctxtrim("trim", "-m", "gpt-4o", "--budget", "1000", stdin=both)
    assert (ran.code, ran.out) == (0, both)
    assert REPORTED in ran.err


BOUNDARY = {"type": "system", "subtype": "compact_boundary", "uuid": "b", "parentUuid": None}


@pytest.mark.parametrize(
    "continued",
    [
        [claude("s2", "user", "s1-2", 3)],  # a resumed session with an id of its own
        [BOUNDARY | {"sessionId": "s2"}, claude("s2", "user", "b", 3)],
        [claude("s2", "user", None, 3, logicalParentUuid="s1-2")],
        [claude("s2", "user", None, 3, isSidechain=True)],
    ],
    ids=["resumed", "compacted", "cut", "subagent"],
)
def test_lines_of_claude_code_with_another_id_may_belong_to_the_session(
    ctxtrim: Run, continued: list[Event]
) -> None:
    assert strict(ctxtrim, *claude_code("s1"), *continued).code == 0


def test_a_subagent_of_copilot_begins_no_session(ctxtrim: Run) -> None:
    start, *_ = copilot("s2")
    assert strict(ctxtrim, *copilot("s1"), start | {"agentId": "a1"}).code == 0


def test_a_fork_of_codex_repeats_the_header_of_the_session_it_continues(ctxtrim: Run) -> None:
    fork = [codex_header("s3"), codex_header("s2"), *codex("s1"), *codex("s1")]
    assert strict(ctxtrim, *fork).code == 0
