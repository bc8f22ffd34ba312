"""`check --strict`: a warning or an estimate is an error with exit code 4."""

import json
from pathlib import Path

import pytest
from conftest import FIXTURES, Run
from samples import chat, line, messages, orphan

PENDING = messages(2)[:-1]  # the last call has no result: a warning in a recording


@pytest.mark.parametrize(
    ("data", "words", "error"),
    [
        (line(PENDING), ("--model", "gpt-4o"), "a.jsonl:1: error: "),
        (line(more='"model": "gpt-4oo"'), (), "a.jsonl:1: error: model gpt-4oo is unknown"),
        (
            line(),
            ("--tokenizer", "chars4", "--verbose"),
            "the count is estimated with chars4",
        ),
    ],
)
def test_a_warning_or_a_guess_is_an_error(
    ctxtrim: Run, tmp_path: Path, data: bytes, words: tuple[str, ...], error: str
) -> None:
    (tmp_path / "a.jsonl").write_bytes(data)
    assert ctxtrim("check", "a.jsonl", *words, cwd=tmp_path).code == 0
    ran = ctxtrim("check", "--strict", "a.jsonl", *words, cwd=tmp_path)
    assert ran.code == 4 and error in (ran.out.decode() + ran.err)


def test_a_warning_about_a_file_is_an_error_too(ctxtrim: Run, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(line(chat()))
    (tmp_path / "ctxtrim.toml").write_text('llm-command = "cat"\nmodel = "gpt-4o"\nstrict = true\n')
    ran = ctxtrim("check", "a.jsonl", cwd=tmp_path)
    assert ran.code == 4 and "ctxtrim.toml: error: llm-command is ignored" in ran.err
    assert ctxtrim("check", "--no-strict", "a.jsonl", cwd=tmp_path).code == 0
    assert ctxtrim("count", "a.jsonl", cwd=tmp_path).code == 0


def test_exact_and_bounded_counts_without_warnings_pass(ctxtrim: Run, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(line(chat()))
    for words in ((), ("--max-tool-share", "90%")):
        ran = ctxtrim("check", "--strict", "--model", "gpt-4o", "a.jsonl", *words, cwd=tmp_path)
        assert (ran.code, ran.err) == (0, "")


def test_an_overflow_wins_over_a_warning(ctxtrim: Run, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(line(PENDING))
    words = ("check", "--strict", "--model", "gpt-4o", "--budget", "10", "a.jsonl")
    assert ctxtrim(*words, cwd=tmp_path).code == 3


@pytest.mark.parametrize(
    "words", [(), ("--verbose",), ("--explain",), ("--log", "log"), ("--json",), ("--calibrate",)]
)
def test_what_is_shown_does_not_change_the_exit_code(
    ctxtrim: Run, tmp_path: Path, words: tuple[str, ...]
) -> None:
    (tmp_path / "a.jsonl").write_bytes(line(chat()))
    ran = ctxtrim("check", "--strict", "a.jsonl", *words, cwd=tmp_path)
    assert ran.code == 4 and b"the count is estimated with o200k_base" in ran.out


PDF = {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,"}}


@pytest.mark.parametrize(
    ("words", "cause"),
    [
        ((), "no exact tokenizer of qwen-plus is known; "),
        (("--model", "grok-4"), "no exact tokenizer of grok-4 is known; "),
        (("--model", "qwen-plus", "--tokenizer", "o200k_base"), "of qwen-plus is known; "),
        (("--model", "qwen-plus", "--calibrate"), "no exact tokenizer of qwen-plus is known; "),
        (
            ("--model", "gpt-4o", "--tokenizer", "chars4"),
            "the tokenizer of gpt-4o is o200k_base; leave out --tokenizer",
        ),
        (
            ("--model", "claude-sonnet-4-5", "--tokenizer", "chars4"),
            "the tokenizer of claude-sonnet-4-5 is claude-v3; leave out --tokenizer",
        ),
        (("--model", "gpt-4o", "--tokenizer", "usage"), "leave out --tokenizer"),
        (("--model", "gpt-4o", "--calibrate"), "leave out --calibrate"),
        (("--model", "gpt-4oo", "--budget", "9k"), "gpt-4oo is not in the registry of models"),
    ],
)
def test_the_cause_of_an_estimate_is_named(
    ctxtrim: Run, words: tuple[str, ...], cause: str
) -> None:
    model = words[1] if words else "qwen-plus"
    data = (FIXTURES / "recorded.jsonl").read_bytes().replace(b"qwen-plus", model.encode())
    ran = ctxtrim("check", "--strict", *words, stdin=data)
    (error,) = [item for item in ran.out.decode().splitlines() if "is estimated with" in item]
    assert ran.code == 4 and cause in error


def test_a_part_whose_cost_is_assumed_is_an_estimate_with_that_cause(ctxtrim: Run) -> None:
    data = line([{"role": "user", "content": [PDF]}])
    ran = ctxtrim("check", "--strict", "--model", "gpt-4o", "--budget", "1M", stdin=data)
    assert ran.code == 4 and b"o200k_base: the cost of a part is assumed" in ran.out


@pytest.mark.parametrize("words", [(), ("--tokenizer", "o200k_base")])
def test_without_a_model_the_remedy_is_to_name_it(ctxtrim: Run, words: tuple[str, ...]) -> None:
    ran = ctxtrim("check", "--strict", *words, stdin=line(chat()))
    cause = b"with o200k_base: no model is named or recorded; name it with --model"
    assert ran.code == 4 and cause in ran.out
    assert ctxtrim("check", "--strict", "--model=gpt-4o", *words, stdin=line(chat())).code == 0


@pytest.mark.parametrize(
    "words", [("fixtures/kimi.jsonl",), ("-m", "foo", "--budget", "8k", "fixtures/agent.jsonl")]
)
def test_a_well_formed_transcript_with_an_estimate_is_not_called_malformed(
    ctxtrim: Run, words: tuple[str, ...]
) -> None:
    for report in ("text", "markdown", "csv"):
        ran = ctxtrim("check", "--strict", "--report-format", report, *words)
        assert ran.code == 4
        assert b"fails --strict" in ran.out and b"malformed" not in ran.out
    totals = json.loads(ctxtrim("check", "--strict", "--json", *words).out)["totals"]
    assert (totals["malformed"], totals["failing_strict"]) == (0, totals["transcripts"])


def test_a_transcript_that_breaks_a_rule_is_malformed_with_and_without_strict(
    ctxtrim: Run,
) -> None:
    data = line(orphan(), '"model": "gpt-4o"')
    for words in ((), ("--strict",)):
        ran = ctxtrim("check", *words, stdin=data)
        assert ran.code == 4
        assert ran.out.startswith(b"format") and b"\nmalformed" in ran.out
        assert ran.out.endswith(b", 1 malformed\n")
