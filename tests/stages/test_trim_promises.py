"""The promises of trim and summarize over generated transcripts: every strategy, every tokenizer
that trims.
"""

import json
from collections.abc import Iterable
from typing import Any

import pytest
from depth import examples
from harness import Ran, read, run, unpaired
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import (
    CONVERSATIONS,
    EVENTS,
    as_json,
    budgets,
    compactions,
    cutoffs,
    files,
    removals,
    summaries,
    texts,
    trims,
    truncations,
)

from ctxtrim.conversation.pins import pinned
from ctxtrim.conversation.turns import shape
from ctxtrim.model import Transcript
from ctxtrim.stages.placement.leads import split_message
from ctxtrim.stages.structure import PROFILES, findings
from ctxtrim.stages.trim.priority import STRATEGIES

MODEL = "claude-opus-4-6"  # explicit: a trimmed transcript can lose its model
NAMES = (
    "o200k_base",
    "cl100k_base",
    "claude-v3",
    "claude-v4.7",
    "claude-v4.8",
    "llama",
    "chars4",
    "bytes4",
)


@st.composite
def sessions(draw: st.DrawFn) -> bytes:
    """A session as agents record it: turns of steps, every call answered, ids that
    are used once.
    """
    talk: list[dict[str, Any]] = (
        [{"role": "system", "texts": ["You are terse."]}] if draw(st.booleans()) else []
    )
    for turn in range(draw(st.integers(1, 5))):
        talk.append({"role": "user", "texts": [f"Task {turn}: " + draw(texts)]})
        for step in range(draw(st.integers(0, 4))):
            ids = [f"t{turn}s{step}n{number}" for number in range(draw(st.integers(1, 2)))]
            path = draw(st.sampled_from(["a.py", "b.py"]))
            calls = [
                {"id": call_id, "name": draw(TOOLS), "input": {"x": "look", "path": path}}
                for call_id in ids
            ]
            talk.append(
                {
                    "role": "assistant",
                    "texts": draw(st.sampled_from([[], ["I look."]])),
                    "calls": calls,
                }
            )
            talk += (
                {
                    "role": "tool",
                    "id": call_id,
                    "texts": [draw(texts)],
                    "image": False,
                    "error": None,
                }
                for call_id in ids
            )
        talk.append({"role": "assistant", "texts": [f"Answer {turn}. " + draw(texts)], "calls": []})
    if draw(st.booleans()):
        talk.append({"role": "user", "texts": ["And now?"]})
    form = draw(st.sampled_from([*CONVERSATIONS, *EVENTS]))
    is_line = form in CONVERSATIONS and (form not in EVENTS or draw(st.booleans()))
    values = [CONVERSATIONS[form](talk, 0)] if is_line else EVENTS[form](talk)
    return b"".join(as_json(value, {"ensure_ascii": False}) + b"\n" for value in values)


TOOLS = st.sampled_from(["bash", "read_file", "edit_file"])
inputs = st.one_of(files(), sessions())
edits = st.one_of(st.tuples(st.just("trim"), trims), st.tuples(st.just("summarize"), summaries))
others = st.one_of(
    st.tuples(st.just("truncate"), truncations),
    st.tuples(st.just("drop-images"), removals),
    st.tuples(st.just("cutoff"), cutoffs),
    st.tuples(st.just("compact"), compactions),
    st.just(("repair", {})),
)
pipelines = st.lists(st.one_of(edits, others), min_size=1, max_size=3)


def transcripts(data: bytes | None) -> list[Transcript]:
    return [
        transcript
        for chunk in read(data or b"")
        for transcript in chunk.transcripts
        if transcript.messages
    ]


def within(ran: Ran, budget: int, **metering: Any) -> None:
    """The output fits, by the reported count and by a new count; a transcript that was not written
    has a reason.
    """
    assert [finding.code for finding in ran.findings if finding.code == "self-check"] == []
    for row in ran.rows:
        assert row.count.tokens <= budget or row.overflows
        assert not (row.is_written and row.overflows)
        assert row.count.tokens <= row.tokens_read
    again = run(ran.data or b"", limit=budget, **metering).rows
    # else there was nothing to leave out
    assert all(row.count.tokens <= budget for row in again if row.messages)


@pytest.mark.parametrize("summarize", [False, True])
@pytest.mark.parametrize("strategy", STRATEGIES)
@settings(max_examples=examples(30))  # ten of each here; a thousand of each were run
@given(inputs, trims, budgets, st.sampled_from(NAMES))
def test_s1_9_no_strategy_exceeds_the_budget(
    strategy: str, summarize: bool, data: bytes, how: dict[str, Any], budget: int, name: str
) -> None:
    stages = [("trim", how | {"strategy": strategy, "summarize": summarize})]
    metering = {"tokenizer": name, "model": MODEL}
    ran = run(data, stages, limit=budget, **metering)
    within(ran, budget, **metering)
    if ran.data is not None:
        assert run(ran.data, stages, limit=budget, **metering).data == ran.data


@settings(max_examples=examples(150))
@given(inputs, edits, budgets)
def test_s1_9_pairs_and_pins_are_kept_and_no_new_finding_appears(
    data: bytes, edit: tuple[str, dict[str, Any]], budget: int
) -> None:
    ran = run(data, [edit], limit=budget, model=MODEL)
    before, after = transcripts(data), transcripts(ran.data)
    if ran.data is None or len(before) != len(after):
        return
    assert run(ran.data, [edit], limit=budget, model=MODEL).data == ran.data
    for old, new in zip(before, after, strict=True):
        kept = pinned(shape(old.messages), edit[1].get("pin", ()))
        assert unpaired(new) <= unpaired(old)
        assert newly_refused(old, new) <= unavoidable(old, kept)
        texts = [(message.role, split_message(message)[-1].parts) for message in new.messages]
        for position in kept:
            message = old.messages[position]
            assert (message.role, split_message(message)[-1].parts) in texts


@settings(max_examples=examples(150))
@given(inputs, pipelines, budgets)
def test_no_pipeline_makes_a_provider_refuse_a_conversation(
    data: bytes, stages: list[tuple[str, dict[str, Any]]], budget: int
) -> None:
    ran = run(data, stages, limit=budget, model=MODEL)
    before, after = transcripts(data), transcripts(ran.data)
    assert {finding.code for finding in ran.findings} <= {"not-json", "glued-values", "not-read"}
    if ran.data is None or len(before) != len(after):
        return
    has_digests = any(name in ("cutoff", "compact") for name, _ in stages)
    for old, new in zip(before, after, strict=True):
        pins = [pin for _, settings in stages for pin in settings.get("pin", ())]
        allowed = unavoidable(old, pinned(shape(old.messages), pins))
        if has_digests and not old.rules.must_alternate:
            allowed = {"strict"}  # a digest is one more user message
        assert unpaired(new) <= unpaired(old)
        assert newly_refused(old, new) <= allowed


def newly_refused(old: Transcript, new: Transcript) -> set[str]:
    """The profiles of providers that refuse the second conversation but not the first."""
    return {name for name in PROFILES if refused(name, new) and not refused(name, old)}


def unavoidable(old: Transcript, kept: Iterable[int]) -> set[str]:
    """The profiles that may refuse the rest of a conversation whose pinned prompts are adjacent
    because no answer between them fits.
    """
    return {"strict"} if any(old.messages[at].role == "user" for at in kept) else set()


def refused(profile: str, transcript: Transcript) -> bool:
    """Whether a provider would refuse a conversation."""
    parts = findings(PROFILES[profile], transcript, shape(transcript.messages))
    return any(finding.severity == "error" for finding in parts)


@pytest.mark.parametrize("stage", ["trim", "summarize"])
def test_roles_alternate_around_a_summary_where_results_record_no_call(stage: str) -> None:
    types = ["user", "assistant", "tool_result", "assistant", "tool_result", "assistant"]
    messages = [
        {"id": f"m{number}", "type": kind, "content": "Count the lamps. " * 9, "turn": 1}
        for number, kind in enumerate(types)
    ]
    data = json.dumps({"messages": messages}).encode()
    for budget in range(40, 300, 4):
        settings = {"keep_recent_turns": 0} | ({"summarize": True} if stage == "trim" else {})
        ran = run(data, [(stage, settings)], limit=budget)
        for transcript in transcripts(ran.data):
            assert not refused("strict", transcript)


def session(first: str | None, last: str) -> bytes:
    """A session in which only the two answers name a model; `last` is the model of a long
    answer.
    """
    summary = [
        ("user", "Paint the hull blue and list what is needed for it.", None),
        ("assistant", "Two pots of blue paint.", first),
        ("user", "And the mast?", None),
        ("assistant", "White paint, a rope and a ladder. " * 20, last),
        ("user", "Now write the shopping list, please.", None),
    ]
    events = []
    for at, (role, text, model) in enumerate(summary):
        message = {"role": role, "content": [{"type": "text", "text": text}]} | (
            {"model": model} if model else {}
        )
        parent = f"u{at - 1}" if at else None
        events.append(
            {
                "parentUuid": parent,
                "isSidechain": False,
                "type": role,
                "uuid": f"u{at}",
                "sessionId": "s",
            }
        )
        events[-1]["message"] = message
    return b"".join(json.dumps(event).encode() + b"\n" for event in events)


NAMED = [
    (None, "claude-opus-4-5"),
    ("gpt-4o", "claude-opus-4-5"),
    (None, "gemini-2.5-pro"),
    ("gpt-4o", "gemini-2.5-pro"),
]


@pytest.mark.parametrize(("first", "last"), NAMED)
def test_the_count_of_an_output_equals_the_count_in_its_report(
    first: str | None, last: str
) -> None:
    """If the message that names the model is dropped, the output is counted like its reader counts
    it.
    """
    written = 0
    for budget in range(10, 110):
        ran = run(session(first, last), [("trim", {})], tokenizer=None, limit=budget)
        (row,) = ran.rows
        assert row.is_written is not row.overflows
        if ran.data is None:
            continue
        written += 1
        (again,) = run(ran.data, tokenizer=None, limit=budget).rows
        assert (row.model, row.count, row.tokenizer) == (again.model, again.count, again.tokenizer)
        assert row.count.tokens <= budget
        assert row.model != last
    assert written > 50


@pytest.mark.parametrize("strategy", ["priority", "oldest", "middle", "age"])
@pytest.mark.parametrize("budget", range(40, 260, 20))
def test_prompts_alternate_although_the_first_is_the_current_task(
    strategy: str, budget: int
) -> None:
    """The client adds a text to the result of a step; it is a prompt, but not the task."""
    first, second = (
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": call_id, "name": "bash", "input": {}}],
        }
        for call_id in "ab"
    )
    shown = {"type": "tool_result", "tool_use_id": "a", "content": "alpha " * 100}
    note = {"type": "text", "text": "<system-reminder>be brief</system-reminder>"}
    last = {"type": "tool_result", "tool_use_id": "b", "content": "beta " * 100}
    talk = [
        {"role": "user", "content": "do the task"},
        first,
        {"role": "user", "content": [shown, note]},
        second,
        {"role": "user", "content": [last]},
        {"role": "assistant", "content": "done"},
    ]
    data = json.dumps({"system": "short", "messages": talk}).encode()
    trimmed = run(data, [("trim", {"strategy": strategy})], limit=budget)
    assert _codes(trimmed.data or b"") <= _codes(data)
    smallest = trimmed.rows[0].steps[0].smallest_dropped
    if smallest is not None and trimmed.rows[0].fits:
        assert trimmed.rows[0].count.tokens + smallest.tokens > budget


def _codes(data: bytes) -> set[str]:
    (row,) = run(data, [("check", {"profile": "strict"})]).rows
    return {finding.code for finding in row.findings}
