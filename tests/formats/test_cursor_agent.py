"""The stream of `cursor-agent`: calls that start and complete on lines of their own."""

import json
from typing import Any

import pytest
from harness import read, run
from insertions import format_of

from ctxtrim.formats.reading import open_reading
from ctxtrim.model import Message

LONG = "a gull flies by " * 200


def says(role: str, text: str) -> dict[str, Any]:
    content = [{"type": "text", "text": text}]
    return {"type": role, "message": {"role": role, "content": content}}


def tool_call(name: str, subtype: str, **members: Any) -> dict[str, Any]:
    call = {"shellToolCall": {"args": {"command": "ls"}} | members}
    return {"type": "tool_call", "subtype": subtype, "call_id": name, "tool_call": call}


def stream(*events: dict[str, Any]) -> bytes:
    first = {"type": "system", "subtype": "init", "model": "m", "cwd": "/bay"}
    last = {"type": "result", "subtype": "success", "result": "Done."}
    values = (first, *events, last)
    return b"".join(json.dumps(value | {"session_id": "s"}).encode() + b"\n" for value in values)


def messages(*events: dict[str, Any]) -> tuple[Message, ...]:
    (transcript,) = read(stream(*events))[0].transcripts
    return transcript.messages


def completed(name: str, **result: Any) -> dict[str, Any]:
    return tool_call(name, "completed", result=result)


def test_calls_and_results_are_read() -> None:
    data = stream(
        says("user", "Read it."),
        {"type": "thinking", "subtype": "delta", "text": "Hm."},
        says("assistant", "Reading."),
        tool_call("c1", "started"),
        completed("c1", success={"content": "print(1)", "totalLines": 1}),
        says("assistant", "It prints 1."),
    )
    reading = open_reading(data.splitlines(keepends=True))
    assert reading.format is not None
    assert (reading.format.name, reading.detection.is_mixed) == ("cursor-agent", False)
    (transcript,) = next(reading.chunks).transcripts
    assert (transcript.model, transcript.id) == ("m", "s")
    assert [
        (message.role, [(part.kind, part.text) for part in message.parts])
        for message in transcript.messages
    ] == [
        ("user", [("text", "Read it.")]),
        (
            "assistant",
            [("reasoning", "Hm."), ("text", "Reading."), ("tool_call", '{"command":"ls"}')],
        ),
        ("tool", [("tool_result", "print(1)")]),
        ("assistant", [("text", "It prints 1.")]),
    ]
    assert [call.name for call in transcript.messages[1].calls] == ["shell"]
    assert run(data).data == data


def test_a_stream_without_calls_is_detected() -> None:
    data = stream(says("user", "Ready?"), says("assistant", "Yes."))
    assert format_of(data).name == "cursor-agent"


def test_a_dropped_call_is_removed_with_its_result() -> None:
    old = [says("user", LONG), tool_call("c1", "started"), completed("c1", success={"content": ""})]
    rest = [
        says("user", "And now?"),
        tool_call("c2", "started"),
        completed("c2", success={"content": "two"}),
        says("assistant", "Two."),
    ]
    out = run(stream(*old, *rest), [("trim", {})], limit=80, model="gpt-4o").data
    assert out == stream(*rest)


def test_results_are_shortened_and_errors_are_recognized() -> None:
    asked = [says("user", "Read it."), tool_call("c1", "started")]
    failed = messages(*asked, completed("c1", error={"errorMessage": "no such file"}))[-1]
    assert failed.result is not None
    assert (failed.result.text, failed.result.is_error, failed.result.span) == (
        '{"errorMessage":"no such file"}', True, None,
    )  # fmt: skip
    data = stream(*asked, completed("c1", success={"stdout": LONG, "stderr": ""}))
    out = run(data, [("truncate", {"max_tokens": 50})], model="gpt-4o").data
    assert out is not None and len(out) < len(data)
    result = json.loads(out.splitlines()[3])["tool_call"]["shellToolCall"]["result"]["success"]
    assert result["stdout"].startswith("a gull") and result["stderr"] == ""


def test_both_outputs_of_a_command_count_and_stay() -> None:
    asked = [says("user", "Run it."), tool_call("c1", "started")]
    both = {"stdout": "ok", "stderr": LONG}
    result = messages(*asked, completed("c1", success=both))[-1].result
    assert result is not None
    assert (json.loads(result.text), result.span) == (both, None)


def test_a_text_after_its_pieces_is_a_repetition() -> None:
    pieces = [
        says("assistant", "It "),
        says("assistant", "prints."),
        says("assistant", "It prints."),
    ]
    (_, answer) = messages(says("user", "Read it."), *pieces)
    assert [part.text for part in answer.parts] == ["It ", "prints."]
    assert len(answer.spans) == 3


THOUGHT = {"type": "thinking", "subtype": "delta", "text": "Hm."}


@pytest.mark.parametrize(
    "between",
    [THOUGHT, tool_call("c1", "started")],
    ids=["thinking", "a call"],
)
def test_each_text_of_an_answer_is_repeated_after_its_pieces(between: dict[str, Any]) -> None:
    first = [says("assistant", text) for text in ("It ", "prints.", "It prints.")]
    second = [says("assistant", text) for text in ("Then ", "it stops.", "Then it stops.")]
    (_, answer) = messages(says("user", "Read it."), *first, between, *second)
    texts = [part.text for part in answer.parts if part.kind == "text"]
    assert texts == ["It ", "prints.", "Then ", "it stops."]
    across = [says("assistant", "It "), THOUGHT, says("assistant", "prints."), first[-1]]
    (_, answer) = messages(says("user", "Read it."), *across, first[-1])
    assert [part.text for part in answer.parts if part.kind == "text"] == ["It ", "prints."]


def test_a_call_without_its_start_is_read_from_its_result() -> None:
    found = messages(says("user", "Read it."), completed("c1", success={"content": "one"}))
    assert [message.role for message in found] == ["user", "assistant", "tool"]
    assert [call.call_id for call in found[1].calls] == ["c1"]
