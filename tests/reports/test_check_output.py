"""What `check` prints: failures and totals, and numbers only if they are counted."""

import json
from pathlib import Path

import pytest
from conftest import FIXTURES, Run
from samples import chat, line, oversized_chat

AGENT = FIXTURES / "agent.jsonl"


def verdicts(text: bytes) -> list[str]:
    """The verdicts in the table of a report."""
    lines = [item.split() for item in text.decode().splitlines()]
    return [words[0] for words in lines if words[:1] and words[0] in ("fits", "overflow")]


def test_check_prints_failures_and_totals_and_with_verbose_every_row(ctxtrim: Run) -> None:
    words = ("check", "--budget=900", AGENT)
    plain, verbose, quiet = (ctxtrim(*words, *more) for more in ((), ("--verbose",), ("--quiet",)))
    assert (plain.code, verbose.code, quiet.code) == (3, 3, 3)
    assert verdicts(plain.out) == verdicts(quiet.out) == ["overflow"]
    assert verdicts(verbose.out) == ["overflow", "fits", "fits"]
    assert "3 transcripts, 45 messages" in plain.out.decode()
    assert "3 transcripts" not in quiet.out.decode()
    assert "Cannot fit request" in quiet.out.decode()


def test_check_prints_one_line_if_all_fit_and_nothing_if_it_is_quiet(ctxtrim: Run) -> None:
    assert ctxtrim("check", AGENT).out == b"3 transcripts, 45 messages, all fit\n"
    assert ctxtrim("check", stdin=line(chat())).out == b"1 transcript, 2 messages, fits\n"
    assert ctxtrim("check", "--quiet", AGENT).out == b""


def test_count_and_check_show_the_same_count(ctxtrim: Run) -> None:
    def tokens(*words: object) -> list[int]:
        rows = json.loads(ctxtrim(*words, "--json", AGENT).out)["transcripts"]
        return [row["tokens"] for row in rows if row["counted"]]

    counted = tokens("count")
    assert len(counted) == 3
    assert tokens("check", "--verbose") == counted
    assert tokens("check", "--budget", "1") == counted
    assert tokens("check") == []


@pytest.mark.parametrize(
    "words",
    [
        ("--verbose",),
        ("--explain",),
        ("--calibrate",),
        ("--strict",),
        ("--max-tokens-per-result", "9000"),
        ("--max-tool-share", "90%"),
        ("--tokenizer", "usage"),
    ],
)
def test_options_that_judge_or_show_counts_count_every_transcript(
    ctxtrim: Run, words: tuple[str, ...]
) -> None:
    def counted(*words: str) -> list[bool]:
        rows = json.loads(ctxtrim("check", *words, "--json", AGENT).out)["transcripts"]
        return [row["counted"] for row in rows]

    assert counted("--max-messages", "90") == [False] * 3
    assert counted(*words) == [True] * 3


def test_a_verdict_by_bytes_is_a_bound_without_a_number_in_the_text(ctxtrim: Run) -> None:
    data = line(chat()) + line(oversized_chat())
    words = ("check", "--model=gpt-4o", "--budget=400")
    report = json.loads(ctxtrim(*words, "--json", stdin=data).out)
    first, second = report["transcripts"]
    assert (first["counted"], first["exactness"], first["fits"]) == (False, "bounded", True)
    counted = json.loads(ctxtrim("count", "--model=gpt-4o", "--json", stdin=data).out)
    exact, large = (row["tokens"] for row in counted["transcripts"])
    assert exact < first["tokens"] <= 400
    assert second["tokens"] == large
    assert f"{large:,} tokens in one of them" in ctxtrim(*words, stdin=data).out.decode()


def test_a_verdict_by_bytes_is_no_bound_where_the_count_is_an_estimate(ctxtrim: Run) -> None:
    words = ("check", "--model=qwen3-8b", "--json")
    (row,) = json.loads(ctxtrim(*words, stdin=line(chat())).out)["transcripts"]
    assert (row["counted"], row["exactness"]) == (False, "estimated")


@pytest.mark.parametrize("form", ["text", "csv", "markdown", "jsonl"])
def test_a_report_in_a_file_has_every_row(ctxtrim: Run, tmp_path: Path, form: str) -> None:
    path = tmp_path / "report"
    words = ("check", "--budget=900", "--quiet", AGENT, "--report", path, "--report-format", form)
    assert ctxtrim(*words).code == 3
    text = path.read_text()
    assert all(place in text for place in ("agent.jsonl", "overflow", "fits"))
    assert text.count("agent.jsonl") >= 3


def test_the_totals_are_printed_with_a_report_in_a_file(ctxtrim: Run, tmp_path: Path) -> None:
    words = ("check", "fixtures/agent.jsonl", "--report", tmp_path / "r.json")
    assert ctxtrim(*words).out == b"3 transcripts, 45 messages, all fit\n"
    assert ctxtrim(*words, "--quiet").out == b""
    ran = ctxtrim(*words, "--budget", "300")
    assert (ran.code, b"2 overflowing" in ran.out) == (3, True)
