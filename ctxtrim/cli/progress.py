"""A progress bar on standard error for long runs: bytes, rate and remaining time."""

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from threading import Timer
from typing import Any

from ctxtrim.io.inputs import Input

_PATIENCE = 0.7  # seconds before a progress bar appears
_INTERVAL = 0.1  # seconds between two updates

Watch = Callable[[Iterable[bytes]], Iterable[bytes]]


@contextmanager
def progress_bar(
    sources: Sequence[Input], *, enabled: bool, fills_stdout: bool, patience: float = _PATIENCE
) -> Iterator[Watch]:
    """A wrapper for the lines of each input that shows a progress bar after some seconds.

    There is none if standard error is not a terminal, or if transcripts are written to standard
    output (`fills_stdout`) and it is a terminal too.
    """
    is_shown = enabled and _is_terminal(sys.stderr)
    if not is_shown or (fills_stdout and _is_terminal(sys.stdout)):
        yield lambda lines: lines
        return
    bar = _Bar([source.size for source in sources], patience)
    try:
        yield bar.watch
    finally:
        bar.close()


def _is_terminal(stream: Any) -> bool:
    return stream is not None and stream.isatty()


class _Bar:
    """A rich progress bar over the bytes of all inputs.

    A timer shows it, because a long session is read at once and takes its time afterwards. After
    the last byte the bar shows that the work goes on, without a remaining time.
    """

    def __init__(self, sizes: Sequence[int | None], patience: float) -> None:
        self._files, self._started = len(sizes), 0
        self._total = None if None in sizes else sum(size or 0 for size in sizes)
        self._done = 0
        self._start = self._updated = time.monotonic()
        self._progress: Any = None
        self._timer = Timer(patience, self._open)
        self._timer.daemon = True
        self._timer.start()

    def watch(self, lines: Iterable[bytes]) -> Iterator[bytes]:
        """Yield the lines and update the bar."""
        self._started += 1
        for line in lines:
            yield line
            self._done += len(line)
            now = time.monotonic()
            if now - self._updated > _INTERVAL:
                self._updated = now
                self._update()
        self._update()

    def close(self) -> None:
        """Remove the bar."""
        self._timer.cancel()
        self._timer.join()
        if self._progress is not None:
            self._progress.stop()

    def _update(self) -> None:
        if self._progress is None:
            return
        is_read = self._total is not None and self._done >= self._total
        if is_read:
            self._progress.tasks[0].total = None
        self._progress.update(
            self._progress.task_ids[0],
            description=self._description(is_read),
            completed=self._done,
        )

    def _description(self, is_read: bool) -> str:
        """The number of the file if there are many."""
        what = "working" if is_read else "reading"
        return what if self._files == 1 else f"{what}, file {self._started} of {self._files}"

    def _open(self) -> None:
        """Show the bar; called by the timer."""
        with suppress(OSError):  # standard error may be closed by now
            self._progress = self._new()
            self._update()

    def _new(self) -> Any:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            DownloadColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
            TransferSpeedColumn,
        )

        progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=20),
            DownloadColumn(),
            TransferSpeedColumn(),
            TimeElapsedColumn(),
            TextColumn("remaining"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        progress.add_task("reading", total=self._total)
        progress.start()
        return progress
