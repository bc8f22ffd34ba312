"""Context windows of numbered turns: parsed content, and the bytes of edits."""

import json
from io import BytesIO
from typing import Any

import pytest
from harness import read, run
from msgspec.structs import replace

from ctxtrim.conversation.turns import shape
from ctxtrim.formats import FORMATS
from ctxtrim.formats.reading import open_reading
from ctxtrim.formats.self_check import check
from ctxtrim.formats.writing import rewrite
from ctxtrim.model import Message, Part

Value = dict[str, Any]
TALK: tuple[Value, ...] = (
    {"id": "m1", "type": "spec_refresh", "content": "Build a parser.", "turn": 1},
    {"id": "m2", "type": "user", "content": "go", "turn": 1},
    {"id": "m3", "type": "assistant", "content": "Reading.", "turn": 1},
    {
        "id": "m4",
        "type": "tool_result",
        "content": "file one",
        "turn": 1,
        "traceId": "abc-1",
        "toolName": "read_file",
    },
    {"id": "m5", "type": "tool_result", "content": "file two", "turn": 3, "traceId": "abc-2"},
    {"id": "m6", "type": "assistant", "content": "Done.", "turn": 4},
)


def lines(*values: Any) -> bytes:
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


def messages(data: bytes) -> tuple[Message, ...]:
    return read(data)[0].transcripts[0].messages


@pytest.mark.parametrize(
    ("data", "layout"),
    [
        (lines(*TALK), "events"),
        (lines({"messages": TALK, "id": "w1", "model": "gpt-4o"}), "conversation"),
        (json.dumps([{"messages": TALK}], indent=2).encode(), "conversation"),
        (json.dumps(TALK, indent=2).encode(), "conversation"),
    ],
)
def test_every_layout_gives_the_same_messages(data: bytes, layout: str) -> None:
    reading = open_reading(BytesIO(data))
    assert (reading.format and reading.format.name, reading.layout) == ("context", layout)
    assert [(message.role, message.parts[0].text, message.turn) for message in messages(data)] == [
        ("system", "Build a parser.", 1),
        ("user", "go", 1),
        ("assistant", "Reading.", 1),
        ("tool", "file one", 1),
        ("tool", "file two", 3),
        ("assistant", "Done.", 4),
    ]


def test_a_result_is_identified_by_its_trace_id() -> None:
    results = [message.result for message in messages(lines(*TALK)) if message.result]
    assert [(part.call_id, part.name) for part in results] == [
        ("abc-1", "read_file"),
        ("abc-2", None),
    ]


def test_the_envelope_is_read() -> None:
    transcript = read(lines({"messages": TALK, "id": "w1", "model": "gpt-4o"}))[0].transcripts[0]
    assert (transcript.id, transcript.model) == ("w1", "gpt-4o")


def test_turns_have_the_numbers_of_the_file() -> None:
    assert shape(messages(lines(*TALK))).turn == (1, 1, 1, 1, 3, 4)


def test_results_need_no_call_in_a_format_without_calls() -> None:
    row = run(lines(*TALK), [("check", {"profile": "openai"})]).rows[0]
    assert "tool-result-without-call" not in [finding.code for finding in row.findings]
    assert run(lines(*TALK), [("repair", {})]).data == lines(*TALK)


@pytest.mark.parametrize(
    "value",
    [
        {"type": "user", "content": "x"},
        {"type": "user", "content": "x", "turn": True},
        {"type": "user", "content": ["x"], "turn": 1},
        {"type": "note", "content": "x", "turn": 1},
        {"type": [], "content": "x", "turn": 1},
        {"role": "user", "turn": 1},
    ],
)
def test_a_record_without_type_text_or_turn_is_not_a_message(value: Value) -> None:
    detected = open_reading(BytesIO(lines(value))).format
    assert detected is None


def test_an_unsupported_message_is_reported_and_kept() -> None:
    odd = {"id": "x", "type": "note", "content": "aside " * 200, "turn": 2}
    ran = run(lines(*TALK, odd), [("trim", {})], limit=30)
    assert [finding.code for finding in ran.rows[0].findings] == ["not-counted"]
    assert (ran.data or b"").endswith(lines(odd))


def test_an_edit_changes_only_the_content() -> None:
    long = TALK[3] | {"content": "one\n" * 4000, "big": 1.10}
    data = lines(*TALK[:3]) + lines(long).replace(b"1.1}", b"1.10}") + lines(*TALK[4:])
    out = (run(data, [("truncate", {"max_tokens": 50, "metadata": True})]).data or b"").splitlines()
    assert [line for line in data.splitlines() if line not in out] == [data.splitlines()[3]]
    edited = json.loads(out[3])
    assert len(edited.pop("content")) < 400
    assert edited.pop("_originalLength") == 16000
    assert b'"big": 1.10' in out[3]
    assert {key: edited[key] for key in ("id", "type", "turn", "traceId", "toolName")} == {
        key: long[key] for key in ("id", "type", "turn", "traceId", "toolName")
    }


def test_a_refresh_of_the_specification_is_never_dropped() -> None:
    out = run(lines(*TALK), [("trim", {})], limit=20).data or b""
    assert [json.loads(line)["id"] for line in out.splitlines()] == ["m1", "m2"]


@pytest.mark.parametrize("data", [lines(*TALK), lines({"messages": TALK})])
def test_inserted_messages_have_the_following_turn_and_a_new_id(
    data: bytes,
) -> None:
    summary = Message("user", (Part("text", "In short."),), is_summary=True)
    result = Message("tool", (Part("tool_result", "none", "abc-9", "bash"),))
    chunk = read(data)[0]
    transcript = chunk.transcripts[0]
    meant = replace(
        transcript, messages=(*transcript.messages[:4], result, summary, *transcript.messages[4:])
    )
    out = rewrite(FORMATS["context"], chunk.lines, [meant]).pieces
    check(FORMATS["context"], chunk.lines, out, [meant])
    values = [json.loads(value) for value in b"".join(out).splitlines()]
    values = values[0]["messages"] if len(values) == 1 else values
    new = [value for value in values if value not in TALK]
    assert [{key: value[key] for key in value if key != "id"} for value in new] == [
        {
            "type": "tool_result",
            "content": "none",
            "turn": 3,
            "traceId": "abc-9",
            "toolName": "bash",
        },
        {"type": "user", "content": "In short.", "turn": 3},
    ]
    assert len({value["id"] for value in values}) == 8
    assert rewrite(FORMATS["context"], chunk.lines, [meant]).pieces == out
