"""`check --strict`: a warning or an estimate is an error with exit code 4."""

from pathlib import Path

import pytest
from conftest import Run
from samples import chat, line, messages

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
