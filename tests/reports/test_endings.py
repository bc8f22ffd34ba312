"""The ending of `--report` names the format."""

import gzip
import json
from pathlib import Path

import pytest
from conftest import FIXTURES, Run

STARTS = {
    "r": "format openai-chat",
    "r.txt": "format openai-chat",
    "a.b/r.log": "format openai-chat",
    "r.json": "{\n",
    "r.JSONL": '{"path"',
    "r.csv": "path,line,",
    "r.md": "# ctxtrim report",
    "r.xml": '<?xml version="1.0"',
    "r.sarif": '{"version": "2.1.0"',
}


@pytest.mark.parametrize("name", STARTS)
def test_the_ending_chooses_the_format(ctxtrim: Run, tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    assert ctxtrim("count", FIXTURES / "agent.jsonl", "--report", path).code == 0
    assert path.read_text().startswith(STARTS[name])


@pytest.mark.parametrize("name", ["r.yaml", "r.html", "r.tar.gz"])
def test_another_ending_is_an_error_before_anything_is_read(
    ctxtrim: Run, tmp_path: Path, name: str
) -> None:
    ran = ctxtrim("count", FIXTURES / "agent.jsonl", "--report", tmp_path / name)
    assert (ran.code, ran.out) == (2, b"")
    assert "unknown ending" in ran.err
    assert ".sarif" in ran.err
    assert not list(tmp_path.iterdir())
    words = ("--report", tmp_path / "r.yaml", "--report-format", "json")
    assert ctxtrim("count", FIXTURES / "agent.jsonl", *words).code == 0


def test_a_compressed_report_has_the_format_of_the_ending_before(
    ctxtrim: Run, tmp_path: Path
) -> None:
    path = tmp_path / "r.json.gz"
    assert ctxtrim("count", FIXTURES / "agent.jsonl", "--report", path).code == 0
    assert json.loads(gzip.decompress(path.read_bytes()))["version"] == 1
