"""Transcripts and exports of Windsurf."""

import json
from pathlib import Path
from typing import Any

from harness import read, run
from insertions import SUMMARY, format_of, written
from msgspec.structs import replace

FIXTURE = Path("fixtures/windsurf.jsonl")
LONG = "a tide comes in " * 200


def sent(sender: str, text: str) -> dict[str, Any]:
    return {"sender": sender, "parts": [{"type": "text", "text": text}], "timestamp": 1}


def export(*messages: dict[str, Any]) -> dict[str, Any]:
    return {"app": "Windsurf", "conversation": {"id": "w", "messages": list(messages)}}


def roles(data: bytes) -> list[str]:
    (transcript,) = read(data)[0].transcripts
    return [message.role for message in transcript.messages]


def test_the_fixture_is_one_conversation() -> None:
    data = FIXTURE.read_bytes()
    chunk = read(data)[0]
    assert chunk.format is not None
    (transcript,) = chunk.transcripts
    assert (chunk.format.name, transcript.uncounted) == ("windsurf", 1)
    assert roles(data) == ["user", "assistant", "assistant", "assistant", "user"]
    assert "dredger: 4" in transcript.messages[2].parts[0].text
    assert run(data).data == data


def test_the_last_prompt_stays_and_unknown_steps_stay_too() -> None:
    lines = FIXTURE.read_bytes().splitlines(keepends=True)
    budget = 80
    (row,) = (ran := run(b"".join(lines), [("trim", {})], limit=budget)).rows
    assert row.fits
    assert lines[3] in (ran.data or b"")
    assert (ran.data or b"").endswith(lines[5])


def test_an_export_has_messages_in_two_forms() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    asked = {"role": "assistant", "content": "I look.", "tool_calls": [call]}
    done = {"role": "tool", "tool_call_id": "c1", "content": LONG}
    new = sent("user", "And now?")
    value = export(sent("user", LONG), asked, done, sent("assistant", LONG), new)
    data = json.dumps(value).encode()
    assert roles(data) == ["user", "assistant", "tool", "assistant", "user"]
    ran = run(data, [("trim", {})], limit=300)
    assert json.loads(ran.data or b"")["conversation"]["messages"] == [new]
    assert run(data).data == data


def test_a_new_message_next_to_one_with_a_time_has_it_too() -> None:
    done = {"role": "tool", "tool_call_id": "c1", "content": "4 m", "createdAt": "2026-05-04"}
    values = [export(sent("user", "Look."), done), export(sent("user", "And now?"))]
    data = json.dumps(values).encode()
    (chunk,) = read(data)
    first, second = chunk.transcripts
    out = json.loads(written(chunk, format_of(data), replace(first, messages=(SUMMARY,)), second))
    (new,) = out[0]["conversation"]["messages"]
    assert new == {
        "role": "user",
        "content": SUMMARY.parts[0].text,
        "createdAt": "2026-05-04",
    }


def test_an_export_without_a_sender_is_a_chat() -> None:
    value = {"conversation": {"messages": [{"role": "user", "content": "Say hello."}]}}
    chunk = read(json.dumps(value).encode())[0]
    assert chunk.format is not None
    assert (chunk.format.name, len(chunk.transcripts[0].messages)) == ("openai-chat", 1)
