"""Any number of rows in little memory: added rows are read back from memory or from a file."""

import json
import resource
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from conftest import COMMAND, ENVIRONMENT, ROOT, Ran, Run
from hypothesis import given
from hypothesis import strategies as st
from samples import chat, line, oversized_chat

from ctxtrim.io.spool import Spool


@given(st.lists(st.text(max_size=5), max_size=60), st.integers(1, 40_000))
def test_values_are_read_in_order_any_number_of_times(values: list[str], size: int) -> None:
    spool: Spool[str] = Spool(lambda value: size)
    spool.extend(values)
    assert (len(spool), bool(spool)) == (len(values), bool(values))
    assert list(spool) == list(spool) == values
    assert list(zip(spool, spool, strict=True)) == list(zip(values, values, strict=True))
    spool.extend(["more"])
    assert list(spool) == [*values, "more"]
    spool.close()


def peak(*words: object) -> tuple[int, Ran]:
    """The peak memory of a run, in MB, and its output."""
    code = (
        "import resource, subprocess, sys; done = subprocess.run(sys.argv[1:], "
        "stdout=subprocess.DEVNULL); "
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, done.returncode)"
    )
    done = subprocess.run(
        [COMMAND[0], "-c", code, *COMMAND, *map(str, words)],
        capture_output=True,
        cwd=ROOT,
        env=ENVIRONMENT,
    )
    kilobytes, code = done.stdout.split()
    return int(kilobytes) >> 10, Ran(int(code), b"", done.stderr.decode())


COMMANDS: dict[str, Sequence[str]] = {
    "check": ("check",),
    "check with findings": ("check", "--budget", "5"),
    "count report": ("count", "--report", "r.jsonl"),
    "trim": ("trim", "-o", "out.jsonl"),
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", COMMANDS)
def test_five_times_the_transcripts_take_no_more_memory(tmp_path: Path, name: str) -> None:
    file = tmp_path / "chats.jsonl"
    words = [str(tmp_path / word) if "." in word else word for word in COMMANDS[name]]
    peaks = []
    for number in (6_000, 30_000):
        file.write_bytes(
            b"".join(line(chat(f"Good morning, number {at}.")) for at in range(number))
        )
        used, ran = peak(*words, "--tokenizer", "chars4", file)
        assert ran.code in (0, 3)
        peaks.append(used)
    assert peaks[1] - peaks[0] < 12


def test_a_report_of_many_transcripts_has_every_row(ctxtrim: Run, tmp_path: Path) -> None:
    """More than memory holds, from a file that is written and from a file that is not."""
    number = 6_000
    good = b"".join(line(chat(f"Good morning, number {at}.")) for at in range(number))
    for data, is_written, code in ((good, True, 0), (good + line(oversized_chat()), False, 3)):
        (tmp_path / "a.jsonl").write_bytes(data)
        words = (
            "--tokenizer",
            "chars4",
            "--budget",
            "300",
            "--in-place",
            "--report",
            "r.json",
            "a.jsonl",
        )
        ran = ctxtrim("trim", *words, "--log", "log.jsonl", cwd=tmp_path)
        assert ran.code == code
        report = json.loads((tmp_path / "r.json").read_bytes())
        assert (
            report["totals"]["transcripts"] == len(report["transcripts"]) == len(data.splitlines())
        )
        assert {row["written"] for row in report["transcripts"]} == {is_written}
        assert [row["line"] for row in report["transcripts"]] == list(
            range(1, len(data.splitlines()) + 1)
        )
        log = (tmp_path / "log.jsonl").read_bytes().splitlines()
        (tmp_path / "log.jsonl").unlink()
        assert [json.loads(entry)["line"] for entry in log] == [
            row["line"] for row in report["transcripts"]
        ]


def test_a_terminal_shows_every_row(ctxtrim: Run) -> None:
    words = ("count", "--tokenizer", "chars4", "--color", "always")
    shown = ctxtrim(*words, stdin=line(chat()) * 6_000).out.decode()
    assert all(f"<stdin>:{number} " in shown for number in (1, 2_001, 5_001, 6_000))
    assert "6,000 transcripts" in shown


def test_an_unwritable_temporary_file_is_a_single_line(ctxtrim: Run, tmp_path: Path) -> None:
    file = tmp_path / "chats.jsonl"
    file.write_bytes(line(chat()) * 6_000)
    done = subprocess.run(
        [*COMMAND, "check", "--tokenizer", "chars4", str(file)],
        capture_output=True,
        cwd=ROOT,
        env={**ENVIRONMENT, "PYTHONDONTWRITEBYTECODE": "1"},  # it would be cut off
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000)),
    )
    assert done.returncode == 1
    assert (
        done.stderr.decode()
        == "ctxtrim: the temporary file of the report cannot be written: file too large\n"
    )
