"""OpenAI Chat Completions: parsed content, and the bytes of edits."""

import json
from typing import Any

import pytest
from builders import call, contents, conversation, result, step, user
from conftest import Run
from harness import read, run
from pictures import PICTURE, URL

from ctxtrim.formats.reading import open_reading
from ctxtrim.model import Message


def messages(data: bytes) -> list[Message]:
    return [
        message
        for chunk in read(data)
        for transcript in chunk.transcripts
        for message in transcript.messages
    ]


def layout(data: bytes) -> tuple[str | None, str | None]:
    from io import BytesIO

    reading = open_reading(BytesIO(data))
    return reading.format.name if reading.format else None, reading.layout


SYSTEM = {"role": "system", "content": "Be kind."}
TALK = [user("go"), *step("a", "text")]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (conversation(TALK), "conversation"),
        (json.dumps({"messages": TALK}, indent=2).encode(), "conversation"),
        (json.dumps([{"messages": TALK}, {"messages": TALK}], indent=1).encode(), "conversation"),
        (json.dumps(TALK, indent=4).encode(), "conversation"),
        (b"".join(json.dumps(message).encode() + b"\n" for message in TALK), "events"),
    ],
)
def test_every_layout_gives_the_same_messages(data: bytes, expected: str) -> None:
    assert layout(data) == ("openai-chat", expected)
    assert messages(data)[:3] == messages(conversation(TALK))


def test_a_line_of_a_batch_holds_a_request() -> None:
    line = {
        "custom_id": "1",
        "method": "POST",
        "url": "/v1/chat/completions",
        "body": {"messages": TALK},
    }
    data = json.dumps(line).encode() + b"\n"
    assert layout(data) == ("openai-chat", "conversation")
    assert [message.role for message in messages(data)] == [
        message.role for message in messages(conversation(TALK))
    ]


@pytest.mark.parametrize(
    "value",
    [
        {"messages": [{"role": "user", "content": [{"type": "text", "value": "llama"}]}]},
        {"messages": "none"},
        {"role": "user", "message": {"content": []}},
        {"question": [["x"], "y"]},
        ["a", "b"],
        42,
    ],
)
def test_other_formats_are_not_detected_as_this_format(value: Any) -> None:
    assert layout(json.dumps(value).encode() + b"\n")[0] != "openai-chat"


@pytest.mark.parametrize(
    ("message", "kinds", "texts"),
    [
        ({"role": "user", "content": "x"}, ["text"], ["x"]),
        ({"role": "assistant", "content": None}, [], []),
        ({"role": "assistant", "tool_calls": None, "content": ""}, ["text"], [""]),
        ({"role": "developer", "content": [{"type": "text", "text": "x"}]}, ["text"], ["x"]),
        (
            {"role": "user", "content": [{"type": "input_audio", "input_audio": {}}]},
            ["attachment"],
            [""],
        ),
        (
            {"role": "assistant", "content": "x", "reasoning_content": "why"},
            ["reasoning", "text"],
            ["why", "x"],
        ),
        # [Ollama's API; HuggingFaceH4/Multilingual-Thinking, with which gpt-oss is tuned]
        (
            {"role": "assistant", "content": "x", "thinking": "why"},
            ["reasoning", "text"],
            ["why", "x"],
        ),
        ({"role": "assistant", "content": None, "refusal": "no"}, ["text"], ["no"]),
        ({"role": "tool", "tool_call_id": "a", "content": None}, ["tool_result"], [""]),
        ({"role": "function", "name": "f", "content": "x"}, ["tool_result"], ["x"]),
        (
            {
                "role": "assistant",
                "content": None,
                "function_call": {"name": "f", "arguments": "{}"},
            },
            ["tool_call"],
            ["{}"],
        ),
        (
            {"role": "user", "content": [{"type": "novel", "x": 1}]},
            ["text"],
            ['{"type":"novel","x":1}'],
        ),
        ({"role": "user", "content": {"odd": 1}}, ["text"], ['{"odd":1}']),
    ],
)
def test_every_shape_of_content_is_read(
    message: dict[str, Any], kinds: list[str], texts: list[str]
) -> None:
    parsed = messages(conversation([user("first"), message]))[1]
    assert [part.kind for part in parsed.parts] == kinds
    assert [part.text for part in parsed.parts] == texts


def test_custom_calls_and_object_arguments_are_read() -> None:
    calls = [
        {"id": "a", "type": "custom", "custom": {"name": "f", "input": "free text"}},
        {"id": "b", "type": "function", "function": {"name": "g", "arguments": {"x": [1]}}},
        {"id": "c"},
    ]
    message = messages(
        conversation([user("x"), {"role": "assistant", "content": None, "tool_calls": calls}])
    )[1]
    assert [(part.call_id, part.name, part.text) for part in message.calls] == [
        ("a", "f", "free text"),
        ("b", "g", '{"x":[1]}'),
        ("c", None, ""),
    ]


def test_a_message_with_an_unknown_role_is_kept_in_place() -> None:
    data = conversation(
        [user("go"), *step("a", "text " * 50), {"role": "exit", "content": "bye"}, user("now")]
    )
    left = json.loads(run(data, [("trim", {})], limit=20).data or b"")
    assert [message["role"] for message in left["messages"]] == ["exit", "user"]


def test_turns_of_a_question_form_a_single_conversation() -> None:
    turns = [[SYSTEM, user("first")], [], [user("second")]]
    line = {"id": "q1", "question": turns, "function": [{"name": "f"}], "path": ["f"]}
    data = json.dumps(line).encode() + b"\n"
    assert layout(data) == ("openai-chat", "conversation")
    (transcript,) = read(data)[0].transcripts
    assert (transcript.id, transcript.tools, [message.role for message in transcript.messages]) == (
        "q1", '[{"name":"f"}]', ["system", "user", "user"]
    )  # fmt: skip
    left = json.loads(run(data, [("trim", {})], limit=45).data or b"")
    assert left == line | {"question": [[SYSTEM], [], [user("second")]]}


def test_functions_next_to_tools_count_with_them() -> None:
    functions = [{"name": "look"}, {"name": "note"}]
    (both,) = read(conversation(TALK, tools=functions[:1], functions=functions[1:]))
    (tools,) = read(conversation(TALK, tools=functions))
    assert both.transcripts[0].tools == tools.transcripts[0].tools


def test_the_envelope_gives_model_id_and_tools() -> None:
    transcript = read(conversation(TALK, model="gpt-4o", id="t1", tools=[{"a": 1}]))[0].transcripts[
        0
    ]
    assert (transcript.model, transcript.id, transcript.tools) == ("gpt-4o", "t1", '[{"a":1}]')


def test_an_edited_line_keeps_all_other_bytes() -> None:
    line = '{"n": 1.10, "messages": [ {"role":"user","content":"caf\\u00e9 é"},{"role":"assistant",'
    line += (
        '"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}}]}, {"content": "%s", '
    )
    line += '"role": "tool", "tool_call_id": "a"} ], "big": 12345678901234567890123}\n'
    long = "\\u00fc und ü " * 300
    out = run((line % long).encode(), [("truncate", {"max_tokens": 50})]).data or b""
    before, after = line.split("%s")
    assert out.startswith(before.encode())
    assert out.endswith(after.encode())
    assert "ü und ü" in json.loads(out)["messages"][2]["content"]


def test_a_line_that_is_all_ascii_stays_ascii() -> None:
    data = conversation([user("go"), call("a"), result("a", "ü" * 5000)])
    out = run(data, [("truncate", {"max_tokens": 50})]).data or b""
    assert out.isascii()
    assert out != data


def test_lone_surrogates_survive_an_edit() -> None:
    data = conversation([user("go"), call("a"), result("a", "\ud800 " * 500)])
    out = run(data, [("truncate", {"max_tokens": 50})]).data
    assert contents(out)[2].startswith("\ud800 ")


def test_of_two_conversations_on_a_line_either_can_be_left_out() -> None:
    small, large = conversation([user("small")])[:-1], conversation([user("large " * 100)])
    ran = run(small + large + small + b"\n", [("trim", {})], limit=20)
    assert [row.overflows for row in ran.rows] == [False, True, False]
    assert [(row.line, row.index) for row in ran.rows] == [(1, 0), (1, 1), (2, 0)]
    assert ran.data == small + b"\n" + small + b"\n"


def test_a_document_with_an_overflow_is_left_out_as_a_whole() -> None:
    data = json.dumps(
        [{"messages": [user("small")]}, {"messages": [user("large " * 100)]}], indent=2
    ).encode()
    ran = run(data, [("trim", {})], limit=20)
    assert ran.data is None
    assert [row.is_written for row in ran.rows] == [False, False]


def test_messages_with_unknown_roles_make_the_count_an_estimate() -> None:
    odd = [{"role": "human", "content": "word " * 500}, {"role": []}]
    row = run(conversation([user("go"), *odd], model="gpt-4o"), tokenizer="auto").rows[0]
    assert row.count.exactness == "estimated"
    assert [finding.code for finding in row.findings] == ["not-counted"]


def test_reading_does_not_depend_on_the_first_messages() -> None:
    strange = [{"role": "exit", "content": "x"}] * 9
    data = conversation([user("old " * 200), *strange, user("hi")])
    assert json.loads(run(data, [("trim", {})], limit=20).data or b"")["messages"] == [
        *strange,
        user("hi"),
    ]


def test_a_name_and_arguments_next_to_the_id_are_a_call() -> None:
    flat = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "a", "name": "f", "arguments": {"x": 1}}],
    }
    parts = list(messages(conversation([user("x"), flat]))[1].calls)
    assert [(part.name, part.text) for part in parts] == [("f", '{"x":1}')]


def test_legacy_results_are_paired_with_the_nearest_open_call() -> None:
    def legacy(name: str) -> dict[str, Any]:
        return {
            "role": "assistant",
            "content": None,
            "function_call": {"name": name, "arguments": "{}"},
        }

    talk = [
        user("q"),
        legacy("a"),
        user("q2"),
        legacy("b"),
        {"role": "function", "name": "b", "content": "res"},
    ]
    row = run(conversation(talk), [("check", {})]).rows[0]
    assert [finding.index for finding in row.findings] == [1]


@pytest.mark.parametrize("depth", [300, 900, 990, 1020, 2000])
def test_deep_nesting_next_to_an_edit_is_unchanged(depth: int) -> None:
    deep = b'{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"f","arguments":'
    deep += b"[" * depth + b"]" * depth + b"}}]}\n"
    rest = [user("old " * 500), {"role": "assistant", "content": "long " * 500}, user("now")]
    first, second, last = (json.dumps(value).encode() + b"\n" for value in rest)
    ran = run(first + deep + second + last, [("trim", {})], limit=100)
    assert ran.data in (last, deep + last)  # read and dropped, or not understood and kept
    assert {finding.code for finding in ran.findings} <= {"not-json"}


@pytest.mark.parametrize("depth", [300, 900, 2000])
def test_deep_nesting_ends_in_a_result_or_one_clear_line(depth: int) -> None:
    arguments = b"[" * depth + b"]" * depth

    line = b'{"messages":[{"role":"user","content":"go"},'
    line += b'{"role":"assistant","tool_calls":[{"id":"a","function":'
    line += b'{"name":"f","arguments":' + arguments + b"}}]}]}\n"
    ran = run(line + conversation([user("next")]), [("trim", {})])
    assert ran.data == line + conversation([user("next")])
    assert len(ran.rows) == 2 or [finding.message for finding in ran.findings] == [
        "nested too deeply to read; the line is kept unchanged and not counted"
    ]


def answer(**members: Any) -> Message:
    value = {"role": "assistant", "content": "It burns.", **members}
    return messages(conversation([user("Does it burn?"), value]))[1]


THOUGHT = "I look at the lamp. "


@pytest.mark.parametrize(
    ("members", "text", "sealed"),
    [
        ({"reasoning_details": [{"type": "reasoning.text", "text": THOUGHT}]}, THOUGHT, 0),
        ({"reasoning_details": [{"type": "reasoning.summary", "summary": THOUGHT}]}, THOUGHT, 0),
        (
            {
                "reasoning_details": [
                    {"type": "reasoning.summary", "summary": THOUGHT},
                    {"type": "reasoning.encrypted", "data": "A" * 40},
                ]
            },
            "",
            40,
        ),
        (
            {"thinking_blocks": [{"type": "thinking", "thinking": THOUGHT, "signature": "AB"}]},
            THOUGHT,
            2,
        ),
        (
            {
                "reasoning_content": THOUGHT,
                "thinking_blocks": [{"type": "thinking", "thinking": THOUGHT}],
            },
            THOUGHT,
            0,
        ),
        (
            {
                "reasoning": THOUGHT,
                "codex_reasoning_items": [{"id": "rs_1", "encrypted_content": "A" * 40}],
            },
            THOUGHT,
            40,
        ),
        ({"reasoning_details": [None, {"type": "reasoning.text"}, 7]}, "", 0),
        (
            {"reasoning": [{"type": "thinking", "thinking": THOUGHT, "signature": "AB"}]},
            THOUGHT,
            2,
        ),
        ({"thinking": [{"type": "text", "text": THOUGHT}]}, THOUGHT, 0),
        ({"reasoning_content": {"text": THOUGHT}}, THOUGHT, 0),
        ({"reasoning_content": THOUGHT, "reasoning": [{"text": THOUGHT}]}, THOUGHT, 0),
        ({"reasoning": THOUGHT, "reasoning_content": THOUGHT}, THOUGHT, 0),
        ({"reasoning": "Hm. ", "reasoning_content": THOUGHT}, f"Hm. {THOUGHT}", 0),
    ],
)
def test_reasoning_in_blocks_counts_once(members: dict[str, Any], text: str, sealed: int) -> None:
    parts = [part for part in answer(**members).parts if part.kind == "reasoning"]
    assert "".join(part.text for part in parts) == text
    assert sum(part.sealed for part in parts) == sealed


@pytest.mark.parametrize(
    ("members", "unread"),
    [
        ({"reasoning": [{"type": "thinking", "thinking": THOUGHT}]}, []),
        ({"reasoning": [{"text": THOUGHT}, THOUGHT]}, ["reasoning"]),
        ({"thinking": {"steps": [THOUGHT]}, "reasoning": [7]}, ["reasoning", "thinking"]),
        ({"thinking": {"steps": [THOUGHT]}, "reasoning": THOUGHT}, []),
        ({"thinking": True}, ["thinking"]),
        ({"reasoning": None, "thinking": [], "reasoning_content": {}}, []),
    ],
)
def test_reasoning_in_an_unknown_form_makes_an_estimate(
    ctxtrim: Run, members: dict[str, Any], unread: list[str]
) -> None:
    told = {"role": "assistant", "content": "Yes.", **members}
    talk = [user("Does it burn?"), told, user("Still?"), told]
    ran = ctxtrim("count", "--json", "-m", "gpt-4o", stdin=conversation(talk))
    row = json.loads(ran.out)["transcripts"][0]
    assert (row["exactness"] == "estimated") == bool(unread)
    notes = [f"`{key}` in an unknown form; not counted" for key in unread]
    assert sorted(finding["message"] for finding in row["findings"]) == notes


def test_blocks_of_reasoning_are_removed(ctxtrim: Run) -> None:
    blocks = {"reasoning": [{"type": "thinking", "thinking": THOUGHT, "signature": "AB"}]}
    told = {"role": "assistant", "content": "It burns."}
    data = conversation([user("Does it burn?"), told | blocks, user("Since when?")])
    ran = ctxtrim("trim", "--thinking", "strip", "-m", "gpt-4o", stdin=data)
    assert ran.out == conversation([user("Does it burn?"), told, user("Since when?")])


def test_a_spoken_answer_is_a_sound_of_unknown_length() -> None:
    row = run(
        conversation([user("Does it burn?"), {"role": "assistant", "audio": {"id": "audio_1"}}]),
        model="gpt-4o",
    ).rows[0]
    assert row.count.exactness == "estimated"
    assert row.count.by_kind["attachment"] > 0


def test_images_next_to_a_content_are_counted() -> None:
    """Ollama's messages have them as base64."""
    shown = user("Which berth is this?") | {"images": [PICTURE, PICTURE]}
    blocks = [{"type": "image_url", "image_url": {"url": URL}}] * 2
    other = user([{"type": "text", "text": "Which berth is this?"}, *blocks])
    counts = [
        run(conversation([message]), model="gpt-4o").rows[0].count for message in (shown, other)
    ]
    assert counts[0] == counts[1]
    assert counts[0].by_kind["attachment"] == 2 * 765


def test_images_that_a_model_made_are_counted() -> None:
    """OpenRouter's answers have them as blocks."""
    block = {"type": "image_url", "image_url": {"url": URL}}
    drawn = {"role": "assistant", "content": "Here.", "images": [block, "odd.png", {}, None]}
    row = run(conversation([user("Draw it."), drawn]), model="gpt-4o").rows[0]
    assert row.count.by_kind["attachment"] >= 765
