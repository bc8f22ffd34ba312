"""Sessions of Kiro CLI: records of blocks, from the last `Clear` on."""

import json
from pathlib import Path
from typing import Any

import pytest
from harness import read, run
from msgspec.structs import replace
from test_insertion import SUMMARY, format_of, written

FIXTURE = Path("fixtures/kiro-cli.jsonl")
ROWS = "gate 1 open\n" * 300


def record(kind: str, *blocks: tuple[str, Any]) -> dict[str, Any]:
    content = [{"kind": name, "data": data} for name, data in blocks]
    return {"version": "v1", "kind": kind, "data": {"message_id": "m", "content": content}}


def use(name: str) -> tuple[str, Any]:
    return "toolUse", {"toolUseId": name, "name": "shell", "input": {"command": "ls"}}


def result(name: str, *content: tuple[str, Any]) -> tuple[str, Any]:
    blocks = [{"kind": kind, "data": data} for kind, data in content]
    return "toolResult", {"toolUseId": name, "content": blocks, "status": "success"}


def session(*records: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(value).encode() + b"\n" for value in records)


def test_the_fixture_is_one_conversation() -> None:
    data = FIXTURE.read_bytes()
    chunk = read(data)[0]
    assert chunk.format is not None
    (transcript,) = chunk.transcripts
    assert chunk.format.name == "kiro-cli"
    assert [message.role for message in transcript.messages] == [
        *("user", "assistant", "tool", "tool", "assistant", "user", "user"),
    ]
    assert [part.kind for part in transcript.messages[1].parts] == [
        *("reasoning", "text", "tool_call", "tool_call"),
    ]
    first, second = (message.result for message in transcript.messages[2:4])
    assert first is not None
    assert second is not None
    assert (first.text.splitlines()[0], first.is_error) == ("gate 1 open", None)
    assert (second.text, second.call_id, second.is_error) == ("no such file", "tooluse_2", True)
    assert transcript.messages[5].is_summary
    assert [part.kind for part in transcript.messages[6].parts] == ["text", "attachment"]
    assert run(data).data == data


@pytest.mark.parametrize("kind", ["json", "text"])
def test_an_output_is_shortened_where_it_is(kind: str) -> None:
    output = {"exit_status": "0", "stdout": ROWS, "stderr": ""} if kind == "json" else ROWS
    data = session(
        record("Prompt", ("text", "Look.")),
        record("AssistantMessage", use("c1")),
        record("ToolResults", result("c1", (kind, output))),
    )
    out = run(data, [("truncate", {"max_tokens": 60})]).data or b""
    changed = json.loads(out.splitlines()[2])["data"]["content"][0]["data"]["content"][0]["data"]
    text = changed["stdout"] if kind == "json" else changed
    assert "truncated" in text
    assert out.splitlines()[:2] == data.splitlines()[:2]
    assert kind == "text" or changed | {"stdout": ROWS} == output


def test_a_record_is_removed_with_its_last_result() -> None:
    old = [
        record("Prompt", ("text", ROWS)),
        record("AssistantMessage", use("c1"), use("c2")),
        record("ToolResults", result("c1", ("text", ROWS)), result("c2", ("text", ROWS))),
    ]
    new = record("Prompt", ("text", "And now?"))
    assert run(session(*old, new), [("trim", {})], limit=20).data == session(new)


def test_an_answer_is_inserted_for_a_call_without_a_result() -> None:
    data = session(
        record("Prompt", ("text", "Look.")),
        record("AssistantMessage", use("c1")),
        record("Prompt", ("text", "And?")),
    )
    out = run(data, [("repair", {"repair": "synthesize"})]).data or b""
    made = json.loads(out.splitlines()[2])
    assert (made["version"], made["kind"]) == ("v1", "ToolResults")
    assert made["data"]["content"][0]["data"]["toolUseId"] == "c1"
    assert made["data"]["message_id"] != "m"


def test_a_record_is_split_around_a_new_message() -> None:
    data = session(
        record("Prompt", ("text", "Look.")),
        record("ToolResults", result("a", ("text", "one")), result("b", ("text", "two"))),
    )
    chunk = read(data)[0]
    (transcript,) = chunk.transcripts
    first, second, third = transcript.messages
    meant = replace(transcript, messages=(first, second, SUMMARY, third))
    values = [json.loads(line) for line in written(chunk, format_of(data), meant).splitlines()]
    assert [value["kind"] for value in values] == [
        *("Prompt", "ToolResults", "Prompt", "ToolResults"),
    ]
    assert len({value["data"]["message_id"] for value in values[1:]}) == 3


def test_messages_before_a_clear_do_not_count() -> None:
    old, new = record("Prompt", ("text", "Old.")), record("Prompt", ("text", "New."))
    data = session(old, {"version": "v1", "kind": "Clear", "data": None}, new)
    (transcript,) = read(data)[0].transcripts
    assert [message.parts[0].text for message in transcript.messages] == ["New."]
