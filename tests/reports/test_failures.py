"""A report is written even if the run ends early."""

import json
import subprocess
from pathlib import Path

import pytest
from conftest import COMMAND, ENVIRONMENT, FIXTURES, ROOT, Run
from samples import chat, line, oversized_chat


@pytest.mark.parametrize("name", ["r.json", "r.xml", "r.sarif", "r.csv", "r.md", "r.txt"])
def test_a_report_is_written_on_overflow(ctxtrim: Run, tmp_path: Path, name: str) -> None:
    words = ("trim", "--budget=300", "--report", tmp_path / name)
    assert ctxtrim(*words, stdin=line(oversized_chat())).code == 3
    assert "Cannot fit request within context limit" in (tmp_path / name).read_text()


def test_a_report_is_written_if_the_output_cannot_be(tmp_path: Path) -> None:
    report = tmp_path / "r.json"
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [*COMMAND, "truncate", str(FIXTURES / "agent.jsonl"), "--report", str(report)],
            stdout=full,
            stderr=subprocess.PIPE,
            cwd=ROOT,
            env=ENVIRONMENT,
            check=False,
        )
    assert (done.returncode, done.stderr.count(b"\n")) == (1, 1)
    (finding,) = json.loads(report.read_text())["findings"]
    assert finding["code"] == "not-written"


@pytest.mark.parametrize("words", [("count",), ("trim", "--dry-run")])
def test_each_warning_about_several_transcripts_is_shown_once(
    ctxtrim: Run, words: tuple[str, ...]
) -> None:
    data = line([*chat(), {"role": "harbour", "content": "?"}], '"model": "gull-9"') * 3
    ran = ctxtrim(*words, stdin=data)
    shown = ran.out.decode() + ran.err
    for text in ("model gull-9 is unknown", "1 message has an unknown role or form"):
        assert shown.count(text) == 1
