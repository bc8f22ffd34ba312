"""Output for people: messages on standard error, the report on standard output, a progress bar for
long runs.
"""

import dataclasses
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from msgspec.structs import replace

from ctxtrim.cli.request import Request
from ctxtrim.io.inputs import Input
from ctxtrim.io.outputs import Stdout
from ctxtrim.reports import blocks, rendered, text
from ctxtrim.reports.model import ASIDE, Report, Row
from ctxtrim.reports.phrases import totals_line
from ctxtrim.reports.tables import Look, plain
from ctxtrim.stage import Severity
from ctxtrim.text.escaping import clean, clean_lines

_PATIENCE = 0.7  # seconds before a progress bar appears
_MOST_TRANSCRIPTS = (
    20  # transcripts whose findings are printed on standard error; the report has all of them
)


Watch = Callable[[Iterable[bytes]], Iterable[bytes]]


def print_error(line: str) -> None:
    """Print a line on standard error, with control characters escaped.

    Errors of standard error are ignored.
    """
    if sys.stderr is not None:
        with suppress(OSError):
            sys.stderr.write(clean(line) + "\n")


def print_text(text: str) -> None:
    """Print lines on standard output, with control characters escaped."""
    Stdout().write(_encoded(clean_lines(text)))


class Problems:
    """The transcripts whose findings are printed on standard error: the first rows, and the count
    of all.
    """

    def __init__(self, is_quiet: bool) -> None:
        self._severities = _severities(is_quiet)
        self.rows: list[Row] = []
        self.count = 0

    def take(self, row: Row) -> None:
        """Add a row if it has findings to print."""
        findings = [
            finding
            for finding in row.findings
            if finding.severity in self._severities and finding.code not in ASIDE
        ]
        if findings:
            self.count += 1
            if len(self.rows) < _MOST_TRANSCRIPTS:
                self.rows.append(
                    replace(row, findings=tuple(findings), steps=(), lines={}, explained=())
                )


def _severities(is_quiet: bool) -> tuple[Severity, ...]:
    """The severities of findings to print on standard error."""
    return ("error",) if is_quiet else ("error", "warning", "info")


def print_findings(report: Report, request: Request, problems: Problems | None) -> None:
    """Print findings on standard error: about files, and with `problems` about transcripts too.

    `problems` is None if the report on standard output shows the findings about transcripts.
    """
    severities = _severities(request.is_quiet)
    for line in text.file_lines(item for item in report.findings if item[1].severity in severities):
        print_error(line)
    if problems is None:
        return
    for line in text.finding_lines(problems.rows):
        print_error(line)
    if problems.count > len(problems.rows):
        print_error(
            f"… and {problems.count - len(problems.rows)} transcripts more; "
            "--report has all of them"
        )
    if not request.job.details.explained or (request.is_quiet and request.report is not None):
        # the report has the rows
        return
    for row in report.rows:
        for line in plain(text.explained(row)).split("\n"):
            print_error(line)


def print_summary(report: Report, target: str | None) -> None:
    """Print the stages, or the target of a conversion, and the totals in one line on standard
    error.
    """
    stages = ", ".join(spec.name for spec in report.pipeline)
    if target is not None:
        stages = f"converted to {target}"
    elif not stages:
        stages = "no stages, passed through unchanged"
    left_out = f", {report.left_out} not written" if report.left_out else ""
    print_error(f"ctxtrim: {stages}: {totals_line(report)}{left_out}{_idle(report)}")


def _idle(report: Report) -> str:
    """Why a run changed nothing: the reason of each stage."""
    if report.edited or report.left_out or not report.totals.transcripts:
        return ""
    reasons = filter(None, (spec.idle_reason for spec in report.pipeline))
    return "".join(f"; {reason}" for reason in dict.fromkeys(reasons))


def print_report(report: Report, form: str, color: str) -> None:
    """Print the report on standard output: on a terminal as wide as it is and in color, else in its
    format.
    """
    if form != "text":
        for block in rendered(report, form):
            print_text(block)
        return
    if not report.rows:
        return
    # findings about files are on standard error
    shown = dataclasses.replace(report, findings=[])
    for block in blocks(text.render(shown, Look(_columns(), _has_colors(color)))):
        Stdout().write(_encoded(block))


def _has_colors(color: str) -> bool:
    """Whether the report has colors. `NO_COLOR` turns them off."""
    if os.environ.get("NO_COLOR"):
        return False
    return color == "always" or (color == "auto" and _is_terminal())


def _columns() -> int | None:
    """The columns of the terminal, or those of the variable `COLUMNS`; None without a limit."""
    if not _is_terminal() and not os.environ.get("COLUMNS"):
        return None
    return shutil.get_terminal_size().columns


def _is_terminal() -> bool:
    return sys.stdout is not None and sys.stdout.isatty()


def _encoded(shown: str) -> bytes:
    """A text in the encoding of standard output.

    If it cannot encode the symbols of reports, they become ASCII.
    """
    encoding = "utf-8" if sys.stdout is None else sys.stdout.encoding
    try:
        shown.encode(encoding)
    except UnicodeEncodeError:
        shown = shown.translate(_ASCII)
    return shown.encode(encoding, errors="backslashreplace")


_ASCII = str.maketrans({"≤": "<=", "≈": "~", "×": "x", "→": "->", "…": "...", "█": "#"})


@contextmanager
def progress(
    sources: Sequence[Input], *, enabled: bool
) -> Iterator[Callable[[Iterable[bytes]], Iterable[bytes]]]:
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
