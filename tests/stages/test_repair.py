"""Repair: calls without results and results without calls, in files and in pipes; nothing else is
touched.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from builders import call, contents, conversation, result, says, step, user
from conftest import Run
from harness import read, run
from hypothesis import given
from hypothesis import strategies as st
from strategies import files

from ctxtrim.conversation.turns import shape
from ctxtrim.model import Transcript
from ctxtrim.stages.repair import ANSWER

ORPHAN = [user("go"), result("x", "nobody asked"), *step("a", "text"), says("so")]
WAITING = [user("go"), call("a", "b"), result("a", "text"), user("and?"), says("so")]
LOST = [user("go"), call("a"), user("and?"), says("so")]


def repaired(messages: list[dict[str, Any]], how: str = "drop") -> list[dict[str, Any]]:
    return json.loads(run(conversation(messages), [("repair", {"repair": how})]).data or b"")[
        "messages"
    ]


@pytest.mark.parametrize("how", ["drop", "synthesize"])
def test_a_valid_conversation_is_unchanged(how: str) -> None:
    data = conversation(
        [user("go"), *step("a", "text"), *step("a", "again"), says("so"), call("b")]
    )
    assert run(data, [("repair", {"repair": how})]).data == data


@pytest.mark.parametrize("how", ["drop", "synthesize"])
def test_a_result_without_a_call_is_dropped(how: str) -> None:
    assert repaired(ORPHAN, how) == [ORPHAN[0], *ORPHAN[2:]]


def test_a_call_without_a_result_is_dropped_and_its_siblings_stay() -> None:
    kept = dict(WAITING[1], tool_calls=WAITING[1]["tool_calls"][:1])
    assert repaired(WAITING) == [WAITING[0], kept, *WAITING[2:]]


def test_a_message_with_only_an_unanswered_call_is_dropped() -> None:
    assert repaired(LOST) == [LOST[0], *LOST[2:]]


def test_white_space_is_no_reason_to_keep_a_message() -> None:
    blank = call("a") | {"content": "\n "}
    assert repaired([LOST[0], blank, *LOST[2:]]) == [LOST[0], *LOST[2:]]


def test_a_digest_stays_in_the_place_of_the_unanswered_call_that_it_led(ctxtrim: Run) -> None:
    def model(name: str) -> dict[str, Any]:
        return {"role": "model", "parts": [{"functionCall": {"name": name, "args": {}}}]}

    answer = {"functionResponse": {"name": "look", "response": {"output": "lamp " * 90}}}
    request = [
        {"role": "user", "parts": [{"text": "Count the lamps."}]},
        model("look"),
        {"role": "user", "parts": [answer]},
        model("count"),
        {"role": "user", "parts": [{"text": "And?"}]},
    ]
    data = json.dumps({"contents": request}).encode()
    ran = ctxtrim("run", "-s", "cutoff:tool-cutoff=0", "-s", "repair", stdin=data)
    first, digest, last = json.loads(ran.out)["contents"]
    assert (ran.code, first, last) == (0, request[0], request[-1])
    (part,) = digest["parts"]
    assert part["text"].startswith("[Tool summary]")


def test_a_pinned_call_is_kept_and_may_get_a_result() -> None:
    def texts(how: str) -> list[Any]:
        settings = {"repair": how, "pin": ["go.*"]}
        return contents(
            run(conversation([user("x"), message, *LOST[2:]]), [("repair", settings)]).data
        )

    message = call("a") | {"content": "go there"}
    assert texts("drop") == ["x", "go there", "and?", "so"]
    assert texts("synthesize") == ["x", "go there", ANSWER, "and?", "so"]


def test_a_message_with_text_is_kept_without_its_unanswered_call() -> None:
    message = call("a") | {"content": "Looking."}
    assert repaired([user("go"), message, user("and?"), says("so")])[1] == {
        "role": "assistant",
        "content": "Looking.",
    }


def test_a_placeholder_result_is_inserted_next_to_its_siblings() -> None:
    assert repaired(WAITING, "synthesize") == [*WAITING[:3], result("b", ANSWER), *WAITING[3:]]
    assert repaired(LOST, "synthesize") == [*LOST[:2], result("a", ANSWER), *LOST[2:]]


def test_the_report_lists_every_repair() -> None:
    row = run(conversation([*ORPHAN, *LOST]), [("repair", {"repair": "synthesize"})]).rows[0]
    summary = [
        (measurement.change.message, measurement.change.before, measurement.change.action)
        for measurement in row.steps[0].changes
    ]
    assert summary == [(1, None, "repaired"), (None, 7, "repaired")]
    assert row.steps[0].changes[1].tokens_after > 0


def test_the_report_counts_every_inserted_result_once() -> None:
    talk = [user("go"), call("a", "a-much-longer-call-id"), user("and?")]
    row = run(conversation(talk), [("repair", {"repair": "synthesize"})]).rows[0]
    first, second = row.steps[0].changes
    assert (first.tokens_before, second.tokens_before) == (0, 0)
    assert min(first.tokens_after, second.tokens_after) > 0
    assert first.tokens_after + second.tokens_after == row.count.tokens - row.tokens_read


def _pairs(transcript: Transcript) -> tuple[int, int]:
    """Results without a call, and calls without a result that are not the last."""
    turn_shape = shape(transcript.messages)
    spoken = [
        position
        for position, message in enumerate(transcript.messages)
        if message.role in ("user", "assistant") and message.agent_visible
    ]
    orphans = sum(
        message.role == "tool" and message.agent_visible and turn_shape.call[position] is None
        for position, message in enumerate(transcript.messages)
    )
    return orphans, sum(
        position != max(spoken, default=-1) for position, _ in turn_shape.unanswered
    )


@given(files(), st.sampled_from(["drop", "synthesize"]))
def test_after_repair_every_call_has_a_result_and_a_second_run_changes_nothing(
    data: bytes, how: str
) -> None:
    ran = run(data, [("repair", {"repair": how})])
    assert [finding for finding in ran.findings if finding.code == "self-check"] == []
    assert all(
        _pairs(transcript) == (0, 0)
        for chunk in read(ran.data or b"")
        for transcript in chunk.transcripts
        if transcript.rules.records_calls
    )
    assert run(ran.data or b"", [("repair", {"repair": how})]).data == ran.data


def test_check_fix_repairs_files_in_place_and_reports_the_new_verdict(
    ctxtrim: Run, tmp_path: Path
) -> None:
    broken, fine = tmp_path / "broken.jsonl", tmp_path / "fine.jsonl"
    broken.write_bytes(conversation(ORPHAN))
    fine.write_bytes(conversation(ORPHAN[2:]))
    before = fine.stat().st_mtime_ns
    ran = ctxtrim("check", "--fix", "--model", "gpt-4o", broken, fine)
    assert ran.code == 0
    assert b"all fit" in ran.out
    assert "repair, check: 2 transcripts, 8 → 7 messages" in ran.err
    assert json.loads(broken.read_bytes())["messages"] == [ORPHAN[0], *ORPHAN[2:]]
    assert fine.stat().st_mtime_ns == before


def test_check_fix_in_a_pipe_writes_the_verdict_to_standard_error(
    ctxtrim: Run,
) -> None:
    ran = ctxtrim(
        "check",
        "--fix",
        "--repair",
        "synthesize",
        "--budget",
        "5",
        "--model",
        "gpt-4o",
        stdin=conversation(LOST),
    )
    assert json.loads(ran.out)["messages"] == [*LOST[:2], result("a", ANSWER), *LOST[2:]]
    assert (ran.code, "Cannot fit request within context limit" in ran.err) == (3, True)
