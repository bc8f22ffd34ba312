"""A full disk is a single line and exit code 1, at any point of a run.

`/dev/full` refuses every byte; see also `.ci/full-disk`.
"""

import json
import random
import resource
import subprocess
from functools import partial
from pathlib import Path

import pytest
from conftest import COMMAND, ENVIRONMENT, FIXTURES, Run
from samples import line, long_chat, messages, shortened

FULL = "/dev/full"
QUICK = ("--tokenizer", "chars4")
needs_full = pytest.mark.skipif(not Path(FULL).exists(), reason=f"the system has no {FULL}")
AGENT = FIXTURES / "agent.jsonl"

OUTPUTS = (
    ("truncate", "-o", FULL),
    ("truncate", "--report", FULL),
    ("truncate", "--log", FULL),
    ("truncate", "--archive", FULL),
    ("run", "-s", "compact", "--events", FULL),
    ("check", "--report", FULL),
)


@needs_full
@pytest.mark.parametrize("words", OUTPUTS, ids=" ".join)
def test_a_full_disk_for_the_output_is_a_single_line(
    ctxtrim: Run, tmp_path: Path, words: tuple[str, ...]
) -> None:
    (tmp_path / "a.jsonl").write_bytes(line() + line(long_chat(150)))
    name, *options = words
    ran = ctxtrim(name, *QUICK, *options, tmp_path / "a.jsonl")
    assert ran.code == 1
    (error,) = [line for line in ran.err.splitlines() if FULL in line]
    assert (
        "no space left on device" in error
        or "is a special file where a folder is expected" in error
    )


@needs_full
@pytest.mark.parametrize("option", ["--log", "--report"])
def test_an_edited_file_is_reported_and_undone_if_the_record_cannot_be_written(
    ctxtrim: Run, tmp_path: Path, option: str
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(line() * 3)
    words = ("--in-place", "--archive", tmp_path / "kept", path)
    ran = ctxtrim("truncate", *QUICK, option, FULL, *words)
    assert (ran.code, path.read_bytes()) == (1, shortened(line()) * 3)
    (error,) = [line for line in ran.err.splitlines() if "error" in line or "cannot" in line]
    assert error.removeprefix("ctxtrim: ").startswith(f"{FULL}: ")
    assert "ctxtrim: truncate: 3 transcripts" in ran.err
    assert "undo: ctxtrim restore" in ran.err
    assert ctxtrim("restore", *words).code == 0
    assert path.read_bytes() == line() * 3


PRINTS = (
    ("truncate", *QUICK, str(AGENT)),
    ("count", "--json", *QUICK, str(AGENT)),
    ("check", *QUICK, "--color", "always", str(AGENT)),
    ("config", "show"),
    ("models",),
    ("rolling-context", "status"),
    ("count", "--help"),
    ("--version",),
)


@needs_full
@pytest.mark.parametrize("words", PRINTS, ids=lambda words: words[0])
def test_a_full_standard_output_is_a_single_line(words: tuple[str, ...]) -> None:
    with Path(FULL).open("wb") as full:
        done = subprocess.run(
            [*COMMAND, *words], stdout=full, stderr=subprocess.PIPE, env=ENVIRONMENT, cwd=FIXTURES
        )
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert b"standard output cannot be written: no space left on device" in done.stderr


@needs_full
@pytest.mark.parametrize("variables", [{}, {"PYTHONUNBUFFERED": "1"}])
def test_a_full_standard_error_changes_no_result(variables: dict[str, str]) -> None:
    for words, code, out in (
        (("truncate", *QUICK), 0, shortened(line())),
        (("truncate", *QUICK, "missing.jsonl"), 1, b""),
        (("truncate", "--unknown"), 2, b""),
    ):
        with Path(FULL).open("wb") as full:
            done = subprocess.run(
                [*COMMAND, *words],
                input=line(),
                stdout=subprocess.PIPE,
                stderr=full,
                env=ENVIRONMENT | variables,
            )
        assert (done.returncode, done.stdout) == (code, out)


def _may_write(size: int) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


@pytest.mark.parametrize("option", ["--log", "--events"])
def test_a_full_disk_leaves_no_half_line_in_a_log(
    ctxtrim: Run, tmp_path: Path, option: str
) -> None:
    path, log = tmp_path / "a.jsonl", tmp_path / "log.jsonl"
    path.write_bytes(line(long_chat(60)) * 4)
    words = ("run", "-s", "compact", "--budget", "2000", *QUICK, option, log, path)
    assert ctxtrim(*words).code == 0
    before = log.read_bytes()
    small = partial(_may_write, len(before) + 300)
    done = subprocess.run(
        [*COMMAND, *map(str, words)],
        capture_output=True,
        env={**ENVIRONMENT, "PYTHONDONTWRITEBYTECODE": "1"},  # it would be cut off
        preexec_fn=small,
    )
    assert done.returncode == 1
    assert b"cannot be written: file too large" in done.stderr
    lines = log.read_bytes()
    assert lines.startswith(before)
    assert all(json.loads(text) for text in lines.splitlines())
    assert lines.endswith(b"\n")


def test_a_full_disk_of_the_archive_is_named(tmp_path: Path) -> None:
    path, archive = tmp_path / "a.jsonl", tmp_path / "kept"
    talk = messages()
    talk[2]["content"] = random.Random(1).randbytes(100_000).hex()  # a result, hardly compressible
    before = line(talk) + line()
    path.write_bytes(before)
    done = subprocess.run(
        [*COMMAND, "truncate", *QUICK, path, "--in-place", "--archive", archive, "--quiet"],
        capture_output=True,
        text=True,
        env={**ENVIRONMENT, "PYTHONDONTWRITEBYTECODE": "1"},  # it would be cut off
        preexec_fn=partial(_may_write, 60_000),
    )
    reason = f"{archive}: originals cannot be stored here: file too large"
    assert (done.returncode, done.stderr) == (1, f"{path}: error: {reason}\n")
    assert path.read_bytes() == before


def test_a_log_that_ends_with_half_a_line_continues_on_a_new_line(
    ctxtrim: Run, tmp_path: Path
) -> None:
    log = tmp_path / "log.jsonl"
    log.write_bytes(b'{"time": "20')
    for _ in range(2):
        assert ctxtrim("count", *QUICK, "--log", log, stdin=line()).code == 0
    half, *lines = log.read_bytes().splitlines()
    assert half == b'{"time": "20'
    assert [json.loads(text)["path"] for text in lines] == ["-", "-"]
