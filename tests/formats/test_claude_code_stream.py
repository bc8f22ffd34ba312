"""Claude Code's stream: compactions that preserve messages, with the names of the Agent SDK's type
`SDKCompactBoundaryMessage`.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from builders_claude import Event, role_texts, session, transcript
from conftest import Run
from harness import read
from insertions import SUMMARY, written
from msgspec.structs import replace

from ctxtrim.formats import FORMATS
from ctxtrim.model import Message

KEPT = ["u2", "a2", "r2"]
LIST = {"anchor_uuid": "k2", "uuids": KEPT, "all_uuids": ["attachment", *KEPT]}
SEGMENT = {"head_uuid": "u2", "anchor_uuid": "k2", "tail_uuid": "r2"}
PRESERVED: dict[str, dict[str, Any]] = {
    "list": {"preserved_messages": LIST},
    "segment": {"preserved_segment": SEGMENT},
    "both": {"preserved_messages": LIST, "preserved_segment": SEGMENT},
}
LONG = "soundings of the old channel " * 60
CALL = {"type": "tool_use", "id": "c1", "name": "Chart", "input": {"buoy": 2}}
RESULT = {"type": "tool_result", "tool_use_id": "c1", "content": "Red. " * 30}


def streamed(uuid: str, kind: str, content: object, **more: Any) -> Event:
    message = {"role": kind, "content": content} | ({"id": uuid} if kind == "assistant" else {})
    event = {"type": kind, "message": message, "parent_tool_use_id": None}
    return event | {"session_id": "s", "uuid": uuid} | more


def compacted(**links: Any) -> tuple[Event, ...]:
    """A stream whose compaction preserves the second of three exchanges."""
    metadata = {"trigger": "auto", "pre_tokens": 90} | links
    boundary = {"type": "system", "subtype": "compact_boundary", "compact_metadata": metadata}
    return (
        streamed("u1", "user", LONG),
        streamed("a1", "assistant", [{"type": "text", "text": LONG}]),
        streamed("u2", "user", "Which buoy is red?"),
        streamed("a2", "assistant", [CALL]),
        streamed("d1", "user", "Look at the chart.", parent_tool_use_id="c1"),
        {"type": "rate_limit_event", "session_id": "s", "uuid": "x1"},
        streamed("r2", "user", [RESULT]),
        boundary | {"session_id": "s", "uuid": "k1"},
        streamed("k2", "user", "Summary: the channel is deep.", isSynthetic=True),
        streamed("u3", "user", "And the third?"),
        streamed("a3", "assistant", [{"type": "text", "text": "Green."}]),
        {"type": "result", "subtype": "success", "result": "Green.", "session_id": "s"},
    )


SUMMARY_TEXT = "Summary: the channel is deep."
EXCHANGE = ["Which buoy is red?", '{"buoy":2}', "Red. " * 30]
REST = ["And the third?", "Green."]


def texts(*events: Event) -> list[str]:
    return [text for _, text in role_texts(transcript(*events))]


@pytest.mark.parametrize("how", PRESERVED)
def test_preserved_messages_follow_the_summary(how: str) -> None:
    events = compacted(**PRESERVED[how])
    assert texts(*events) == [SUMMARY_TEXT, *EXCHANGE, *REST]
    assert [message.is_summary for message in transcript(*events).messages][:2] == [True, False]


def test_events_that_are_not_in_the_stream_are_passed_over() -> None:
    more = LIST | {"uuids": ["attachment", *KEPT]}
    assert texts(*compacted(preserved_messages=more)) == [SUMMARY_TEXT, *EXCHANGE, *REST]
    elsewhere = LIST | {"anchor_uuid": "elsewhere"}
    assert texts(*compacted(preserved_messages=elsewhere)) == [*EXCHANGE, SUMMARY_TEXT, *REST]
    headless = SEGMENT | {"head_uuid": "attachment"}
    assert texts(*compacted(preserved_segment=headless)) == [SUMMARY_TEXT, *REST]


@pytest.mark.parametrize(
    "links",
    [
        {"uuids": None, "all_uuids": None},
        {"uuids": [{"uuid": "u2"}], "all_uuids": [{"uuid": "u2"}]},
        {"uuids": ["u2"], "all_uuids": None},
    ],
)
def test_lists_of_other_values_name_nothing(links: dict[str, Any], ctxtrim: Run) -> None:
    events = compacted(preserved_messages=LIST | links)
    ran = ctxtrim("trim", "--budget", "40", stdin=session(*events))
    assert ran.code == 0


def edited(events: tuple[Event, ...], *messages: Message | int) -> list[Event]:
    """The events after an edit, which reads back as it is meant."""
    (chunk,) = read(session(*events))
    (talk,) = chunk.transcripts
    found = [talk.messages[each] if isinstance(each, int) else each for each in messages]
    meant = replace(talk, messages=tuple(found))
    return [json.loads(row) for row in written(chunk, FORMATS["claude-code"], meant).splitlines()]


def metadata_of(events: list[Event]) -> Any:
    (found,) = [event["compact_metadata"] for event in events if "compact_metadata" in event]
    return found


def test_the_boundary_names_the_preserved_messages_that_are_left() -> None:
    found = metadata_of(edited(compacted(**PRESERVED["both"]), 0, 2, 3, 4, 5))
    assert found == {
        "trigger": "auto",
        "pre_tokens": 90,
        "preserved_messages": {
            "anchor_uuid": "k2",
            "uuids": ["a2", "r2"],
            "all_uuids": ["a2", "r2"],
        },
        "preserved_segment": {"head_uuid": "a2", "anchor_uuid": "k2", "tail_uuid": "r2"},
    }
    without_any = metadata_of(edited(compacted(**PRESERVED["both"]), 0, 4, 5))
    assert without_any == {"trigger": "auto", "pre_tokens": 90}


@pytest.mark.parametrize("how", PRESERVED)
def test_an_edit_of_other_messages_leaves_the_boundary_as_it_is(how: str) -> None:
    after = edited(compacted(**PRESERVED[how]), 0, 1, 2, 3, 5)
    assert metadata_of(after) == metadata_of(list(compacted(**PRESERVED[how])))


@pytest.mark.parametrize("how", PRESERVED)
def test_a_message_between_preserved_messages_is_preserved(how: str) -> None:
    note = replace(SUMMARY, is_summary=False)
    after = edited(compacted(**PRESERVED[how]), 0, note, 1, 2, 3, 4, 5)
    assert not any("parentUuid" in event for event in after)


@pytest.mark.parametrize("how", PRESERVED)
@pytest.mark.parametrize("budget", [150, 90, 60, 30])
def test_a_trimmed_stream_stays_compacted(
    how: str, budget: int, ctxtrim: Run, tmp_path: Path
) -> None:
    data = session(*compacted(**PRESERVED[how]))
    archive = ("--archive", "kept")
    ran = ctxtrim("trim", "--budget", str(budget), *archive, stdin=data, cwd=tmp_path)
    assert ran.code == 0
    events = [json.loads(row) for row in ran.out.splitlines()]
    left = texts(*events)
    assert left[-1] == "Green."
    assert LONG not in left
    assert {"u1", "a1"} <= {event.get("uuid") for event in events}
    restored = ctxtrim("restore", "-", *archive, "-o", "-", stdin=ran.out, cwd=tmp_path)
    assert restored.out == data
