import csv
from pathlib import Path

import pytest
from conftest import FIXTURES, Run
from samples import chat, line


def test_there_is_a_line_for_each_transcript_and_each_unreadable_file(
    ctxtrim: Run, tmp_path: Path
) -> None:
    path = tmp_path / "r.csv"
    words = ("check", "--budget=900", FIXTURES / "agent.jsonl", tmp_path / "missing.jsonl")
    assert ctxtrim(*words, "--report", path).code == 1
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["verdict"] for row in rows] == ["overflow", "fits", "fits", "error"]
    assert [row["counted"] for row in rows] == ["true", "false", "true", ""]
    assert [row["line"] for row in rows] == ["1", "2", "3", ""]
    assert rows[0]["findings"].startswith("error: Cannot fit request")
    assert rows[3]["findings"] == "cannot be read: no such file or directory"


@pytest.mark.parametrize("sign", "=+-@")
def test_a_spreadsheet_reads_no_text_of_a_transcript_as_a_formula(ctxtrim: Run, sign: str) -> None:
    data = line(chat(), f'"id": "{sign}1+1"')
    shown = ctxtrim("count", "--report-format", "csv", stdin=data).out.decode()
    (row,) = csv.DictReader(shown.splitlines())
    assert row["id"] == f"'{sign}1+1"
