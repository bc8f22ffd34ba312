"""Output for people: findings on standard error, the report on standard output."""

import dataclasses
import os
import sys
from collections.abc import Iterator
from io import StringIO
from itertools import islice
from typing import Any

from msgspec.structs import replace

from ctxtrim.cli.messages import encoded, print_error, print_text
from ctxtrim.cli.request import Request
from ctxtrim.io.outputs import Stdout
from ctxtrim.reports import REPORTS, blocks, text
from ctxtrim.reports.model import ASIDE, Report, Row
from ctxtrim.stage import UNDO, Severity

_WIDTH = 120  # columns of tables if standard output is not a terminal
_DRAWN = 2000  # most rows of a table on a terminal
_MOST_TRANSCRIPTS = (
    20  # transcripts whose findings are printed on standard error; the report has all of them
)
_COMPARED = 40  # messages whose differences are printed; the report file has all of them
_MOST_UNDONE = 10  # files whose undo command is printed


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
    for line in text.file_lines(
        item for item in report.findings if item[1].severity in severities and item[1].code != UNDO
    ):
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
    if not request.job.explains or (request.is_quiet and request.report is not None):
        # the report has the rows
        return
    for row in report.rows:
        for line in text.plain(text.explained(row)).split("\n"):
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
    print_error(f"ctxtrim: {stages}: {text.totals_line(report)}{left_out}")


def print_differences(report: Report) -> None:
    """Print what a dry run would change on standard error."""
    for line in text.difference_lines(dataclasses.replace(report, most_differences=_COMPARED)):
        print_error(line)


def print_undo(report: Report) -> None:
    """Print the commands that restore the files that were replaced in place."""
    commands = [finding.message for _, finding in report.findings if finding.code == UNDO]
    for command in commands[:_MOST_UNDONE]:
        print_error(command)
    if (more := len(commands) - _MOST_UNDONE) > 0:
        print_error(f"… and {more:,} files more; ctxtrim archive list has all of them")


def print_report(report: Report, form: str, color: str) -> None:
    """Print the report on standard output: as rich tables on a terminal, else in its format."""
    if form == "text" and not report.rows:
        return
    # those are on standard error
    shown = report
    if form == "text":
        shown = dataclasses.replace(report, findings=[], most_differences=_COMPARED)
    is_drawn = form == "text" and (
        color == "always" or (color == "auto" and sys.stdout is not None and sys.stdout.isatty())
    )
    if not is_drawn:
        for block in blocks(REPORTS[form](shown)):
            print_text(block)
        return
    for block in blocks(_drawn(shown)):
        Stdout().write(encoded(block))


def _drawn(report: Report) -> Iterator[str]:
    """The report with rich tables of at most `_DRAWN` rows."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    canvas = StringIO()
    width = None if sys.stdout.isatty() else _WIDTH
    console = Console(
        file=canvas,
        force_terminal=True,
        no_color=bool(os.environ.get("NO_COLOR")),
        highlight=False,
        width=width,
    )

    def drawn(value: Any) -> str:
        canvas.seek(0)
        canvas.truncate()
        console.print(value)
        return canvas.getvalue()

    for table in text.tables(report):
        title = Text(table.title) if table.title else None
        rich_table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
        remaining = iter(table.rows)
        rows = list(islice(remaining, _DRAWN))
        for column, name in enumerate(table.columns):
            header, is_number = name.removeprefix(">"), name.startswith(">")
            widest = max(len(cells[column]) for cells in (*rows, (header,) * len(table.columns)))
            rich_table.add_column(
                Text(header),
                justify="right" if is_number else "left",
                overflow="fold",
                min_width=widest
                if is_number or name in _WHOLE
                else min(widest, _LEAST),  # a number is never cut
            )
        for cells in rows:
            rich_table.add_row(*(Text(cell, style=_STYLES.get(cell, "")) for cell in cells))
        yield drawn(rich_table)
        if more := sum(1 for _ in remaining):
            yield drawn(Text(f"  … and {more:,} rows more; --report FILE has all of them\n"))
    for line in text.difference_lines(report):
        yield drawn(Text(line, style=_DIFF.get(line[:1], "")))
    for line in text.row_lines(report):
        yield drawn(Text(line))
    yield drawn(Text(text.totals_line(report), style="bold"))


_LEAST = 16  # least width of a column whose texts may wrap
_WHOLE = ("verdict", "decision", "role")
_DIFF = {"@": "cyan", "-": "red", "+": "green"}
_STYLES = {
    "fits": "green",
    "overflow": "bold red",
    "above limit": "bold red",
    "malformed": "yellow",
    "dropped": "red",
    "truncated": "yellow",
}
