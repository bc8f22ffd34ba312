"""ShareGPT: parsed content, and the bytes of edits."""

import json
from io import BytesIO
from typing import Any

import pytest
from harness import read, run, unpaired

from ctxtrim.formats.reading import open_reading
from ctxtrim.model import Transcript

Turn = dict[str, str]


def turn(who: str, value: str) -> Turn:
    return {"from": who, "value": value}


def call_json(name: str = "look", **arguments: Any) -> str:
    return json.dumps({"name": name, "arguments": arguments})


def talk(*turns: Turn, **around: Any) -> bytes:
    return json.dumps({"conversations": turns} | around, ensure_ascii=False).encode() + b"\n"


def transcript(data: bytes) -> Transcript:
    return read(data)[0].transcripts[0]


def detected(data: bytes) -> str | None:
    file_format = open_reading(BytesIO(data)).format
    return file_format.name if file_format else None


TURNS = (
    turn("system", "be brief"),
    turn("human", "go"),
    turn("function_call", call_json(at=1)),
    turn("observation", "seen"),
    turn("gpt", "Done."),
)


@pytest.mark.parametrize(
    "data",
    [
        talk(*TURNS),
        json.dumps([{"conversations": TURNS}], indent=2).encode(),
        json.dumps(TURNS).encode(),
        b"".join(json.dumps(turn).encode() + b"\n" for turn in TURNS),
        talk(*TURNS[1:], system="be brief"),
    ],
)
def test_every_layout_gives_the_same_messages(data: bytes) -> None:
    assert detected(data) == "sharegpt"
    assert [
        (message.role, [(part.kind, part.text) for part in message.parts])
        for message in transcript(data).messages
    ] == [
        ("system", [("text", "be brief")]),
        ("user", [("text", "go")]),
        ("assistant", [("tool_call", '{"at": 1}')]),
        ("tool", [("tool_result", "seen")]),
        ("assistant", [("text", "Done.")]),
    ]


@pytest.mark.parametrize(
    "value",
    [
        {"from": "Alice", "value": "x"},
        {"from": "human", "value": 1},
        {"from": "human"},
        {"conversations": []},
    ],
)
def test_other_formats_are_not_detected_as_this_format(value: Any) -> None:
    assert detected(json.dumps(value).encode() + b"\n") is None


@pytest.mark.parametrize(
    ("value", "calls"),
    [
        (call_json(at=1), [("look", '{"at": 1}')]),
        (f"[{call_json('a', x=1)}, {call_json('b')}]", [("a", '{"x": 1}'), ("b", "{}")]),
        (
            '{"name":"f","arguments":{"x":"\\u00e9",  "y":1.10}}',
            [("f", '{"x":"\\u00e9",  "y":1.10}')],
        ),
        ('{"name": "f", "arguments": 7}', [("f", "7")]),
        ('{"name": "f", "arguments": "{\\"x\\": 1}"}', [("f", '{"x": 1}')]),
        ('{"name": "f", "parameters": {"x": 1}}', [("f", '{"x": 1}')]),
        ('{"name": "f"}', [("f", "")]),
        ("look(1)", [(None, "look(1)")]),
        ("[]", [(None, "[]")]),
        ("null", [(None, "null")]),
    ],
)
def test_calls_are_parsed_from_their_string(
    value: str, calls: list[tuple[str | None, str]]
) -> None:
    parts = transcript(talk(turn("human", "go"), turn("function_call", value))).messages[1].calls
    assert [(part.name, part.text) for part in parts] == calls


def test_hermes_calls_inside_text_have_results_and_count_as_text() -> None:
    text = f"Well.\n<tool_call>\n{call_json(at=1)}\n</tool_call>"
    data = talk(turn("human", "go"), turn("gpt", text), turn("tool", "seen"))
    row = run(data, [("check", {})]).rows[0]
    assert row.findings == ()
    assert [(part.kind, part.name, part.text) for part in transcript(data).messages[1].parts] == [
        ("text", None, text),
        ("tool_call", "look", ""),
    ]
    alone = talk(turn("human", "go"), turn("gpt", text), turn("human", "and?"))
    assert run(alone, [("check", {})]).rows[0].findings == ()


@pytest.mark.parametrize("sender", ["tool", "function"])
def test_an_answer_right_before_a_tool_turn_is_its_call(sender: str) -> None:
    """ToolACE writes calls as `[look(at=1)]`, ToolBench as an action and its input."""
    turns = (
        turn("user", "go"),
        turn("assistant", "[look(at=1), look(at=2)]"),
        turn(sender, "seen " * 90),
        turn("assistant", "Done."),
        turn("user", "And now?"),
    )
    assert run(talk(*turns), [("check", {})]).rows[0].findings == ()
    as_prose = talk(*(turn("user", "seen " * 90) if at["from"] == sender else at for at in turns))
    counts = [run(data).rows[0].count.tokens for data in (talk(*turns), as_prose)]
    assert counts[0] <= counts[1]  # the call costs nothing besides its text
    ran = run(talk(*turns), [("trim", {"keep_recent_turns": 0})], limit=30)
    assert json.loads(ran.data or b"")["conversations"] == [turns[0], *turns[3:]]


def test_calls_in_text_are_read_in_one_pass() -> None:
    """A pattern takes hours for tags without an end, and for blanks."""
    tags, blanks = "<tool_call>" * 100_000, " " * 1_000_000
    text = f"{tags}{blanks}</tool_call><tool_call>{blanks}{call_json()}{blanks}</tool_call>{tags}"
    data = talk(turn("human", "go"), turn("gpt", text), turn("tool", "seen"))
    assert [part.name for part in transcript(data).messages[1].calls] == [None, "look"]


@pytest.mark.parametrize(
    ("tools", "found"),
    [
        ('[{"name": "look"}]', '[{"name": "look"}]'),
        ([{"name": "look"}], '[{"name":"look"}]'),
        ("[]", None),
        ("", None),
        ("call look(at)", '"call look(at)"'),
    ],
)
def test_tools_are_read_from_json_in_a_string(tools: Any, found: str | None) -> None:
    assert transcript(talk(*TURNS, tools=tools)).tools == found
    assert run(talk(*TURNS, tools=tools)).rows[0].count.tokens > 0


def test_single_answers_next_to_the_conversation_are_two_conversations_of_one_prompt() -> None:
    old = [turn("human", "old " * 99), turn("gpt", "old " * 99)]
    prompt = turn("human", "go")
    answers = {"chosen": turn("gpt", "good " * 9), "rejected": turn("gpt", "bad " * 99)}
    ran = run(talk(*old, prompt, **answers, id="t"), [("trim", {})], limit=120)
    assert ran.data == talk(prompt, **answers, id="t")
    assert [(row.messages, row.id) for row in ran.rows] == [(2, "t"), (2, "t")]


def test_an_observation_without_a_call_is_reported() -> None:
    row = run(
        talk(turn("human", "go"), turn("gpt", "so"), turn("observation", "x")), [("check", {})]
    ).rows[0]
    assert [finding.code for finding in row.findings] == ["tool-result-without-call"]


def test_several_calls_in_a_string_share_an_observation_or_have_separate_ones() -> None:
    calls = turn("function_call", f"[{call_json('a')}, {call_json('b')}]")
    for results in (
        [turn("observation", "both")],
        [turn("observation", "1"), turn("observation", "2")],
    ):
        data = talk(turn("human", "go"), calls, *results, turn("gpt", "so"), turn("human", "and?"))
        assert run(data, [("check", {})]).rows[0].findings == ()


def test_unknown_speakers_are_kept_and_reported() -> None:
    data = talk(turn("human", "old " * 99), turn("narrator", "meanwhile"), turn("human", "now"))
    ran = run(data, [("trim", {})], limit=20)
    assert ran.data == talk(turn("narrator", "meanwhile"), turn("human", "now"))
    assert [finding.code for finding in ran.rows[0].findings] == ["not-counted"]


def test_a_result_is_shortened_in_place() -> None:
    data = talk(*TURNS[:3], turn("observation", "naïve " * 500) | {"weight": 1.10}, *TURNS[4:])
    out = run(data, [("truncate", {"max_tokens": 50, "metadata": True})]).data or b""
    short = json.loads(out)["conversations"][3]
    assert short["value"].startswith("naïve ")
    assert (short["_originalLength"], b'"weight": 1.1' in out) == (3000, True)
    assert out[: out.index(b"na")] == data[: data.index(b"na")]


def test_a_call_is_dropped_with_its_observation() -> None:
    turns = (
        turn("human", "go"),
        turn("human", "please"),
        turn("function_call", call_json(at="x" * 400)),
        turn("observation", "seen"),
    )
    out = run(talk(*turns, turn("human", "now")), [("trim", {})], limit=30).data or b""
    assert [conversation["value"] for conversation in json.loads(out)["conversations"]] == [
        "go",
        "now",
    ]


@pytest.mark.parametrize("senders", [("User", "Assistant"), ("Human", "GPT")])
def test_senders_may_be_in_capitals(senders: tuple[str, str]) -> None:
    """Chats for NeMo, with their other members."""
    person, model = senders
    turns = (turn(person, "old " * 90), turn(model, "Aye."), turn(person, "and now?"))
    data = talk(*turns, system="Be kind.", mask=person, type="VALUE_TO_TEXT")
    assert detected(data) == "sharegpt"
    assert [message.role for message in transcript(data).messages[1:]] == [
        "user",
        "assistant",
        "user",
    ]
    assert json.loads(run(data, [("trim", {})], limit=30).data or b"") == json.loads(data) | {
        "conversations": [turns[2]]
    }


@pytest.mark.parametrize("key", ["messages", "conversation", "items"])
def test_messages_under_other_members_are_read(key: str) -> None:
    for value in ({key: TURNS}, [{key: TURNS}]):
        data = json.dumps(value).encode()
        assert detected(data) == "sharegpt"
        assert len(transcript(data).messages) == len(TURNS)


@pytest.mark.parametrize(
    ("calls", "returns"),
    [("function-call", "function-response"), ("tool_call", "tool_response")],
)
def test_other_senders_of_calls_and_results_are_read(calls: str, returns: str) -> None:
    found = transcript(talk(turn("human", "go"), turn(calls, call_json()), turn(returns, "seen")))
    assert [call.name for call in found.messages[1].calls] == ["look"]
    assert found.messages[2].result is not None
    assert not unpaired(found)
    of_toolbench = transcript(
        talk(turn("user", "go"), turn("assistant", "a"), turn("function", "b"))
    )
    assert of_toolbench.messages[2].role == "tool"


def test_reasoning_stays_with_its_answer() -> None:
    turns = (
        turn("human", "go " * 100),
        turn("reasoning", "hm " * 100),
        turn("gpt", "Done."),
        turn("human", "Again?"),
        turn("reasoning", "again"),
        turn("gpt", "Done again."),
    )
    data = talk(*turns)
    found = transcript(data)
    assert [part.kind for message in found.messages for part in message.parts].count(
        "reasoning"
    ) == 2
    assert [message.continues for message in found.messages] == [False, False, True] * 2
    ran = run(data, [("trim", {})], limit=60)
    assert json.loads(ran.data or b"")["conversations"] == list(turns[3:])
