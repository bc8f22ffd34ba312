"""Trim: drops whole exchanges, oldest first, and never exceeds the budget."""

import json
from typing import Any

import builders
import pytest
from builders import call, contents, conversation, result, says, step, user
from harness import run
from msgspec.structs import replace

from ctxtrim.stages.trim.stage import Trim
from ctxtrim.tokenizers import tokenizer
from ctxtrim.tokens.counter import Counter
from ctxtrim.tokens.models import FRAMINGS
from ctxtrim.tokens.tokenizer import Budget

SYSTEM = {"role": "system", "content": "You are terse."}


def kept(messages: list[dict[str, Any]], budget: int, **settings: Any) -> list[Any]:
    data = run(
        conversation(messages), [("trim", {"strategy": "oldest"} | settings)], limit=budget
    ).data
    return contents(data)


def tokens(messages: list[dict[str, Any]]) -> int:
    return run(conversation(messages)).rows[0].count.tokens


TALK = [
    SYSTEM,
    user("first task"),
    *step("a", "one " * 50),
    says("done one"),
    user("second task"),
    *step("b", "two " * 50),
    says("done two"),
    user("third task"),
    *step("c", "three " * 50),
]


def test_a_transcript_that_fits_is_unchanged() -> None:
    assert kept(TALK, tokens(TALK)) == [message["content"] for message in TALK]


def test_the_oldest_exchange_is_clipped_first_and_then_dropped() -> None:
    messages = kept(TALK, tokens(TALK) - 1)
    assert "... [truncated" in messages.pop(3)
    assert messages == [message["content"] for message in (*TALK[:3], *TALK[4:])]
    least = tokens(
        [*TALK[:2], call("a"), result("a", "[content truncated - 2 steps ago]"), *TALK[4:]]
    )
    assert kept(TALK, least)[3] == "[content truncated - 2 steps ago]"
    assert kept(TALK, least - 1) == [message["content"] for message in (*TALK[:2], *TALK[4:])]


def test_the_opening_task_is_dropped_after_all_history_except_the_current_task() -> None:
    budget = tokens([SYSTEM, TALK[1], TALK[4], TALK[9], *TALK[10:]])
    assert kept(TALK, budget) == [
        "You are terse.",
        "first task",
        "done one",
        "third task",
        None,
        "three " * 50,
    ]


@pytest.mark.parametrize("strategy", ["priority", "oldest", "middle", "age"])
@pytest.mark.parametrize("budget", [120, 200, 300])
def test_the_last_exchange_is_shortened_also_without_a_prompt(strategy: str, budget: int) -> None:
    steps = [*step("a", "one\n" * 400), *step("b", "two\n" * 400)]
    prompt = user("Read both.")
    room = tokens([SYSTEM, prompt]) - tokens([SYSTEM])
    without = kept([SYSTEM, *steps], budget, strategy=strategy)
    assert len(without[-1]) < len(steps[-1]["content"])
    with_prompt = kept([SYSTEM, prompt, *steps], budget + room, strategy=strategy)
    assert with_prompt[2:] == without[1:]


def test_a_last_exchange_without_room_for_its_smallest_form_is_an_overflow() -> None:
    messages = [SYSTEM, *step("a", "one\n" * 400)]
    least = tokens([SYSTEM, call("a"), result("a", "[content truncated - 0 steps ago]")])
    assert kept(messages, least)[-1] == "[content truncated - 0 steps ago]"
    ran = run(conversation(messages), [("trim", {})], limit=least - 1)
    assert ran.data is None
    assert "(last exchange)" in ran.rows[0].findings[-1].details[2]


def test_trimming_makes_no_prompts_adjacent() -> None:
    budget = tokens([SYSTEM, TALK[1], TALK[9], *TALK[10:]])
    *messages, result = kept(TALK, budget)
    assert messages == ["You are terse.", "first task", "done one", "third task", None]
    assert "... [truncated" in result


def test_the_opening_task_is_kept_alone_if_prompts_were_adjacent_before() -> None:
    talk = [*TALK[:5], user("and another thing"), *TALK[5:]]
    budget = tokens([SYSTEM, TALK[1], TALK[9], *TALK[10:]])
    assert kept(talk, budget) == ["You are terse.", "first task", "third task", None, "three " * 50]


def test_system_and_current_task_are_never_dropped() -> None:
    bare = [SYSTEM, TALK[9]]
    assert kept(TALK, tokens(bare)) == ["You are terse.", "third task"]


def test_an_overflow_lists_the_remaining_messages_and_their_tokens() -> None:
    bare = [SYSTEM, TALK[9]]
    ran = run(conversation(TALK), [("trim", {})], limit=tokens(bare) - 1)
    row = ran.rows[0]
    assert ran.data is None
    assert row.messages == 2
    assert not row.is_written
    finding = row.findings[0]
    assert finding.message == (
        f"Cannot fit request within context limit. Current: {tokens(bare)} tokens, Max: "
        f"{tokens(bare) - 1} tokens. "
        "Please narrow the scope or start a new session."
    )
    assert [detail.split(":")[0] for detail in finding.details[:3]] == [
        "Current is an estimate",
        "message 0 (system), line 1",
        "message 9 (user), line 1",
    ]
    assert "plit the input" in finding.details[-1]


def test_an_overflow_names_large_tool_schemas() -> None:
    read = {"name": "read_gauge", "description": "Read a gauge of the harbour. " * 300}
    data = conversation([user("go")], tools=[{"type": "function", "function": read}])
    details = run(data, [("trim", {})], limit=20).rows[0].findings[0].details
    assert details[2].startswith("tool schemas and request overhead: ≈2,")
    assert details[-1] == "Send fewer tools, or raise the budget."


def test_an_overflow_without_tools_does_not_advise_to_send_fewer() -> None:
    details = run(conversation([user("go")]), [("trim", {})], limit=1).rows[0].findings[0].details
    assert "request overhead" in details[-2]
    assert "plit the input" in details[-1]


def test_parallel_results_are_dropped_with_their_call() -> None:
    talk = [
        user("go"),
        call("a", "b", "c"),
        *(result(name, name * 90) for name in "cab"),
        *step("d", "short"),
    ]
    for budget in range(tokens([talk[0], *talk[5:]]), tokens(talk)):
        messages = kept(talk, budget)
        assert messages in (["go", None, "short"], ["go", None, *messages[2:5], None, "short"])


def test_reused_ids_are_paired_by_order() -> None:
    talk = [user("go"), *step("x", "old " * 30), *step("x", "new")]
    assert kept(talk, tokens([talk[0], *talk[3:]])) == ["go", None, "new"]


def test_without_a_user_message_the_last_exchange_is_kept() -> None:
    talk = [*step("a", "old " * 30), *step("b", "new")]
    assert kept(talk, 1 + tokens(step("b", "new"))) == [None, "new"]


def test_a_single_turn_of_two_hundred_steps_is_trimmed() -> None:
    talk = [
        user("go"),
        *(message for position in range(200) for message in step(f"c{position}", "text " * 20)),
    ]
    left = kept(talk, 500)
    assert left[0] == "go"
    assert 3 < len(left) < 41
    assert len(left) % 2 == 1


@pytest.mark.parametrize("budget", range(1, 400, 7))
def test_the_output_begins_with_a_user_message_if_the_input_does(
    budget: int,
) -> None:
    data = run(conversation(TALK[1:]), [("trim", {})], limit=budget).data
    assert data is None or contents(data)[0] in ("first task", "second task", "third task")


@pytest.mark.parametrize("budget", [150, 400])
def test_ten_thousand_messages_are_trimmed_in_one_pass(budget: int) -> None:
    talk = [
        user("go"),
        *(message for position in range(5000) for message in step(f"c{position}", "text")),
    ]
    row = run(conversation(talk), [("truncate", {}), ("trim", {})], limit=budget).rows[0]
    assert row.fits
    assert row.messages_read == 10_001


def test_a_summary_is_dropped_after_the_history_and_before_the_opening_task() -> None:
    transcript = builders.transcript([user("summary " * 20), *TALK[1:]])
    first, *rest = transcript.messages
    transcript = replace(
        transcript, messages=(replace(first, is_injected=True, is_summary=True), *rest)
    )
    counter = Counter(tokenizer("chars4"), FRAMINGS["openai"])
    left = [user("summary " * 20), user("first task"), *TALK[9:]]
    budget = Budget(128_000, 0, limit=counter.tokens(builders.transcript(left)))
    kept = Trim(counter, budget)(transcript).transcript.messages
    assert [message.index for message in kept][:2] == [0, 1]
    assert len(kept) < len(transcript.messages)
    for limit in range(20, budget.available):
        kept = Trim(counter, replace(budget, limit=limit))(transcript).transcript.messages
        names = {message.index for message in kept}
        assert 1 in names or 0 not in names


def test_every_message_is_explained_with_its_reason() -> None:
    steps = (
        run(conversation(TALK), [("trim", {"strategy": "oldest"})], limit=tokens(TALK) - 1)
        .rows[0]
        .steps
    )
    reasons = [measured.change.reason for measured in steps[0].changes]
    assert reasons[:4] == [
        "system", "opening task, fits", "oldest first: exchange of turn 1, step 1, fits",
        "long result: at most 53 tokens",
    ]  # fmt: skip
    last = ("prompt of turn", "answer between two prompts", "long result", "current task")
    assert all(reason.endswith(", fits") or reason.startswith(last) for reason in reasons[4:])


def test_the_bound_of_a_clipped_result_includes_escapes_and_framing() -> None:
    response = {"name": "berths", "response": {"output": '"north"\n\t"quay"\n' * 900}}
    contents = [
        {"role": "user", "parts": [{"text": "go"}]},
        {"role": "model", "parts": [{"functionCall": {"name": "berths", "args": {}}}]},
        {"role": "user", "parts": [{"functionResponse": response}]},
        {"role": "user", "parts": [{"text": "now"}]},
    ]
    data = json.dumps({"contents": contents}).encode()
    for budget in range(200, 2000, 150):
        measured = run(data, [("trim", {})], limit=budget).rows[0].steps[0].changes[2]
        reason, bound = measured.change.reason.rsplit(" at most ")
        assert reason == "long result:"
        most = int(bound.removesuffix(" tokens").replace(",", ""))
        assert measured.tokens_after <= most <= budget


def test_an_overflowing_transcript_is_counted_as_it_is_written() -> None:
    from io import BytesIO

    from ctxtrim.formats.reading import open_reading
    from ctxtrim.metering import Metering
    from ctxtrim.pipeline import Spec, StagePipeline
    from ctxtrim.stream import done_chunks
    from ctxtrim.stream.job import Job

    data = conversation(TALK)
    metering = Metering(tokenizer, tokenizer="chars4", limit=10)
    job = Job(StagePipeline((Spec("trim", {}),), metering), on_overflow="keep")
    done = next(done_chunks("", open_reading(BytesIO(data)).chunks, job, None))
    assert done.data == data
    assert (done.rows[0].messages, done.rows[0].count.tokens) == (len(TALK), tokens(TALK))
    assert done.rows[0].is_written
    assert done.rows[0].overflows


@pytest.mark.parametrize("strategy", ["priority", "middle", "age"])
def test_no_result_points_to_a_newer_one_that_is_dropped(strategy: str) -> None:
    """Else its text would be lost, though there is room for it."""
    text = "\n".join(f"entry {number} of the tide table" for number in range(60))
    read = {"name": "read_file", "path": "a.py"}
    newer = call("c2", **read) | {"content": "I compare the files. " * 150}
    talk = [user("go"), *step("c1", text, **read), newer, result("c2", text), says("Done.")]
    for budget in range(tokens([talk[0], talk[-1]]) + 120, tokens([*talk[:3], talk[-1]]), 60):
        ran = run(conversation(talk), [("trim", {"strategy": strategy})], limit=budget)
        texts = [text for text in contents(ran.data) if text]
        assert not any("the newer result c2" in text for text in texts)
        assert any(text.startswith("entry 0 of") for text in texts)
        assert ran.rows[0].count.tokens > budget * 0.8


def test_reasoning_of_the_current_task_is_kept_however_few_turns_are_recent() -> None:
    """A provider refuses calls of the current task without their signed reasoning."""
    steps = [
        value | ({"reasoning_content": "I think about it. " * 20} if "tool_calls" in value else {})
        for number in range(4)
        for value in step(f"c{number}", f"row of log {number}\n" * 40)
    ]
    for budget in range(200, 1200, 100):
        ran = run(
            conversation([user("go"), *steps]), [("trim", {"keep_recent_turns": 0})], limit=budget
        )
        values = json.loads(ran.data or b"")["messages"]
        assert all("reasoning_content" in value for value in values if "tool_calls" in value)
