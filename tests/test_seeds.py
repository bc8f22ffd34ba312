"""The examples that the policies come with, byte for byte: seven steps, 200 lines, turns 1 to 3 seen from turn 4."""

import json

from conftest import FIXTURES, Run
from syrupy.assertion import SnapshotAssertion

from ctxtrim import ContextWindow, ToolResultRetentionPolicy

RETENTION = ("run", "--preset", "retention", "--quiet")


def test_of_seven_steps_rolling_lets_the_first_go(ctxtrim: Run, snapshot: SnapshotAssertion) -> None:
    ran = ctxtrim("run", "--preset", "rolling", "--quiet", "fixtures/seven-steps.jsonl")
    assert ran.out == snapshot


def test_two_hundred_lines_become_three_and_a_pointer(snapshot: SnapshotAssertion) -> None:
    window = ContextWindow.of(map(json.loads, (FIXTURES / "turns.jsonl").read_text().splitlines()))
    result = next(one for one in window.messages if one.type == "tool_result")
    assert len(result.content.split("\n")) == 200
    assert ToolResultRetentionPolicy().truncate(result).content.encode() == snapshot


def test_turns_1_to_3_seen_from_turn_4(ctxtrim: Run, tmp_path: object, snapshot: SnapshotAssertion) -> None:
    data = (FIXTURES / "turns.jsonl").read_bytes()
    window = ContextWindow.of(map(json.loads, data.splitlines()))
    after = ToolResultRetentionPolicy().apply(window, current_turn=4).records()
    ran = ctxtrim(*RETENTION, "--archive", f"{tmp_path}/a", stdin=data)
    assert ran.out == snapshot
    assert [json.loads(line)["content"] for line in ran.out.splitlines()] == [one["content"] for one in after]
