"""Properties of cutoff and compact for any input, alone and with other stages."""

from typing import Any

from harness import read, run, unpaired
from hypothesis import given
from hypothesis import strategies as st
from strategies import budgets, compactions, cutoffs, files, summaries, trims, truncations

from ctxtrim.conversation.alternation import is_alternating
from ctxtrim.conversation.turns import shape
from ctxtrim.model import Transcript

MODEL = "claude-opus-4-6"
ours = st.one_of(st.tuples(st.just("cutoff"), cutoffs), st.tuples(st.just("compact"), compactions))
others = st.one_of(
    ours,
    st.tuples(st.just("truncate"), truncations),
    st.tuples(st.just("trim"), trims),
    st.tuples(st.just("summarize"), summaries),
    st.just(("repair", {})),
)
pipelines = st.builds(
    lambda before, one, after: [*before, one, *after],
    *(st.lists(others, max_size=1), ours, st.lists(others, max_size=1)),
)
tokenizers = st.sampled_from(["chars4", "o200k_base", "claude-v3-bound"])
Stages = list[tuple[str, dict[str, Any]]]


def transcripts(data: bytes | None) -> list[Transcript]:
    """All transcripts of a file that have messages."""
    return [
        transcript
        for chunk in (read(data) if data else [])
        for transcript in chunk.transcripts
        if transcript.messages
    ]


@given(files(), pipelines, budgets, tokenizers)
def test_agreement_the_output_reads_back_as_intended(
    data: bytes, pipeline: Stages, budget: int, name: str
) -> None:
    ran = run(data, pipeline, limit=budget, tokenizer=name, model=MODEL)
    assert [finding for finding in ran.findings if finding.code == "self-check"] == []
    written = [row for row in ran.rows if row.is_written and row.messages]
    again = run(ran.data or b"", limit=budget, tokenizer=name, model=MODEL)
    assert [row.count.tokens for row in again.rows if row.messages] == [
        row.count.tokens for row in written
    ]


@given(files(), ours, tokenizers)
def test_s3_8_and_s3_11_calls_keep_results_and_roles_keep_their_order(
    data: bytes, stage: tuple[str, dict[str, Any]], name: str
) -> None:
    ran = run(
        data, [stage], tokenizer=name, model=MODEL, limit=stage[1].get("session_tokens") or None
    )
    for before, after in zip(transcripts(data), transcripts(ran.data), strict=False):
        assert unpaired(after) <= unpaired(before)
        alternates = is_alternating(shape(before.messages))
        is_joined = before.rules.must_alternate and stage[0] == "cutoff"
        assert not (alternates and is_joined) or is_alternating(shape(after.messages))


@given(files(), pipelines, budgets, tokenizers)
def test_no_growth_neither_stage_makes_a_transcript_longer(
    data: bytes, pipeline: Stages, budget: int, name: str
) -> None:
    for row in run(data, pipeline, limit=budget, tokenizer=name).rows:
        for step in row.steps:
            assert step.tokens_after <= step.tokens_before
            is_edited = any(change.change.action != "kept" for change in step.changes)
            assert (
                step.stage not in ("cutoff", "compact")
                or not is_edited
                or step.tokens_after < step.tokens_before
            )


@given(files(), ours, tokenizers)
def test_s3_11_idempotence_a_second_run_changes_nothing(
    data: bytes, stage: tuple[str, dict[str, Any]], name: str
) -> None:
    once = run(data, [stage], tokenizer=name, model=MODEL).data or b""
    assert run(once, [stage], tokenizer=name, model=MODEL).data == once


@given(files(), compactions, st.integers(10, 3000))
def test_s3_11_idempotence_under_a_limit_of_any_size(
    data: bytes, how: dict[str, Any], limit: int
) -> None:
    once = run(data, [("compact", how)], limit=limit, model=MODEL).data or b""
    assert run(once, [("compact", how)], limit=limit, model=MODEL).data == once


@given(files(), cutoffs, compactions)
def test_a_second_run_of_both_stages_lengthens_nothing(
    data: bytes, cutoff: dict[str, Any], compact: dict[str, Any]
) -> None:
    """Each stage alone, and the preset, changes nothing in a second run; with both, one stage can
    edit the output of the other in a second run.
    """
    both = [("cutoff", cutoff), ("compact", compact)]
    once = run(data, both).data or b""
    again = run(once, both)
    assert [row.tokens_read >= row.count.tokens for row in again.rows] == [True] * len(again.rows)
    assert not any(finding.code == "self-check" for finding in again.findings)


@given(files(), pipelines, budgets)
def test_purity_the_same_input_twice_gives_equal_bytes(
    data: bytes, pipeline: Stages, budget: int
) -> None:
    assert run(data, pipeline, limit=budget).data == run(data, pipeline, limit=budget).data
