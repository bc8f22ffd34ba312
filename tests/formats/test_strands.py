"""The document of an agent of Strands Agents: what its conversation manager sends, and edits."""

import json
from typing import Any

import pytest
from harness import read, run
from insertions import SUMMARY, format_of, written
from msgspec.structs import replace

from ctxtrim.errors import NotEditableError
from ctxtrim.model import Message, Part, Transcript

Value = dict[str, Any]
TOLD = "The boats were counted: 41 in May."


def says(role: str, *blocks: Value) -> Value:
    return {"role": role, "content": list(blocks)}


USE = {"toolUse": {"toolUseId": "c1", "name": "gauge", "input": {"pier": 1}}}
RESULT = {"toolResult": {"toolUseId": "c1", "content": [{"text": "2 m\n" * 90}]}}
TALK = [
    says("user", {"text": "Count the boats."}),
    says("assistant", {"text": "There are 41."}),
    says("user", {"text": "How deep is it?"}),
    says("assistant", USE),
    says("user", RESULT),
    says("assistant", {"text": "Two metres."}),
    says("user", {"text": "My number is 77."}),
]


def session(**state: Any) -> bytes:
    """An agent whose last message is redacted."""
    values = [
        {"message": message, "message_id": at, "redact_message": None}
        for at, message in enumerate(TALK)
    ]
    values[-1]["redact_message"] = says("user", {"text": "[redacted]"})
    manager = {"__name__": "SummarizingConversationManager", **state}
    agent = {"agent_id": "harbour", "conversation_manager_state": manager}
    return json.dumps({"agent": agent, "messages": values}).encode() + b"\n"


def transcript_in(data: bytes) -> Transcript:
    (chunk,) = read(data)
    (transcript,) = chunk.transcripts
    return transcript


def texts(data: bytes) -> list[str]:
    """The first text of each message."""
    return [message.parts[0].text[:20] for message in transcript_in(data).messages]


def edited(data: bytes, *messages: Message) -> Value:
    (chunk,) = read(data)
    meant = replace(chunk.transcripts[0], messages=messages)
    value: Value = json.loads(written(chunk, format_of(data), meant))
    return value


def numbers(value: Value) -> list[int | None]:
    return [message["message_id"] for message in value["messages"]]


ALL = [
    *("Count the boats.", "There are 41.", "How deep is it?", '{"pier":1}'),
    *(("2 m\n" * 90)[:20], "Two metres.", "[redacted]"),
]
SENT_FIRST = says("user", {"text": TOLD})


@pytest.mark.parametrize(
    ("state", "sent"),
    [
        ({}, ALL),
        ({"removed_message_count": 0, "summary_message": None}, ALL),
        ({"removed_message_count": 2}, ALL[2:]),
        ({"removed_message_count": 2, "summary_message": SENT_FIRST}, [TOLD[:20], *ALL[2:]]),
        (
            {"removed_message_count": 1, "pinned_head_count": 1, "summary_message": SENT_FIRST},
            [ALL[0], TOLD[:20], *ALL[2:]],
        ),
    ],
)
def test_the_conversation_is_what_the_sdk_sends(state: Value, sent: list[str]) -> None:
    data = session(**state)
    assert format_of(data).name == "bedrock"
    assert texts(data) == sent
    summaries = [message for message in transcript_in(data).messages if message.is_summary]
    assert len(summaries) == bool(state.get("summary_message"))
    assert all(message.is_injected for message in summaries)


def test_dropped_messages_leave_the_removed_ones_and_their_number() -> None:
    data = session(removed_message_count=2, summary_message=SENT_FIRST)
    found = transcript_in(data).messages
    value = edited(data, found[0], *found[-2:])
    assert numbers(value) == [0, 1, 5, 6]
    assert value["agent"] == json.loads(data)["agent"]


def test_a_dropped_summary_leaves_the_agent() -> None:
    data = session(removed_message_count=2, summary_message=SENT_FIRST)
    value = edited(data, *transcript_in(data).messages[1:])
    assert numbers(value) == list(range(7))
    assert value["agent"]["conversation_manager_state"] == {
        "__name__": "SummarizingConversationManager",
        "removed_message_count": 2,
    }


def test_a_dropped_pinned_message_is_no_longer_counted() -> None:
    data = session(removed_message_count=1, pinned_head_count=2)
    found = transcript_in(data).messages
    value = edited(data, *found[1:])
    assert numbers(value) == list(range(1, 7))
    state = value["agent"]["conversation_manager_state"]
    assert (state["pinned_head_count"], state["removed_message_count"]) == (1, 1)


def test_a_huge_number_of_pinned_messages_pins_all_of_them() -> None:
    data = session(removed_message_count=0, pinned_head_count=10**15)
    found = transcript_in(data).messages
    assert len(found) == 7
    state = edited(data, *found[2:])["agent"]["conversation_manager_state"]
    assert state["pinned_head_count"] == 10**15 - 2


def test_a_shortened_summary_is_written_to_the_agent() -> None:
    data = session(removed_message_count=2, summary_message=SENT_FIRST)
    (summary, *rest) = transcript_in(data).messages
    short = replace(summary, parts=(replace(summary.parts[0], text="41 boats."),))
    value = edited(data, short, *rest)
    state = value["agent"]["conversation_manager_state"]
    assert state["summary_message"] == says("user", {"text": "41 boats."})
    assert value["messages"] == json.loads(data)["messages"]


def test_a_new_message_comes_after_the_removed_ones() -> None:
    data = session(removed_message_count=2, summary_message=SENT_FIRST)
    found = transcript_in(data).messages
    value = edited(data, found[0], SUMMARY, *found[-2:])
    assert numbers(value) == [0, 1, None, 5, 6]
    new = {"message_id": None, "message": says("user", {"text": SUMMARY.parts[0].text})}
    assert value["messages"][2] == new


def two_results(**more: Any) -> Value:
    results = [{"toolResult": {**RESULT["toolResult"], "toolUseId": f"c{at}"}} for at in (1, 2)]
    return {"message": says("user", *results), "message_id": 4, "redact_message": None, **more}


def test_a_message_between_two_results_splits_their_message_and_one_half_has_the_number() -> None:
    value = json.loads(session())
    value["messages"][4] = two_results(created_at="now")
    data = json.dumps(value).encode()
    found = transcript_in(data).messages
    written_messages = edited(data, *found[:5], SUMMARY, *found[5:])["messages"]
    assert [each["message_id"] for each in written_messages] == [*range(4), None, None, *(4, 5, 6)]
    first, new, second = written_messages[4:7]
    assert [len(half["message"]["content"]) for half in (first, second)] == [1, 1]
    assert new["message"]["content"] == [{"text": SUMMARY.parts[0].text}]
    assert first.keys() == second.keys() == value["messages"][4].keys()


def test_a_redacted_message_that_is_split_stays_a_message_of_the_sdk() -> None:
    value = json.loads(session())
    redacted = two_results()["message"]
    value["messages"][4] = two_results() | {"message": RESULT, "redact_message": redacted}
    data = json.dumps(value).encode()
    found = transcript_in(data).messages
    first, _, second = edited(data, *found[:5], SUMMARY, *found[5:])["messages"][4:7]
    assert first.keys() == second.keys() == value["messages"][4].keys()
    assert [each["message_id"] for each in (first, second)] == [4, None]


@pytest.mark.parametrize("pinned", [0, 1])
def test_no_message_comes_before_the_summary(pinned: int) -> None:
    data = session(removed_message_count=2, pinned_head_count=pinned, summary_message=SENT_FIRST)
    found = transcript_in(data).messages
    with pytest.raises(NotEditableError, match="its pinned messages and summary first"):
        edited(data, *found[:pinned], SUMMARY, *found[pinned:])
    with pytest.raises(NotEditableError, match="its pinned messages and summary first"):
        edited(data, found[pinned], SUMMARY)


def test_a_result_for_a_pinned_call_has_no_place() -> None:
    data = session(removed_message_count=1, pinned_head_count=4)
    found = transcript_in(data).messages
    answer = Message("tool", (Part("tool_result", "3 m", "c1"),))
    with pytest.raises(NotEditableError, match="none can come before them"):
        edited(data, *found[:4], answer, *found[4:])


def test_a_session_is_trimmed_after_the_removed_messages() -> None:
    data = session(removed_message_count=2)
    trimmed = run(data, [("trim", {})], limit=16).data
    assert trimmed is not None
    assert texts(trimmed) == ALL[6:]
    assert numbers(json.loads(trimmed)) == [0, 1, 6]
