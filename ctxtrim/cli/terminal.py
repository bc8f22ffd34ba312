"""What people see: messages on standard error, the report on standard output, a progress bar on long work."""

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from io import StringIO
from typing import Any

from ctxtrim.cli.request import Request
from ctxtrim.io.inputs import Input
from ctxtrim.io.outputs import Stdout
from ctxtrim.report import ASIDE, Report
from ctxtrim.reports import REPORTS, text
from ctxtrim.text.escaping import clean, clean_lines

_PATIENCE = 0.7  # seconds before a progress bar appears
_WIDTH = 120  # columns of tables that go to no terminal
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


def tell(report: Report, asked: Request, *, is_shown: bool) -> None:
    """On standard error: findings about files, and those about transcripts where no report shows them."""
    is_told = {"error"} if asked.is_quiet else {"error", "warning", "info"}
    files = [one for one in report.findings if one[1].severity in is_told]
    for line in text.file_lines(replace(report, findings=files)):
        say(line)
    if is_shown:
        return
    rows = [
        replace(row, findings=tuple(one for one in row.findings if one.severity in is_told and one.code not in ASIDE))
        for row in report.rows or report.troubled
    ]
    troubled = [row for row in rows if row.findings]
    for line in text.row_lines(troubled[:_TOLD]):
        say(line)
    if len(troubled) > _TOLD:
        say(f"… and {len(troubled) - _TOLD} transcripts more; --report has all of them")
    for row in rows if asked.job.explains else ():
        for line in text.plain(text.explained(row)).split("\n"):
            say(line)


def summary(report: Report) -> None:
    """What was done, in one line on standard error."""
    did = ", ".join(spec.name for spec in report.pipeline) or "no stages, passed through unchanged"
    left_out = f", {report.left_out} not written" if report.left_out else ""
    say(f"ctxtrim: {did}: {text.totals_line(report)}{left_out}")


def show(report: Report, form: str, color: str) -> None:
    """The report on standard output: as rich tables on a terminal, else as its renderer spells it."""
    if form == "text" and not report.rows:
        return
    if form != "text" or not (
        color == "always" or (color == "auto" and sys.stdout is not None and sys.stdout.isatty())
    ):
        shown = report if form != "text" else replace(report, findings=[])  # those are on standard error
        print_text(REPORTS[form](shown))
        return
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    canvas = StringIO()
    width = None if sys.stdout.isatty() else _WIDTH
    console = Console(
        file=canvas, force_terminal=True, no_color=bool(os.environ.get("NO_COLOR")), highlight=False, width=width
    )
    for table in text.tables(report):
        drawn = Table(title=Text(table.title) if table.title else None, title_justify="left", box=box.SIMPLE_HEAD)
        for place, name in enumerate(table.columns):
            header, is_number = name.removeprefix(">"), name.startswith(">")
            widest = max(len(cells[place]) for cells in (*table.rows, (header,) * len(table.columns)))
            drawn.add_column(
                Text(header),
                justify="right" if is_number else "left",
                overflow="fold",
                min_width=widest if is_number or name in _WHOLE else min(widest, _LEAST),  # a number is never cut
            )
        for cells in table.rows:
            drawn.add_row(*(Text(cell, style=_STYLES.get(cell, "")) for cell in cells))
        console.print(drawn)
    for line in text.row_lines(report.rows):
        console.print(Text(line))
    console.print(Text(text.totals_line(report), style="bold"))
    Stdout().write(_encoded(canvas.getvalue()))


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
