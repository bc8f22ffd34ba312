"""Qwen Code sessions: live lines, messages, and repaired links."""

import json
from io import BytesIO
from typing import Any

import pytest
from harness import read, run, unpaired
from msgspec.structs import replace
from test_gemini_contents import SUMMARY, call, result

from ctxtrim.formats.reading import open_reading
from ctxtrim.formats.self_check import check
from ctxtrim.formats.writing import rewrite
from ctxtrim.model import Message, Part, Transcript
from ctxtrim.model.request import Usage

Event = dict[str, Any]


def line(uuid: str, parent: str | None, kind: str, *parts: Any, **more: Any) -> Event:
    event = {
        "uuid": uuid,
        "parentUuid": parent,
        "sessionId": "s",
        "timestamp": "t",
        "type": kind,
    } | more
    if kind != "system":
        events = [{"text": part} if isinstance(part, str) else part for part in parts]
        event["message"] = {"role": "model" if kind == "assistant" else "user", "parts": events}
    return event


def system(uuid: str, parent: str | None, subtype: str, **payload: Any) -> Event:
    return line(uuid, parent, "system", subtype=subtype, systemPayload=payload)


def session(*events: Event) -> bytes:
    return b"".join(json.dumps(event).encode() + b"\n" for event in events)


def transcript(*events: Event) -> Transcript:
    return read(session(*events))[0].transcripts[0]


def role_texts(transcript: Transcript) -> list[tuple[str, list[str]]]:
    return [
        (message.role, [part.text for part in message.parts]) for message in transcript.messages
    ]


STEP = (
    line(
        "b", "a", "assistant", {"text": "hm", "thought": True}, call(id="c1"), model="qwen3-coder"
    ),
    line(
        "c",
        "b",
        "tool_result",
        result({"output": "seen"}),
        toolCallResult={"resultDisplay": "seen, in full"},
    ),
)
TALK = (
    line("a", None, "user", "go"),
    *STEP,
    line("d", "c", "assistant", "Done.", model="qwen3-coder"),
)
EXPECTED = [
    ("user", ["go"]),
    ("assistant", ["hm", '{"at":1}']),
    ("tool", ["seen"]),
    ("assistant", ["Done."]),
]


def test_events_are_messages_and_other_lines_are_not() -> None:
    noise = (system("t", "c", "ui_telemetry", uiEvent={}), TALK[3] | {"parentUuid": "t"})
    assert role_texts(transcript(*TALK[:3], *noise)) == EXPECTED
    parsed = transcript(*TALK)
    assert (parsed.id, parsed.model) == ("s", "qwen3-coder")


@pytest.mark.parametrize("value", [*TALK, system("x", None, "custom_title", customTitle="x")])
def test_each_kind_of_line_is_known(value: Event) -> None:
    reading = open_reading(BytesIO(session(value)))
    assert (reading.format and reading.format.name, reading.layout) == ("qwen", "events")


def test_a_session_of_mostly_telemetry_is_recognized() -> None:
    noise = [system(f"t{number}", "a", "ui_telemetry", uiEvent={}) for number in range(9)]
    reading = open_reading(BytesIO(session(TALK[0], *noise)))
    assert (reading.format and reading.format.name, reading.detection.is_mixed) == ("qwen", False)


def test_lines_of_claude_code_are_not_detected_as_this_format() -> None:
    events = [
        {"type": "user", "uuid": "a", "sessionId": "s", "message": {"content": "x"}},
        {
            "type": "system",
            "uuid": "b",
            "sessionId": "s",
            "subtype": "turn_duration",
            "content": "x",
        },
    ]
    for event in events:
        detected = open_reading(BytesIO(session(event))).format
        assert detected is not None
        assert detected.name == "claude-code"


def test_a_rewind_discards_everything_after_its_target() -> None:
    dead = (line("x", "a", "user", "a mistake"), line("y", "x", "assistant", "of mine"))
    back = system("r", "a", "rewind", targetUuid="a")
    assert (
        role_texts(transcript(TALK[0], *dead, back, STEP[0] | {"parentUuid": "r"}, *TALK[2:]))
        == EXPECTED
    )
    assert role_texts(transcript(TALK[0], *dead, back)) == EXPECTED[:1]


def test_lines_with_the_same_uuid_form_a_message() -> None:
    first, more = line("b", "a", "assistant", "one"), line("b", "a", "assistant", call(id="c1"))
    parsed = transcript(TALK[0], first, more, *TALK[2:])
    assert role_texts(parsed)[1] == ("assistant", ["one", '{"at":1}'])
    assert len(parsed.messages[1].spans) == 2


def test_a_compression_replaces_everything_before_it() -> None:
    history = [
        {"role": "user", "parts": [{"text": "so far"}]},
        {"role": "model", "parts": [{"text": "Got it."}]},
    ]
    pressed = system("k", "d", "chat_compression", compressedHistory=history, info={})
    after = line("e", "k", "user", "go on")
    assert role_texts(transcript(*TALK, pressed, after)) == [
        ("user", ["so far"]),
        ("assistant", ["Got it."]),
        ("user", ["go on"]),
    ]


def test_the_history_of_a_compression_is_read_once_in_a_session_joined_to_itself() -> None:
    history = [{"role": "user", "parts": [{"text": "so far"}]}]
    pressed = system("k", "d", "chat_compression", compressedHistory=history, info={})
    talk = (*TALK, pressed, line("e", "k", "user", "go on"))
    assert role_texts(transcript(*talk, *talk)) == [
        ("user", ["so far"]),
        ("user", ["go on", "go on"]),
    ]


def test_artifacts_after_the_last_event_do_not_end_the_conversation() -> None:
    assert (
        role_texts(transcript(*TALK, system("z", None, "session_artifact_snapshot", summary="x")))
        == EXPECTED
    )


def test_lines_that_are_never_sent_are_not_context() -> None:
    hidden = line("h", "c", "tool_result", result({"output": "x"}), subtype="code_mode_tool_result")
    assert role_texts(transcript(*TALK[:3], hidden, TALK[3] | {"parentUuid": "h"})) == EXPECTED


def test_notifications_are_not_tasks() -> None:
    subtypes = ("notification", "mid_turn_user_message")
    more = [line(name, "a", "user", name, subtype=name) for name in subtypes]
    parsed = transcript(TALK[0], more[0], more[1] | {"parentUuid": "notification"})
    assert [message.is_injected for message in parsed.messages] == [False, True, False]


def test_a_file_with_only_a_sidechain_is_read_as_that_sidechain() -> None:
    assert role_texts(transcript(*(event | {"isSidechain": True} for event in TALK))) == EXPECTED
    side = line("s", None, "user", "a subagent's prompt", isSidechain=True)
    assert role_texts(transcript(side, *TALK)) == EXPECTED


def test_usage_of_an_answer_is_in_its_last_line() -> None:
    usage = {
        "promptTokenCount": 90,
        "candidatesTokenCount": 8,
        "thoughtsTokenCount": 3,
        "totalTokenCount": 98,
    }
    lines = [
        line("b", "a", "assistant", "one"),
        line("b", "a", "assistant", "two", usageMetadata=usage, model="q"),
    ]
    assert transcript(TALK[0], *lines).usages == (Usage(90, 8, 1, "q"),)


def test_lines_without_a_separator_are_read() -> None:
    data = session(*TALK).replace(b"}\n{", b"}{", 1)
    assert role_texts(read(data)[0].transcripts[0]) == EXPECTED


def test_links_are_repaired_and_lines_of_a_message_are_dropped_together() -> None:
    parts = (
        line("b", "a2", "assistant", "long " * 99),
        line("b", "a2", "assistant", call(id="c1")),
    )
    note = system("t", "c", "ui_telemetry", uiEvent={})
    events = (
        TALK[0],
        line("a2", "a", "user", "old"),
        *parts,
        TALK[2],
        note,
        line("e", "t", "user", "now"),
    )
    out = run(session(*events), [("trim", {})], limit=20).data or b""
    left = [json.loads(line) for line in out.splitlines()]
    assert [(event["uuid"], event["parentUuid"]) for event in left] == [
        ("a", None),
        ("t", "a"),
        ("e", "t"),
    ]


def test_all_lines_of_a_message_have_the_parent_of_its_first_line() -> None:
    parts = (line("b", "x", "assistant", "one"), line("b", "x", "assistant", "two"))
    left = inserted(
        (TALK[0], line("x", "a", "user", "old"), *parts, line("e", "b", "user", "now")), 0, 2, 3
    )
    assert [(event["uuid"], event["parentUuid"]) for event in left] == [
        ("a", None),
        ("b", "a"),
        ("b", "a"),
        ("e", "b"),
    ]


def test_a_rewound_branch_never_becomes_live() -> None:
    dead = line("x", "a", "user", "a mistake")
    back = system("r", "a", "rewind", targetUuid="a")
    events = (
        TALK[0],
        dead,
        back,
        line("f", "r", "assistant", "long " * 99),
        line("e", "f", "user", "now"),
    )
    out = run(session(*events), [("trim", {})], limit=20).data or b""
    assert role_texts(read(out)[0].transcripts[0]) == [("user", ["now"])]
    assert b"a mistake" in out


def inserted(events: tuple[Event, ...], *messages: Message | int) -> list[Event]:
    """The events with these messages among them, old ones by their index."""
    chunk = read(session(*events))[0]
    file_format = open_reading(BytesIO(session(*events))).format
    transcript = chunk.transcripts[0]
    parsed_messages = tuple(
        transcript.messages[each] if isinstance(each, int) else each for each in messages
    )
    assert file_format is not None
    meant = [replace(transcript, messages=parsed_messages)]
    written = rewrite(file_format, chunk.lines, meant).pieces
    check(file_format, chunk.lines, written, meant)
    return [json.loads(data) for data in written]


def test_an_inserted_event_is_linked_into_the_chain() -> None:
    new, old = inserted(TALK, SUMMARY, 3)
    assert (new["parentUuid"], old["parentUuid"]) == (None, new["uuid"])
    assert (new["sessionId"], new["timestamp"], new["type"], new["subtype"]) == (
        "s",
        "t",
        "user",
        "notification",
    )
    assert new["message"] == {"role": "user", "parts": [{"text": "so far"}]}


def test_an_inserted_answer_is_a_new_event_or_joins_another_result() -> None:
    calls = line("b", "a", "assistant", call(id="c1"), call(id="c2"))
    answer = Message("tool", (Part("tool_result", "none", "c2", "look"),))
    alone = inserted((TALK[0], calls), 0, 1, answer)
    assert (alone[2]["type"], alone[2]["parentUuid"]) == ("tool_result", "b")
    joined = inserted((TALK[0], calls, TALK[2]), 0, 1, 2, answer)
    assert [list(part["functionResponse"].values()) for part in joined[2]["message"]["parts"]][
        1
    ] == [
        "c2",
        "look",
        {"output": "none"},
    ]


def test_prompt_ids_follow_the_contents_of_a_compression() -> None:
    history = [
        {"role": role, "parts": [{"text": role}]} for role in ("user", "model", "user", "model")
    ]
    pressed = system(
        "k", None, "chat_compression", compressedHistory=history, promptIds=["p1", None, "p2", None]
    )
    (event,) = inserted((pressed,), 0, 1, SUMMARY, 3)
    assert [item["parts"][0]["text"] for item in event["systemPayload"]["compressedHistory"]] == [
        "user",
        "model",
        "so far",
        "model",
    ]
    assert event["systemPayload"]["promptIds"] == ["p1", None, None, None]


def test_a_fork_begins_with_the_contents_of_its_session() -> None:
    """Its file has them in its first event, and the prompt once more."""
    history = [
        {"role": "user", "parts": [{"text": "Plan the orchard. " * 50}]},
        {"role": "model", "parts": [{"text": "Pears. " * 50}, call(id="f")]},
        {"role": "user", "parts": [result({"output": "begun"}, id="f"), {"text": "Count pears."}]},
    ]
    events = [
        system("k", None, "agent_bootstrap", kind="fork", history=history),
        line("l", "k", "user", "Count pears."),
        system("m", "l", "agent_launch_prompt", displayText="Begin."),
        line("n", "m", "assistant", "Ninety."),
    ]
    events = [event | {"isSidechain": True} for event in events]
    found = transcript(*events)
    assert [message.role for message in found.messages] == [
        *("user", "assistant", "tool", "user", "user", "assistant"),
    ]
    assert found.messages[2].parts[0].call_id == found.messages[1].parts[1].call_id == "f"
    out = run(session(*events), [("trim", {})], limit=60).data or b""
    first, *others = map(json.loads, out.splitlines())
    assert first["systemPayload"]["history"] == [history[2] | {"parts": history[2]["parts"][1:]}]
    assert others == events[1:]


def command(uuid: str, parent: str, text: str, **more: Any) -> Event:
    shown = [{"type": "assistant", "text": "v1"}]
    fields = {"phase": "result", "rawCommand": text, "outputHistoryItems": shown}
    return system(uuid, parent, "slash_command", **(fields | more))


def with_command(**more: Any) -> tuple[Event, ...]:
    return (
        *TALK,
        line("e", "d", "user", "/about"),
        command("f", "e", "/about", **more),
        line("g", "f", "user", "And now?"),
    )


def test_a_command_that_the_client_answers_is_not_sent_and_stays() -> None:
    events = with_command(sentToModel=False)
    assert role_texts(transcript(*events)) == [*EXPECTED, ("user", ["And now?"])]
    out = run(session(*events), [("trim", {})], limit=20).data or b""
    left = [json.loads(line) for line in out.splitlines()]
    assert [(event["uuid"], event["parentUuid"]) for event in left] == [
        *(("e", None), ("f", "e"), ("g", "f")),
    ]


@pytest.mark.parametrize(
    "more",
    [
        {"sentToModel": True},
        {"phase": "invocation"},
        {"rawCommand": "/other"},
        {"outputHistoryItems": []},
        {"outputHistoryItems": [{"type": "user", "text": "x"}]},
    ],
)
def test_a_command_that_the_model_reads_is_a_prompt(more: Event) -> None:
    assert role_texts(transcript(*with_command(**more)))[4:] == [
        ("user", ["/about"]),
        ("user", ["And now?"]),
    ]


def test_a_prompt_before_an_invoked_command_stays() -> None:
    invoked = command("f", "e", "/about", phase="invocation")
    events = (line("e", None, "user", "/about"), invoked, command("g", "f", "/about"))
    assert role_texts(transcript(*events)) == [("user", ["/about"])]


def test_results_with_ids_answer_calls_without() -> None:
    """[QwenLM/qwen-code, `packages/core/src/core/turn.ts`]"""
    seen = result({"output": "seen"})
    seen["functionResponse"]["id"] = "look-1"
    events = (
        line("a", None, "user", "go"),
        line("b", "a", "assistant", call()),
        line("c", "b", "tool_result", seen),
    )
    assert not unpaired(transcript(*events))
