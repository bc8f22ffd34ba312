"""Transcripts of Antigravity: results answer the calls before them, in order."""

import json
from pathlib import Path
from typing import Any

import pytest
from harness import read, run, unpaired

from ctxtrim.formats.reading import open_reading
from ctxtrim.model import Message

FIXTURE = Path("fixtures/antigravity.jsonl")
LONG = "a tide comes in " * 200


def step(index: int, source: str, kind: str, **more: Any) -> dict[str, Any]:
    return {"step_index": index, "source": source, "type": kind, "status": "DONE"} | more


def prompt(index: int, text: str) -> dict[str, Any]:
    return step(index, "USER_EXPLICIT", "USER_INPUT", content=text)


def answer(index: int, text: str, *calls: str) -> dict[str, Any]:
    made = [{"name": name, "args": {"Path": '"/sea"'}} for name in calls]
    return step(index, "MODEL", "PLANNER_RESPONSE", content=text, tool_calls=made)


def result(index: int, text: str, kind: str = "VIEW_FILE") -> dict[str, Any]:
    return step(index, "MODEL", kind, content=text)


def lines(*values: Any) -> bytes:
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


def messages(*values: Any) -> tuple[Message, ...]:
    (transcript,) = read(lines(*values))[0].transcripts
    return transcript.messages


def test_the_fixture_is_one_conversation() -> None:
    data = FIXTURE.read_bytes()
    chunk = read(data)[0]
    assert chunk.format is not None
    (transcript,) = chunk.transcripts
    assert chunk.format.name == "antigravity"
    roles = ["user", "assistant", "tool", "tool", "user", "assistant", "user"]
    assert [message.role for message in transcript.messages] == roles
    assert [message.is_injected for message in transcript.messages] == [
        *(False, False, False, False, True, False, False)
    ]
    results = [message.result for message in transcript.messages if message.result]
    assert [(part.name, part.is_error) for part in results] == [
        ("view_file", None),
        ("run_command", True),
    ]
    assert transcript.uncounted == 0
    assert not unpaired(transcript)
    assert run(data).data == data


def test_a_canceled_call_has_failed() -> None:
    canceled = result(2, "stopped by the user") | {"status": "CANCELED"}
    (*_, last) = messages(prompt(0, "Look."), answer(1, "", "look"), canceled)
    assert last.result is not None
    assert last.result.is_error is True


def test_an_old_exchange_is_dropped_and_the_other_steps_keep_their_bytes() -> None:
    old = [prompt(0, LONG), answer(1, "I look.", "look"), result(2, LONG), answer(3, LONG)]
    new = [prompt(4, "And now?"), answer(5, "Low tide.")]
    assert run(lines(*old, *new), [("trim", {})], limit=300).data == lines(*new)


def test_a_result_is_shortened_in_its_line() -> None:
    values = [prompt(0, "Look."), answer(1, "", "look"), result(2, LONG)]
    out = (run(lines(*values), [("truncate", {"max_tokens": 60})]).data or b"").splitlines()
    assert [json.loads(line) for line in out[:2]] == values[:2]
    new = json.loads(out[2])
    assert "truncated" in new["content"]
    assert new | {"content": LONG} == values[2]


def test_a_step_that_answers_no_call_is_a_message_of_the_client() -> None:
    found = messages(prompt(0, "Go."), answer(1, ""), result(2, "opened the chart", "BROWSER"))
    assert [(message.role, message.is_injected) for message in found] == [
        ("user", False),
        ("assistant", False),
        ("user", True),
    ]


def test_a_call_without_a_result_gets_one_as_the_next_step() -> None:
    values = [prompt(0, "Look."), answer(1, "", "look"), prompt(2, "Well?")]
    out = (run(lines(*values), [("repair", {"repair": "synthesize"})]).data or b"").splitlines()
    new = [json.loads(line) for line in out]
    assert [value["type"] for value in new] == [
        *("USER_INPUT", "PLANNER_RESPONSE", "GENERIC", "USER_INPUT")
    ]
    assert new[2]["source"] == "MODEL"
    assert not unpaired(read(b"\n".join(out))[0].transcripts[0])


def test_a_step_of_an_unknown_source_stays_and_is_reported() -> None:
    data = lines(prompt(0, "Look."), step(1, "HARBOUR", "TIDE", content="high"))
    (transcript,) = read(data)[0].transcripts
    assert (len(transcript.messages), transcript.uncounted) == (1, 1)
    assert run(data).data == data


@pytest.mark.parametrize(
    "value",
    [
        {"type": "USER_INPUT", "content": "hi"},
        {"step_index": "0", "type": "USER_INPUT"},
        {"step_index": 1, "content": "x"},
    ],
)
def test_a_step_needs_an_index_and_a_type(value: dict[str, Any]) -> None:
    found = open_reading([lines(value)]).format
    assert found is None or found.name != "antigravity"
