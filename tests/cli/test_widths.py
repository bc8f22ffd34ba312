"""Reports on terminals of 60, 80 and 200 columns, with and without colors, byte for byte."""

import re

import pytest
from conftest import Run
from syrupy.assertion import SnapshotAssertion

WORDS = {
    "count": ("count", "--tokenizer=claude-v3-bound", "fixtures/agent.jsonl",
              "fixtures/claude-code.jsonl"),
    "by-file": ("count", "--by=file", "fixtures/agent.jsonl"),
    "check": ("check", "--model=gpt-4o", "--budget=900", "--verbose", "fixtures/agent.jsonl",
              "fixtures/document.json", "fixtures/claude-code.jsonl"),
    "explain": ("run", "-struncate", "-strim", "--budget=900", "--explain", "--dry-run",
                "fixtures/seven-steps.jsonl"),
}  # fmt: skip
STYLE = re.compile(r"\x1b\[[0-9;]*m")


@pytest.mark.parametrize("color", ["never", "always"])
@pytest.mark.parametrize("width", [60, 80, 200])
@pytest.mark.parametrize("name", WORDS)
def test_a_report_fits_the_terminal(
    ctxtrim: Run, snapshot: SnapshotAssertion, name: str, width: int, color: str
) -> None:
    environment = {"COLUMNS": str(width), "NO_COLOR": ""}
    ran = ctxtrim(*WORDS[name], "--color", color, **environment)
    assert ran.out == snapshot
    text = ran.out.decode()
    assert ("\x1b[" in text) == (color == "always")
    blocks = STYLE.sub("", text).split("\n\n")
    rows = [row for block in blocks for row in block.splitlines() if "  " in row.strip()]
    rows = [row for row in rows if not row.startswith(("    ", "@@"))]  # those are sentences
    assert all(len(row) <= width for row in rows)


def test_a_narrow_table_keeps_verdict_tokens_and_budget(ctxtrim: Run) -> None:
    words = ("check", "--verbose", "--budget=900", "fixtures/agent.jsonl")
    first = ctxtrim(*words, COLUMNS="40").out.decode().splitlines()[1:3]
    assert first[0].split() == ["verdict", "transcript", "tokens", "budget"]
    assert first[1].split() == ["overflow", "fixt…t.jsonl:1", "≤5,376", "900"]
    assert all(len(row) <= 40 for row in first)


@pytest.mark.parametrize("width", [60, 80])
@pytest.mark.parametrize("words", [("models",), ("config", "show")])
def test_a_table_of_models_or_settings_fits_the_terminal(
    ctxtrim: Run, words: tuple[str, ...], width: int
) -> None:
    rows = ctxtrim(*words, COLUMNS=str(width)).out.decode().splitlines()
    assert len(rows) > 50
    assert max(map(len, rows)) <= width


def test_a_narrow_list_of_models_leaves_out_the_provider_before_it_shortens_names(
    ctxtrim: Run,
) -> None:
    rows = ctxtrim("models", COLUMNS="60").out.decode().splitlines()
    assert rows[0].split() == ["model", "window", "tokenizer"]
    assert sum("…" in row for row in rows) < 5


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_tables_are_aligned_in_encodings_without_the_symbols(process: Run, encoding: str) -> None:
    ran = process("count", "fixtures/agent.jsonl", COLUMNS="50", PYTHONIOENCODING=encoding)
    header, *rows = ran.out.decode(encoding).splitlines()[1:5]
    ends = [match.end() for match in re.finditer(r"\S+", header)][:4]
    assert all(re.fullmatch(r"fits +\S+:\d +(<=)?[\d,]+", row[: ends[2]]) for row in rows)
    assert len({len(row) for row in (header, *rows)}) == 1
