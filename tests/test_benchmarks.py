"""The benchmarks that need no data run."""

import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ENVIRONMENT, ROOT

BENCHMARKS = ROOT / "benchmarks"


def ran(name: str, *words: str) -> subprocess.CompletedProcess[str]:
    """A benchmark that ran in a separate process."""
    return subprocess.run(
        [sys.executable, str(BENCHMARKS / name), *words],
        capture_output=True,
        text=True,
        env=ENVIRONMENT,
    )


def test_the_benchmark_of_hostile_texts_prints_a_row_per_case() -> None:
    options = [
        "--sizes",
        "4k,16k",
        "--texts",
        "flags,brackets",
        "--places",
        "result",
        "--stages",
        "truncate,trim",
    ]
    done = ran("hostile.py", *options)
    # 1: an exponent was too high, which two small sizes cannot show
    assert done.returncode in (0, 1), done.stderr
    rows = done.stdout.split("\n")
    for text in ("flags", "brackets"):
        for stage in ("truncate", "trim"):
            row = next(row for row in rows if row.startswith(text) and f" {stage} " in row)
            assert row.count(" s ") >= 2
    assert "4 cases" in done.stdout


def test_the_comparison_with_peers_prints_a_row_per_contender() -> None:
    options = ["--size", "0.1", "--runs", "1", "--budgets", "2000"]
    done = ran("peers.py", *options)
    assert done.returncode == 0, done.stderr
    rows = [line.split() for line in done.stdout.splitlines() if line]
    figures = {row[0]: row[1:] for row in rows[1:] if len(row) > 3}
    assert {"floor", "plain", "ctxtrim", "ctxtrim-tiktoken"} <= set(figures)
    assert figures["ctxtrim"][-2:] == ["0", "0"]  # outputs over budget and orphans of trim


def test_the_benchmark_of_scaling_prints_a_row_for_each_command_and_shape() -> None:
    options = [
        "--sizes",
        "0.1,0.2",
        "--commands",
        "count,trim",
        "--grow",
        "messages,claude-code,session,files,json",
    ]
    done = ran("scaling.py", *options)
    assert done.returncode == 0, done.stderr
    rows = [line.split() for line in done.stdout.splitlines()]
    assert [row[:2] for row in rows[1:]] == [
        [shape, command]
        for shape in ("messages", "claude-code", "session", "files", "json")
        for command in ("count", "trim")
    ]
    assert all(row[3] == row[5] == "s" for row in rows[1:])  # seconds at both sizes


@pytest.mark.parametrize("name", ["edits", "engines", "kept"])
def test_the_benchmarks_of_a_folder_run_without_a_conversation(name: str, tmp_path: Path) -> None:
    done = ran(f"{name}.py", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert done.stdout
