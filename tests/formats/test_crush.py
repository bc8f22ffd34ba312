"""Crush: messages of typed parts, and the summary that replaces the messages before it."""

import json
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest
from conftest import Run
from harness import read, run
from insertions import SUMMARY, format_of, written
from msgspec.structs import replace
from pictures import PICTURE

from ctxtrim.errors import NotEditableError
from ctxtrim.formats.reading import open_reading
from ctxtrim.model import Message

FIXTURE = Path("fixtures/crush.jsonl")


def part(kind: str, **data: Any) -> dict[str, Any]:
    return {"type": kind, "data": data}


def text(words: str) -> dict[str, Any]:
    return part("text", text=words)


def spoken(role: str, *parts: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"id": "m", "role": role, "parts": [*parts, part("finish", reason="stop")]} | more


def session(*messages: dict[str, Any]) -> bytes:
    return json.dumps({"session": {"id": "s"}, "messages": messages}).encode() + b"\n"


def messages(*values: dict[str, Any]) -> tuple[Message, ...]:
    (transcript,) = read(session(*values))[0].transcripts
    return transcript.messages


def test_the_fixture_is_one_conversation() -> None:
    data = FIXTURE.read_bytes()
    chunk = read(data)[0]
    assert chunk.format is not None
    (transcript,) = chunk.transcripts
    assert (chunk.format.name, transcript.model, transcript.id) == ("crush", "gpt-4o", "ses-mill")
    assert [message.role for message in transcript.messages] == [
        *("user", "user", "assistant", "tool", "tool", "assistant", "user"),
    ]
    assert [call.text for call in transcript.messages[2].calls][:1] == [
        '{"command":"cat wheels.txt"}'
    ]
    assert [message.parts[0].is_error for message in transcript.messages[3:5]] == [False, True]
    assert run(data).data == data
    assert not open_reading(data.splitlines(keepends=True)).detection.is_mixed


def test_only_the_last_summary_and_what_follows_are_sent() -> None:
    found = messages(
        spoken("user", text("One?")),
        spoken("assistant", text("First summary."), is_summary_message=True),
        spoken("user", text("Two?")),
        spoken("assistant", text("Second summary."), is_summary_message=True),
        spoken("user", text("Three?")),
    )
    assert [(message.role, message.parts[0].text) for message in found] == [
        ("user", "Second summary."),
        ("user", "Three?"),
    ]
    assert [message.is_summary for message in found] == [True, False]


def test_only_the_text_of_a_summary_is_sent() -> None:
    thought = part("reasoning", thinking="I sum up. " * 50)
    summary = spoken("assistant", thought, text("Ten wheels."), is_summary_message=True)
    (message, _) = messages(spoken("user", text("One?")), summary, spoken("user", text("Two?")))
    assert [part.text for part in message.parts] == ["Ten wheels."]


def test_a_dropped_summary_takes_what_it_replaced_with_it() -> None:
    values = [
        spoken("user", text("One? " * 50)),
        spoken("assistant", text("Much is done. " * 50), is_summary_message=True),
        spoken("user", text("Two?")),
        spoken("assistant", text("Yes.")),
        spoken("user", text("Three?")),
    ]
    ran = run(session(*values), [("trim", {})], limit=40)
    assert ran.data is not None
    assert json.loads(ran.data)["messages"] == values[2:]


def test_no_message_can_come_before_the_summary_of_a_compaction() -> None:
    summary = spoken("assistant", text("In short."), is_summary_message=True)
    data = session(spoken("user", text("One?")), summary, spoken("user", text("Two?")))
    (chunk,) = read(data)
    (found,) = chunk.transcripts
    with pytest.raises(NotEditableError, match="before the summary of a compaction"):
        written(chunk, format_of(data), replace(found, messages=(SUMMARY, *found.messages)))


def test_the_file_of_a_failed_call_is_not_sent() -> None:
    def parts(**more: bool) -> list[str]:
        file = {"tool_call_id": "c", "content": "mill", "data": PICTURE, "mime_type": "image/png"}
        call = part("tool_call", id="c", name="look", input="{}")
        answered = spoken("tool", part("tool_result", **file, **more))
        (_, message) = messages(spoken("assistant", call), answered)
        return [each.kind for each in message.parts]

    assert parts() == parts(is_error=False) == ["tool_result", "attachment"]
    assert parts(is_error=True) == ["tool_result"]


def test_an_answer_without_content_is_not_sent() -> None:
    begun = {"id": "m", "role": "assistant", "parts": []}
    values = (spoken("user", text("One?")), spoken("assistant"), begun, spoken("user", text("Two")))
    (transcript,) = read(session(*values))[0].transcripts
    assert [message.role for message in transcript.messages] == ["user", "user"]
    assert transcript.uncounted == 0


def test_files_and_commands_of_the_person_are_read_as_they_are_sent() -> None:
    data = b64encode(b"forty wheels").decode()
    file = part("binary", Path="mill.txt", MIMEType="text/plain", Data=data)
    command = part("shell_command", command="ls", output="mill.txt", exit_code=0)
    (message,) = messages(spoken("user", text("See."), file, file, command))
    notice = "The files below have been attached by the user, consider them in your response"
    assert [part.text for part in message.parts] == [
        "See.",
        f"\n<system_info>{notice}</system_info>\n<file path='mill.txt'>\n\nforty wheels\n</file>\n",
        "<file path='mill.txt'>\n\nforty wheels\n</file>\n",
        "$ ls\nmill.txt\n(exit code 0)",
    ]


def test_encrypted_reasoning_next_to_its_summary_counts(ctxtrim: Run) -> None:
    def tokens(**data: Any) -> tuple[int, str]:
        answer = spoken("assistant", part("reasoning", **data), text("Forty."))
        value = session(spoken("user", text("How many?")), answer)
        ran = ctxtrim("count", "--model", "gpt-5", "--json", stdin=value)
        (row,) = json.loads(ran.out)["transcripts"]
        return row["tokens"], row["exactness"]

    sealed = {"item_id": "r1", "encrypted_content": "gAAA" * 2000, "summary": ["hm"]}
    plain = tokens(thinking="hm")
    assert plain[1] == "bounded"
    for data in (sealed, {"type": "openai.responses.reasoning_metadata", "data": sealed}):
        found = tokens(thinking="hm", responses_data=data)
        assert (found[0] > plain[0] + 500, found[1]) == (True, "estimated")
        assert tokens(thinking="", responses_data=data)[0] < plain[0] + 10


def test_a_hidden_text_is_no_task_of_the_person() -> None:
    hidden = part("text", text="Carry on.", hidden=True)
    values = [
        spoken("user", text("Count the wheels.")),
        spoken("assistant", text("Ten so far. " * 50)),
        spoken("user", hidden),
        spoken("assistant", text("Forty.")),
    ]
    assert [message.is_injected for message in messages(*values)] == [False, False, True, False]
    ran = run(session(*values), [("trim", {})], limit=40)
    assert ran.data is not None
    assert json.loads(ran.data)["messages"][0] == values[0]


def test_a_session_as_shown_is_read_too() -> None:
    finish = {"type": "finish", "reason": "stop"}
    call = {"type": "tool_call", "tool_call_id": "c", "name": "ls", "input": "{}"}
    result = {"type": "tool_result", "tool_call_id": "c", "name": "ls", "content": "mill.txt"}
    talk = [("user", {"type": "text", "text": "List."}), ("assistant", call), ("tool", result)]
    values = [
        {"id": "m", "role": role, "created": "2026-01-02T10:00:00Z", "parts": [part, finish]}
        for role, part in talk
    ]
    data = json.dumps({"meta": {"uuid": "s"}, "messages": values}, indent=1).encode()
    (chunk,) = read(data)
    (transcript,) = chunk.transcripts
    assert chunk.format is not None
    assert (chunk.format.name, transcript.id) == ("crush", "s")
    assert [[(part.kind, part.call_id) for part in each.parts] for each in transcript.messages] == [
        *([("text", None)], [("tool_call", "c")], [("tool_result", "c")]),
    ]
    meant = replace(transcript, messages=(SUMMARY, *transcript.messages))
    first, *_ = json.loads(written(chunk, chunk.format, meant))["messages"]
    assert first["parts"] == [{"type": "text", "text": SUMMARY.parts[0].text}]


def test_parts_of_other_programs_are_not_taken_for_those_of_crush() -> None:
    parts = [{"type": "text", "text": "Hello."}]
    for value in ({"role": "user", "parts": parts}, {"id": "1", "role": "user", "parts": parts}):
        assert format_of(json.dumps({"messages": [value]}).encode()).name == "ai-sdk-ui"
