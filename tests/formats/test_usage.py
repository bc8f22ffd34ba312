"""Recorded usage: the last record applies, and records are never summed."""

import json
from typing import Any

import pytest
from builders import conversation, says, transcript, user
from harness import read

from ctxtrim.model.request import Usage


def test_the_last_recorded_usage_is_used() -> None:
    first = says("one") | {
        "usage": {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12}
    }
    last = says("two") | {"usage": {"prompt_tokens": 30, "completion_tokens": 4}}
    assert transcript([user("a"), first, user("b"), last, user("c")]).usage == Usage(30, 4, 3)


def test_usage_of_the_whole_conversation_is_in_the_envelope() -> None:
    assert transcript([user("a")], usage={"prompt_tokens": 9}).usage == Usage(9, 0, None)


def test_other_objects_are_not_usage() -> None:
    for odd in (
        None,
        [],
        {"prompt_tokens": "9"},
        {"prompt_tokens": 0},
        {"total_tokens": 0},
        {"total_tokens": "5"},
    ):
        assert transcript([user("a")], usage=odd).usage is None


@pytest.mark.parametrize(
    "odd",
    [
        {"finish_reason": "error"},
        {"stopReason": "aborted"},
        {"error": "overloaded"},
        {"role": "user"},
    ],
    ids=lambda odd: next(iter(odd)),
)
def test_usage_of_users_and_interrupted_answers_is_ignored(odd: dict[str, Any]) -> None:
    usage = {"usage": {"prompt_tokens": 30, "completion_tokens": 4}}
    whole = says("one") | {"usage": {"prompt_tokens": 10, "completion_tokens": 2}}
    last = {"role": "assistant", "content": "two"} | usage | odd
    assert transcript([user("a"), whole, user("b"), last]).usage == Usage(10, 2, 1)


@pytest.mark.parametrize("cut", ["microcompact_boundary", "compact_boundary"])
def test_usage_before_claude_code_cleared_its_context_is_stale(
    cut: str,
) -> None:
    def answer(uuid: str, parent: str, tokens: int) -> bytes:
        usage = {"input_tokens": tokens, "output_tokens": 5}
        return line(
            "assistant",
            uuid,
            parent,
            {"id": uuid, "content": [{"type": "text", "text": "x"}], "usage": usage},
        )

    event = {"type": "system", "subtype": cut, "uuid": "k1", "parentUuid": "a1"}
    event |= {"microcompactMetadata": {"compactedToolIds": []}} if cut.startswith("micro") else {}
    data = line("user", "u1", None, {"content": "hi"}) + answer("a1", "u1", 90_000)
    assert read(data)[0].transcripts[0].usage == Usage(90_000, 5, 1)
    data += json.dumps(event).encode() + b"\n" + line("user", "u2", "k1", {"content": "on"})
    assert read(data)[0].transcripts[0].usage is None
    talk = read(data + answer("a2", "u2", 700))[0].transcripts[0]
    assert [usage.prompt_tokens for usage in talk.usages] == [700]


def line(kind: str, uuid: str, parent: str | None, message: dict[str, Any]) -> bytes:
    return (
        json.dumps(
            {"type": kind, "uuid": uuid, "parentUuid": parent, "message": {"role": kind} | message}
        ).encode()
        + b"\n"
    )


def test_claude_code_usage_sums_three_counters_once_per_message() -> None:
    counters = {
        "input_tokens": 3,
        "cache_creation_input_tokens": 40,
        "cache_read_input_tokens": 500,
    }
    data = line("user", "u1", None, {"content": "hi"})
    data += line(
        "assistant",
        "a1",
        "u1",
        {
            "id": "m1",
            "content": [{"type": "text", "text": "so"}],
            "usage": counters | {"output_tokens": 1},
        },
    )
    data += line(
        "assistant",
        "a2",
        "a1",
        {
            "id": "m1",
            "content": [{"type": "text", "text": "long"}],
            "usage": counters | {"output_tokens": 77},
        },
    )
    data += line("user", "u2", "a2", {"content": "thanks"})
    assert read(data)[0].transcripts[0].usage == Usage(543, 77, 1)


def test_the_report_shows_usage_next_to_the_count() -> None:
    from builders import step
    from harness import run

    from ctxtrim.reports import rendered
    from ctxtrim.reports.report import Report

    talk = [
        user("a"),
        *step("c", "x"),
        says("so") | {"usage": {"prompt_tokens": 1234, "completion_tokens": 4}},
    ]
    report = Report(())
    report.add(run(conversation(talk)).rows)
    text = "".join(rendered(report, "text"))
    assert "reported" in text
    assert "1,234" in text
    assert (
        json.loads("".join(rendered(report, "json")))["transcripts"][0]["reported"]["prompt_tokens"]
        == 1234
    )
