"""A command that writes summaries: the prompt on its standard input, the summary on its standard output."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from threading import Thread
from typing import IO

from ctxtrim.errors import SummaryError, reason
from ctxtrim.summaries import Reply
from ctxtrim.summarizers.errors import MOST, line

_BLOCK = 1 << 16  # bytes read at a time
_LAST = 1 << 12  # bytes of standard error that are remembered
_GRACE = 5.0  # seconds for what was killed to be gone


@dataclass(frozen=True)
class Command:
    """A shell command; a `SummaryError` where it fails, takes more than `timeout` seconds or answers rubbish.

    With it go all processes that it started. At most a mebibyte of its output is read.
    """

    command: str
    timeout: float = 120.0

    @property
    def name(self) -> str:
        """Which command it is; its arguments may hold a key."""
        return line((self.command.split() or ["?"])[0].rpartition("/")[2])

    def summarize(self, prompt: str, max_tokens: int) -> Reply:
        """What the command says to a prompt; how long that should be stands in the prompt."""
        try:
            process = subprocess.Popen(
                self.command,
                shell=True,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:  # a null byte in it is a ValueError
            why = reason(error) if isinstance(error, OSError) else str(error)
            raise SummaryError(f"--llm-command cannot be started: {why}") from error
        try:
            with _guard(process):
                return Reply(self._answer(process, prompt.encode(errors="replace")))
        finally:
            _end(process)

    def _answer(self, process: subprocess.Popen[bytes], prompt: bytes) -> str:
        deadline = time.monotonic() + self.timeout
        out, err = bytearray(), bytearray()
        writer = _start(lambda: _write(process.stdin, prompt))
        reader = _start(lambda: _read(process.stdout, out))
        listener = _start(lambda: _read_last(process.stderr, err))
        for thread in (reader, listener, writer):
            thread.join(max(0.0, deadline - time.monotonic()))
            if len(out) > MOST:
                raise SummaryError(f"--llm-command wrote more than {MOST} bytes; expected a summary")
            if thread.is_alive():
                raise self._late()
        try:
            code = process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            raise self._late() from None
        if code:
            said = [one for one in err.decode(errors="replace").split("\n") if one.strip()]
            raise SummaryError(f"--llm-command ended with status {code}" + (f": {line(said[-1])}" if said else ""))
        try:
            text = out.decode()
        except UnicodeDecodeError:
            raise SummaryError("--llm-command wrote something that is no UTF-8 text; expected a summary") from None
        if not text.strip():
            raise SummaryError("--llm-command wrote nothing; expected a summary on its standard output")
        return text.strip()

    def _late(self) -> SummaryError:
        return SummaryError(f"--llm-command did not end within {self.timeout:g} seconds")


@contextmanager
def _guard(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Within the block the command ends if this program is killed: a shell waits for that and kills its process group.

    The shell waits for the end of its standard input, whose other end only this program holds. Windows has no process
    groups: there the command goes on.
    """
    if not hasattr(os, "killpg"):
        yield
        return
    words = ["/bin/sh", "-c", 'read _; kill -s KILL -- "-$1"', "sh", str(process.pid)]
    guard = subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    try:
        yield
    finally:
        guard.kill()  # before the command is waited for: its id may soon belong to another process
        guard.communicate()


def _start(run: Callable[[], None]) -> Thread:
    thread = Thread(target=run, daemon=True)
    thread.start()
    return thread


def _write(pipe: IO[bytes] | None, data: bytes) -> None:
    """The whole prompt, or as much of it as the command wants to read."""
    assert pipe is not None
    try:
        with pipe:
            pipe.write(data)
    except BrokenPipeError:
        return  # a command need not read it all


def _read(pipe: IO[bytes] | None, into: bytearray) -> None:
    """The output up to its end, or until it is too much."""
    assert pipe is not None
    with pipe:
        while len(into) <= MOST and (block := os.read(pipe.fileno(), _BLOCK)):
            into += block


def _read_last(pipe: IO[bytes] | None, into: bytearray) -> None:
    """The last of what was said to the user."""
    assert pipe is not None
    with pipe:
        while block := os.read(pipe.fileno(), _BLOCK):
            into += block
            del into[:-_LAST]


def _end(process: subprocess.Popen[bytes]) -> None:
    """Nothing that the command started is left, and nobody holds its pipes."""
    if hasattr(os, "killpg"):
        with suppress(ProcessLookupError, PermissionError):  # all of them are gone; macOS says the second of dead ones
            os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    process.wait(_GRACE)
