"""A signal that ends the program has its exit code, and no file is edited after it.

An import may replace the exception of a signal, and a finalizer drops it.
"""

import asyncio
import os
import random
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from conftest import ENVIRONMENT, FIXTURES, default_signals
from samples import chat, line

from ctxtrim.io.outputs import write_file
from ctxtrim.io.signals import delayed, take_received, termination_raises

CODE = """
import os, sys
from ctxtrim.cli import app, exit_codes
module, number, effect = sys.argv[1], int(sys.argv[2]), sys.argv[3]
class Sender:
    def find_spec(self, name, path=None, target=None):
        if name != module:
            return None
        sys.meta_path.remove(self)
        if effect == "dropped":
            Finalizer()
            return None
        try:
            os.kill(os.getpid(), number)
        except KeyboardInterrupt:
            if effect == "raised":
                raise
            raise RuntimeError("Error calling __set_name__")
class Finalizer:
    def __del__(self):
        os.kill(os.getpid(), number)
sys.meta_path.insert(0, Sender())
sys.argv = ["ctxtrim", *sys.argv[4:]]
from ctxtrim.__main__ import main
main()
"""
EARLY = "ctxtrim.cli.stage_commands"
LATE = "ctxtrim.stages.trim.fit"


def sent(words: list[str], module: str, effect: str, number: int) -> tuple[int, str]:
    """Exit code and standard error of a run that gets a signal when it imports a module."""
    done = subprocess.run(
        [sys.executable, "-c", CODE, module, str(number), effect, *words],
        capture_output=True,
        text=True,
        env=ENVIRONMENT,
        preexec_fn=default_signals,
    )
    return done.returncode, done.stderr.strip()


@pytest.mark.skipif(sys.platform == "win32", reason="the system has no such signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("effect", ["raised", "replaced", "dropped"])
@pytest.mark.parametrize("module", [EARLY, LATE])
def test_a_signal_during_an_import_ends_the_run(
    tmp_path: Path, module: str, effect: str, number: int
) -> None:
    path = tmp_path / "a.jsonl"
    data = (FIXTURES / "agent.jsonl").read_bytes()
    path.write_bytes(data)
    words = ["trim", "--budget", "600", "--in-place", str(path)]
    assert sent(words, module, effect, number) == (128 + number, "")
    assert (path.read_bytes(), list(tmp_path.iterdir())) == (data, [path])


@pytest.mark.skipif(sys.platform == "win32", reason="the system has no such signals")
def test_a_signal_while_numpy_loads_ends_the_run(tmp_path: Path) -> None:
    pytest.importorskip("gigatoken")  # which loads numpy for long texts
    words = random.Random(1).choices(("buoy", "reef", "tide", "gale"), k=400_000)
    path = tmp_path / "a.jsonl"
    path.write_bytes(line(chat(" ".join(words))))
    for number in (signal.SIGINT, signal.SIGTERM):
        assert sent(["count", str(path)], "numpy.linalg", "raised", number) == (128 + number, "")


@pytest.mark.skipif(sys.platform == "win32", reason="the system has no such signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_delayed_signal_reaches_a_loop_of_asyncio_once(number: int) -> None:
    calls: list[str] = []

    async def work() -> None:
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(number, calls.append, "received")
        with delayed():
            os.kill(os.getpid(), number)
        for _ in range(20):
            await asyncio.sleep(0)
        loop.remove_signal_handler(number)

    asyncio.run(work())
    assert calls == ["received"]


@pytest.mark.skipif(sys.platform == "win32", reason="the system has no such signals")
def test_a_delayed_signal_reaches_its_handler_after_the_block() -> None:
    calls: list[int] = []
    former = signal.signal(signal.SIGTERM, lambda number, frame: calls.append(number))
    try:
        with delayed():
            os.kill(os.getpid(), signal.SIGTERM)
            assert not calls
        assert calls == [signal.SIGTERM]
    finally:
        signal.signal(signal.SIGTERM, former)


@pytest.mark.skipif(sys.platform == "win32", reason="the system has no such signals")
def test_no_file_is_replaced_after_a_signal_whose_exception_was_dropped(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"old")
    with termination_raises():
        with suppress(KeyboardInterrupt):  # as a finalizer does
            signal.raise_signal(signal.SIGTERM)
        with pytest.raises(KeyboardInterrupt):
            write_file(path, b"new")
    assert take_received() == signal.SIGTERM
    assert (path.read_bytes(), list(tmp_path.iterdir())) == (b"old", [path])
