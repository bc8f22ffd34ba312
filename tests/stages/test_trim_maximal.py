"""Trim uses its budget: the shapes for which the first version wasted it, and the last drops."""

import json
from pathlib import Path
from typing import Any

import builders
import pytest
from builders import call, contents, conversation, result, says, step, user
from conftest import Run
from depth import examples
from harness import Ran, parse, read, run, unpaired
from hypothesis import given, settings
from msgspec.structs import replace
from strategies import budgets, files, trims

from ctxtrim.conversation.elements import starts_and_alternates
from ctxtrim.conversation.tool_results import results
from ctxtrim.metering import Metering
from ctxtrim.model import Message, Transcript
from ctxtrim.stages.placeholder import PLACEHOLDER, POINTER, Replacement
from ctxtrim.stages.trim.priority import STRATEGIES
from ctxtrim.stages.trim.stage import Trim
from ctxtrim.tokenizers import tokenizer
from ctxtrim.tokens.counter import Counter
from ctxtrim.tokens.models import FRAMINGS
from ctxtrim.tokens.tokenizer import Budget

SYSTEM = {"role": "system", "content": "You are terse."}


def tokens(messages: list[dict[str, Any]]) -> int:
    return run(conversation(messages)).rows[0].count.tokens


def trimmed(messages: list[dict[str, Any]], budget: int, **how: Any) -> Ran:
    return run(conversation(messages), [("trim", how)], limit=budget)


def test_an_opening_prompt_that_cannot_fit_is_dropped_first() -> None:
    """A prompt of 30,000 tokens opened the session; under 8,000 all that followed it is kept."""
    rest = [user("go on"), *step("a", "reading " * 60), says("Done."), user("and the north lamp?")]
    ran = trimmed([SYSTEM, user("long " * 24_000), says("I see."), *rest], 8000)
    assert contents(ran.data) == [message["content"] for message in (SYSTEM, *rest)]


def test_the_newest_exchange_is_kept_if_older_exchanges_are_too_large() -> None:
    talk = [user("opening " * 2000), says("Fine."), user("now"), *step("a", "reading " * 60)]
    assert contents(trimmed(talk, 2000).data) == ["now", None, "reading " * 60]


def test_a_huge_newest_result_is_clipped_before_messages_are_dropped() -> None:
    """The newest result is larger than the budget: no older message is dropped for it."""
    talk = [
        user("go"),
        *(
            message
            for at in range(8)
            for message in step(f"c{at}", f"page {at}\n" * 20, "read_file")
        ),
    ]
    talk += step("last", "a line of a very long log\n" * 30_000)
    row = trimmed(talk, 20_000).rows[0]
    assert row.messages == len(talk)
    assert row.count.tokens > 19_000


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_question_and_answer_keep_the_last_answer(strategy: str) -> None:
    talk = [
        user("first question " * 5),
        says("first answer " * 6),
        user("second question " * 4),
        says("answer " * 8),
    ]
    kept = contents(trimmed(talk, tokens(talk) * 120 // 190, strategy=strategy).data)
    assert kept == [message["content"] for message in talk[2:]]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_last_answer_is_dropped_last(
    strategy: str,
) -> None:
    talk = [
        SYSTEM,
        user("opening"),
        says("a " * 40),
        user("second"),
        *step("b", "z " * 200),
        says("the end " * 20),
    ]
    least = tokens([SYSTEM, talk[3], talk[-1]])
    for budget in range(least, tokens(talk), 3):
        assert contents(trimmed(talk, budget, strategy=strategy).data)[-1] == talk[-1]["content"]


def test_oldest_keeps_a_tail_without_gaps() -> None:
    talk = [
        user("go"),
        *(
            message
            for at in range(9)
            for message in step(f"c{at}", f"page {at} " * (90 if at == 5 else 9))
        ),
    ]
    for budget in range(tokens([talk[0], *talk[-2:]]), tokens(talk), 7):
        kept = contents(trimmed(talk, budget, strategy="oldest").data)
        assert kept[0] == "go"
        tail = [message["content"] for message in talk[len(talk) - len(kept) + 1 :]]
        assert kept[3:] == tail[2:]


def test_oldest_keeps_no_turn_that_is_older_than_one_without_room() -> None:
    talk = [user("opening"), says("ok then"), user("first question"), says("first answer")]
    large = [user("huge " * 300), says("second answer")]
    last = [user("third question"), says("third answer"), user("fourth"), says("fine")]
    kept = contents(trimmed([*talk, *large, *last], 120, strategy="oldest").data)
    assert kept == [message["content"] for message in (*talk[:2], *last)]


def test_the_report_names_the_smallest_dropped_exchange(ctxtrim: Run, tmp_path: Path) -> None:
    talk = [user("go"), *step("a", "x " * 300), *step("b", "y " * 30), user("now")]

    budget = tokens([talk[0], talk[5]]) + 5
    ran = ctxtrim("trim", "--tokenizer", "chars4", "--budget", str(budget), "--json",
                  "-o", tmp_path / "out", stdin=conversation(talk))  # fmt: skip
    (row,) = json.loads(ran.out)["transcripts"]
    smallest = row["steps"][0]["smallest_dropped"]
    assert smallest["message"] in (0, 1, 3)  # the opening prompt comes with an answer
    assert smallest["tokens"] > row["budget"]["available"] - row["tokens"]


def test_a_read_of_a_file_that_was_read_in_full_later_is_stale() -> None:
    old, new = "old line of the file\n" * 40, "new line of the file\n" * 40
    talk = [
        user("go"),
        *step("a", old, "read_file", path="a.py"),
        *step("b", new, "read_file", path="a.py"),
    ]
    kept = contents(trimmed([*talk, user("now")], tokens([*talk, user("now")]) - 1).data)
    assert kept[2:5] == ["[read again in the newer result b of read_file]", None, new]
    part = [
        user("go"),
        *step("a", old, "read_file", path="a.py"),
        *step("b", new, "read_file", path="a.py", limit=9),
    ]
    assert "read again" not in str(
        contents(trimmed([*part, user("now")], tokens([*part, user("now")]) - 1).data)
    )


@pytest.mark.parametrize(("steps_since", "is_kept"), [(3, True), (9, False)])
def test_an_old_edit_does_not_protect_old_reads_of_the_file(
    steps_since: int, is_kept: bool
) -> None:
    talk = [user("go"), *step("a", "line\n" * 200, "read_file", path="a.py")]
    talk += step("e", "ok, edited", "edit_file", path="a.py")
    talk += [
        message
        for at in range(steps_since)
        for message in step(f"s{at}", f"note {at}", "edit_file", path="a.py")
    ]
    reasons = [
        measurement.change.reason
        for measurement in trimmed(talk, tokens(talk) - 60).rows[0].steps[0].changes
    ]
    ran = trimmed(talk, tokens([talk[0], *talk[3:]]))
    reasons = [
        measurement.change.reason
        for measurement in ran.rows[0].steps[0].changes
        if measurement.change.message in (1, 2)
    ]
    assert any("active file a.py" in reason for reason in reasons) == is_kept


def test_protected_results_are_clipped_before_a_placeholder_replaces_them() -> None:
    talk = [
        user("go"),
        *step("a", "Error: it broke\n" + "detail of it\n" * 900),
        *step("b", "short"),
        user("now"),
    ]
    kept = contents(trimmed(talk, tokens(talk) // 2).data)
    assert kept[2].startswith("Error: it broke\n") and "... [truncated" in kept[2]


def least_tokens(counter: Counter, messages: tuple[Message, ...], positions: list[int]) -> int:
    """The costs of messages with a placeholder for each result that can be shortened."""
    shape = counter.shape(messages)
    result = {
        tool_result.position: tool_result
        for tool_result in results(shape, [shape.steps - step for step in shape.step])
    }
    placeholder = Replacement("placeholder", PLACEHOLDER, POINTER, 0, assigns=False)
    total = 0
    for at in positions:
        cost = counter.cost(messages[at], shape.fan[at]).total
        tool_result = result.get(at)
        if (
            tool_result is not None
            and tool_result.is_rewritable
            and not placeholder.is_done(tool_result.text)
        ):
            cost = min(
                cost,
                counter.cost(
                    tool_result.with_text(placeholder.of(tool_result, "")), shape.fan[at]
                ).total,
            )
        total += cost
    return total


def may_return(transcript: Transcript, gone: list[int], positions: list[int]) -> bool:
    """Whether strict roles that alternate still do so with some of the dropped messages."""
    messages, strict = transcript.messages, transcript.strict_roles
    if not strict or not starts_and_alternates(messages, strict):
        return True
    stay = [at for at in range(len(messages)) if at not in gone or at in positions]
    return starts_and_alternates([messages[at] for at in stay], strict)


@settings(max_examples=examples(150))
@given(files(), trims, budgets)
def test_no_dropped_exchange_would_fit_in_its_smallest_form(
    data: bytes, how: dict[str, Any], budget: int
) -> None:
    how = how | {"summarize": False}
    if how.get("strategy") == "oldest":
        how["strategy"] = "priority"
    ran = run(data, [("trim", how)], limit=budget)
    transcripts = [transcript for chunk in read(data) for transcript in chunk.transcripts]
    for transcript, row in zip(transcripts, ran.rows, strict=True):
        if row.overflows or not row.steps or unpaired(transcript):
            continue  # without results of calls, the rest can pair and cost differently
        if "other-model" in [finding.code for finding in row.findings]:
            continue  # the dropped messages named the model for which the stage counted
        changes = {
            measurement.change.message: measurement.change.action
            for measurement in row.steps[0].changes
        }
        messages = transcript.messages
        counter = Metering(tokenizer, tokenizer="chars4").meter(transcript).counter
        shape = counter.shape(messages)
        gone = [
            at for at, message in enumerate(messages) if changes.get(message.index) == "dropped"
        ]
        room = int(budget * float(how.get("target", "1.0"))) - row.count.tokens
        for home in {
            shape.exchange[at] for at in gone if messages[shape.exchange[at]].role == "assistant"
        }:
            exchange = [at for at in gone if shape.exchange[at] == home]
            prompts = [
                at
                for at in gone
                if messages[shape.exchange[at]].role == "user"
                and shape.turn[at] == shape.turn[home]
            ]
            if not may_return(transcript, gone, exchange + prompts):
                continue
            assert least_tokens(counter, messages, exchange + prompts) > room


def test_a_long_session_of_small_steps_fills_the_budget() -> None:
    talk = [user("go"), call("x"), result("x", "word " * 3000)]
    talk += [message for at in range(300) for message in step(f"c{at}", f"page {at} " * 20)]
    for budget in (500, 2000, 8000):
        assert trimmed(talk, budget).rows[0].count.tokens > budget * 0.95


def test_the_tokens_of_a_merged_summary_are_used() -> None:
    """An earlier summary becomes part of the new one, which is shorter."""
    facts = "".join(f"- /app/wharf/crane_{number}.py\n" for number in range(150))
    talk = [user(f"[Summary of 40 earlier messages]\n## Files read\n{facts}")]
    for number in range(60):
        talk += step(f"c{number}", f"crate {number} is on the quay\n" * 6, command=f"ls {number}")
    talk.append(user("And now?"))
    first, *rest = builders.transcript(talk).messages
    whole = replace(builders.transcript([]), messages=(replace(first, is_summary=True), *rest))
    counter = Counter(tokenizer("chars4"), FRAMINGS["openai"])
    for budget in (2500, 3000, 4000):
        how = parse("trim", {"summarize": True, "summary_tokens": 200}).settings
        outcome = Trim(counter, Budget(128_000, 0, limit=budget), **how)(whole)
        assert outcome.summary is not None
        assert budget - 300 < counter.tokens(outcome.transcript) <= budget
