"""Newer Codex rollouts: numbered lines, metadata of compacted items, messages of other agents."""

import json

from harness import run
from test_codex import META, TURN, Event, event, item, message, session, transcript, written
from test_openai_responses import LONG, SUMMARY, calls, returns, says

from ctxtrim.model import Message, Part


def numbered(*events: Event, first: int = 0) -> tuple[Event, ...]:
    """The lines with ordinals."""
    return tuple({"ordinal": first + number} | line for number, line in enumerate(events))


def ordinals(lines: list[Event]) -> list[int]:
    return [line["ordinal"] for line in lines]


def trimmed(budget: int, *events: Event) -> list[Event]:
    ran = run(session(*events), [("trim", {})], limit=budget)
    assert [finding.message for finding in ran.findings] == []
    return [json.loads(line) for line in (ran.data or b"").splitlines()]


OLD = (item(says("user", LONG)), message("user_message", message=LONG), item(calls("c1")))
NEW = (item(returns("c1")), TURN, item(says("user", "and the pier?")))


def test_ordinals_stay_consecutive_after_lines_are_dropped() -> None:
    lines = trimmed(40, *numbered(META, *OLD, *NEW, first=120))
    assert [line["type"] for line in lines] == [
        *("session_meta", "event_msg", "turn_context", "response_item"),
    ]
    assert ordinals(lines) == [120, 121, 122, 123]


def test_new_lines_and_separators_have_ordinals() -> None:
    events = numbered(
        META, item(says("assistant", "so")), item(says("user", "gone")), item(calls("c1"))
    )
    system, answer, _, call = transcript(*events).messages
    reply = Message("tool", (Part("tool_result", "none", "c1"),))
    lines = written(events, system, SUMMARY, answer, call, reply)
    assert ordinals(lines) == [0, 1, 2, 3, 4, 5]
    assert [line["payload"].get("content") for line in lines[1:4:2]] == [
        says("user", "what was")["content"],
        [],
    ]


def test_a_subagent_starts_at_the_new_ordinal_of_its_first_line() -> None:
    payload = META["payload"] | {"history_mode": "paginated", "subagent_history_start_ordinal": 4}
    lines = trimmed(40, *numbered(META | {"payload": payload}, *OLD, *NEW))
    assert lines[0]["payload"]["subagent_history_start_ordinal"] == 2
    assert lines[2]["type"] == "turn_context"


def test_a_rollout_without_ordinals_gets_none() -> None:
    assert not any("ordinal" in line for line in trimmed(40, META, *OLD, *NEW))


COMPACTED = {
    "message": "",
    "replacement_history": [says("user", "old"), says("assistant", LONG), calls("c1")],
    "replacement_history_metadata": [{"user_input_order": number} for number in range(3)],
}


def test_metadata_stays_parallel_to_the_items_of_a_compaction() -> None:
    events = (META, event("compacted", COMPACTED), item(says("user", "now")))
    system, old, _, now = transcript(*events).messages
    answer = Message("tool", (Part("tool_result", "none", "c1"),))
    before = written(events, system, SUMMARY, old, now)[1]["payload"]
    assert before["replacement_history"] == [says("user", "what was"), says("user", "old")]
    assert before["replacement_history_metadata"] == [
        {"client_authored": False},
        {"user_input_order": 0},
    ]
    messages = transcript(*events).messages
    after = written(events, *messages[:3], answer, now)[1]["payload"]
    assert after["replacement_history"][3] == returns("c1", "none")
    assert after["replacement_history_metadata"] == [
        *COMPACTED["replacement_history_metadata"],
        {"client_authored": False},
    ]


def test_all_items_of_a_compaction_and_their_metadata_are_dropped() -> None:
    events = (META, event("compacted", COMPACTED), item(says("user", "now")))
    system, *_, now = transcript(*events).messages
    payload = written(events, system, now)[1]["payload"]
    assert payload == {
        "message": "",
        "replacement_history": [],
        "replacement_history_metadata": [],
    }
