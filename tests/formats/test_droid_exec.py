"""The stream of `droid exec`: answers of several events, and a completion that repeats the last."""

import json
from pathlib import Path
from typing import Any

import pytest
from harness import read, run

from ctxtrim.formats.reading import open_reading
from ctxtrim.model import Message

FIXTURE = Path("fixtures/droid-exec.jsonl")
LONG = "a gull flies by " * 200


def message(role: str, text: str) -> dict[str, Any]:
    return {"type": "message", "role": role, "text": text}


def call(name: str) -> dict[str, Any]:
    return {"type": "tool_call", "id": name, "toolName": "Execute", "parameters": {"x": 1}}


def result(name: str, value: Any, **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "id": name, "toolId": "Execute", "value": value} | more


def completion(text: str) -> dict[str, Any]:
    return {"type": "completion", "finalText": text, "usage": {"input_tokens": 10**6}}


def stream(*events: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(event | {"session_id": "s"}).encode() + b"\n" for event in events)


def messages(*events: dict[str, Any]) -> tuple[Message, ...]:
    (transcript,) = read(stream(*events))[0].transcripts
    return transcript.messages


def test_the_fixture_is_one_conversation() -> None:
    data = FIXTURE.read_bytes()
    chunk = read(data)[0]
    assert chunk.format is not None
    (transcript,) = chunk.transcripts
    assert (chunk.format.name, transcript.model) == ("droid-exec", "droid-model")
    assert (transcript.id, transcript.usages) == ("bay-1", ())
    assert [message.role for message in transcript.messages] == [
        *("user", "assistant", "tool", "assistant"),
    ]
    assert [part.kind for part in transcript.messages[1].parts] == [
        *("reasoning", "text", "tool_call"),
    ]
    assert run(data).data == data
    assert not open_reading(data.splitlines(keepends=True)).detection.is_mixed


def test_a_completion_is_an_answer_if_it_does_not_repeat_the_last() -> None:
    asked = message("user", "Ready?")
    repeated = messages(asked, message("assistant", "Yes."), completion("Yes."))
    assert repeated == messages(asked, completion("Yes."))
    assert len(messages(asked, message("assistant", "Wait."), call("c1"), completion("Yes."))) == 2


def test_an_answer_is_removed_with_its_events_and_the_completion() -> None:
    old = [message("user", LONG), message("assistant", LONG), completion(LONG)]
    rest = [message("user", "And now?"), message("assistant", "Now too."), completion("Now too.")]
    out = run(stream(*old, *rest), [("trim", {})], limit=60, model="gpt-4o").data
    assert out == stream(*rest)


@pytest.mark.parametrize(
    ("value", "text", "is_error"),
    [
        ("plain", "plain", None),
        ({"stdout": "out", "exitCode": 2}, "out", True),
        ({"stdout": "out", "stderr": "err"}, '{"stdout":"out","stderr":"err"}', None),
        (None, "null", None),
    ],
)
def test_a_result_is_a_text_or_json(value: Any, text: str, is_error: bool | None) -> None:
    part = messages(message("user", "Go."), call("c1"), result("c1", value))[2].result
    assert part is not None
    assert (part.text, part.is_error, part.call_id) == (text, is_error, "c1")


@pytest.mark.parametrize(
    ("error", "code", "is_error"),
    [
        (False, 1, True),
        (True, 0, True),
        (False, 0, False),
        (None, 0, False),
        (False, None, False),
        (True, None, True),
    ],
)
def test_is_error_and_an_exit_code_mark_an_error(
    error: bool | None, code: int | None, is_error: bool
) -> None:
    failed = result("c1", {"stdout": "out", "exitCode": code}) | {"isError": error}
    part = messages(message("user", "Go."), call("c1"), failed)[2].result
    assert part is not None and part.is_error is is_error


def test_a_result_in_an_object_is_shortened_there() -> None:
    value = {"stdout": LONG, "exitCode": 0}
    data = stream(message("user", "Go."), call("c1"), result("c1", value))
    out = run(data, [("truncate", {"max_tokens": 60})]).data or b""
    changed = json.loads(out.splitlines()[2])["value"]
    assert "truncated" in changed["stdout"]
    assert changed["exitCode"] == 0


def test_calls_of_older_versions_have_another_name_for_their_id() -> None:
    older = {"type": "tool_call", "toolCallId": "c1", "toolName": "Shell", "parameters": {}}
    answered = {"type": "tool_result", "toolCallId": "c1", "value": "done"}
    found = messages(message("user", "Go."), older, answered)
    assert [part.call_id for each in found[1:] for part in each.parts] == ["c1", "c1"]


def test_errors_of_the_client_are_not_part_of_the_conversation() -> None:
    error = {"type": "error", "source": "cli", "message": "No key."}
    assert len(messages(message("user", "Go."), error)) == 1


def test_a_result_is_inserted_before_the_completion_that_repeats_its_answer() -> None:
    calls = [call("c1"), call("c2")]
    data = stream(
        message("user", "Go."),
        message("assistant", "Two looks."),
        *calls,
        result("orphan", "a boat"),
        result("c2", "a gull"),
        message("user", "And?"),
        completion("Two looks."),
    )
    out = run(data, [("repair", {"repair": "synthesize"})]).data or b""
    results = [part for each in read(out)[0].transcripts[0].messages for part in each.parts]
    answers = [part.call_id for part in results if part.kind == "tool_result"]
    assert answers == ["c1", "c2"]
    assert out.splitlines()[-1] == data.splitlines()[-1]
