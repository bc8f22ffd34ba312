"""A command that writes summaries: the prompt is its standard input, the summary its standard
output.
"""

import os
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from threading import Thread
from typing import IO

from ctxtrim.errors import SummaryError, reason
from ctxtrim.summaries.summarizer import Reply
from ctxtrim.summarizers.errors import MAX_ANSWER, line

_BLOCK = 1 << 16  # bytes read at a time
_LAST = 1 << 12  # bytes of standard error that are kept
_GRACE = 5.0  # seconds to wait for a killed process
_HAS_GROUPS = hasattr(os, "killpg")  # not on Windows
# The line before the prompt is written when a guard watches the command.
_WHEN_GUARDED = ("/bin/sh", "-c", 'read -r _ && exec /bin/sh -c "$1"', "sh")


@dataclass(frozen=True)
class Command:
    """A shell command. `SummaryError` if it fails, exceeds `timeout` seconds or gives no summary.

    All processes that it starts are killed with it. At most 1 MiB of its output is read.
    """

    command: str
    timeout: float = 120.0

    @property
    def name(self) -> str:
        """The name of the program, without its arguments, which may contain a key."""
        return line((self.command.split() or ["?"])[0].rpartition("/")[2])

    def summarize(self, prompt: str, max_tokens: int) -> Reply:
        """The output of the command for a prompt. The prompt itself states the maximum length."""
        guard = None
        try:
            guard = _Guard()
            process = subprocess.Popen(
                [*_WHEN_GUARDED, self.command] if _HAS_GROUPS else self.command,
                shell=not _HAS_GROUPS,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:  # a null byte in it is a ValueError
            if guard is not None:
                guard.end()
            why = reason(error) if isinstance(error, OSError) else str(error)
            raise SummaryError(f"--llm-command cannot be started: {why}") from error
        try:
            guard.watch(process.pid)
            start = b"\n" if _HAS_GROUPS else b""
            return Reply(self._answer(process, start + prompt.encode(errors="replace")))
        finally:
            guard.end()  # before waiting for the command, because its id may be reused
            _end(process)

    def _answer(self, process: subprocess.Popen[bytes], prompt: bytes) -> str:
        deadline = time.monotonic() + self.timeout
        out, err = bytearray(), bytearray()
        writer = _start(lambda: _write(process.stdin, prompt))
        reader = _start(lambda: _read(process.stdout, out))
        listener = _start(lambda: _read_last(process.stderr, err))
        for thread in (reader, listener, writer):
            thread.join(max(0.0, deadline - time.monotonic()))
            if len(out) > MAX_ANSWER:
                raise SummaryError(
                    f"--llm-command wrote more than {MAX_ANSWER} bytes; expected a summary"
                )
            if thread.is_alive():
                raise self._late()
        try:
            code = process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            raise self._late() from None
        if code:
            lines = [text for text in err.decode(errors="replace").split("\n") if text.strip()]
            raise SummaryError(
                f"--llm-command ended with status {code}"
                + (f": {line(lines[-1])}" if lines else "")
            )
        try:
            text = out.decode()
        except UnicodeDecodeError:
            raise SummaryError("--llm-command wrote invalid UTF-8; expected a summary") from None
        if not text.strip():
            raise SummaryError(
                "--llm-command wrote nothing; expected a summary on its standard output"
            )
        return text.strip()

    def _late(self) -> SummaryError:
        return SummaryError(f"--llm-command did not end within {self.timeout:g} s")


class _Guard:
    """A shell that kills a process group if this program is killed.

    It waits for the end of its standard input; only this program has the other end open. Windows
    has no process groups, so a command keeps running there.
    """

    def __init__(self) -> None:
        self._shell: subprocess.Popen[bytes] | None = None
        if _HAS_GROUPS:
            script = 'read -r group && { read -r _; kill -s KILL -- "-$group"; }'
            self._shell = subprocess.Popen(
                ["/bin/sh", "-c", script],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )

    def watch(self, group: int) -> None:
        """Name the process group to kill."""
        if self._shell is not None and self._shell.stdin is not None:
            with suppress(BrokenPipeError):  # the guard was killed; the command works without it
                self._shell.stdin.write(b"%d\n" % group)
                self._shell.stdin.flush()

    def end(self) -> None:
        """End the shell, so that it kills nothing."""
        if self._shell is not None:
            self._shell.kill()
            self._shell.communicate()


def _start(run: Callable[[], None]) -> Thread:
    thread = Thread(target=run, daemon=True)
    thread.start()
    return thread


def _write(pipe: IO[bytes] | None, data: bytes) -> None:
    """Write the prompt, or as much of it as the command reads."""
    assert pipe is not None
    try:
        with pipe:
            pipe.write(data)
    except BrokenPipeError:
        return  # a command need not read the whole prompt


def _read(pipe: IO[bytes] | None, into: bytearray) -> None:
    """Read the output to its end, or until it is too long."""
    assert pipe is not None
    with pipe:
        while len(into) <= MAX_ANSWER and (block := os.read(pipe.fileno(), _BLOCK)):
            into += block


def _read_last(pipe: IO[bytes] | None, into: bytearray) -> None:
    """Read standard error and keep its end."""
    assert pipe is not None
    with pipe:
        while block := os.read(pipe.fileno(), _BLOCK):
            into += block
            del into[:-_LAST]


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill the command and all processes that it started, and wait for it."""
    if _HAS_GROUPS:
        # All may have ended; macOS raises PermissionError for dead processes.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    process.wait(_GRACE)
