"""Thinking: `trim` drops whole blocks after an edit that makes them invalid, and the report counts
them with the reason.
"""

import json
from typing import Any

import pytest
from builders import conversation, says, step, transcript, user
from conftest import Run
from harness import Ran, parse, read
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from strategies import budgets, files

from ctxtrim.formats.reading import open_reading
from ctxtrim.metering import Metering
from ctxtrim.pipeline import StagePipeline
from ctxtrim.stage import Outcome
from ctxtrim.stages.reasoning import (
    MODES,
    ReasoningMode,
    mode_for,
    without_invalid_reasoning,
)
from ctxtrim.stream import done_chunks
from ctxtrim.stream.job import Job
from ctxtrim.tokenizers import tokenizer


def run(
    data: bytes,
    mode: ReasoningMode | None,
    budget: int,
    stage: str = "trim",
    model: str | None = None,
    settings: dict[str, Any] | None = None,
) -> Ran:
    from io import BytesIO

    job = Job(
        StagePipeline(
            (parse(stage, settings or {}),),
            Metering(tokenizer, model, "chars4", limit=budget),
            mode,
        )
    )
    done = list(done_chunks("file", open_reading(BytesIO(data)).chunks, job, None))
    written = [outcome.data for outcome in done if outcome.data is not None]
    return Ran(b"".join(written), tuple(row for outcome in done for row in outcome.rows), (), {})


def thought(text: str) -> dict[str, Any]:
    """An answer with thinking before it."""
    return says(text) | {"reasoning_content": f"thinking of {text}"}


LONG = "two " * 90
TALK = [
    user("first"),
    thought("one"),
    user("second"),
    thought(LONG),
    user("third"),
    thought("three"),
]


def thoughts(ran: Ran) -> list[str | None]:
    return [
        message.get("reasoning_content")
        for message in json.loads(ran.data or b"")["messages"]
        if "assistant" in message["role"]
    ]


@pytest.mark.parametrize(
    ("mode", "budget", "expected"),
    [
        ("keep", 1000, ["thinking of one", f"thinking of {LONG}", "thinking of three"]),
        ("strip-after-edit", 1000, ["thinking of one", f"thinking of {LONG}", "thinking of three"]),
        ("keep", 150, ["thinking of one", "thinking of three"]),
        ("strip-after-edit", 150, ["thinking of one", None, None]),
        ("strip-after-edit", 100, ["thinking of one", None]),
        ("keep-current-loop", 150, [None, None, "thinking of three"]),
        ("keep-current-loop", 100, [None, "thinking of three"]),
        ("keep-current-loop", 1000, [None, None, "thinking of three"]),
        ("strip", 1000, [None, None, None]),
    ],
)
def test_each_mode_keeps_its_messages(
    mode: ReasoningMode, budget: int, expected: list[str | None]
) -> None:
    assert thoughts(run(conversation(TALK), mode, budget)) == expected


def test_thinking_that_two_members_repeat_is_removed_with_its_copy() -> None:
    answer = thought("one") | {"reasoning": "thinking of one"}
    ran = run(conversation([user("first"), answer, user("second")]), "strip", 1000)
    assert json.loads(ran.data or b"")["messages"][1] == says("one")


@pytest.mark.parametrize("opening", [[], [user("first")]])
def test_the_first_loop_is_the_current_loop(opening: list[dict[str, Any]]) -> None:
    talk = [*opening, thought("one"), *step("a", "text"), thought("two")]
    ran = run(conversation(talk), "keep-current-loop", 1000)
    assert ran.data == conversation(talk)


@pytest.mark.parametrize(("stage", "mode"), [("trim", None), ("count", "keep-current-loop")])
def test_a_prompt_among_results_continues_their_loop(
    stage: str, mode: ReasoningMode | None
) -> None:
    """Anthropic requires thinking before the last calls if results answer them."""

    def calls(name: str) -> dict[str, Any]:
        block = {"type": "thinking", "thinking": LONG, "signature": f"s{name}"}
        call = {"type": "tool_use", "id": name, "name": "look", "input": {}}
        return {"role": "assistant", "content": [block, call]}

    def results(name: str, *more: dict[str, Any]) -> dict[str, Any]:
        result = {"type": "tool_result", "tool_use_id": name, "content": "ok"}
        return {"role": "user", "content": [result, *more]}

    settings = {"keep_recent_turns": 0} if stage == "trim" else {}
    talk = [user("Mend the clock."), calls("a"), results("a"), calls("b")]
    talk.append(results("b", {"type": "text", "text": "Also oil it."}))
    out = json.loads(run(conversation(talk), mode, 230, stage, settings=settings).data)["messages"]
    assert out == ([talk[0], *talk[3:]] if stage == "trim" else talk)


def test_a_debug_key_does_not_invalidate_thinking() -> None:
    """The model does not read it."""
    before = transcript([user("go"), *step("a", "text"), thought("two")])
    messages = list(before.messages)
    messages[2] = replace(messages[2], metadata=(("_truncatedAt", 1),))
    outcome = Outcome(replace(before, messages=tuple(messages)))
    assert without_invalid_reasoning(before, outcome, "strip-after-edit", {}) is outcome


def test_thinking_right_after_an_edit_is_dropped() -> None:
    talk = [user("first"), thought(LONG), thought("two"), user("third"), thought("three")]
    ran = run(conversation(talk), "strip-after-edit", 100)
    assert [message["content"] for message in json.loads(ran.data or b"")["messages"]] == [
        "first",
        "two",
        "third",
        "three",
    ]
    assert thoughts(ran) == [None, None]


@pytest.mark.parametrize(
    ("model", "mode"),
    [
        ("claude-opus-5-5", "strip-after-edit"),
        ("claude-fable-5.1", "strip-after-edit"),
        ("anthropic/claude-sonnet-5.5", "strip-after-edit"),
        ("claude-opus-5", "keep"),
        ("claude-mythos-5-1", "keep"),
        ("gpt-4o", "keep"),
        (None, "keep"),
    ],
)
def test_by_default_only_signed_thinking_is_dropped(model: str | None, mode: ReasoningMode) -> None:
    assert mode_for(model) == mode
    expected = None if mode == "strip-after-edit" else "thinking of three"
    assert thoughts(run(conversation(TALK), None, 100, model=model)) == [
        "thinking of one",
        expected,
    ]


def test_thinking_before_the_first_edit_is_kept() -> None:
    talk = [user("go"), thought("plan"), *step("a", "x" * 9000), thought("end")]
    ran = run(conversation(talk), "strip-after-edit", 100_000, "truncate")
    assert thoughts(ran) == ["thinking of plan", None, None]


@pytest.mark.parametrize("mode", ["strip-after-edit", "strip"])
def test_no_message_is_dropped_for_thinking_that_is_removed_anyway(mode: ReasoningMode) -> None:
    """A provider refuses thinking after an edit, so its tokens are free for messages."""
    loop = [message for number in range(8) for message in step(f"c{number}", f"row {number}")]
    for message in loop[::2]:
        message["reasoning_content"] = LONG
    bare = [
        {key: message[key] for key in message if key != "reasoning_content"} for message in loop
    ]
    ran = run(conversation([user("go"), *loop, says("done")]), mode, 300)
    assert json.loads(ran.data or b"")["messages"] == [user("go"), *bare, says("done")]
    (result,) = ran.rows[0].steps
    assert [measured.change.action for measured in result.changes].count("stripped") == 8
    assert "8 thinking blocks removed" in result.findings[-1].message


def test_an_edit_that_is_earlier_without_later_thinking_drops_nothing() -> None:
    """The first fit clips the newest step; without its thinking, an older turn would go first."""
    call, answer = step("c", "r " * 5)
    talk = [
        user("u0 " * 20),
        says("a0 ") | {"reasoning_content": "t "},
        user("u1 "),
        says("a1 " * 20) | {"reasoning_content": "t "},
        user("u2 " * 20),
        call | {"reasoning_content": "t " * 200},
        answer,
        says("a2 ") | {"reasoning_content": "t "},
    ]
    settings = {"keep_recent_turns": 1}
    bare = run(conversation(talk), "strip", 10**6, settings=settings).rows[0].count.tokens
    ran = run(conversation(talk), "strip-after-edit", bare, settings=settings)
    kept = json.loads(ran.data or b"")["messages"]
    assert [message["role"] for message in kept] == [message["role"] for message in talk]


@pytest.mark.parametrize("mode", ["strip-after-edit", "strip"])
def test_a_pin_that_matches_only_thinking_protects_its_message(mode: ReasoningMode) -> None:
    talk = [message for number in range(9) for message in (user(f"{number}"), says(LONG))]
    talk[5]["reasoning_content"] = "the secret plan"
    for message in talk[7::2]:
        message["reasoning_content"] = LONG
    settings = {"pin": ("secret",), "keep_recent_turns": 0}
    ran = run(conversation(talk), mode, 420, settings=settings)
    kept = json.loads(ran.data or b"")["messages"]
    assert user("2") in kept
    assert kept[kept.index(user("2")) + 1] == says(LONG)


def item(kind: str, **members: Any) -> dict[str, Any]:
    return {"type": kind, **members}


def spoken(role: str, text: str, **members: Any) -> dict[str, Any]:
    return item("message", role=role, content=text, **members)


RESPONSES = [
    spoken("user", "Count the buoys."),
    item("reasoning", id="rs_1", summary=[{"text": "The chart"}, {"text": "says it."}]),
    item("function_call", call_id="c1", name="chart", arguments="{}"),
    item("function_call_output", call_id="c1", output="north, south"),
    item("reasoning", id="rs_2", summary=[], encrypted_content="gAAA" * 9),
    spoken("assistant", "I check the list."),
    spoken("assistant", "There are two."),
]


def ids(items: list[dict[str, Any]], *positions: int) -> list[dict[str, Any]]:
    """The items, with ids at some positions."""
    return [
        value | {"id": f"it_{position}"} if position in positions else value
        for position, value in enumerate(items)
    ]


@pytest.mark.parametrize(
    ("items", "removed"),
    [
        (RESPONSES, (1, 4)),
        (ids(RESPONSES, 0, 3), (1, 4)),
        (ids(RESPONSES, 2), (4,)),
        (ids(RESPONSES, 5), (1,)),
        (ids(RESPONSES, 6), (1,)),  # of the same response
        ([*RESPONSES[:4], item("reasoning", id="rs", summary=[]), *RESPONSES[4:]], (1,)),
    ],
)
@pytest.mark.parametrize("place", ["a request", "codex", "mini-swe-agent"])
def test_the_reasoning_of_items_without_ids_is_stripped(
    ctxtrim: Run, items: list[dict[str, Any]], removed: tuple[int, ...], place: str
) -> None:
    """OpenAI refuses an item with an id without the reasoning before it."""

    def written(items: list[dict[str, Any]]) -> str:
        if place == "a request":
            return json.dumps({"model": "gpt-5", "input": items, "tools": []})
        if place == "codex":
            meta = {"type": "session_meta", "payload": {"id": "s", "cli_version": "0.99.0"}}
            lines = [meta, *({"type": "response_item", "payload": value} for value in items)]
            return "".join(json.dumps(line) + "\n" for line in lines)
        call = next(at for at, value in enumerate(items) if value["type"] == "function_call")
        first = {"object": "response", "output": items[1 : call + 1]}
        second = {"object": "response", "output": items[call + 2 :]}
        prompt = {"role": "user", "content": "Count the buoys."}
        return json.dumps({"messages": [prompt, first, items[call + 1], second]})

    kept = [value for position, value in enumerate(items) if position not in removed]
    ran = ctxtrim("trim", "--thinking", "strip", "-b", "900", stdin=written(items).encode())
    assert (ran.code, ran.out) == (0, written(kept).encode())
    stay = any(value["type"] == "reasoning" for value in kept)
    assert ("1 answer kept reasoning: it cannot be removed alone" in ran.err) is stay


def test_the_target_holds_also_if_the_budget_is_met_without_thinking() -> None:
    talk = [message for number in range(9) for message in (user(f"{number}"), thought(LONG))]
    ran = run(conversation(talk), "strip", 1200, settings={"target": 0.5})
    assert ran.rows[0].count.tokens <= 600
    assert run(conversation(talk), "strip", 1200).rows[0].count.tokens > 600


def test_the_first_thinking_that_is_removed_to_fit_says_so() -> None:
    talk = [user("go"), thought("one"), user("on"), thought(LONG), user("end")]
    (step,) = run(conversation(talk), "strip-after-edit", 130).rows[0].steps
    reasons = {
        measured.change.message: measured.change.reason
        for measured in step.changes
        if measured.change.action == "stripped"
    }
    assert reasons == {3: "thinking: removed to fit the budget"}
    assert "prompt-cache" in [finding.code for finding in step.findings]
    assert len(step.changes) == len(talk) + len(reasons)


def test_a_message_of_thinking_alone_is_dropped() -> None:
    talk = [user("go"), {"role": "assistant", "reasoning_content": "hm"}, user("so?"), says("so")]
    assert [
        message["role"]
        for message in json.loads(run(conversation(talk), "strip", 1000).data or b"")["messages"]
    ] == [
        "user",
        "user",
        "assistant",
    ]


def test_the_report_counts_dropped_thinking_with_the_reason() -> None:
    talk = [user("first"), *TALK[2:5], thought("three"), user("fourth"), thought("four")]
    row = run(conversation(talk), "strip-after-edit", 100).rows[0]
    findings = [finding for finding in row.steps[0].findings if finding.code == "thinking-stripped"]
    assert [finding.message for finding in findings] == [
        "2 thinking blocks removed (something before it has changed), 1 of them after the "
        "current task: "
        "send the next request with thinking off or adaptive"
    ]
    stripped = [
        measurement.change
        for measurement in row.steps[0].changes
        if measurement.change.action == "stripped"
    ]
    assert [change.message for change in stripped] == [4, 6]


@given(files(), st.sampled_from(MODES), st.sampled_from(["trim", "truncate"]), budgets)
def test_in_every_mode_the_output_fits_and_a_second_run_changes_nothing(
    data: bytes, mode: ReasoningMode, stage: str, budget: int
) -> None:
    ran = run(data, mode, budget, stage)
    written = [row for row in ran.rows if row.is_written]
    assert all(row.fits for row in written if stage == "trim")
    again = run(ran.data or b"", mode, budget, stage)
    if all(row.is_written for row in ran.rows):
        assert again.data == ran.data
    after = [transcript for chunk in read(ran.data or b"") for transcript in chunk.transcripts]
    if mode == "strip":
        kinds = {
            part.kind
            for transcript in after
            for message in transcript.messages
            for part in message.parts
            if part.block and not message.is_training_answer  # of pairs; no stage edits those
        }
        assert "reasoning" not in kinds
