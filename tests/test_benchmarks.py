"""The benchmarks that need no data run."""

import subprocess
import sys
from pathlib import Path

HOSTILE = Path(__file__).resolve().parents[1] / "benchmarks" / "hostile.py"


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
    done = subprocess.run(
        [sys.executable, str(HOSTILE), *options], capture_output=True, text=True, check=False
    )
    # 1: an exponent was too high, which two small sizes cannot show
    assert done.returncode in (0, 1), done.stderr
    rows = done.stdout.split("\n")
    for text in ("flags", "brackets"):
        for stage in ("truncate", "trim"):
            row = next(row for row in rows if row.startswith(text) and f" {stage} " in row)
            assert row.count(" s ") >= 2
    assert "4 cases" in done.stdout
