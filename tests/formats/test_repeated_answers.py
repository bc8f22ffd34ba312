"""Logs whose last message is an answer already, so that the answer next to them is not read."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from builders import says, user
from conftest import Run
from harness import run

from ctxtrim.tokens.tokenizer import ORDER

TALK = [user("Sound the bay. " * 9), says("Nine fathoms."), user("Mend the gate.")]
LONG = says("The light, the keel and the anchor. " * 9)
COPY = b"The light, the keel and the anchor. " * 8  # more than a summary quotes
THOUGHT = says("Seven fathoms.") | {"reasoning_content": "Think of the tide. " * 20}

Log = Callable[[list[dict[str, Any]], dict[str, Any]], dict[str, Any]]


def completion(answer: dict[str, Any]) -> dict[str, Any]:
    return {"id": "r1", "choices": [{"index": 0, "message": answer}]}


LOGS: dict[str, Log] = {
    "choices": lambda talk, answer: {"messages": talk, "choices": [{"message": answer}]},
    "a message": lambda talk, answer: {"messages": talk, "response": answer},
    "a response": lambda talk, answer: {"messages": talk, "response": completion(answer)},
    "in a string": lambda talk, answer: {
        "messages": talk,
        "response": json.dumps(completion(answer)),
    },
    "request": lambda talk, answer: {
        "request": {"messages": talk},
        "response": completion(answer),
    },
    "body": lambda talk, answer: {
        "body": {"messages": talk},
        "response": {"status_code": 200, "body": completion(answer)},
    },
    "input": lambda talk, answer: {"model": "gpt-4o", "input": talk, "response": answer},
    "list of choices": lambda talk, answer: {"input": talk, "output": [{"message": answer}]},
    "choices in a list": lambda talk, answer: {
        "messages": talk,
        "response": [{"index": 0, "message": answer}],
    },
    "twice": lambda talk, answer: {
        "messages": talk,
        "response": answer,
        "choices": [{"message": answer}],
    },
    "a text": lambda talk, answer: {"messages": talk, "response": answer["content"]},
    "events": lambda talk, answer: {"messages": talk, "response": [{"delta": answer["content"]}]},
}
RUNS: dict[str, tuple[str, dict[str, Any], int]] = {
    "trim": ("trim", {}, 40),
    "oldest": ("trim", {"strategy": "oldest"}, 40),
    "summarized": ("trim", {"summarize": True}, 90),
    "all summarized": ("summarize", {"keep_recent_turns": 0}, 90),
}


def checked(data: bytes, stage: str, settings: dict[str, Any], limit: int) -> bytes:
    """The output of a stage. A recount has the number of the report, and no weaker label."""
    ran = run(data, [(stage, settings)], tokenizer=None, limit=limit)
    assert ran.findings == ()
    assert ran.data is not None
    (row,), (again,) = ran.rows, run(ran.data, tokenizer=None).rows
    assert (again.count.tokens, again.messages) == (row.count.tokens, row.messages)
    assert ORDER.index(row.count.exactness) >= ORDER.index(again.count.exactness)
    return ran.data


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize("log", LOGS)
def test_a_copy_of_the_last_message_goes_with_it(log: str, name: str) -> None:
    value = {"model": "gpt-4o"} | LOGS[log]([*TALK, LONG], LONG)
    data = checked(json.dumps(value).encode() + b"\n", *RUNS[name])
    assert COPY not in data or log == "events"


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize("log", LOGS)
def test_another_answer_than_the_last_message_does_not_take_its_place(log: str, name: str) -> None:
    value = {"model": "gpt-4o"} | LOGS[log]([*TALK, LONG], says("The boom. " * 9))
    data = checked(json.dumps(value).encode() + b"\n", *RUNS[name])
    assert COPY not in data


@pytest.mark.parametrize("log", sorted(LOGS.keys() - {"input", "list of choices"}))
def test_a_copy_of_an_edited_message_goes_too(ctxtrim: Run, log: str) -> None:
    value = {"model": "gpt-4o"} | LOGS[log]([*TALK, THOUGHT], THOUGHT)
    options = ("--budget", "140", "--thinking", "strip")
    ran = ctxtrim("trim", *options, stdin=json.dumps(value).encode())
    assert (ran.code, b"tide" in ran.out) == (0, False)
    assert ran.out.count(b"Seven fathoms.") == (2 if log == "events" else 1)
    (row,) = run(ran.out).rows
    assert row.messages == 4


def test_a_copy_that_is_removed_is_listed_and_restored(ctxtrim: Run, tmp_path: Path) -> None:
    value = {"model": "gpt-4o"} | LOGS["choices"]([*TALK, LONG], LONG)
    log, archive, report = (tmp_path / name for name in ("log.json", "archive", "report.json"))
    log.write_text(json.dumps(value, indent=1))
    data = log.read_bytes()
    options = ("--keep-snapshots", "--archive", archive, "--report", report)
    assert ctxtrim("trim", log, "--budget", "40", "--in-place", *options).code == 0
    assert json.loads(log.read_bytes())["choices"] == [{}]
    (row,) = json.loads(report.read_bytes())["transcripts"]
    reasons = [change["reason"] for change in row["steps"][0]["changes"]]
    assert "answer in `choices` of message 3" in reasons
    assert ctxtrim("restore", log, "--in-place", "--archive", archive).code == 0
    assert log.read_bytes() == data


@pytest.mark.parametrize("log", sorted(LOGS.keys() - {"request", "list of choices"}))
def test_another_answer_than_the_last_message_is_named(log: str) -> None:
    for answer, is_named in ((LONG, log == "events"), (says("The boom."), True)):
        value = {"model": "gpt-4o"} | LOGS[log]([*TALK, LONG], answer)
        (row,) = run(json.dumps(value).encode(), tokenizer=None).rows
        notes = [finding.message for finding in row.findings if finding.code == "not-counted"]
        assert (row.messages, bool(notes)) == (4, is_named)
        assert row.count.exactness == "estimated" or not notes


def test_choices_in_a_list_are_no_other_transcript() -> None:
    value = {"model": "claude-sonnet-4-5"} | LOGS["choices in a list"]([*TALK, LONG], LONG)
    data = json.dumps(value).encode()
    (row,) = run(data).rows
    assert row.messages == 4
    assert b"keel" not in checked(data, "trim", {}, 60)


SENT = {"role": "user", "parts": [{"text": "Mend the gate."}]}
MODEL_SAID = {"role": "model", "parts": [{"text": "The light and the keel. " * 9}]}
OTHER = {"role": "model", "parts": [{"text": "The boom."}]}


def gemini_logs(answer: dict[str, Any]) -> list[dict[str, Any]]:
    request = {"model": "gemini-2.5-pro", "contents": [SENT, MODEL_SAID]}
    candidate = {"content": answer, "finishReason": "STOP"}
    response = {"candidates": [candidate], "modelVersion": "gemini-2.5-pro"}
    return [request | {"response": response}, request | response]


@pytest.mark.parametrize("answer", [MODEL_SAID, OTHER])
@pytest.mark.parametrize("position", [0, 1])
def test_contents_that_end_with_the_answer_are_one_transcript(
    position: int, answer: dict[str, Any]
) -> None:
    log = gemini_logs(answer)[position]
    for data in (json.dumps(log), json.dumps([log, log]), f"{json.dumps(log)}\n" * 2):
        ran = run(data.encode(), [("trim", {})], tokenizer=None, limit=30)
        assert ran.data is not None
        again = run(ran.data, tokenizer=None)
        for row, recount in zip(ran.rows, again.rows, strict=True):
            assert (row.messages_read, row.messages, recount.messages) == (2, 1, 1)
            assert recount.count == row.count
            notes = [finding for finding in row.findings if finding.code == "not-counted"]
            assert bool(notes) == (answer is OTHER)
            assert not recount.findings
        assert b"keel" not in ran.data
        assert b"boom" not in ran.data
