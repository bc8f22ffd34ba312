"""A progress bar on standard error for long runs."""

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ctxtrim.io.inputs import Input

_PATIENCE = 0.7  # seconds before a progress bar appears

Watch = Callable[[Iterable[bytes]], Iterable[bytes]]


@contextmanager
def progress_bar(sources: Sequence[Input], *, enabled: bool) -> Iterator[Watch]:
    """A wrapper for the lines of each input that shows a progress bar after `_PATIENCE` seconds."""
    if not enabled or sys.stderr is None or not sys.stderr.isatty():
        yield lambda lines: lines
        return
    sizes = [source.size for source in sources]
    bar = _Bar(None if None in sizes else sum(size or 0 for size in sizes))
    try:
        yield bar.watch
    finally:
        bar.close()


class _Bar:
    """A rich progress bar over bytes that appears after `_PATIENCE` seconds."""

    def __init__(self, total: int | None) -> None:
        self._total = total
        self._done = 0
        self._start = time.monotonic()
        self._progress: Any = None
        self._task: Any = None

    def watch(self, lines: Iterable[bytes]) -> Iterator[bytes]:
        """Yield the lines and update the bar."""
        for line in lines:
            yield line
            self._done += len(line)
            if self._progress is not None:
                self._progress.update(self._task, completed=self._done)
            elif time.monotonic() - self._start > _PATIENCE:
                self._open()

    def _open(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, Progress, TimeRemainingColumn

        self._progress = Progress(
            BarColumn(),
            DownloadColumn(),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._progress.add_task("", total=self._total, completed=self._done)
        self._progress.start()

    def close(self) -> None:
        """Remove the bar."""
        if self._progress is not None:
            self._progress.stop()
