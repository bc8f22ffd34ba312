"""Standard input that comes in pieces, and pipes that wait neither for bytes nor for room."""

import gzip
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import zstandard
from conftest import COMMAND, ENVIRONMENT
from samples import line
from test_databases import written

PLAIN = line() * 3
PAUSE = 0.4  # seconds


@contextmanager
def pipe(*, waits: bool) -> Iterator[tuple[int, int]]:
    """A pipe, and whether a read without bytes in it waits."""
    source, target = os.pipe()
    os.set_blocking(source, waits)
    try:
        yield source, target
    finally:
        os.close(source)


def fed(pieces: list[bytes], *, waits: bool = True) -> subprocess.CompletedProcess[bytes]:
    """`ctxtrim run` on pieces with pauses between them."""
    words = [*COMMAND, "run", "--quiet"]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with pipe(waits=waits) as (source, target):
        with subprocess.Popen(words, stdin=source, env=ENVIRONMENT, **streams) as process:
            for number, piece in enumerate(pieces):
                time.sleep(PAUSE if number else 0)
                os.write(target, piece)
            time.sleep(PAUSE)
            os.close(target)
            out, err = process.communicate()
        assert os.get_blocking(source) is waits
    return subprocess.CompletedProcess(words, process.returncode, out, err)


@pytest.mark.parametrize("pieces", [[line(), line() * 2], [PLAIN[:50], PLAIN[50:]]])
def test_a_pipe_that_does_not_wait_is_read_to_its_end(pieces: list[bytes]) -> None:
    ran = fed(pieces, waits=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, PLAIN, b"")


def test_compressed_bytes_of_a_pipe_that_does_not_wait_are_read_to_their_end() -> None:
    data = gzip.compress(PLAIN)
    ran = fed([data[:40], data[40:]], waits=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, PLAIN, b"")


@pytest.mark.parametrize("variables", [{}, {"PYTHONUNBUFFERED": "1"}])
def test_a_full_pipe_that_does_not_wait_gets_the_whole_output(
    tmp_path: Path, variables: dict[str, str]
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(line() * 100)  # more than a pipe holds
    with pipe(waits=True) as (source, target):
        os.set_blocking(target, False)
        process = subprocess.Popen(
            [*COMMAND, "run", "--quiet", path],
            stdout=target,
            stderr=subprocess.PIPE,
            env=ENVIRONMENT | variables,
        )
        received = os.read(source, 1)
        time.sleep(PAUSE)
        os.close(target)
        while block := os.read(source, 1 << 16):
            received += block
        _, err = process.communicate()
    assert (process.returncode, received, err) == (0, path.read_bytes(), b"")


@pytest.mark.parametrize("kind", ["gzip", "zstd", "a database", "text"])
def test_first_bytes_in_two_pieces_are_recognized(tmp_path: Path, kind: str) -> None:
    rows = written(tmp_path / "a.db", "crush", "delete")
    data = {
        "gzip": (gzip.compress(PLAIN), PLAIN),
        "zstd": (zstandard.ZstdCompressor().compress(PLAIN), PLAIN),
        "a database": ((tmp_path / "a.db").read_bytes(), rows),
        "text": (b"S" + PLAIN, b"S" + PLAIN),
    }
    given, expected = data[kind]
    ran = fed([given[:1], given[1:]])
    assert (ran.returncode, ran.stdout) == (int(kind == "text"), expected)
