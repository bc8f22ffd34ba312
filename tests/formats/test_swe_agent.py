"""SWE-agent trajectories: observations are results, the issue statement is the task, a
demonstration is not.
"""

import json
from typing import Any

import pytest
from harness import read, run

from ctxtrim.conversation.tasks import current_task, opening_task
from ctxtrim.conversation.turns import shape
from ctxtrim.model import Message
from ctxtrim.summaries.facts import facts_summary
from ctxtrim.tokenizers import tokenizer

WORDS = tokenizer("o200k_base")
OUTPUT = "\n".join(f"{number}: total = subtotal + tax" for number in range(200))


def entry(role: str, content: str, **more: Any) -> dict[str, Any]:
    return {"role": role, "content": content, "agent": "primary", **more}


def acted(thought: str, action: str, **more: Any) -> dict[str, Any]:
    return entry(
        "assistant", f"{thought}\n```\n{action}\n```", thought=thought, action=action, **more
    )


def trajectory(is_typed: bool, steps: int = 3) -> list[dict[str, Any]]:
    """A session with a demonstration before the issue; newer versions write the type of each
    message.
    """
    action = {"message_type": "action"} if is_typed else {}
    seen = {"message_type": "observation"} if is_typed else {}
    return [
        entry("system", "You work in a shell."),
        entry("user", "Here is a demonstration. ISSUE: the parser hangs", is_demo=True),
        entry("user", "ISSUE: the total is wrong", **seen),
        *(
            message
            for number in range(steps)
            for message in (
                acted(f"I look at file {number}.", f"cat file{number}.py", **action),
                entry("user", f"{number}\n{OUTPUT}", **seen),
            )
        ),
    ]


def session_file(history: list[dict[str, Any]]) -> bytes:
    return json.dumps({"history": history, "trajectory": [], "info": {}}, indent=2).encode()


def messages(data: bytes) -> list[Message]:
    return [
        message
        for chunk in read(data)
        for transcript in chunk.transcripts
        for message in transcript.messages
    ]


@pytest.mark.parametrize("is_typed", [False, True])
def test_an_observation_is_the_result_of_the_action_before_it(is_typed: bool) -> None:
    parsed_messages = messages(session_file(trajectory(is_typed)))
    assert [message.role for message in parsed_messages] == [
        "system",
        "user",
        "user",
        *["assistant", "tool"] * 3,
    ]
    turn_shape = shape(parsed_messages)
    assert turn_shape.exchange == (0, 1, 2, 3, 3, 5, 5, 7, 7)
    assert (turn_shape.steps, set(turn_shape.turn[2:])) == (3, {2})
    call = turn_shape.call[4]
    assert call is not None
    assert (call.name, call.text) == ("bash", "cat file0.py")


@pytest.mark.parametrize("is_typed", [False, True])
def test_the_issue_statement_is_the_task_and_the_demonstration_is_not(is_typed: bool) -> None:
    parsed_messages = messages(session_file(trajectory(is_typed)))
    assert [message.is_demo for message in parsed_messages[:3]] == [False, True, False]
    assert opening_task(parsed_messages) == current_task(parsed_messages) == 2


def test_a_user_message_without_an_action_before_it_stays_a_user_message() -> None:
    history = [
        entry("user", "go"),
        entry("assistant", "I wait.", thought="", action="ls"),
        entry("user", "seen"),
    ]
    parsed = messages(session_file([*history, entry("user", "and now?")]))
    assert [message.role for message in parsed] == ["user", "assistant", "tool", "user"]
    history[2]["message_type"] = "user"
    assert messages(session_file(history))[2].role == "user"
    plain = [entry("user", "go"), entry("assistant", "a", action="x"), entry("user", "and now?")]
    assert [message.role for message in messages(session_file(plain))] == [
        "user",
        "assistant",
        "user",
    ]


@pytest.mark.parametrize("is_typed", [False, True])
def test_a_conversation_is_valid_and_unchanged_without_edits(is_typed: bool) -> None:
    data = session_file(trajectory(is_typed))
    assert run(data, [("check", {"profile": "openai"})]).findings == ()
    assert run(data).data == data


def test_an_action_costs_nothing_besides_its_text() -> None:
    plain = [
        {"role": message["role"], "content": message["content"]} for message in trajectory(True)
    ]
    counted = [run(session_file(each)).rows[0].tokens_read for each in (plain, trajectory(True))]
    assert counted[0] == counted[1]


@pytest.mark.parametrize("is_typed", [False, True])
def test_a_summary_lists_the_issue_as_the_request_and_no_output(is_typed: bool) -> None:
    parsed_messages = messages(session_file(trajectory(is_typed)))
    summary = facts_summary(shape(parsed_messages), 1000, WORDS, redacts=True)
    requests = summary.split("## User requests")[1].split("## ")[0]
    assert "the total is wrong" in requests
    assert "the parser hangs" not in requests
    assert "subtotal" not in summary
    assert "cat file2.py" in summary


def test_the_output_of_mini_swe_agent_is_a_result_even_if_replaced() -> None:
    history = [entry("user", "ISSUE: the total is wrong")]
    for number in range(8):
        history.append(
            entry("assistant", f"I look.\n\n```mswea_bash_command\ncat {number}.py\n```")
        )
        history.append(
            entry("user", f"<returncode>0</returncode>\n<output>\n{number} {OUTPUT}\n</output>")
        )
    data = json.dumps(history).encode()
    parsed_messages = messages(data)
    assert [message.role for message in parsed_messages] == ["user", *["assistant", "tool"] * 8]
    call = shape(parsed_messages).call[2]
    assert call is not None
    assert (call.name, call.text) == ("bash", "cat 0.py")
    for limit in (600, 3000, 9000):
        trimmed = run(data, [("trim", {})], limit=limit)
        assert trimmed.findings == ()
        assert trimmed.data is not None
        assert {message.role for message in messages(trimmed.data)[1:]} <= {"assistant", "tool"}


def test_trim_drops_a_demonstration_before_the_session() -> None:
    history = trajectory(is_typed=True, steps=12)
    history[1]["content"] = "Here is a demonstration. " + "ISSUE: the parser hangs. " * 40
    for step in history[3:]:
        step["content"] = step["content"][:400]
    data = session_file(history)
    dropped = kept = 0
    for budget in range(200, 3_000, 50):
        row = run(
            data, [("trim", {"keep_recent_turns": 0})], tokenizer="o200k_base", limit=budget
        ).rows[0]
        if row.overflows or not row.steps[0].changes:
            continue
        demonstration = next(
            measurement for measurement in row.steps[0].changes if measurement.change.message == 1
        )
        if demonstration.change.action == "dropped":
            assert demonstration.change.reason.startswith("demonstration: ")
            dropped += 1
        elif row.steps[0].smallest_dropped is not None:
            room = budget - row.count.tokens + demonstration.tokens_before
            assert row.steps[0].smallest_dropped.tokens > room
            kept += 1
    assert dropped > 20
