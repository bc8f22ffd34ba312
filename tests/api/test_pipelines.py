"""The public pipeline: a value that works on message lists, lines of bytes and files."""

import gzip
import json
import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from conftest import FIXTURES, Run
from sessions import ANTHROPIC_TOOLS, SYSTEM, anthropic_session, openai_session, openai_turn

import ctxtrim
from ctxtrim import ContextOverflowError, Pipeline, tokenizers
from ctxtrim.errors import InputError, OutputError, UsageError
from ctxtrim.reports.json import transcript
from ctxtrim.tokenizers.program_tokenizers import OWN

AGENT = FIXTURES / "agent.jsonl"
STAGES = ("truncate:max-age=2,max-tokens=100", "trim")
PIPELINE = Pipeline(*STAGES, model="gpt-4o", budget=600)


def cli(command: Run, folder: Path, *options: object) -> tuple[bytes, list[Any]]:
    """The bytes and the rows of the command line."""
    report, output = folder / "report.json", folder / "cli.jsonl"
    words = [word for stage in STAGES for word in ("-s", stage)]
    command("run", *words, *options, AGENT, "-o", output, "--report", report)
    return output.read_bytes(), json.loads(report.read_bytes())["transcripts"]


def test_files_give_the_bytes_and_rows_of_the_command_line(ctxtrim: Run, tmp_path: Path) -> None:
    data, rows = cli(ctxtrim, tmp_path, "--model", "gpt-4o", "--budget", 600)
    outcome = PIPELINE.run_file(AGENT)
    assert outcome.data == data
    assert [transcript(row) for row in outcome.rows] == rows
    assert outcome.fits
    with AGENT.open("rb") as lines:
        done = list(PIPELINE.run_lines(lines, str(AGENT)))
    assert b"".join(part.data or b"" for part in done) == data
    assert list(PIPELINE.stream_file(AGENT)) == done
    assert tuple(row for part in done for row in part.rows) == outcome.rows


@pytest.mark.parametrize("size", [100, 1000, 100_000])
def test_pieces_that_are_no_lines_lose_no_bytes(size: int) -> None:
    data = AGENT.read_bytes()
    pieces = [data[start : start + size] for start in range(0, len(data), size)]
    done = Pipeline(model="gpt-4o").run_lines(pieces)
    assert b"".join(chunk.data or b"" for chunk in done) == data


def test_a_file_is_written_as_a_whole_or_not_at_all(tmp_path: Path) -> None:
    output = tmp_path / "out.jsonl"
    outcome = PIPELINE.run_file(AGENT, output)
    assert (outcome.data, output.read_bytes()) == (None, PIPELINE.run_file(AGENT).data)
    packed = tmp_path / "out.jsonl.gz"
    PIPELINE.run_file(AGENT, packed)
    assert gzip.decompress(packed.read_bytes()) == output.read_bytes()
    before = output.read_bytes()
    with pytest.raises(InputError):
        PIPELINE.run_file(tmp_path / "missing.jsonl", output)
    assert not Pipeline("trim", budget=5).run_file(AGENT, output).fits
    assert output.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.jsonl", "out.jsonl.gz"]
    with pytest.raises(OutputError):
        PIPELINE.run_file(AGENT, tmp_path / "no-folder" / "out.jsonl")


def test_a_file_is_not_overwritten_by_its_own_output(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    path.write_bytes(AGENT.read_bytes())
    symbolic, hard = tmp_path / "symbolic.jsonl", tmp_path / "hard.jsonl"
    symbolic.symlink_to(path)
    hard.hardlink_to(path)
    for output in (path, tmp_path / "." / path.name, symbolic, hard):
        with pytest.raises(UsageError, match="are the same file; give another path"):
            PIPELINE.run_file(path, output)
    assert path.read_bytes() == AGENT.read_bytes()
    assert PIPELINE.run_file(path, "/dev/null").data is None


def test_messages_give_a_list_and_a_row() -> None:
    messages = openai_session(8)
    pipeline = Pipeline("truncate:max-tokens=60", "trim", budget=900)
    outcome = pipeline.run(messages)
    assert ctxtrim.estimate_tokens(outcome.messages) == outcome.row.count.tokens <= 900
    assert outcome.row.tokens_read == ctxtrim.estimate_tokens(messages)
    assert [step.stage for step in outcome.row.steps] == ["truncate", "trim"]
    assert outcome.fits
    assert Pipeline().run(messages).messages == messages
    assert not Pipeline("check", budget=900).run(messages).fits


def test_a_separate_system_prompt_is_counted_and_kept() -> None:
    request = {"system": SYSTEM, "tools": ANTHROPIC_TOOLS}
    pipeline = Pipeline("trim:preserve-system-prompt=false", budget=900)
    outcome = pipeline.run(anthropic_session(8), **request)
    assert ctxtrim.estimate_tokens(outcome.messages, **request) == outcome.row.count.tokens <= 900


def test_an_overflow_is_an_error_or_keeps_the_messages() -> None:
    messages = openai_session(4)
    with pytest.raises(ContextOverflowError):
        Pipeline("trim", budget=5).run(messages)
    kept = Pipeline("trim", budget=5, on_overflow="keep")
    assert (kept.run(messages).messages, kept.run(messages).fits) == (messages, False)
    assert kept.run_file(AGENT).data == AGENT.read_bytes()


def test_a_pipeline_is_a_value() -> None:
    again = pickle.loads(pickle.dumps(PIPELINE))
    other = Pipeline(*STAGES, model="gpt-4o", budget=700)
    assert again == PIPELINE != other
    assert hash(again) == hash(PIPELINE)
    assert len({again, PIPELINE, other}) == 2
    assert again.run_file(AGENT) == PIPELINE.run_file(AGENT)
    messages = openai_session(8)
    assert again.run(messages) == PIPELINE.run(messages)


def test_a_pipeline_shows_its_arguments() -> None:
    text = "Pipeline('truncate:max-age=2', 'trim', model='gpt-4o', budget=2000)"
    pipeline = Pipeline("truncate:max-age=2", "trim", model="gpt-4o", budget=2000)
    assert repr(pipeline) == text
    assert repr(pickle.loads(pickle.dumps(pipeline))) == text
    same = Pipeline("truncate:max_age=2", "trim", budget=2000, model="gpt-4o")
    assert (pipeline, hash(pipeline)) == (same, hash(same))


@dataclass(frozen=True)
class Writer:
    """A summarizer whose text shows a key."""

    api_key: str

    def summarize(self, prompt: str, max_tokens: int) -> str:
        return "So far."


def test_a_pipeline_shows_the_type_of_its_summarizer_and_no_key() -> None:
    pipeline = Pipeline("trim", budget=2000, summarizer=Writer("sk-lighthouse"))
    assert repr(pipeline) == "Pipeline('trim', budget=2000, summarizer=<Writer>)"


def test_prompts_grow_between_two_trims_if_the_trimmed_list_is_the_history() -> None:
    pipeline = Pipeline("trim:target=0.6", model="gpt-4o", budget=2000)
    messages, grown = openai_turn(1, 1, 5), []
    for turn in range(2, 60):
        longer = [*messages, *openai_turn(turn, 1, 5)]
        messages = pipeline.run(longer).messages
        grown.append(messages == longer)
    assert 0 < grown.count(False) < len(grown) / 4


def test_presets_name_the_stages() -> None:
    messages = openai_session(12)
    old = Pipeline(preset="rolling").run(messages)
    assert old.messages == ctxtrim.truncate_old_tool_outputs(messages)
    assert [step.stage for step in old.row.steps] == ["truncate"]
    unchanged = Pipeline("truncate:max-age=1", enabled=False).run(messages)
    assert (unchanged.messages, unchanged.row.steps) == (messages, ())


@pytest.mark.parametrize(
    ("stages", "options", "error"),
    [
        (["trimm"], {}, "unknown stage (did you mean trim?)"),
        (["trim:max-age=1"], {}, "unknown setting max-age"),
        ([["trim"]], {}, "stages, one argument each: expected a text, found ['trim']"),
        (["rolling"], {}, "rolling: a preset, not a stage; give it as the option preset"),
        (["trim"], {"modell": "gpt-4o"}, "modell: unknown key (did you mean model?)"),
        (["trim"], {"budget": 0}, "expected at least 1"),
        ([], {"format": "morse"}, "format"),
    ],
)
def test_invalid_pipelines_are_one_clear_line(
    stages: list[Any], options: dict[str, Any], error: str
) -> None:
    with pytest.raises(UsageError) as caught:
        Pipeline(*stages, **options)
    assert str(caught.value).startswith("Pipeline: ")
    assert error in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "error"),
    [
        (None, "cannot be read: no such file or directory"),
        (b"", "no transcript found: the input is empty"),
        (
            b'{"type": "summary", "summary": "Tides.", "leafUuid": "u1"}\n',
            "no transcript found: it looks like claude-code, but has no messages",
        ),
        (b'{"a": 1}\n', "no transcript found: unknown format"),
        (b"hello\n", "no transcript found: not JSON"),
    ],
)
def test_files_without_a_transcript_are_refused(
    content: bytes | None, error: str, tmp_path: Path
) -> None:
    path = tmp_path / "a.jsonl"
    if content is not None:
        path.write_bytes(content)
    for work in (Pipeline("trim").run_file, ctxtrim.fits):
        with pytest.raises(InputError) as caught:
            work(path)
        assert str(caught.value).startswith(str(path))
        assert error in str(caught.value)
    with pytest.raises(InputError, match=r"a\.jsonl"):
        list(ctxtrim.read(path))


def test_transcripts_are_read_one_at_a_time(tmp_path: Path) -> None:
    line = json.dumps({"messages": openai_session(2)}).encode() + b"\n"
    path = tmp_path / "a.jsonl"
    path.write_bytes(line * 3 + b"{broken\n")
    transcripts = ctxtrim.read(path)
    assert [next(transcripts).line for _ in range(3)] == [1, 2, 3]
    with pytest.raises(InputError, match=r"a\.jsonl:4: not JSON.*run_file reads the other lines"):
        next(transcripts)
    whole = Pipeline().run_file(path)
    assert (len(whole.rows), whole.fits) == (3, False)
    (session,) = ctxtrim.read(FIXTURES / "claude-code.jsonl")
    assert session.model is not None
    with pytest.raises(UsageError, match="read: max_size"):
        ctxtrim.read(path, max_size=0)


def test_a_size_may_have_a_unit() -> None:
    assert len(list(ctxtrim.read(AGENT, max_size="1MiB"))) == 3
    assert Pipeline(max_size="2KiB") == Pipeline(max_size=2048)
    with pytest.raises(InputError, match="more than 2,048 bytes"):
        list(ctxtrim.read(AGENT, max_size="2KiB"))
    with pytest.raises(UsageError, match=r"^read: max_size 2 boxes: expected a whole number"):
        ctxtrim.read(AGENT, max_size="2 boxes")


def test_a_pipeline_moves_no_result_to_a_file() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "Read the log."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "wind\n" * 2000},
    ]
    assert Pipeline("truncate:spill-above=1000,max-tokens=0").run(messages).messages == messages
    clipped = Pipeline("truncate:spill-above=1000,max-tokens=500").run(messages).messages[2]
    assert "truncated" in clipped["content"]


def test_a_verdict_says_where_the_tokens_are() -> None:
    good = ctxtrim.fits(AGENT, model="gpt-4o")
    assert good
    assert repr(good) == f"<{len(good.rows)} transcripts fit>"
    bad = ctxtrim.fits(AGENT, model="gpt-4o", budget=400)
    assert not bad
    for text in (repr(bad), str(bad)):
        assert "of 400 tokens" in text
        assert "by role: tool " in text
    assert len(repr(bad)) < 240
    assert "\n" not in repr(bad)
    assert "by tool: bash " in str(bad)
    assert "largest messages: 6 (tool) " in str(bad)
    (row,) = bad.exceeding
    assert row in bad.rows


def test_all_numbers_of_a_verdict_have_marks_unless_they_are_exact() -> None:
    messages = [{"role": "user", "content": "y" * 1000}]
    assert repr(ctxtrim.fits(messages, tokenizer="chars4", budget=100)) == (
        "<messages: ≈257 of 100 tokens (≈157 too many); by role: user ≈250 (97%), framing ≈7 (3%); "
        "largest messages: 0 (user) ≈254>"
    )
    bounded, _, exact = str(ctxtrim.fits(AGENT, model="gpt-4o", budget=100)).split("agent.jsonl")[
        1:
    ]
    _, _, by_tool, largest = bounded.splitlines()[:4]
    assert (by_tool.count("≤"), largest.count("≤")) == (4, 3)
    assert "≤" not in exact


def test_the_verdict_of_a_list_and_of_a_folder(tmp_path: Path) -> None:
    messages = openai_session(4)
    tokens = ctxtrim.estimate_tokens(messages)
    assert ctxtrim.fits(messages, budget=tokens)
    assert not ctxtrim.fits(messages, budget=tokens - 1)
    line = json.dumps({"messages": messages}).encode() + b"\n"
    (tmp_path / "a.jsonl").write_bytes(line)
    (tmp_path / "b.jsonl").write_bytes(line + b"{broken\n")
    verdict = ctxtrim.fits(tmp_path)
    assert not verdict
    assert f"{tmp_path / 'b.jsonl'}:2: not JSON" in repr(verdict)
    (tmp_path / "b.jsonl").write_bytes(line)
    assert repr(ctxtrim.fits(tmp_path)) == "<2 transcripts fit>"


@pytest.mark.parametrize("name", ["system", "tools", "request"])
def test_a_field_of_a_request_that_would_not_count_for_a_file_is_refused(name: str) -> None:
    fields: Any = {name: [{"type": "text", "text": "Berths. " * 5000}]}
    with pytest.raises(UsageError) as caught:
        ctxtrim.fits(AGENT, **fields, budget=6000)
    assert str(caught.value) == (
        f"fits: {name}: would not count for a file, whose requests have their own; pass the "
        "messages as a list"
    )


def test_a_verdict_is_about_the_given_transcript(tmp_path: Path) -> None:
    messages = openai_session(20)
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"messages": messages}) + "\n")
    for source in (messages, path):
        assert not ctxtrim.fits(source, budget=1000, preset="budget")
        assert not ctxtrim.fits(source, budget=2, pipeline=["check"])
        with pytest.raises(UsageError, match="fits: pipeline: trim edits transcripts"):
            ctxtrim.fits(source, budget=2, pipeline=["check", "trim"])
    (row,) = ctxtrim.fits(messages, preset="budget", model="gpt-4.1").rows
    assert row.budget.available == 128_000 - 4096
    assert row.steps == ()


def test_a_verdict_includes_the_rules_of_the_stage_check(tmp_path: Path) -> None:
    messages = openai_session(4)
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"messages": messages}) + "\n")
    for source in (messages, path):
        assert ctxtrim.fits(source, pipeline=["check"])
        verdict = ctxtrim.fits(source, pipeline=["check"], max_messages=2)
        assert not verdict
        assert "25 messages, above max-messages 2" in repr(verdict)
        large = ctxtrim.fits(source, pipeline=["check"], budget=100)
        assert "of 100 tokens" in repr(large)


class Letters:
    """A tokenizer of a program that counts characters."""

    def count(self, text: str) -> int:
        return len(text)


def test_a_pipeline_counts_with_a_tokenizer_that_is_registered_later() -> None:
    messages = [{"role": "user", "content": "y" * 1000}]
    old = Pipeline("trim", model="llama-3-70b", budget=5000)
    before = old.run(messages).row.tokens_read
    try:
        tokenizers.add("llama", Letters())
        new = Pipeline("trim", model="llama-3-70b", budget=5000)
        assert old.run(messages).row.tokens_read == new.run(messages).row.tokens_read != before
    finally:
        OWN.clear()
