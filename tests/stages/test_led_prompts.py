"""A summary that leads the current prompt has its own rank: it is shortened, or left out, before
the prompt would not fit.
"""

import json
from typing import Any

import pytest
from builders import conversation, says, step, user
from conftest import Run
from harness import run

from ctxtrim import Pipeline

SYSTEM = {"role": "system", "content": "You mend harbours."}
PROMPT = "Now the last one."
OMITTED = "[Summary omitted - insufficient budget]\n\n[End of summary]\n\n"
TALK = [SYSTEM]
for berth in range(12):
    TALK += [
        user(f"Mend berth {berth} in src/berth{berth}.py. " + "It leaks at low tide. " * 8),
        says(f"Berth {berth} is mended. " * 5),
    ]
TALK.append(user(PROMPT))


def summarized() -> list[Any]:
    """The talk with a summary of all that is old before the current prompt."""
    ran = run(conversation(TALK), [("summarize", {"keep_recent_turns": 1})])
    assert ran.data is not None
    messages: list[Any] = json.loads(ran.data)["messages"]
    assert [message["role"] for message in messages] == ["system", "user"]
    return messages


def tokens(messages: list[Any]) -> int:
    return run(conversation(messages)).rows[0].count.tokens


LEAST = tokens([SYSTEM, user(PROMPT)])
WHOLE = tokens(summarized())


@pytest.mark.parametrize("settings", [{}, {"strategy": "oldest"}, {"summarize": True}])
@pytest.mark.parametrize("budget", [LEAST, LEAST + 30, 150, 300, 600, WHOLE - 1, WHOLE])
def test_the_summary_before_a_prompt_uses_the_room_that_the_prompt_leaves(
    settings: dict[str, Any], budget: int
) -> None:
    ran = run(conversation(summarized()), [("trim", settings)], limit=budget)
    assert ran.data is not None
    system, prompt = json.loads(ran.data)["messages"]
    assert (system, prompt["content"].endswith(PROMPT)) == (SYSTEM, True)
    assert ran.rows[0].count.tokens <= budget
    if budget == LEAST:
        assert prompt["content"] == PROMPT
    elif budget == LEAST + 30:
        assert prompt["content"] == OMITTED + PROMPT
    else:
        assert prompt["content"].startswith("[Summary of 24 earlier messages]\n")
        assert ran.rows[0].count.tokens > budget * 0.7


def test_the_prompt_alone_is_the_least() -> None:
    ran = run(conversation(summarized()), [("trim", {})], limit=LEAST - 1)
    assert ran.data is None
    assert ran.rows[0].overflows


@pytest.mark.parametrize("stage", ["summarize:keep-recent-turns=1", "compact:max-messages=5"])
def test_a_summary_does_not_cause_the_overflow_that_it_should_prevent(stage: str) -> None:
    for budget in range(LEAST, WHOLE + 100, 45):
        settings = {"model": "gpt-4o", "budget": budget}
        assert Pipeline("trim", **settings).run(TALK).row.is_written
        assert Pipeline(stage, "trim", **settings).run(TALK).row.count.tokens <= budget


@pytest.mark.parametrize("strategy", ["priority", "oldest", "middle", "age"])
def test_the_summary_before_a_prompt_leaves_room_for_the_newest_step(strategy: str) -> None:
    messages = [*summarized(), *step("a", "the pump is dry\n" * 5)]
    room = tokens(messages) - tokens(summarized())
    ran = run(conversation(messages), [("trim", {"strategy": strategy})], limit=room + 300)
    assert ran.data is not None
    _, prompt, _, result = json.loads(ran.data)["messages"]
    assert prompt["content"].startswith("[Summary of 24 earlier messages]\n")
    assert result == messages[-1]


def test_the_summary_of_a_model_is_quoted_in_the_room_that_is_left() -> None:
    summary = "[Previous conversation summary]\n" + "The quay is mended.\n" * 80
    messages = [SYSTEM, user(f"{summary}\n\n[End of summary]\n\n{PROMPT}")]
    ran = run(conversation(messages), [("trim", {})], limit=200)
    assert ran.data is not None
    prompt = json.loads(ran.data)["messages"][1]["content"]
    assert prompt.startswith("[Previous conversation summary]\n")
    assert "The quay is mended." in prompt
    assert prompt.endswith(f"\n\n[End of summary]\n\n{PROMPT}")


@pytest.mark.parametrize("blank", ["", " ", "\n"])
def test_a_prompt_without_text_of_its_own_is_never_empty(blank: str) -> None:
    summary = "[Previous conversation summary]\n" + "The quay is mended.\n" * 80
    messages = [user(f"{summary}\n\n[End of summary]\n\n{blank}"), says("Well done.")]
    least = tokens([user(OMITTED + blank), messages[1]])
    for budget in (least, least + 10):
        ran = run(conversation(messages), [("trim", {})], limit=budget)
        assert ran.data is not None
        assert json.loads(ran.data)["messages"] == [user(OMITTED + blank), messages[1]]
    alone = tokens([user(OMITTED + blank)])
    assert run(conversation(messages), [("trim", {})], limit=alone - 1).data is None


def test_a_pinned_prompt_keeps_its_summary(ctxtrim: Run) -> None:
    data = conversation(summarized())
    ran = ctxtrim("trim", "--budget", "300", "--pin", "the last one", stdin=data)
    assert (ran.code, ran.out) == (3, b"")


def test_the_report_says_that_the_summary_was_shortened(ctxtrim: Run) -> None:
    data = conversation(summarized())
    ran = ctxtrim("trim", "--budget", "300", "--explain", stdin=data)
    assert "summary before it: at most" in ran.err
    ran = ctxtrim("trim", "--budget", str(LEAST), "--explain", stdin=data)
    assert "no room for the summary before it" in ran.err
