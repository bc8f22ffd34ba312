"""The number of processes changes nothing but the time."""

import json
import os
import resource
import shutil
import signal
import subprocess
import time
from functools import partial
from multiprocessing import parent_process
from pathlib import Path

import pytest
from conftest import COMMAND, ENVIRONMENT, FIXTURES, ROOT, Ran, default_signals, run_process

from ctxtrim.cli.workers import parallel_run
from ctxtrim.cli.workers.parallel_run import ParallelRun
from ctxtrim.cli.workers.pieces import PieceWork
from ctxtrim.formats.arrays import LARGE
from ctxtrim.formats.choice import FormatChoice
from ctxtrim.formats.conversion import Conversion
from ctxtrim.formats.conversion.request import convert
from ctxtrim.formats.reading import open_reading
from ctxtrim.io.inputs import Input
from ctxtrim.metering import Metering
from ctxtrim.model import Transcript
from ctxtrim.pipeline import StagePipeline
from ctxtrim.stream.files import FilePipeline, FileReader
from ctxtrim.stream.job import Job
from ctxtrim.tokenizers import tokenizer

SAMPLES = ("agent.jsonl", "claude-code.jsonl", "broken.jsonl", "document.json")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Some files: conversations, a session, a document, and files that cannot be read."""
    place = tmp_path / "in"
    place.mkdir()
    for name in SAMPLES:
        shutil.copy(FIXTURES / name, place)
    (place / "empty.jsonl").write_bytes(b"")
    (place / "other.jsonl").write_bytes(b"neither JSON\nnor a transcript\n")
    (place / "ctxtrim.toml").write_text('[[paths]]\nmatch = "agent.jsonl"\nbudget = "500"\n')
    many = (FIXTURES / "agent.jsonl").read_bytes() * 40
    (place / "many.jsonl").write_bytes(many + b'{"messages": [{"role": "us')
    return place


def ran(jobs: int, place: Path, *words: object) -> tuple[Ran, dict[str, bytes]]:
    """The result of a run in a copy of a folder, and the files of the copy after it."""
    work = place.parent / "work"
    shutil.copytree(place, work)
    result = run_process(*words, "--jobs", jobs, cwd=work)
    files = {
        str(path.relative_to(work)): path.read_bytes()
        for path in sorted(work.rglob("*"))
        if path.is_file() and "originals" not in path.parts
    }
    shutil.rmtree(work)
    return result, files


@pytest.mark.parametrize(
    "words",
    [
        ("count", ".", "--json"),
        ("count", ".", "--largest", 30),
        ("count", ".", "--explain", "--explain-format"),
        ("check", "."),
        ("check", ".", "--verbose", "--strict", "--report", "report.sarif"),
        ("trim", ".", "--budget", 400, "-o", "out", "--report", "report.json"),
        ("trim", "many.jsonl", "agent.jsonl", "--budget", 400),
        ("truncate", ".", "--max-age", 1, "--in-place", "--archive", "originals"),
        ("convert", ".", "--to", "anthropic", "-o", "out"),
    ],
    ids=lambda words: " ".join(map(str, words[:3])),
)
def test_bytes_reports_and_exit_codes_are_the_same(folder: Path, words: tuple[object, ...]) -> None:
    expected, files = ran(1, folder, *words)
    assert ran(3, folder, *words) == (expected, files)
    assert expected.code != 2


def test_an_archive_of_several_processes_restores_the_input(folder: Path) -> None:
    path = folder / "many.jsonl"
    before = path.read_bytes()
    archive = folder / "originals"
    edit = ("truncate", "--max-age", 1, "--in-place", "--archive", archive, path)
    run_process(*edit, "--jobs", 2)
    assert path.read_bytes() != before
    assert run_process("restore", path, "--archive", archive, "-o", path).code == 0
    assert path.read_bytes() == before


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_archive_restores_large_arrays(tmp_path: Path, jobs: int) -> None:
    talks = (FIXTURES / "agent.jsonl").read_bytes().splitlines()
    times = LARGE // sum(map(len, talks)) + 1
    before = b"[\n" + b",\n".join(talks * times) + b"\n]\n"
    paths = [tmp_path / "one.json", tmp_path / "two.json"]
    for path in paths:
        path.write_bytes(before)
    archive = tmp_path / "originals"
    edit = ("truncate", "--max-age", 1, "--in-place", "--archive", archive, "--jobs", jobs)
    run_process(*edit, *paths)
    for path in paths:
        assert len(path.read_bytes()) < len(before)
        assert run_process("restore", path, "--archive", archive, "-o", path).code == 0
        assert path.read_bytes() == before


def dies_once(marker: Path, transcript: Transcript) -> Conversion:
    """A request; the first transcript that another process works on kills that process.

    The run itself works on its own transcripts after that.
    """
    if parent_process() is None:
        while not marker.exists():
            time.sleep(0.01)
    elif not marker.exists():
        marker.write_text(transcript.messages[0].parts[0].text)
        os.kill(os.getpid(), signal.SIGKILL)
    return convert(transcript, to="openai-chat")


def test_lines_of_a_dead_process_are_named_and_the_others_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parallel_run, "_PIECE", 1)  # bytes, so that each line is a piece
    texts = [f"talk {number}" for number in range(1, 9)]
    lines = [
        json.dumps({"messages": [{"role": "user", "content": text}]}).encode() + b"\n"
        for text in texts
    ]
    marker = tmp_path / "killed"
    job = Job(StagePipeline((), Metering(tokenizer)), convert=partial(dies_once, marker))
    pipeline = FilePipeline(FileReader(FormatChoice(), 1 << 20), job)
    work = PieceWork(pipeline, is_recorded=False, writes=True)
    path = tmp_path / "talks.jsonl"
    path.write_bytes(b"".join(lines))
    source = Input(str(path), path.name)
    group = ParallelRun(work, 2, [source])
    try:
        done = list(group.results(source, open_reading(lines), None))
    finally:
        group.close()
    number = texts.index(marker.read_text()) + 1
    assert [at for at, result in enumerate(done, 1) if result.data is None] == [number]
    assert len(done) == len(texts)
    (finding,) = done[number - 1].findings
    assert finding.severity == "error"
    assert finding.line == number
    assert "cannot be handled: the process ended with signal SIGKILL" in finding.message
    assert done[number - 1].is_lossy


@pytest.mark.parametrize(
    ("sizes", "whole"),
    [((30,), ()), ((10, 10), (0, 1)), ((30, 30, 1, 1), (0, 1, 2, 3)), ((30, 5, 5), (1, 2))],
    ids=str,
)
def test_a_file_that_is_most_of_the_input_is_no_task_of_one_process(
    tmp_path: Path, sizes: tuple[int, ...], whole: tuple[int, ...]
) -> None:
    sources = []
    for number, size in enumerate(sizes):
        path = tmp_path / f"{number}.jsonl"
        path.write_bytes(b" " * 1000 * size)
        sources.append(Input(str(path), path.name))
    pipeline = FilePipeline(
        FileReader(FormatChoice(), 1 << 20), Job(StagePipeline((), Metering(tokenizer)))
    )
    group = ParallelRun(PieceWork(pipeline, is_recorded=False, writes=False), 4, sources)
    try:
        pending = [group.start(source) for source in sources]
    finally:
        group.close()
    assert [number for number, each in enumerate(pending) if each is not None] == list(whole)


def test_an_interrupt_ends_all_processes_quietly(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    command = (*COMMAND, "count", "--jobs", "2", str(path))
    process = subprocess.Popen(
        command,
        stderr=subprocess.PIPE,
        cwd=ROOT,
        env=ENVIRONMENT,
        start_new_session=True,
        preexec_fn=default_signals,
    )
    line = (FIXTURES / "agent.jsonl").read_bytes().split(b"\n")[0] + b"\n"
    with path.open("wb", buffering=0) as pipe:
        pipe.write(line * 400)  # several pieces, so that processes are at work
        os.killpg(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert errors == b""


def test_a_configuration_file_can_set_jobs(tmp_path: Path) -> None:
    (tmp_path / "ctxtrim.toml").write_text("jobs = 0\n")
    result = run_process("count", FIXTURES / "agent.jsonl", cwd=tmp_path)
    assert result.code == 2
    assert "expected at least 1" in result.err


def test_without_open_files_for_processes_this_process_does_the_work() -> None:
    files = ("fixtures/agent.jsonl", "fixtures/messages.jsonl")
    words = ("count", "--json", "--tokenizer", "chars4", *files)
    done = subprocess.run(
        [*COMMAND, *words, "--jobs", "2"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        cwd=ROOT,
        env=ENVIRONMENT,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (6, 6)),
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == run_process(*words, "--jobs", "1").out
