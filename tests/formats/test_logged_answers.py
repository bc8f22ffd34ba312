"""The answers in logs of requests: those that are read, and those that a finding names."""

import json
from typing import Any

import pytest
from builders import says, user
from conftest import Run
from harness import read, run

TALK = [user("Sound the bay. " * 40), says("Nine fathoms. " * 40), user("And at low tide?")]
ANSWER = says("Seven fathoms.")
CONVERSE = [
    {"role": message["role"], "content": [{"text": message["content"]}]}
    for message in [*TALK, ANSWER]
]
CHAT = {"model": "gpt-4o", "messages": TALK}
DELTA = {"object": "chat.completion.chunk", "choices": [{"delta": {"content": "Seven."}}]}
EVENT = {"type": "response.completed", "response": {"object": "response", "output": [ANSWER]}}
CANDIDATE = {"content": {"role": "model", "parts": [{"text": "Seven fathoms."}]}}
LOW_TIDE = {"role": "user", "parts": [{"text": "And at low tide?"}]}


def encoded(value: Any) -> bytes:
    return json.dumps(value).encode() + b"\n"


def counted(value: Any) -> list[tuple[str, list[str]]]:
    """The exactness of each count, and the findings about what is not counted."""
    found = []
    for row in run(encoded(value), tokenizer=None).rows:
        notes = [finding.message for finding in row.findings if finding.code == "not-counted"]
        found.append((row.count.exactness, notes))
    return found


@pytest.mark.parametrize(
    ("talk", "record"),
    [
        (TALK, lambda sent: {"request": sent, "response": {"message": ANSWER, "done": True}}),
        (TALK, lambda sent: {"request": {"body": sent}, "response": {"body": {"message": ANSWER}}}),
        (TALK, lambda sent: {"request_body": sent, "response_body": {"message": ANSWER}}),
        (
            CONVERSE[:3],
            lambda sent: {"request": sent, "response": {"output": {"message": CONVERSE[3]}}},
        ),
    ],
)
def test_the_answer_next_to_a_request_is_read(ctxtrim: Run, talk: Any, record: Any) -> None:
    value = record({"messages": talk})
    (chunk,) = read(encoded(value))
    (found,) = chunk.transcripts
    assert [part.text for part in found.messages[-1].parts] == ["Seven fathoms."]
    assert (found.uncounted, found.options.unread) == (0, ())
    ran = ctxtrim("trim", "--budget", "60", stdin=encoded(value))
    assert (ran.code, json.loads(ran.out)) == (0, record({"messages": talk[2:]}))
    summarized = ctxtrim("trim", "--budget", "100", "--summarize", stdin=encoded(value))
    assert (summarized.code, b"Seven fathoms." in summarized.out) == (0, True)


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ({"request": CHAT, "response": [DELTA]}, "response"),
        ({"request": CHAT, "response": "Seven fathoms."}, "response"),
        ({"request": {"body": CHAT}, "response": {"status": 200, "body": [DELTA]}}, "response"),
        ({"request": {"body": CHAT}, "response": {"body": json.dumps([DELTA])}}, "response"),
        ({"request_body": CHAT, "response_body": {"text": "Seven fathoms."}}, "response_body"),
        ({"request": {"model": "gpt-5", "input": "Deep?"}, "response": [EVENT]}, "response"),
        (
            {"request": {"contents": [LOW_TIDE]}, "response": [{"candidates": [CANDIDATE]}]},
            "response",
        ),
    ],
)
def test_an_answer_that_is_not_read_makes_an_estimate(value: Any, name: str) -> None:
    expected = ("estimated", [f"the answer in `{name}` is not read; not counted"])
    assert counted(value) == [expected]
    assert counted([value, value]) == [expected, expected]


@pytest.mark.parametrize(
    "response",
    [
        None,
        {},
        [],
        {"error": {"message": "overloaded"}},
        {"body": {"error": "overloaded"}},
        {"status": 200, "headers": {"x-id": "1"}},
        {"choices": []},
        {"choices": [{"index": 0, "finish_reason": "stop"}], "error": None},
        {"model": "gpt-oss", "done": True},
        {"output": {}},
        {"candidates": [{"index": 0}]},
        {"choices": [{"index": 0, "message": ANSWER}]},
    ],
)
def test_a_request_without_an_answer_stays_exact(response: Any) -> None:
    assert counted({"request": CHAT, "response": response}) == [("exact", [])]


@pytest.mark.parametrize(
    "response",
    [{"choices": [{"index": 0, "message": ANSWER}]}, {"message": ANSWER}],
)
def test_an_answer_that_a_stage_drops_is_not_missing(ctxtrim: Run, response: Any) -> None:
    ran = ctxtrim("trim", "--budget", "12", stdin=encoded({"request": CHAT, "response": response}))
    assert (ran.code, b"Seven" in ran.out) == (0, False)
    assert counted(json.loads(ran.out)) == [("exact", [])]
