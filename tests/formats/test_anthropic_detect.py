"""Which files are Anthropic's, and which are left to others."""

import json
from io import BytesIO
from typing import Any

import pytest
from harness import read, run

from ctxtrim.formats import FORMATS
from ctxtrim.formats.reading import Reading, open_reading

Value = dict[str, Any]
PLAIN = [
    {"role": "user", "content": "hi"},
    {"role": "assistant", "content": [{"type": "text", "text": "hello"}]},
]
USE = {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}]}
RESULT = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "x"}]}
CALL = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": "{}"}}],
}
ANSWER = {"role": "tool", "tool_call_id": "a", "content": "x"}


def lines(*values: Any) -> bytes:
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


def opened(data: bytes) -> Reading:
    return open_reading(BytesIO(data))


def name(data: bytes) -> str | None:
    detected = opened(data).format
    return detected.name if detected else None


@pytest.mark.parametrize(
    ("data", "layout"),
    [
        (lines({"messages": [*PLAIN, USE, RESULT]}), "conversation"),
        (json.dumps({"messages": [*PLAIN, USE, RESULT]}, indent=2).encode(), "conversation"),
        (json.dumps([{"messages": [*PLAIN, USE, RESULT]}] * 2, indent=1).encode(), "conversation"),
        (
            json.dumps([*PLAIN, USE, RESULT], indent=4).encode(),
            "conversation",
        ),  # as Cline keeps them
        (lines({"custom_id": "1", "params": {"messages": [*PLAIN, USE, RESULT]}}), "conversation"),
        (lines({"request": {"messages": [*PLAIN, USE, RESULT]}}), "conversation"),
        (
            lines({"recordId": "1", "modelInput": {"messages": [*PLAIN, USE, RESULT]}}),
            "conversation",
        ),
        (
            lines({"request": {"body": {"messages": [*PLAIN, USE, RESULT]}}, "response": {}}),
            "conversation",
        ),
        (
            json.dumps({"requests": [{"params": {"messages": [*PLAIN, USE, RESULT]}}]}).encode(),
            "conversation",
        ),
        (lines(*PLAIN, USE, RESULT), "events"),
    ],
)
def test_every_layout_gives_the_same_messages(data: bytes, layout: str) -> None:
    reading = opened(data)
    assert (reading.format and reading.format.name, reading.layout) == ("anthropic", layout)
    messages = read(data)[0].transcripts[0].messages
    assert [message.role for message in messages] == ["user", "assistant", "assistant", "tool"]


@pytest.mark.parametrize(
    "around",
    [
        {"system": "Be brief."},
        {"tools": [{"type": "memory_20250818", "name": "memory"}]},
        {"system": [{"type": "text", "text": "Be brief."}]},
        {"model": "claude-opus-4-6"},
        {"model": "us.anthropic.claude-sonnet-4-5-v1:0"},
        {"tools": [{"name": "f", "input_schema": {}}]},
        {"anthropic_version": "bedrock-2023-05-31"},
        {"mcp_servers": [{"type": "url", "name": "sea", "url": "https://sea.example"}]},
        {"usage": {"input_tokens": 3, "output_tokens": 1}},
    ],
)
def test_plain_texts_are_detected_by_their_envelope(around: Value) -> None:
    assert name(lines(around | {"messages": PLAIN})) == "anthropic"
    assert name(lines(around | {"messages": [*PLAIN, CALL, ANSWER]})) == "openai-chat"


def test_a_chat_stays_one_without_its_calls_if_its_tools_are_functions() -> None:
    """Some clients write the schema of a function under the keys of both APIs."""
    schema = {"type": "object", "properties": {"berth": {"type": "string"}}}
    tool = {"name": "f", "type": "function", "function": {"name": "f"}, "input_schema": schema}
    ask = {"role": "user", "content": "Which berths are free? " * 30}
    talk = [ask, CALL, ANSWER, {"role": "assistant", "content": "Two."}, PLAIN[0]]
    data = lines({"tools": [tool], "messages": talk})
    out = run(data, [("trim", {"strategy": "oldest"})], limit=100).data
    assert out is not None and b"tool_calls" not in out
    assert (name(data), name(out)) == ("openai-chat", "openai-chat")


@pytest.mark.parametrize(
    "block",
    [
        {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
        {"type": "redacted_thinking", "data": "b3Bh"},
        {"type": "image", "source": {"type": "base64", "data": "AAAA"}},
        {"type": "document", "source": {"type": "url", "url": "https://example.org/a.pdf"}},
        {"type": "web_search_tool_result", "tool_use_id": "s", "content": []},
        {"type": "compaction", "content": "What happened."},
    ],
)
def test_a_single_unique_block_decides_the_format(block: Value) -> None:
    assert (
        name(lines({"messages": [*PLAIN * 10, {"role": "user", "content": [block]}]}))
        == "anthropic"
    )


@pytest.mark.parametrize(
    "value",
    [
        {"messages": PLAIN},
        {"messages": [*PLAIN, CALL, ANSWER]},
        {"messages": [{"role": "system", "content": "x"}, *PLAIN], "model": "claude-opus-4-6"},
        {
            "messages": PLAIN,
            "model": "claude-opus-4-6",
            "tools": [{"type": "function", "function": {"name": "f"}}],
        },
        {
            "messages": [PLAIN[0], {"role": "assistant", "content": "x", "finish_reason": "stop"}],
            "model": "claude-3",
        },
        {
            "messages": [
                {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}
            ],
            "system": "x",
        },
        {"messages": []},
    ],
)
def test_ambiguous_messages_are_read_as_openai(value: Value) -> None:
    assert name(lines(value)) == "openai-chat"


@pytest.mark.parametrize(
    "value",
    [
        {
            "messages": [{"role": "user", "content": [{"type": "text", "value": "llama"}]}],
            "system": "x",
        },
        {
            "type": "message",
            "id": "1",
            "message": {"role": "user", "content": [{"type": "text", "text": "x"}]},
        },
        {"type": "message", "message": {"role": "toolResult", "toolCallId": "a", "content": []}},
        {"role": "user", "message": {"content": []}},
        {"system": "x", "messages": "none"},
    ],
)
def test_messages_of_many_formats_have_no_certain_format(value: Value) -> None:
    assert name(lines(value)) not in ("anthropic", "openai-chat")


def test_files_of_cursor_and_droid_are_detected_by_their_first_lines() -> None:
    text = [{"type": "text", "text": "x"}]
    assert name(lines({"role": "user", "message": {"content": text}})) == "anthropic"
    start = {"type": "session_start", "id": "s", "cwd": "/x"}
    data = lines(
        start, {"type": "message", "id": "1", "message": {"role": "user", "content": text}}
    )
    assert name(data) == "anthropic"
    assert len(read(data)[0].transcripts[0].messages) == 1


def test_a_conversation_with_tools_decides_for_plain_conversations_before_it() -> None:
    data = lines(
        *[{"messages": PLAIN}] * 5, {"messages": [*PLAIN, USE, RESULT]}, {"messages": PLAIN}
    )
    assert name(data) == "anthropic"
    assert [len(chunk.transcripts[0].messages) for chunk in read(data)] == [2, 2, 2, 2, 2, 4, 2]


def test_a_message_with_tools_decides_for_plain_messages_around_it() -> None:
    data = lines(*PLAIN * 5, USE, RESULT, *PLAIN * 5)
    assert name(data) == "anthropic"
    assert [len(transcript.messages) for transcript in read(data)[0].transcripts] == [22]


def test_each_line_of_a_mixed_file_is_read_in_its_format() -> None:
    ours, theirs = {"messages": [*PLAIN, USE, RESULT]}, {"messages": [*PLAIN, CALL, ANSWER]}
    for first, other in ((ours, theirs), (theirs, ours)):
        chunks = read(lines(first, other, first))
        assert [len(chunk.transcripts[0].messages) for chunk in chunks] == [4, 4, 4]
        names = [chunk.format.name for chunk in chunks if chunk.format]
        assert names == [name(lines(value)) for value in (first, other, first)]


def test_a_conversation_late_in_a_file_is_read_in_its_format() -> None:
    data = lines(*[{"messages": PLAIN}] * 100, {"messages": [*PLAIN, USE, RESULT]})
    ran = run(data, [("trim", {})], limit=10)
    assert [row.format for row in ran.rows[-2:]] == ["openai-chat", "anthropic"]
    assert (ran.data or b"").splitlines()[-1] == lines({"messages": PLAIN[:1]}).strip()


def test_single_messages_of_another_format_are_reported_and_kept() -> None:
    data = lines(*PLAIN * 40, USE, RESULT)
    ran = run(data, [("trim", {})], limit=20)
    assert [finding.code for finding in ran.rows[0].findings] == ["not-counted"]
    assert (ran.data or b"").endswith(lines(USE, RESULT))


def test_plain_texts_are_read_with_an_explicit_format() -> None:
    for data in (lines({"messages": PLAIN}), lines(*PLAIN)):
        reading = open_reading(BytesIO(data), (FORMATS["anthropic"],))
        assert [
            len(transcript.messages) for chunk in reading.chunks for transcript in chunk.transcripts
        ] == [2]
    reading = open_reading(BytesIO(lines({"messages": [CALL, ANSWER]})), (FORMATS["anthropic"],))
    assert reading.format is None


def test_lists_at_another_path_are_read_with_their_system_prompt() -> None:
    placed = FORMATS["anthropic"].placed
    assert placed is not None
    data = lines({"runs": [{"talk": [*PLAIN, USE, RESULT], "system": "x"}]})
    transcripts = [
        transcript
        for chunk in open_reading(BytesIO(data), (placed("runs[*].talk"),)).chunks
        for transcript in chunk.transcripts
    ]
    assert [message.role for message in transcripts[0].messages] == [
        "system",
        "user",
        "assistant",
        "assistant",
        "tool",
    ]


@pytest.mark.parametrize("key", ["reasoning", "reasoning_content", "thinking"])
@pytest.mark.parametrize("around", [{}, {"model": "claude-sonnet-4-5"}, {"system": "Be brief."}])
def test_a_chat_with_reasoning_next_to_its_content_counts_it(
    key: str, around: dict[str, str]
) -> None:
    """No message of Anthropic has these members; Roo Code adds them to Anthropic's blocks."""
    thoughtful = [PLAIN[0], PLAIN[1] | {key: "Which berth is free?"}]
    for messages, form in ((thoughtful, "openai-chat"), ([*thoughtful, USE, RESULT], "anthropic")):
        data = json.dumps({"messages": messages} | around).encode()
        assert name(data) == form
        (found,) = read(data)[0].transcripts
        answer = next(message for message in found.messages if message.role == "assistant")
        assert [part.kind for part in answer.parts] == ["reasoning", "text"]
        assert answer.parts[0].text == "Which berth is free?"
