"""The examples that the policies come with, byte for byte: seven steps, 200 lines, turns 1 to 3
seen from turn 4.
"""

import json

from conftest import FIXTURES, Run
from syrupy.assertion import SnapshotAssertion

from ctxtrim import ContextWindow, ToolResultRetentionPolicy

RETENTION = ("run", "--preset", "retention", "--quiet")


def test_rolling_truncates_the_first_of_seven_steps(
    ctxtrim: Run, snapshot: SnapshotAssertion
) -> None:
    ran = ctxtrim("run", "--preset", "rolling", "--quiet", "fixtures/seven-steps.jsonl")
    assert ran.out == snapshot


def test_retention_replaces_two_hundred_lines_by_three_and_a_pointer(
    snapshot: SnapshotAssertion,
) -> None:
    window = ContextWindow.of(map(json.loads, (FIXTURES / "turns.jsonl").read_text().splitlines()))
    result = next(message for message in window.messages if message.type == "tool_result")
    assert len(result.content.split("\n")) == 200
    assert ToolResultRetentionPolicy().truncate(result).content.encode() == snapshot


def test_turns_1_to_3_at_turn_4(
    ctxtrim: Run, tmp_path: object, snapshot: SnapshotAssertion
) -> None:
    data = (FIXTURES / "turns.jsonl").read_bytes()
    window = ContextWindow.of(map(json.loads, data.splitlines()))
    after = ToolResultRetentionPolicy().apply(window, current_turn=4).records()
    ran = ctxtrim(*RETENTION, "--archive", f"{tmp_path}/a", stdin=data)
    assert ran.out == snapshot
    assert [json.loads(line)["content"] for line in ran.out.splitlines()] == [
        message["content"] for message in after
    ]


LAYER = ("trim", "--budget", "2000", "--quiet", "fixtures/gates.jsonl")


def test_more_than_ten_results_fit_the_budget(ctxtrim: Run, snapshot: SnapshotAssertion) -> None:
    talk = json.loads((FIXTURES / "gates.jsonl").read_text())
    assert sum(message["role"] == "tool" for message in talk["messages"]) == 12
    ran = ctxtrim(*LAYER)
    assert ran.code == 0
    assert ran.out == snapshot


def test_more_than_ten_results_become_one_summary(
    ctxtrim: Run, snapshot: SnapshotAssertion
) -> None:
    ran = ctxtrim(*LAYER, "--summarize", "--keep-recent-turns", "1", "--budget", "500")
    assert ran.code == 0
    assert ran.out == snapshot


def test_an_overflow_is_reported_and_nothing_is_written(
    ctxtrim: Run, snapshot: SnapshotAssertion
) -> None:
    ran = ctxtrim(*LAYER, "--budget", "20")
    assert (ran.code, ran.out) == (3, b"")
    assert ran.err.encode() == snapshot
