"""A run that changes nothing says why."""

import pytest
from conftest import FIXTURES, Run
from samples import line, messages

REASONS = {
    "trim": "; already fits",
    "truncate --max-age 99": "; no result to shorten is older than 99 steps or longer than "
    "2,000 tokens; try --max-age 1",
    "summarize --keep-recent-turns 99": "; nothing older than 99 turns; try --keep-recent-turns 0",
    "run -s cutoff:tool-cutoff=99": "; no more than 99 tool results are visible; try a smaller "
    "--tool-cutoff",
    "run -s drop-images": "; no image to drop is older than 5 steps; try --max-age 0",
    "run -s repair": "; every call has its result",
    "run -s trim -s repair": "; already fits; every call has its result",
}


@pytest.mark.parametrize("words", REASONS)
def test_a_run_that_changes_nothing_says_why(ctxtrim: Run, words: str) -> None:
    data = line(messages(2))
    ran = ctxtrim(*words.split(), stdin=data)
    assert (ran.code, ran.out) == (0, data)
    assert ran.err.endswith(f" tokens{REASONS[words]}\n")


@pytest.mark.parametrize("words", ["trim --budget 900", "trim --budget 5", "count"])
def test_other_runs_give_no_reason(ctxtrim: Run, words: str) -> None:
    ran = ctxtrim(*words.split(), FIXTURES / "agent.jsonl")
    assert "already fits" not in ran.err
