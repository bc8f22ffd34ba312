"""LLaMA-Factory's message lists: parsed content, and the bytes of edits."""

import json
from io import BytesIO
from typing import Any

import pytest
from harness import read, run

from ctxtrim.formats.reading import open_reading
from ctxtrim.model import Message


def block(value: Any, kind: str = "text") -> dict[str, Any]:
    return {"type": kind, "value": value}


def turn(role: str, *blocks: Any) -> dict[str, Any]:
    return {
        "role": role,
        "content": [block(item) if isinstance(item, str) else item for item in blocks],
    }


def call(name: str = "look", **arguments: Any) -> dict[str, Any]:
    return block(json.dumps({"name": name, "arguments": arguments}), "tool_call")


def line(*messages: Any, key: str = "messages", **around: Any) -> bytes:
    return json.dumps({key: messages} | around).encode() + b"\n"


def messages(data: bytes) -> list[Message]:
    return [
        message
        for chunk in read(data)
        for transcript in chunk.transcripts
        for message in transcript.messages
    ]


def detected(data: bytes) -> str | None:
    file_format = open_reading(BytesIO(data)).format
    return file_format.name if file_format else None


TALK = (
    turn("user", "go"),
    turn("assistant", "Looking.", call(at=1)),
    turn("tool", "seen"),
    turn("assistant", "Done."),
)


@pytest.mark.parametrize(
    "data",
    [
        line(*TALK),
        line(*TALK, key="chosen_messages"),
        json.dumps([{"messages": TALK}], indent=2).encode(),
        b"".join(json.dumps(message).encode() + b"\n" for message in TALK),
    ],
)
def test_every_layout_gives_the_same_messages(data: bytes) -> None:
    assert detected(data) == "llamafactory"
    assert [
        (message.role, [(part.kind, part.text) for part in message.parts])
        for message in messages(data)
    ] == [
        ("user", [("text", "go")]),
        ("assistant", [("text", "Looking."), ("tool_call", '{"at": 1}')]),
        ("tool", [("tool_result", "seen")]),
        ("assistant", [("text", "Done.")]),
    ]


@pytest.mark.parametrize(
    "message",
    [
        {"role": "user", "content": "plain"},
        {"role": "user", "content": [{"type": "text", "text": "x"}]},
        {"role": "user", "content": []},
        {"role": "alien", "content": [block("x")]},
    ],
)
def test_other_formats_are_not_detected_as_this_format(message: Any) -> None:
    assert detected(line(message)) != "llamafactory"


@pytest.mark.parametrize(
    ("role", "block", "kinds", "texts"),
    [
        ("assistant", block("why", "reasoning"), ["reasoning"], ["why"]),
        ("assistant", call(at=1), ["tool_call"], ['{"at": 1}']),
        ("assistant", block("no JSON", "tool_call"), ["tool_call"], ["no JSON"]),
        ("user", block("a.png", "image_url"), ["attachment"], [""]),
        ("user", block("a.mp4", "video_url"), ["attachment"], [""]),
        ("user", block("x", "novel"), ["text"], ['{"type":"novel","value":"x"}']),
        ("tool", block("a.png", "image_url"), ["tool_result", "attachment"], ["", ""]),
    ],
)
def test_every_kind_of_block_is_read(
    role: str, block: Any, kinds: list[str], texts: list[str]
) -> None:
    message = messages(line(turn("user", "go"), turn(role, block)))[1]
    assert [part.kind for part in message.parts] == kinds
    assert [part.text for part in message.parts] == texts


def test_a_preference_is_two_conversations() -> None:
    data = json.dumps({"chosen_messages": TALK, "rejected_messages": TALK[:1]}).encode() + b"\n"
    transcripts = read(data)[0].transcripts
    assert [(transcript.pointer, len(transcript.messages)) for transcript in transcripts] == [
        ((), 4),
        ((), 1),
    ]


def test_a_single_message_can_answer_all_calls_before_it() -> None:
    calls = turn("assistant", call("a"), call("b"), call("c"))
    data = line(
        turn("user", "go"),
        calls,
        turn("tool", "all three"),
        turn("assistant", "so"),
        turn("user", "and?"),
    )
    assert run(data, [("check", {})]).rows[0].findings == ()


def test_unanswered_calls_are_reported() -> None:
    data = line(turn("user", "go"), turn("assistant", call("a"), call("b")), turn("user", "and?"))
    assert [finding.code for finding in run(data, [("check", {})]).rows[0].findings] == [
        "call-without-result"
    ] * 2


def test_a_second_result_after_other_text_answers_no_call() -> None:
    calls = turn("assistant", call("a"), call("b"))
    data = line(
        turn("user", "go"),
        calls,
        turn("tool", "both"),
        turn("assistant", "so"),
        turn("tool", "late"),
    )
    assert [finding.code for finding in run(data, [("check", {})]).rows[0].findings] == [
        "tool-result-without-call"
    ]


def test_tools_are_read_from_json_in_a_string() -> None:
    transcript = read(line(*TALK, tools='[{"name": "look"}]', id="t"))[0].transcripts[0]
    assert (transcript.tools, transcript.id) == ('[{"name": "look"}]', "t")


def test_a_result_is_shortened_in_place() -> None:
    data = line(*TALK[:2], turn("tool", "long " * 500) | {"loss_weight": 0.50}, TALK[3])
    out = run(data, [("truncate", {"max_tokens": 50, "metadata": True})]).data or b""
    short = json.loads(out)["messages"][2]
    assert short["content"][0]["value"].startswith("long long")
    assert (short["_originalLength"], short["_truncatedAt"]) == (2500, 0)
    assert out[: out.index(b"long")] == data[: data.index(b"long")]


def test_shortened_results_of_several_blocks_are_merged_into_the_first() -> None:
    data = line(*TALK[:2], turn("tool", "long " * 300, "more " * 300, block("a.png", "image_url")))
    out = json.loads(run(data, [("truncate", {"max_tokens": 50})]).data or b"")
    assert [event["type"] for event in out["messages"][2]["content"]] == ["text", "image_url"]


def test_an_exchange_is_dropped_as_a_whole() -> None:
    asks = turn("user", "go"), turn("user", "please")
    data = line(
        *asks, turn("assistant", call(at="x" * 400)), turn("tool", "seen"), turn("user", "now")
    )
    out = json.loads(run(data, [("trim", {})], limit=30).data or b"")
    assert out["messages"] == [asks[0], turn("user", "now")]
