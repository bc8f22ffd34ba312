"""The properties that are the specification, over generated transcripts and random pipelines."""

import subprocess
import sys

import pytest
from depth import examples
from harness import read, run, unpaired
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import budgets, conversations, files, removals, summaries, trims, truncations

from ctxtrim.config.presets import PRESETS
from ctxtrim.conversation.turns import shape
from ctxtrim.model import Transcript

MODEL = "claude-opus-4-6"  # explicit: a trimmed transcript can lose its model
TOKENIZERS = ("chars4", "o200k_base", "claude-v3-bound")
stages = st.lists(
    st.one_of(
        st.tuples(st.just("truncate"), truncations),
        st.tuples(st.just("trim"), trims),
        st.tuples(st.just("summarize"), summaries),
        st.tuples(st.just("drop-images"), removals),
        st.just(("count", {})),
        st.just(("check", {})),
    ),
    max_size=3,
)
CALM = {
    "truncate": {"max_age": 10_000, "max_tokens": 10_000_000},
    "drop-images": {"max_age": 10_000},
    "summarize": {"keep_recent_tokens": 0},  # images may have more than 20,000 tokens together
}
"""Settings with which a stage does nothing."""
tokenizers = st.sampled_from(TOKENIZERS)


def preset(name: str) -> list[tuple[str, dict]]:
    """The stages of a preset; a pointer as the replacement requires an id in every result."""
    stages = {stage: dict(settings) for stage, settings in PRESETS[name].stages.items()}
    if name == "retention":
        stages["truncate"]["assign_ids"] = True
    return list(stages.items())


def transcripts(data: bytes | None) -> list[Transcript]:
    """All transcripts of a file that have messages."""
    chunks = read(data) if data else []
    return [
        transcript for chunk in chunks for transcript in chunk.transcripts if transcript.messages
    ]


@given(files())
def test_identity_without_stages_the_bytes_are_unchanged(data: bytes) -> None:
    assert run(data).data == data


@given(files(), stages)
def test_identity_within_all_limits_the_bytes_are_unchanged(
    data: bytes, pipeline: list[tuple[str, dict]]
) -> None:
    calm = [(name, CALM.get(name, {})) for name, _ in pipeline]
    assert run(data, calm, limit=10_000_000).data == data


@given(files(), stages, budgets)
def test_locality_unedited_lines_keep_bytes_and_order(
    data: bytes, pipeline: list[tuple[str, dict]], budget: int
) -> None:
    ran = run(data, pipeline, limit=budget)
    if ran.data is None:
        return
    before = [line for chunk in read(data) for line in chunk.lines]
    touched = {
        before[span.line].number if len(read(data)) == 1 else chunk.lines[span.line].number
        for chunk, rows in _by_chunk(data, ran.rows)
        for transcript, row in zip(chunk.transcripts, rows, strict=True)
        for message in transcript.messages
        for span in message.spans
        if not row.is_written
        or any(
            change.change.message == message.index and change.change.action != "kept"
            for step in row.steps
            for change in step.changes
        )
    }
    for chunk, rows in _by_chunk(data, ran.rows):
        if not all(row.is_written for row in rows):
            touched |= {line.number for line in chunk.lines}
    touched |= {  # lines that are removed with their messages, as the report says
        measured.change.line
        for row in ran.rows
        for step in row.steps
        for measured in step.changes
        if measured.change.message is None and measured.change.action == "dropped"
    }
    is_linked = any(row.format in ("claude-code", "copilot-cli", "pi", "qwen") for row in ran.rows)
    kept = [line.data.strip() for line in before if line.number not in touched]
    after = [
        _unlinked(line.data.strip(), is_linked) for chunk in read(ran.data) for line in chunk.lines
    ]
    position = 0
    for line in kept:  # every unedited line appears again, in order
        position = after.index(_unlinked(line, is_linked), position) + 1


def _unlinked(line: bytes, is_linked: bool) -> bytes:
    """A line without the values of its link fields, which are repaired when a parent is dropped or
    a message is inserted after it.
    """
    import re

    if not is_linked:
        return line
    names = rb"parentUuid|sourceToolAssistantUUID|parentId|targetId"
    names += rb"|firstKeptEntryId|firstKeptEntryIndex"
    old, new = rb"[up]\d+", rb"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
    value = rb'(?:"(?:' + old + rb"|" + new + rb')"|null|\d+)'
    return re.sub(rb'("(?:' + names + rb')"\s*:\s*)' + value, rb"\1_", line)


def _by_chunk(data: bytes, rows: tuple) -> list[tuple]:
    left = list(rows)
    return [(chunk, [left.pop(0) for _ in chunk.transcripts]) for chunk in read(data)]


@given(files(), stages, budgets, tokenizers)
def test_agreement_the_output_reads_back_as_intended(
    data: bytes, pipeline: list[tuple[str, dict]], budget: int, name: str
) -> None:
    ran = run(data, pipeline, limit=budget, tokenizer=name, model=MODEL)
    assert [finding for finding in ran.findings if finding.code == "self-check"] == []
    written = [row for row in ran.rows if row.is_written and row.messages]
    parsed_transcripts = transcripts(ran.data)
    assert [len(transcript.messages) for transcript in parsed_transcripts] == [
        row.messages for row in written
    ]
    again = run(ran.data or b"", limit=budget, tokenizer=name, model=MODEL)
    assert [row.count.tokens for row in again.rows if row.messages] == [
        row.count.tokens for row in written
    ]


@given(files(), stages, budgets)
def test_pairing_every_stage_keeps_calls_with_results(
    data: bytes, pipeline: list[tuple[str, dict]], budget: int
) -> None:
    ran = run(data, pipeline, limit=budget)
    for before, after in zip(transcripts(data), transcripts(ran.data), strict=False):
        if len([row for row in ran.rows if row.messages]) == 1:
            assert unpaired(after) <= unpaired(before)


@given(files(), stages, trims, budgets, tokenizers)
def test_fit_trim_fits_the_budget_or_lists_protected_messages(
    data: bytes, pipeline: list[tuple[str, dict]], how: dict, budget: int, name: str
) -> None:
    ran = run(data, [*pipeline, ("trim", how)], limit=budget, tokenizer=name, model=MODEL)
    for row in ran.rows:
        assert row.fits or row.overflows
        assert not (row.is_written and row.overflows)
        if not row.is_written:  # a document, or a line with several values, is left out as a whole
            together = [other for other in ran.rows if row.pointer or other.line == row.line]
            assert any(other.overflows for other in together)
        if row.overflows:
            overflow = next(finding for finding in row.findings if finding.code == "overflow")
            assert overflow.tokens == row.count.tokens > budget
            assert str(row.count.tokens) in overflow.message
            assert overflow.details
    for row in run(ran.data or b"", limit=budget, tokenizer=name, model=MODEL).rows:
        assert row.count.tokens <= budget


@given(files(), stages, budgets, tokenizers)
def test_no_growth_no_stage_makes_a_transcript_longer(
    data: bytes, pipeline: list[tuple[str, dict]], budget: int, name: str
) -> None:
    for row in run(data, pipeline, limit=budget, tokenizer=name).rows:
        for step in row.steps:
            assert step.tokens_after <= step.tokens_before
            assert step.messages_after <= step.messages_before


@given(files(), truncations, tokenizers)
def test_idempotence_truncate_on_its_output_changes_nothing(
    data: bytes, how: dict, name: str
) -> None:
    once = run(data, [("truncate", how)], tokenizer=name).data
    assert run(once or b"", [("truncate", how)], tokenizer=name).data == (once or b"")


@pytest.mark.parametrize("name", PRESETS)
@given(data=files(), tokenizer=tokenizers)
def test_idempotence_each_preset_on_its_output_changes_nothing(
    name: str, data: bytes, tokenizer: str
) -> None:
    once = run(data, preset(name), tokenizer=tokenizer, model=MODEL).data or b""
    assert run(once, preset(name), tokenizer=tokenizer, model=MODEL).data == once


@given(files(), trims, budgets, tokenizers)
def test_idempotence_trim_on_its_output_changes_nothing(
    data: bytes, how: dict, budget: int, name: str
) -> None:
    once = run(data, [("trim", how)], limit=budget, tokenizer=name, model=MODEL).data
    if once is not None:
        assert run(once, [("trim", how)], limit=budget, tokenizer=name, model=MODEL).data == once


@given(files(), truncations, trims, budgets, tokenizers)
def test_a_second_run_of_truncate_and_trim_fits_and_lengthens_nothing(
    data: bytes, how: dict, rules: dict, budget: int, name: str
) -> None:
    """It may shorten more: `trim` may drop the call because of which `truncate` kept a result."""
    pipeline = [("truncate", how), ("trim", rules)]
    once = run(data, pipeline, limit=budget, tokenizer=name, model=MODEL).data
    if once is not None:
        again = run(once, pipeline, limit=budget, tokenizer=name, model=MODEL)
        assert again.data is not None
        for row in again.rows:
            assert row.count.tokens <= min(budget, row.tokens_read) or not row.messages


@given(files(), removals, tokenizers)
def test_idempotence_drop_images_on_its_output_changes_nothing(
    data: bytes, how: dict, name: str
) -> None:
    once = run(data, [("drop-images", how)], tokenizer=name, model=MODEL).data
    assert run(once or b"", [("drop-images", how)], tokenizer=name, model=MODEL).data == (
        once or b""
    )


@given(files(), summaries, tokenizers)
def test_idempotence_summarize_on_its_output_changes_nothing(
    data: bytes, how: dict, name: str
) -> None:
    once = run(data, [("summarize", how)], tokenizer=name, model=MODEL).data
    assert run(once or b"", [("summarize", how)], tokenizer=name, model=MODEL).data == (once or b"")


@given(files(), stages, budgets)
def test_purity_the_same_input_twice_gives_equal_bytes(
    data: bytes, pipeline: list[tuple[str, dict]], budget: int
) -> None:
    assert run(data, pipeline, limit=budget).data == run(data, pipeline, limit=budget).data


@pytest.mark.parametrize("seed", ["0", "1", "4242"])
def test_purity_the_hash_seed_changes_nothing(seed: str) -> None:
    line = (
        b'{"messages": [{"role": "user", "content": "'
        + b"word " * 400
        + b'"}, {"role": "user", "content": "now"}]}\n'
    )
    command = [
        sys.executable,
        "-m",
        "ctxtrim",
        "run",
        "-s",
        "truncate",
        "-s",
        "trim",
        "--budget",
        "200",
        "--tokenizer",
        "chars4",
    ]
    done = subprocess.run(
        command, input=line * 3, capture_output=True, env={"PYTHONHASHSEED": seed}, check=True
    )
    assert done.stdout == b'{"messages": [{"role": "user", "content": "now"}]}\n' * 3


@settings(max_examples=examples(50))
@given(conversations())
def test_the_shape_of_any_conversation_is_consistent(talk: list[dict]) -> None:
    from strategies import as_json
    from writers.openai_chat import openai_message

    data = b"".join(as_json(openai_message(message), {}) + b"\n" for message in talk)
    for transcript in transcripts(data):
        turn_shape = shape(transcript.messages)
        for position, message in enumerate(transcript.messages):
            assert turn_shape.exchange[position] <= position
            assert (
                turn_shape.exchange[turn_shape.exchange[position]] == turn_shape.exchange[position]
            )
            if message.role != "tool":
                assert turn_shape.exchange[position] == position
        assert list(turn_shape.turn) == sorted(turn_shape.turn)
        assert turn_shape.steps == sum(
            any(True for _ in message.calls) for message in transcript.messages
        )
