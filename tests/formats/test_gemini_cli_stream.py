"""The output of Gemini CLI: answers in pieces, calls and results."""

import json
from typing import Any

import pytest
from conftest import Run
from harness import read, run

LONG = "a gull flies by " * 200
INIT = {"type": "init", "session_id": "bay-1", "model": "gemini-9-pro"}


def message(role: str, text: str, **more: Any) -> dict[str, Any]:
    return {"type": "message", "role": role, "content": text} | more


def call(name: str) -> dict[str, Any]:
    return {"type": "tool_use", "tool_name": "sound", "tool_id": name, "parameters": {"x": 1}}


def result(name: str, **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_id": name, "status": "success"} | more


def stream(*events: dict[str, Any]) -> bytes:
    time = {"timestamp": "2031-05-04T03:02:01.000Z"}
    return b"".join(json.dumps(event | time).encode() + b"\n" for event in events)


TALK = (
    INIT,
    message("user", "Sound the bay."),
    message("assistant", "Let me ", delta=True),
    message("assistant", "sound.", delta=True),
    call("c1"),
    call("c2"),
    result("c1", output=LONG),
    result("c2", status="error", error={"type": "x", "message": "fog"}),
    message("assistant", "Nine fathoms.", delta=True),
    {"type": "result", "status": "success", "stats": {"total_tokens": 10**6}},
)


def test_the_stream_is_one_conversation(ctxtrim: Run) -> None:
    chunk = read(stream(*TALK))[0]
    assert chunk.format is not None
    (transcript,) = chunk.transcripts
    assert (chunk.format.name, transcript.model) == ("gemini-cli-stream", "gemini-9-pro")
    assert (transcript.id, transcript.usages, transcript.uncounted) == ("bay-1", (), 0)
    assert [message.role for message in transcript.messages] == [
        *("user", "assistant", "tool", "tool", "assistant"),
    ]
    assert [part.kind for part in transcript.messages[1].parts] == [
        *("text", "text", "tool_call", "tool_call"),
    ]
    results = [message.parts[0] for message in transcript.messages[2:4]]
    assert [(part.text, part.is_error) for part in results] == [(LONG, False), ("fog", True)]
    assert ctxtrim("check", stdin=stream(*TALK)).code == 0


def test_a_prompt_without_a_time_belongs_to_the_stream(ctxtrim: Run) -> None:
    """Programs that log the stream write such a prompt before it."""
    prompt = json.dumps(message("user", "Is it deep?") | {"ts": 7}).encode() + b"\n"
    for number in range(1, len(TALK) + 1):
        data = prompt + stream(*TALK[:number])
        (chunk,) = read(data)
        assert chunk.format is not None
        assert chunk.format.name == "gemini-cli-stream"
        assert chunk.transcripts[0].messages[0].parts[0].text == "Is it deep?"
    checked = ctxtrim("check", "-m", "gpt-4o", stdin=data)
    assert (checked.code, checked.out) == (0, b"1 transcript, 6 messages, fits\n")


def test_only_the_text_of_a_result_is_shortened() -> None:
    out = run(stream(*TALK), [("truncate", {"max_tokens": 20})]).data or b""
    edited = [json.loads(line) for line in out.splitlines()]
    assert len(edited[6].pop("output")) < 200
    whole = [json.loads(line) for line in stream(*TALK).splitlines()]
    del whole[6]["output"]
    assert edited == whole


def test_an_answer_is_removed_with_its_pieces() -> None:
    rest = [message("user", "And now?"), message("assistant", "Now too.")]
    out = run(stream(*TALK, *rest), [("trim", {})], limit=30, model="gpt-4o").data
    assert out == stream(INIT, TALK[-1], *rest)


@pytest.mark.parametrize("event", [message("user", "Hi."), {"type": "result", "status": "x"}])
def test_events_of_other_programs_are_not_claimed(event: dict[str, Any]) -> None:
    form = read(stream(event))[0].format
    assert form is None or form.name != "gemini-cli-stream"
