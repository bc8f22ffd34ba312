"""A progress bar on standard error for long runs: bytes, rate and remaining time."""

import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from threading import Event, Thread

from ctxtrim.cli.messages import is_terminal
from ctxtrim.io.inputs import Input

_PATIENCE = 0.7  # seconds before a progress bar appears
_INTERVAL = 0.1  # seconds between two updates
_WIDTH, _LEAST = 20, 5  # the columns of the bar, and the fewest that are drawn


class Watch:
    """Sees the bytes of the inputs, and shows nothing."""

    def lines(self, lines: Iterable[bytes]) -> Iterable[bytes]:
        """The lines of an input that is being read."""
        return lines

    def add(self, size: int) -> None:
        """An input of `size` bytes, which another process has read."""


@contextmanager
def progress_bar(
    sources: Sequence[Input], *, enabled: bool, fills_stdout: bool, patience: float = _PATIENCE
) -> Iterator[Watch]:
    """A watch that shows a progress bar after `patience` seconds.

    There is none if standard error is not a terminal, or if transcripts are written to standard
    output (`fills_stdout`) and it is a terminal too.
    """
    is_shown = enabled and is_terminal(sys.stderr)
    if not is_shown or (fills_stdout and is_terminal(sys.stdout)):
        yield Watch()
        return
    bar = _Bar([source.size for source in sources], patience)
    try:
        yield bar
    finally:
        bar.close()


class _Bar(Watch):
    """A line with a bar over the bytes of all inputs.

    A thread draws it, because a long session is read at once and takes its time afterwards. After
    the last byte the line shows that the work goes on, without a remaining time.
    """

    def __init__(self, sizes: Sequence[int | None], patience: float) -> None:
        self._files, self._started = len(sizes), 0
        self._total = None if None in sizes else sum(size or 0 for size in sizes)
        self._done = 0
        self._start = time.monotonic()
        self._closed = Event()
        self._thread = Thread(target=self._draw, args=(patience,), daemon=True)
        self._thread.start()

    def lines(self, lines: Iterable[bytes]) -> Iterator[bytes]:
        """Yield the lines and count their bytes."""
        self._started += 1
        for line in lines:
            yield line
            self._done += len(line)

    def add(self, size: int) -> None:
        """Count the bytes of a whole input."""
        self._started += 1
        self._done += size

    def close(self) -> None:
        """Remove the line."""
        self._closed.set()
        self._thread.join()

    def _draw(self, patience: float) -> None:
        """Draw the line again and again until the bar is closed."""
        if self._closed.wait(patience):
            return
        import shutil  # for runs that take long only

        with suppress(OSError):  # standard error may be closed by now
            while True:
                columns = shutil.get_terminal_size().columns - 1
                _write(self._line(columns)[:columns])
                if self._closed.wait(_INTERVAL):
                    break
            _write("")

    def _line(self, columns: int) -> str:
        """The state of the run; the bar takes the columns that are left."""
        seconds = time.monotonic() - self._start
        rate = self._done / seconds if seconds else 0
        total, what, remaining = "?", "reading", "-:--:--"
        if self._total is not None:
            total = _bytes(self._total)
            if self._done >= self._total:
                what = "working"
            elif rate:
                remaining = _clock((self._total - self._done) / rate)
        if self._files > 1:
            what += f", file {self._started} of {self._files}"
        facts = f"{_bytes(self._done)} of {total}  {_bytes(rate)}/s  {_clock(seconds)}"
        facts += f"  remaining {remaining}"
        return f"{what}  {self._bar(min(_WIDTH, columns - len(what) - len(facts) - 4))}{facts}"

    def _bar(self, width: int) -> str:
        """The share that is read; empty if the size is unknown or the terminal is narrow."""
        if not self._total or width < _LEAST:
            return ""
        full = min(width * self._done // self._total, width)
        return f"{'━' * full}{'─' * (width - full)}  "


def _write(line: str) -> None:
    """Replace the current line of the terminal."""
    if sys.stderr is not None:
        sys.stderr.write(f"\r\x1b[2K{line}")
        sys.stderr.flush()


def _bytes(number: float) -> str:
    """A number of bytes in the largest unit that leaves a digit before the point."""
    for unit in ("bytes", "kB", "MB"):
        if number < 1000:
            return f"{number:.0f} bytes" if unit == "bytes" else f"{number:.1f} {unit}"
        number /= 1000
    return f"{number:.1f} GB"


def _clock(seconds: float) -> str:
    """A duration as `0:01:05`."""
    minutes, second = divmod(int(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{second:02}"
