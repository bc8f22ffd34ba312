"""Codex rollouts: live items, other session data, and the bytes of edits."""

import json
from io import BytesIO
from typing import Any

import pytest
from harness import read, run
from msgspec.structs import replace
from test_openai_responses import LONG, SUMMARY, calls, returns, role_texts, says, thinks

from ctxtrim.formats.reading import open_reading
from ctxtrim.formats.self_check import check
from ctxtrim.formats.writing import rewrite
from ctxtrim.model import Message, Part, Transcript
from ctxtrim.model.request import Usage

Event = dict[str, Any]
TIME = "2026-01-02T03:04:05.678Z"


def event(kind: str, payload: dict[str, Any]) -> Event:
    return {"timestamp": TIME, "type": kind, "payload": payload}


def item(payload: dict[str, Any]) -> Event:
    return event("response_item", payload)


def message(kind: str, **more: Any) -> Event:
    return event("event_msg", {"type": kind} | more)


def counted(prompt: int, answer: int) -> Event:
    last = {"input_tokens": prompt, "cached_input_tokens": 1, "output_tokens": answer}
    return message(
        "token_count", info={"total_token_usage": {"input_tokens": 10**6}, "last_token_usage": last}
    )


META = event(
    "session_meta",
    {"id": "s1", "instructions": "mine", "base_instructions": {"text": "You are Codex."}},
)
TURN = event("turn_context", {"model": "gpt-5-codex"})
ROLLOUT = (
    META,
    item(says("user", "# AGENTS.md instructions for /x\n\n<INSTRUCTIONS>\nmine\n</INSTRUCTIONS>")),
    item(says("user", "<environment_context>\n  <cwd>/x</cwd>\n</environment_context>")),
    message("user_message", message="list both"),
    item(says("user", "list both")),
    TURN,
    message("agent_reasoning", text="hmm"),
    item(thinks()),
    item(calls("c1")),
    item(calls("c2")),
    counted(100, 20),
    item(returns("c1", "first")),
    item(returns("c2", "second")),
    message("agent_message", message="Done."),
    item(says("assistant", "Done.")),
    counted(150, 5),
    message("token_count", info=None),
    item(says("user", "thanks")),
)


def session(*events: Event) -> bytes:
    return b"".join(json.dumps(event).encode() + b"\n" for event in events)


def transcript(*events: Event) -> Transcript:
    return read(session(*events))[0].transcripts[0]


def layout(file: bytes) -> tuple[str | None, str | None]:
    reading = open_reading(BytesIO(file))
    return reading.format.name if reading.format else None, reading.layout


def test_items_are_context_and_terminal_events_are_not() -> None:
    parsed = transcript(*ROLLOUT)
    assert [role for role, _ in role_texts(parsed)] == [
        "system",
        "user",
        "user",
        "user",
        *("assistant", "tool", "tool"),
        "assistant",
        "user",
    ]
    assert role_texts(parsed)[0] == ("system", "You are Codex.")
    assert role_texts(parsed)[4:] == [
        ("assistant", "hmm | {} | {}"),
        ("tool", "first"),
        ("tool", "second"),
        ("assistant", "Done."),
        ("user", "thanks"),
    ]
    assert [each.is_injected for each in parsed.messages[1:4]] == [True, True, False]
    assert (parsed.id, parsed.model, parsed.uncounted) == ("s1", "gpt-5-codex", 0)


def test_the_usage_of_an_answer_is_the_last_record_and_not_the_sum() -> None:
    assert transcript(*ROLLOUT).usages == (
        Usage(100, 20, 4, "gpt-5-codex"),
        Usage(150, 5, 7, "gpt-5-codex"),
    )


def test_dynamic_tools_are_part_of_the_context() -> None:
    meta = event("session_meta", {"id": "s1", "dynamic_tools": [{"name": "look"}]})
    assert transcript(meta, *ROLLOUT[1:]).tools == '[{"name":"look"}]'


def test_a_compaction_with_a_history_replaces_everything_before() -> None:
    history = [
        says("user", "list both"),
        says("user", "Another language model started to solve this problem and …"),
    ]
    parsed = transcript(
        *ROLLOUT,
        event("compacted", {"message": "", "replacement_history": history}),
        item(calls("c3")),
    )
    assert role_texts(parsed) == [
        ("system", "You are Codex."),
        ("user", "list both"),
        ("user", "Another language model started to solve this problem and …"),
        ("assistant", "{}"),
    ]
    assert [each.is_summary for each in parsed.messages] == [False, False, True, False]
    assert parsed.usages == ()


def test_a_compaction_without_a_history_keeps_prompts_and_its_summary() -> None:
    compacted = event("compacted", {"message": "so far so good"})
    parsed = transcript(*ROLLOUT, compacted, item(says("user", "go on")))
    assert [text for role, text in role_texts(parsed)[3:]] == [
        "list both",
        "thanks",
        "so far so good",
        "go on",
    ]
    assert [each.is_summary for each in parsed.messages[3:]] == [False, False, True, False]
    again = transcript(*ROLLOUT, compacted, event("compacted", {"message": "better"}))
    assert [text for role, text in role_texts(again)[3:]] == ["list both", "thanks", "better"]


def labelled(text: str, *kinds: str) -> Event:
    """A user message whose blocks are labelled."""
    labels = {"internal_chat_message_metadata_passthrough": {"content_item_kinds": list(kinds)}}
    return item(says("user", text) | labels)


def test_labels_of_blocks_tell_prompts_from_context() -> None:
    parsed = transcript(
        labelled("<notes>Anchor at dusk.</notes>", "hooks.additional_context"),
        labelled("<skill>is the tag that I ask about</skill>", "user.text"),
        labelled("Moor the boat.", "agents_md.instructions", "user.text"),
        labelled("<skill>by its text</skill>"),
    )
    assert [message.is_injected for message in parsed.messages] == [True, False, False, True]


def test_rolled_back_turns_are_not_context() -> None:
    back = message("thread_rolled_back", num_turns=1)
    assert role_texts(transcript(*ROLLOUT, back)) == role_texts(transcript(*ROLLOUT[:-1]))
    both = transcript(
        *ROLLOUT, message("thread_rolled_back", num_turns=9), item(says("user", "again"))
    )
    assert [text for role, text in role_texts(both)][3:] == ["again"]


def test_a_rollout_of_2025_without_envelopes_is_read() -> None:
    header = {"id": "s0", "timestamp": TIME, "instructions": "Be brief.", "git": {}}
    bare = [says("user", "list"), calls("c1"), returns("c1"), says("assistant", "Done.")]
    file = session(header, *(line for each in bare for line in (each, {"record_type": "state"})))
    assert layout(file) == ("codex", "events")
    transcript = read(file)[0].transcripts[0]
    assert role_texts(transcript) == [
        ("system", "Be brief."),
        ("user", "list"),
        ("assistant", "{}"),
        ("tool", "out"),
        ("assistant", "Done."),
    ]
    assert transcript.id == "s0"


def test_rollouts_without_ids_are_read() -> None:
    events = (
        {"timestamp": TIME, "role": "user", "content": "which branch?", "model": "gpt-4o-mini"},
        {
            "timestamp": TIME,
            "type": "tool_call",
            "function": {"name": "git"},
            "arguments": {"do": "status"},
        },
        {"timestamp": TIME, "type": "tool_result", "name": "git", "result": "main"},
        {"created_at": TIME, "role": "assistant", "message": "main"},
        {"timestamp": TIME, "type": "error", "text": "no context"},
    )
    assert layout(session(*events)) == ("codex", "events")
    parsed = transcript(*events)
    assert role_texts(parsed) == [
        ("user", "which branch?"),
        ("assistant", '{"do":"status"}'),
        ("tool", "main"),
        ("assistant", "main"),
    ]
    assert [part.name for part in (*parsed.messages[1].parts, *parsed.messages[2].parts)] == [
        "git",
        "git",
    ]
    assert parsed.model == "gpt-4o-mini"


@pytest.mark.parametrize(
    "value",
    [
        {
            "type": "message",
            "id": "1",
            "timestamp": TIME,
            "message": {"role": "user", "content": "pi"},
        },
        {"type": "response_item"},
        {"id": "1", "timestamp": TIME, "instructions": "x", "input": []},
        {"timestamp": TIME, "role": "user", "content": "chat"},
        {"type": "tool_call", "toolName": "Read", "parameters": {}},
        {"type": ["event_msg"], "payload": {}},
        42,
    ],
)
def test_other_formats_are_not_detected_as_this_format(value: Any) -> None:
    assert layout(session(value))[0] != "codex"


def remaining_events(budget: int, *events: Event) -> list[Event]:
    ran = run(session(*events), [("trim", {})], limit=budget)
    assert [finding.message for finding in ran.findings] == []
    return [json.loads(line) for line in (ran.data or b"").splitlines()]


def test_dropping_an_item_keeps_its_terminal_events() -> None:
    events = [
        *ROLLOUT[3:8],
        item(calls("c1", json.dumps(LONG))),
        item(returns("c1", LONG)),
        *ROLLOUT[-5:],
    ]
    gone = [events[4], events[5], events[6]]
    assert remaining_events(40, *events) == [event for event in events if event not in gone]


def test_dropping_a_summary_keeps_earlier_history_compacted() -> None:
    events = [
        *ROLLOUT,
        event("compacted", {"message": LONG, "extra": 1}),
        item(says("user", "now")),
    ]
    kept = remaining_events(64, *events)
    assert [event["payload"] for event in kept if event["type"] == "compacted"] == [
        {"message": "", "extra": 1}
    ]
    system, *instructions, opening, now = role_texts(transcript(*kept))
    assert (system, opening, now) == (
        ("system", "You are Codex."),
        ("user", "list both"),
        ("user", "now"),
    )
    assert [role for role, _ in instructions] == ["user", "user"]


def test_items_of_a_compaction_are_dropped_individually() -> None:
    history = [says("user", "old"), says("assistant", LONG), says("user", "now")]
    events = [META, event("compacted", {"message": "", "replacement_history": history})]
    assert remaining_events(40, *events)[1]["payload"]["replacement_history"] == history[2:]


def test_an_output_that_is_json_in_a_string_is_shortened_inside() -> None:
    inner = json.dumps({"output": LONG * 3, "metadata": {"exit_code": 1, "duration_seconds": 0.5}})
    events = [META, *ROLLOUT[4:6], item(calls("c1")), item(returns("c1", inner))]
    part = transcript(*events).messages[-1].parts[0]
    assert (part.text, part.spelled, part.is_error) == (LONG * 3, inner, True)
    out = run(session(*events), [("truncate", {"max_tokens": 50, "metadata": True})]).data or b""
    last = json.loads(out.splitlines()[-1])
    shortened = json.loads(last["payload"]["output"])
    assert shortened["metadata"] == {"exit_code": 1, "duration_seconds": 0.5}
    assert "truncated" in shortened["output"]
    assert (last["_originalLength"], last["timestamp"]) == (len(LONG * 3), TIME)


def written(events: tuple[Event, ...], *messages: Message) -> list[Event]:
    """The lines with these messages, which they read back as."""
    chunk = read(session(*events))[0]
    file_format = open_reading(BytesIO(session(*events))).format
    assert file_format is not None
    meant = replace(chunk.transcripts[0], messages=messages)
    lines = rewrite(file_format, chunk.lines, [meant]).pieces
    check(file_format, chunk.lines, lines, [meant])
    return [json.loads(line) for line in lines]


def test_an_inserted_line_has_the_time_of_its_neighbour() -> None:
    system, *rest = transcript(*ROLLOUT).messages
    kept = [SUMMARY, *rest[2:]]
    lines = written(ROLLOUT, system, *kept)
    assert lines[:3] == [META, ROLLOUT[3], item(says("user", "what was"))]
    answer = Message("tool", (Part("tool_result", "none", "c2"),))
    lines = written(ROLLOUT, system, *rest[:5], answer, *rest[6:])
    assert lines[12] == item(returns("c2", "none"))


def test_a_message_inserted_into_a_compaction_is_an_item_of_its_history() -> None:
    history = [says("user", "old"), calls("c1")]
    events = (
        META,
        event("compacted", {"message": "", "replacement_history": history}),
        item(says("user", "now")),
    )
    system, old, call, now = transcript(*events).messages
    answer = Message("tool", (Part("tool_result", "none", "c1"),))
    lines = written(events, system, SUMMARY, old, call, answer, now)
    assert lines[1]["payload"]["replacement_history"] == [
        says("user", "what was"),
        *history,
        returns("c1", "none"),
    ]


def test_nothing_is_inserted_for_a_dropped_line_between_answers() -> None:
    events = (META, item(says("assistant", "so")), item(says("user", "gone")), item(calls("c1")))
    system, message, _, call = transcript(*events).messages
    assert written(events, system, message, call) == [*events[:2], events[3]]
