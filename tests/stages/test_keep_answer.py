"""`keep-answer`: what comes after the last prompt is never dropped or shortened."""

import json
from pathlib import Path
from typing import Any

import pytest
from builders import call, contents, conversation, result, says, user
from conftest import Run

from ctxtrim import trim_conversation

SYSTEM = {"role": "system", "content": "Answer as the harbour master."}
OLD = [user("Which berths are free? " * 40), says("Berths 2 and 4. " * 40)]
PROMPT = user("Write the notice about the bridge.")
ANSWER = [says("The bridge at the west gate is closed until Friday. " * 20)]
STEPS = [call("c1"), result("c1", "closed until Friday\n" * 60), says("It is closed.")]
TRIM = ("trim", "-m", "gpt-4o")


@pytest.mark.parametrize("strategy", ["priority", "oldest", "middle", "age"])
@pytest.mark.parametrize("answer", [ANSWER, STEPS])
def test_an_answer_that_would_be_dropped_or_shortened_stays(
    ctxtrim: Run, answer: list[dict[str, Any]], strategy: str
) -> None:
    row = conversation([SYSTEM, *OLD, PROMPT, *answer])
    trim = (*TRIM, "--strategy", strategy)
    for budget in ("300", "450"):
        kept = ctxtrim(*trim, "--budget", budget, "--keep-answer", stdin=row)
        assert (kept.code, kept.out) == (0, conversation([SYSTEM, PROMPT, *answer]))
    assert len(contents(ctxtrim(*trim, "--budget", "60", stdin=row).out)) < 2 + len(answer)


@pytest.mark.parametrize("answer", [ANSWER, STEPS])
def test_a_row_that_does_not_fit_with_its_answer_is_left_out(
    ctxtrim: Run, answer: list[dict[str, Any]]
) -> None:
    long_row = conversation([SYSTEM, *OLD, PROMPT, *answer])
    short_row = conversation([SYSTEM, PROMPT, says("Closed.")])
    ran = ctxtrim(*TRIM, "--budget", "100", "--keep-answer", stdin=long_row + short_row)
    assert (ran.code, ran.out) == (3, short_row)
    assert ran.err.count("(last answer)") == len(answer)


def test_an_answer_that_began_before_the_last_prompt_stays_whole(ctxtrim: Run) -> None:
    asked = {"role": "user", "content": "Which berths are free?"}
    code = "code_execution"
    use = {"type": "server_tool_use", "id": "s1", "name": code, "input": {"code": "look()"}}
    step = {"type": "tool_use", "id": "c1", "name": "look", "input": {}}
    found = {"type": "tool_result", "tool_use_id": "c1", "content": "berth 2"}
    printed = {"type": f"{code}_result", "stdout": "berth 2", "return_code": 0}
    ended = {"type": f"{code}_tool_result", "tool_use_id": "s1", "content": printed}
    answer = [
        {"role": "assistant", "content": [use, step]},
        {
            "role": "user",
            "content": [found, {"type": "text", "text": "Look at the west gate, too."}],
        },
        {"role": "assistant", "content": [ended, {"type": "text", "text": "Berth 2."}]},
    ]
    head = {"model": "claude-sonnet-4-5", "max_tokens": 9}
    row = json.dumps(head | {"messages": [*OLD, asked, *answer]}).encode() + b"\n"
    trim = ("trim", "--keep-answer", "--budget")
    assert ctxtrim(*trim, "150", stdin=row).code == 3
    ran = ctxtrim(*trim, "400", stdin=row)
    assert (ran.code, json.loads(ran.out)["messages"]) == (0, [asked, *answer])


def test_without_a_prompt_the_last_exchange_is_the_answer(ctxtrim: Run) -> None:
    row = conversation([SYSTEM, says("Good morning. " * 60), *STEPS[:2]])
    kept = ctxtrim(*TRIM, "--budget", "300", "--keep-answer", stdin=row)
    assert (kept.code, kept.out) == (0, conversation([SYSTEM, *STEPS[:2]]))
    ran = ctxtrim(*TRIM, "--budget", "100", "--keep-answer", stdin=row)
    assert (ran.code, ran.out) == (3, b"")
    assert ctxtrim(*TRIM, "--budget", "100", stdin=row).code == 0


def test_a_prompt_without_an_answer_changes_nothing(ctxtrim: Run) -> None:
    row = conversation([SYSTEM, *OLD, PROMPT])
    trim = (*TRIM, "--budget", "100")
    assert ctxtrim(*trim, "--keep-answer", stdin=row).out == ctxtrim(*trim, stdin=row).out


def test_it_is_a_key_of_files_and_a_keyword_of_the_api(ctxtrim: Run, tmp_path: Path) -> None:
    messages = [SYSTEM, *OLD, PROMPT, *ANSWER]
    config = tmp_path / "ctxtrim.toml"
    config.write_text("[trim]\nkeep-answer = true\n")
    row = conversation(messages)
    ran = ctxtrim(*TRIM, "--config", config, "--budget", "300", stdin=row)
    assert json.loads(ran.out)["messages"] == [SYSTEM, PROMPT, *ANSWER]
    trimmed = trim_conversation(messages, 300, model="gpt-4o", keep_answer=True)
    assert trimmed == [SYSTEM, PROMPT, *ANSWER]
