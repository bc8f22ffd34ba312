"""The preset `compact` ends with a transcript that fits, or lists the protected messages (S3-2)."""

import json
import random
from typing import Any

import pytest
from builders import contents, conversation, says, step, user
from conftest import Run
from harness import read

from ctxtrim import Pipeline
from ctxtrim.conversation.turns import shape

CHARS = ("--tokenizer", "chars4", "--quiet")
ROWS = "a row of the ledger\n"


def agent_run(steps: int, text: str = ROWS * 40) -> list[dict[str, Any]]:
    """A single prompt and many steps, as in most recordings of agents."""
    values = [{"role": "system", "content": "Be brief."}, user("Sort the ledger.")]
    for number in range(steps):
        values += step(f"c{number}", f"{number}: {text}", command=f"sort part-{number}")
    return [*values, says("The ledger is sorted.")]


def count(ctxtrim: Run, data: bytes) -> dict[str, Any]:
    row: dict[str, Any] = json.loads(ctxtrim("count", *CHARS, "--json", stdin=data).out)[
        "transcripts"
    ][0]
    return row


@pytest.mark.parametrize("budget", [600, 1500, 4000])
def test_s3_2_the_preset_fits_a_single_prompt_to_the_budget(ctxtrim: Run, budget: int) -> None:
    ran = ctxtrim(
        "run", "--preset", "compact", "--budget", budget, *CHARS, stdin=conversation(agent_run(60))
    )
    assert ran.code == 0
    assert budget / 4 < count(ctxtrim, ran.out)["tokens"] <= budget
    (transcript,) = read(ran.out)[0].transcripts
    assert not shape(transcript.messages).unanswered
    assert transcript.messages[-1].parts[0].text == "The ledger is sorted."
    again = ctxtrim("run", "--preset", "compact", "--budget", budget, *CHARS, stdin=ran.out)
    assert again.out == ran.out


def test_s3_2_protected_messages_are_listed_with_exit_code_3(ctxtrim: Run) -> None:
    output = conversation([user("word " * 2000), says("so"), user("Sum it up: " + "word " * 3000)])
    ran = ctxtrim("run", "--preset", "compact", "--budget", "2000", *CHARS, stdin=output)
    assert (ran.code, ran.out) == (3, b"")
    assert "message 2 (user), line 1: " in ran.err


def test_s3_2_without_a_known_window_the_budget_is_8000_tokens(ctxtrim: Run) -> None:
    data = conversation([*agent_run(200), user("Now print it.")])
    ran = ctxtrim("run", "--preset", "compact", *CHARS, stdin=data)
    assert ran.code == 0
    assert count(ctxtrim, ran.out)["tokens"] <= 8000
    more = ctxtrim(
        "run",
        "--preset",
        "compact",
        "--session-tokens",
        "12000",
        "--tool-cutoff",
        "99",
        *CHARS,
        stdin=data,
    )
    assert count(ctxtrim, ran.out)["tokens"] < count(ctxtrim, more.out)["tokens"] <= 12_000
    known = ctxtrim("run", "--preset", "compact", "--context-window", "128000", *CHARS, stdin=data)
    assert count(ctxtrim, known.out)["tokens"] < 128_000 - 16_384
    held = conversation([user("word " * 9000)])
    assert ctxtrim("run", "--preset", "compact", *CHARS, stdin=held).code == 3
    assert (
        ctxtrim("run", "--preset", "compact", "--session-tokens", "0", *CHARS, stdin=held).code == 0
    )


@pytest.mark.parametrize(
    ("window", "limit"),
    [
        (("--model", "gpt-4"), 4096),
        (("--model", "gpt-3.5-turbo"), 8000),
        (("--context-window", 32_767), 8000),
        (("--context-window", 32_768), 16_384),
        (("--context-window", 20_000, "--reserve", 15_000), 5000),
    ],
)
def test_s3_2_a_small_window_has_one_limit_for_compaction_and_trim(
    ctxtrim: Run, window: tuple[object, ...], limit: int
) -> None:
    talk = [user("Print the ledger."), says(ROWS * 3500), user("Sort the ledger.")]
    words = ("run", "--preset", "compact", *window, "--tokenizer", "chars4")
    ran = ctxtrim(*words, "--json", "--dry-run", stdin=conversation(talk))
    (row,) = json.loads(ran.out)["transcripts"]
    assert f">= the limit of {limit:,}" in ran.out.decode()
    assert (ran.code, row["budget"]["available"], row["fits"]) == (0, limit, True)


def test_s3_2_a_safety_margin_makes_the_limit_of_compaction_smaller_too(ctxtrim: Run) -> None:
    talk = [user("Print the ledger."), says(ROWS * 350), user("Sort the ledger.")]
    words = ("run", "--preset", "compact", "--budget", 2000, "--safety", 2, "--tokenizer", "chars4")
    ran = ctxtrim(*words, "--json", "--dry-run", stdin=conversation(talk))
    assert ">= the limit of 1,000" in ran.out.decode()


def test_s3_2_without_auto_the_report_holds_only_a_verdict(ctxtrim: Run) -> None:
    small, large = (
        conversation(agent_run(4)),
        conversation([user("go"), says("word " * 9000), user("now")]),
    )
    assert ctxtrim("run", "--preset", "compact", "--no-auto", *CHARS, stdin=small).out == small
    ran = ctxtrim("run", "--preset", "compact", "--no-auto", *CHARS, stdin=large)
    assert (ran.code, ran.out) == (3, b"")
    assert "message 1 (assistant), line 1: " in ran.err


def test_without_auto_old_results_are_still_replaced(ctxtrim: Run) -> None:
    words = ("run", "--preset", "compact", "--no-auto", *CHARS)
    long = agent_run(15)
    ran = ctxtrim(*words, stdin=conversation(long))
    assert ran.code == 0
    assert len(contents(ran.out)) < len(long)


@pytest.mark.parametrize("budget", [250, 300, 400, 700, 1500])
def test_s3_2_a_second_run_within_a_small_budget_changes_nothing(budget: int) -> None:
    """A summary replaces older exchanges, so all exchanges after it are recent."""
    words = [
        "evening",
        "correctly",
        "keeper",
        "inspection",
        "afterwards",
        "harbour",
        "schedule",
        "records",
    ]
    choose = random.Random(1)
    talk = [user("Find out when each lighthouse was repaired.")]
    for number in range(6):
        talk += step(f"c{number}", " ".join(choose.choices(words, k=1300)))
    talk += [says("All of them were repaired in March."), user("Thank you. Which was first?")]
    pipeline = Pipeline(preset="compact", tokenizer="o200k_base", budget=budget)
    (first,) = pipeline.run_lines([conversation(talk)])
    (second,) = pipeline.run_lines([first.data or b""])
    assert second.data == first.data
    assert first.rows[0].count.tokens <= budget
