"""Unexpected exceptions: the affected transcript is left out and named, the rest is written, and no
traceback appears.

The commands run with a stage and a format that fail on purpose; see `failing.py`.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ENVIRONMENT, Ran
from samples import chat, line, shortened

QUICK = ("--tokenizer", "chars4")
FAILS = line(chat("raise KeyError"))
UNREADABLE = line(chat("cannot read KeyError"))
REPORT_IT = (
    "this is a bug in ctxtrim: please report it with the command "
    "you ran; --debug shows the traceback"
)


def failing(*words: object, stdin: bytes = b"", **environment: str) -> Ran:
    """Run the command line that fails on purpose."""
    command = [sys.executable, str(Path(__file__).parents[1] / "failing.py"), *map(str, words)]
    done = subprocess.run(command, input=stdin, capture_output=True, env=ENVIRONMENT | environment)
    return Ran(done.returncode, done.stdout, done.stderr.decode())


@pytest.mark.parametrize("bad", [FAILS, UNREADABLE], ids=["stage", "reading"])
def test_a_transcript_with_an_internal_error_is_left_out_alone(tmp_path: Path, bad: bytes) -> None:
    path, out, report = tmp_path / "a.jsonl", tmp_path / "out.jsonl", tmp_path / "report.json"
    path.write_bytes(line() + bad + line(chat()))
    for ran in (
        failing("truncate", *QUICK, "--report", report, path),
        failing("truncate", *QUICK, "-o", out, path),
        failing("truncate", *QUICK, stdin=path.read_bytes()),
    ):
        assert ran.code == 1
        assert ran.out in (shortened(line()) + line(chat()), b"")
        (error,) = [line for line in ran.err.splitlines() if ": error: " in line]
        assert error.split(": ", 1)[0] in (f"{path}:2", "<stdin>:2")
        assert "cannot be handled: unexpected KeyError" in error
        assert error.endswith(REPORT_IT)
        assert "Traceback" not in ran.err
    assert out.read_bytes() == shortened(line()) + line(chat())
    reported = json.loads(report.read_text())
    findings = [
        *reported["findings"],
        *(finding for row in reported["transcripts"] for finding in row["findings"]),
    ]
    assert [(finding["code"], finding["line"]) for finding in findings] == [("not-handled", 2)]
    assert [row["written"] for row in reported["transcripts"] if row["line"] != 2] == [True, True]
    assert [row["written"] for row in reported["transcripts"] if row["line"] == 2] == (
        [False] if bad is FAILS else []
    )


@pytest.mark.parametrize("bad", [FAILS, UNREADABLE], ids=["stage", "reading"])
def test_in_place_the_file_is_unchanged(tmp_path: Path, bad: bytes) -> None:
    (tmp_path / "a.jsonl").write_bytes(line() + bad)
    (tmp_path / "b.jsonl").write_bytes(line())
    ran = failing("truncate", *QUICK, "--in-place", tmp_path / "a.jsonl", tmp_path / "b.jsonl")
    assert ran.code == 1
    assert (tmp_path / "a.jsonl").read_bytes() == line() + bad
    assert (tmp_path / "b.jsonl").read_bytes() == shortened(line())


@pytest.mark.parametrize("glue", [b"[%b,%b]", b"%b%b"], ids=["document", "line"])
def test_a_document_of_several_transcripts_is_not_written_in_part(
    tmp_path: Path, glue: bytes
) -> None:
    data = glue % (line(end=""), FAILS.strip())
    (tmp_path / "a.json").write_bytes(data)
    ran = failing("truncate", *QUICK, "-o", tmp_path / "out.json", tmp_path / "a.json")
    assert ran.code == 1
    if data.startswith(b"["):
        assert not (tmp_path / "out.json").exists()
    else:  # values on the same line are read and written separately
        assert (tmp_path / "out.json").read_bytes() == shortened(line(end=""))
    ran = failing("truncate", *QUICK, "--in-place", tmp_path / "a.json")
    assert (ran.code, (tmp_path / "a.json").read_bytes()) == (1, data)


@pytest.mark.parametrize("name", ["KeyError", "MemoryError", "RecursionError", "ValueError"])
def test_any_exception_is_one_line(tmp_path: Path, name: str) -> None:
    for ran in (
        failing("truncate", *QUICK, stdin=line(chat(f"raise {name}"))),
        failing("truncate", *QUICK, stdin=line(chat(f"cannot read {name}"))),
        failing("count", FAILS_EARLY=name),
    ):
        assert (ran.code, ran.out) == (1, b"")
        first, *others = ran.err.splitlines()
        assert first.endswith(
            "split the input into smaller files" if name == "MemoryError" else REPORT_IT
        )
        assert len(others) <= 1  # the line of totals
        assert "\x1b" not in ran.err


def test_ctrl_c_exits_with_130() -> None:
    assert failing("truncate", *QUICK, stdin=line(chat("raise KeyboardInterrupt"))).code == 130
    assert failing("count", FAILS_EARLY="KeyboardInterrupt").code == 130


def test_debug_shows_the_traceback() -> None:
    for words, environment in (
        (("truncate", "--debug"), {}),
        (("truncate",), {"CTXTRIM_DEBUG": "1"}),
        (("count", "--debug"), {"FAILS_EARLY": "KeyError"}),
        (("count",), {"FAILS_EARLY": "KeyError", "CTXTRIM_DEBUG": "1"}),
    ):
        ran = failing(*words, stdin=FAILS, **environment)
        assert ran.code == 1
        assert "Traceback (most recent call last)" in ran.err
        assert "failing.py" in ran.err
        assert "\x1b" not in ran.err


def test_every_command_accepts_debug() -> None:
    for words in (
        "count",
        "truncate",
        "trim",
        "summarize",
        "check",
        "run",
        "restore",
        "models",
        "rolling-context",
    ):
        assert b"--debug" in failing("help", words).out
    for words in ("get", "list", "verify"):
        assert b"--debug" in failing("help", "trace", words).out
    assert b"--debug" in failing("help", "config", "show").out


def test_a_check_with_an_internal_error_fails() -> None:
    ran = failing("run", "-s", "truncate", "-s", "check", "--dry-run", *QUICK, stdin=line() + FAILS)
    assert ran.code == 1
    assert b"not handled" in ran.out
