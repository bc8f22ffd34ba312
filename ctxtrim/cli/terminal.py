"""What people see: messages on standard error, the report on standard output, a progress bar on long work."""

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from ctxtrim.files import Input
from ctxtrim.pipeline import Spec
from ctxtrim.report import Report
from ctxtrim.reports import REPORTS, text

_PATIENCE = 0.7  # seconds before a progress bar appears
_TOLD = 20  # findings that are told on standard error; the report has all of them


def say(line: str) -> None:
    """One line on standard error."""
    sys.stderr.write(line + "\n")


def summary(report: Report, specs: Sequence[Spec], values: Mapping[str, Any]) -> None:
    """What was found and done, for a command whose output is somewhere else."""
    lines = [line for path, finding in report.findings for line in _told(path, finding, None, values)]
    blocks = [
        _told(row.path, finding, row.line, values) for row in report.rows or report.troubled for finding in row.findings
    ]
    for block in blocks[:_TOLD]:
        lines += block
    if len(blocks) > _TOLD:
        lines.append(f"… and {len(blocks) - _TOLD} more; --report has all of them")
    for line in lines:
        say(line)
    if values["explain"]:
        for row in report.rows:
            say(text.plain(text.explained(row)))
    if values["quiet"]:
        return
    did = ", ".join(spec.name for spec in specs) or "no stages, passed through unchanged"
    say(f"ctxtrim: {did}: {text.totals_line(report)}")


def _told(path: str, finding: Any, line: int | None, values: Mapping[str, Any]) -> list[str]:
    if finding.severity != "error" and values["quiet"]:
        return []
    return list(text.finding_text(path, finding, line))


def show(report: Report, form: str, color: str) -> None:
    """The report on standard output: as rich tables on a terminal, else as its renderer spells it."""
    if form != "text" or not (color == "always" or (color == "auto" and sys.stdout.isatty())):
        sys.stdout.write(REPORTS[form](report).encode(errors="backslashreplace").decode())
        sys.stdout.flush()
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(force_terminal=color == "always" or None, highlight=False)
    for table in text.tables(report):
        drawn = Table(title=Text(table.title) if table.title else None, title_justify="left")
        for name in table.columns:
            right = name.startswith(">")
            drawn.add_column(Text(name.removeprefix(">")), justify="right" if right else "left", overflow="fold")
        for cells in table.rows:
            drawn.add_row(*(Text(cell, style=_STYLES.get(cell, "")) for cell in cells))
        console.print(drawn)
    for line in text.finding_lines(report):
        console.print(Text(line))
    console.print(Text(text.totals_line(report), style="bold"))


_STYLES = {"fits": "green", "overflow": "bold red", "malformed": "yellow", "dropped": "red", "truncated": "yellow"}


@contextmanager
def progress(sources: Sequence[Input], *, enabled: bool) -> Iterator[Callable[[Iterable[bytes]], Iterable[bytes]]]:
    """A wrapper for the lines of each input that shows how far the work is, once it takes a while."""
    if not enabled or not sys.stderr.isatty():
        yield lambda lines: lines
        return
    sizes = [source.size for source in sources]
    bar = _Bar(None if None in sizes else sum(size or 0 for size in sizes))
    try:
        yield bar.watch
    finally:
        bar.close()


class _Bar:
    """A rich progress bar over bytes that is made when the patience is over."""

    def __init__(self, total: int | None) -> None:
        self._total = total
        self._done = 0
        self._start = time.monotonic()
        self._progress: Any = None
        self._task: Any = None

    def watch(self, lines: Iterable[bytes]) -> Iterator[bytes]:
        """The lines, counted as they pass."""
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
            BarColumn(), DownloadColumn(), TimeRemainingColumn(), console=Console(stderr=True), transient=True
        )
        self._task = self._progress.add_task("", total=self._total, completed=self._done)
        self._progress.start()

    def close(self) -> None:
        """Take the bar away."""
        if self._progress is not None:
            self._progress.stop()
