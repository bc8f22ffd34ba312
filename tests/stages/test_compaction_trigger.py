"""When a session is compacted (S3-2, S3-3, S3-13)."""

import json
from typing import Any

import pytest
from builders import call, conversation, result, says, steps, transcript, user
from builders_pi import compaction, entry, session
from builders_pi import says as pi_says
from builders_pi import transcript as pi_transcript
from builders_pi import user as pi_user
from harness import run

from ctxtrim.conversation.recency import kept_from
from ctxtrim.conversation.turns import shape
from ctxtrim.stages.compaction_trigger import (
    MAX_MESSAGES,
    Estimate,
    Trigger,
    effective_token_limit,
    estimate,
    rough_tokens,
    should_compact,
)
from ctxtrim.summaries import markers


@pytest.mark.parametrize(
    ("known_room", "session_tokens", "limit"),
    [(111_616, 8000, 111_616), (1000, 8000, 1000), (None, 8000, 8000), (None, 0, None)],
)
def test_s3_2_the_limit_is_the_rest_of_the_window_else_max_tokens_else_none(
    known_room: int | None, session_tokens: int, limit: int | None
) -> None:
    assert effective_token_limit(known_room, session_tokens) == limit


@pytest.mark.parametrize(
    ("estimate", "limit", "auto", "expected"),
    [
        (Estimate(9000, 90), 8000, False, (False, "off")),
        (Estimate(8000, 2), 8000, True, (True, "tokens")),
        (Estimate(7999, 90), 8000, True, (False, "tokens")),
        (Estimate(9000, 50), None, True, (True, "messages")),
        (Estimate(9000, 49), None, True, (False, "messages")),
    ],
)
def test_s3_2_auto_then_tokens_then_messages(
    estimate: Estimate, limit: int | None, auto: bool, expected: tuple[bool, str]
) -> None:
    trigger = should_compact(estimate, limit, MAX_MESSAGES, auto=auto)
    assert (trigger.is_due, trigger.rule) == expected


def trigger_message(data: bytes, settings: dict[str, Any], **metering: Any) -> str:
    (step,) = run(data, [("compact", settings)], **metering).rows[0].steps
    return next(finding.message for finding in step.findings if finding.code == "trigger")


@pytest.mark.parametrize(
    ("settings", "metering", "expected"),
    [
        ({}, {}, "no compaction: ≈4,022 tokens < the limit of 8,000"),
        ({"session_tokens": 4000}, {}, "compaction is due: ≈4,022 tokens >= the limit of 4,000"),
        ({"session_tokens": 0}, {}, "no compaction: 21 messages < the limit of 50"),
        (
            {"session_tokens": 0, "max_messages": 21},
            {},
            "compaction is due: 21 messages >= the limit of 21",
        ),
        ({"auto": False, "session_tokens": 1}, {}, "no compaction: automatic compaction is off"),
        ({}, {"model": "gpt-4o"}, "no compaction: ≈4,022 tokens < the limit of 123,904"),
        (
            {},
            {"model": "gpt-4o", "default_reserve": 16_384},
            "no compaction: ≈4,022 tokens < the limit of 111,616",
        ),
        (
            {},
            {"context_window": 16_000, "default_reserve": 16_384},
            "no compaction: ≈4,022 tokens < the limit of 8,000",
        ),
        (
            {},
            {"context_window": 8000, "reserve": 5000},
            "compaction is due: ≈4,022 tokens >= the limit of 3,000",
        ),
        ({}, {"model": "nobody-knows-it"}, "no compaction: ≈4,022 tokens < the limit of 8,000"),
        ({}, {"limit": 3000}, "compaction is due: ≈4,022 tokens >= the limit of 3,000"),
    ],
)
def test_s3_2_the_report_names_the_deciding_rule_and_no_window_is_assumed(
    settings: dict[str, Any], metering: dict[str, Any], expected: str
) -> None:
    assert trigger_message(conversation(steps(10, "a" * 1598)), settings, **metering) == expected


def test_s3_13_without_usage_four_characters_are_a_token_and_an_image_1200() -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    talk = [user("abcde"), call("c1", text="xx"), result("c1", [{"type": "text", "text": "ok"}])]
    talk.append({"role": "user", "content": [{"type": "text", "text": "look"}, picture]})
    parsed = transcript(talk)
    arguments = len(json.dumps({"text": "xx"}))
    assert [rough_tokens(message) for message in parsed.messages] == [
        2,
        -(-(arguments + len("bash")) // 4),
        1,
        1201,
    ]
    assert estimate(parsed) == Estimate(sum(map(rough_tokens, parsed.messages)), 4)


def test_s3_13_the_estimate_includes_the_names_of_calls() -> None:
    short, long = (
        transcript([call("c1", name=name)]).messages[0] for name in ("run", "run" + "_again" * 40)
    )
    assert rough_tokens(long) - rough_tokens(short) == 240 // 4


@pytest.mark.parametrize(
    "usage", [{"totalTokens": 5000}, {"input": 0, "output": 0, "totalTokens": 5000}]
)
def test_s3_13_a_recorded_total_is_enough(usage: dict[str, int]) -> None:
    entries = [pi_user("go"), pi_says("b" * 400, usage=usage), pi_user("a" * 400)]
    data = session(
        *(
            entry(f"e{at}", f"e{at - 1}" if at else None, message)
            for at, message in enumerate(entries)
        )
    )
    assert estimate(pi_transcript(data)) == Estimate(5100, 3, 5000)
    plain = [user("go"), says("b" * 400) | {"usage": {"total_tokens": 700}}, user("a" * 400)]
    assert estimate(transcript(plain)) == Estimate(800, 3, 700)


def test_s3_13_hidden_messages_cost_nothing_and_reasoning_is_counted() -> None:
    thought = pi_says(
        "", content=[{"type": "thinking", "thinking": "t" * 40}, {"type": "text", "text": "so"}]
    )
    hidden = pi_user("a" * 400, metadata={"agentVisible": False})
    transcript = pi_transcript(
        session(entry("a", None, hidden), entry("b", "a", pi_user("go")), entry("c", "b", thought))
    )
    assert estimate(transcript) == Estimate(1 + 11, 2)


def test_s3_13_later_messages_are_added_to_the_last_recorded_usage() -> None:
    answered = pi_says("ok", usage={"input": 5000, "cacheRead": 1000, "output": 50})
    broken = pi_says("no", usage={"input": 90_000, "output": 1}, stopReason="aborted")
    entries = [pi_user("go"), answered, broken, pi_user("a" * 400)]
    data = session(
        *(
            entry(f"e{at}", f"e{at - 1}" if at else None, message)
            for at, message in enumerate(entries)
        )
    )
    assert estimate(pi_transcript(data)) == Estimate(6150, 3, 6050)


def test_s3_13_usage_before_a_compaction_is_ignored() -> None:
    answered = pi_says("ok", usage={"input": 5000, "output": 50})
    data = session(
        entry("a", None, pi_user("go")),
        entry("b", "a", answered),
        compaction("c", "b", "so far", firstKeptEntryId="b"),
    )
    assert estimate(pi_transcript(data)).recorded == 0


def test_s3_13_usage_of_answers_older_than_the_summary_is_ignored() -> None:
    summary = user(markers.titled("Nothing yet.", answers=2))
    old = {"usage": {"prompt_tokens": 90_000, "completion_tokens": 9}}
    new = {"usage": {"prompt_tokens": 700, "completion_tokens": 9}}
    talk = [summary, says("a") | old, user("b"), says("c") | old, user("d")]
    assert estimate(transcript(talk)).recorded == 0
    assert estimate(transcript([*talk, says("e") | new])) == Estimate(709, 6, 709)


def test_s3_13_usage_before_a_compaction_does_not_trigger_the_next() -> None:
    talk = [user("begin: " + "a" * 400), says("b" * 400), user("and " + "c" * 3000)]
    talk += [
        says("d" * 3000) | {"usage": {"prompt_tokens": 90_000, "completion_tokens": 750}},
        user("now"),
    ]
    first = run(
        conversation(talk), [("compact", {"keep_recent_tokens": 1600})], tokenizer="o200k_base"
    )
    assert "≈90,751 tokens, 90,750 of them recorded" in str(first.rows[0].steps[0].findings)
    assert first.data != conversation(talk)
    assert trigger_message(first.data or b"", {}, tokenizer="o200k_base").startswith(
        "no compaction: "
    )


def test_s3_3_kept_tokens_cover_whole_exchanges_and_always_the_last() -> None:
    parsed = transcript([user("a"), says("b"), *steps(1, "c"), says("d")])
    read_shape = shape(parsed.messages)
    costs = [10] * 6
    by_tokens = [
        kept_from(read_shape, costs, count=0, tokens=tokens)
        for tokens in (5, 10, 20, 30, 40, 50, 60)
    ]
    assert by_tokens == [5, 5, 3, 3, 2, 1, 0]
    by_count = [kept_from(read_shape, costs, count=count, tokens=0) for count in (0, 1, 2, 5, 9)]
    assert by_count == [5, 5, 3, 1, 0]


def test_s3_12_a_cause_makes_compaction_due_despite_the_trigger() -> None:
    assert Trigger(True, "request", "context length").is_due
