"""What people see: messages on standard error, the report on standard output, a progress bar on long work."""

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from io import StringIO
from itertools import islice
from typing import Any

from ctxtrim.cli.request import Request
from ctxtrim.io.inputs import Input
from ctxtrim.io.outputs import Stdout
from ctxtrim.reports import REPORTS, blocks, text
from ctxtrim.reports.model import ASIDE, Report, Row
from ctxtrim.stage import Severity
from ctxtrim.text.escaping import clean, clean_lines

_PATIENCE = 0.7  # seconds before a progress bar appears
_WIDTH = 120  # columns of tables that go to no terminal
_DRAWN = 2000  # rows of a table on a terminal
_TOLD = 20  # transcripts whose findings are told on standard error; the report has all of them


Watch = Callable[[Iterable[bytes]], Iterable[bytes]]


def say(line: str) -> None:
    """One line on standard error, safe to print. If standard error cannot be written, the line is lost."""
    if sys.stderr is not None:
        with suppress(OSError):
            sys.stderr.write(clean(line) + "\n")


def print_text(text: str) -> None:
    """Lines on standard output, safe to print."""
    Stdout().write(_encoded(clean_lines(text)))


class Troubled:
    """The transcripts whose findings standard error shows: the first of them, and how many there are."""

    def __init__(self, is_quiet: bool) -> None:
        self._severities = _severities(is_quiet)
        self.rows: list[Row] = []
        self.count = 0

    def take(self, row: Row) -> None:
        """Look at one transcript."""
        findings = [one for one in row.findings if one.severity in self._severities and one.code not in ASIDE]
        if findings:
            self.count += 1
            if len(self.rows) < _TOLD:
                self.rows.append(replace(row, findings=tuple(findings), steps=(), lines={}, explained=()))


def _severities(is_quiet: bool) -> tuple[Severity, ...]:
    """The severities of findings that standard error shows."""
    return ("error",) if is_quiet else ("error", "warning", "info")


def tell(report: Report, asked: Request, troubled: Troubled | None) -> None:
    """On standard error: findings about files, and those about transcripts if no report on standard output has them."""
    severities = _severities(asked.is_quiet)
    for line in text.file_lines(item for item in report.findings if item[1].severity in severities):
        say(line)
    if troubled is None:
        return
    for line in text.finding_lines(troubled.rows):
        say(line)
    if troubled.count > len(troubled.rows):
        say(f"… and {troubled.count - len(troubled.rows)} transcripts more; --report has all of them")
    if not asked.job.explains or (asked.is_quiet and asked.report is not None):  # the report has the rows
        return
    for row in report.rows:
        for line in text.plain(text.explained(row)).split("\n"):
            say(line)


def summary(report: Report) -> None:
    """What was done, in one line on standard error."""
    did = ", ".join(spec.name for spec in report.pipeline) or "no stages, passed through unchanged"
    left_out = f", {report.left_out} not written" if report.left_out else ""
    say(f"ctxtrim: {did}: {text.totals_line(report)}{left_out}")


def show(report: Report, form: str, color: str) -> None:
    """The report on standard output: as rich tables on a terminal, else as its form spells it."""
    if form == "text" and not report.rows:
        return
    shown = report if form != "text" else replace(report, findings=[])  # those are on standard error
    is_drawn = form == "text" and (
        color == "always" or (color == "auto" and sys.stdout is not None and sys.stdout.isatty())
    )
    if not is_drawn:
        for block in blocks(REPORTS[form](shown)):
            print_text(block)
        return
    for block in blocks(_drawn(shown)):
        Stdout().write(_encoded(block))


def _drawn(report: Report) -> Iterator[str]:
    """The report with rich tables. A table has as many rows as people read; files have all of them."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    canvas = StringIO()
    width = None if sys.stdout.isatty() else _WIDTH
    console = Console(
        file=canvas, force_terminal=True, no_color=bool(os.environ.get("NO_COLOR")), highlight=False, width=width
    )

    def drawn(value: Any) -> str:
        canvas.seek(0)
        canvas.truncate()
        console.print(value)
        return canvas.getvalue()

    for table in text.tables(report):
        title = Text(table.title) if table.title else None
        rich_table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
        left = iter(table.rows)
        rows = list(islice(left, _DRAWN))
        for place, name in enumerate(table.columns):
            header, is_number = name.removeprefix(">"), name.startswith(">")
            widest = max(len(cells[place]) for cells in (*rows, (header,) * len(table.columns)))
            rich_table.add_column(
                Text(header),
                justify="right" if is_number else "left",
                overflow="fold",
                min_width=widest if is_number or name in _WHOLE else min(widest, _LEAST),  # a number is never cut
            )
        for cells in rows:
            rich_table.add_row(*(Text(cell, style=_STYLES.get(cell, "")) for cell in cells))
        yield drawn(rich_table)
        if more := sum(1 for _ in left):
            yield drawn(Text(f"  … and {more:,} rows more; --report FILE has all of them\n"))
    for line in text.row_lines(report):
        yield drawn(Text(line))
    yield drawn(Text(text.totals_line(report), style="bold"))


def _encoded(shown: str) -> bytes:
    """A text in the encoding of standard output; what that cannot spell is told in ASCII."""
    encoding = "utf-8" if sys.stdout is None else sys.stdout.encoding
    try:
        shown.encode(encoding)
    except UnicodeEncodeError:
        shown = shown.translate(_ASCII)
    return shown.encode(encoding, errors="backslashreplace")


_LEAST = 16  # columns of a text that may fold
_WHOLE = ("verdict", "decision", "role")
_ASCII = str.maketrans({"≤": "<=", "≈": "~", "×": "x", "→": "->", "…": "...", "─": "-"})
_STYLES = {"fits": "green", "overflow": "bold red", "malformed": "yellow", "dropped": "red", "truncated": "yellow"}


@contextmanager
def progress(sources: Sequence[Input], *, enabled: bool) -> Iterator[Callable[[Iterable[bytes]], Iterable[bytes]]]:
    """A wrapper for the lines of each input that shows how far the work is, once it takes a while."""
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
