"""Output for people: findings on standard error, the report on standard output."""

import os
import sys
from collections.abc import Iterable

from msgspec.structs import replace

from ctxtrim.cli.messages import (
    encoded,
    is_terminal,
    print_data,
    print_error,
    print_text,
    spelling,
    without_commands,
)
from ctxtrim.cli.request import Request
from ctxtrim.findings import ONLY_IN_REPORTS, Severity
from ctxtrim.io.outputs import Stdout
from ctxtrim.reports import joined_pieces, rendered, text
from ctxtrim.reports.model import Row
from ctxtrim.reports.phrases import totals_line
from ctxtrim.reports.report import Report
from ctxtrim.reports.tables import Look, Table, View, drawn

_MAX_TRANSCRIPTS = (
    20  # transcripts whose findings are printed on standard error; the report has all of them
)
_COMPARED = 40  # messages whose differences are printed; the report file has all of them
_MAX_UNDONE = 10  # files whose undo command is printed


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
            if finding.severity in self._severities and finding.code not in ONLY_IN_REPORTS
        ]
        if findings:
            self.count += 1
            if len(self.rows) < _MAX_TRANSCRIPTS:
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
    has_annotations = request.shows and request.report.shown == "github"
    if not has_annotations:
        shown = (item for item in report.findings if item[1].severity in severities)
        for line in text.file_lines(item for item in shown if item[1].code != "undo"):
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


def print_explained(report: Report, request: Request) -> None:
    """Print the rows of `--explain` on standard error, unless a report has them."""
    is_in_text = request.shows and request.report.shown in (None, "text")
    is_in_file = request.is_quiet and request.report.file is not None
    if not request.job.details.explained or is_in_text or is_in_file:
        return
    look = Look(_error_columns(), spelling=spelling(sys.stderr))
    for row in report.rows:
        table = "".join(drawn(text.explained(row), look))
        for line in table.split("\n"):
            print_error(line)


def print_summary(report: Report, api: str | None, *, has_totals: bool) -> None:
    """Print the stages, or the API of a conversion, and the totals in one line on standard
    error.

    Without `has_totals`, only what the totals do not tell, if there is something.
    """
    stages = ", ".join(spec.name for spec in report.pipeline)
    if api is not None:
        stages = f"converted to {api}"
    elif not stages:
        stages = "no stages, so nothing changes; use -s, --preset or --enabled"
    facts = [totals_line(report)] if has_totals else []
    if report.left_out:
        facts.append(f"{report.left_out} not written")
    parts = [", ".join(facts)] if facts else []
    parts += _idle(report)
    if parts:
        print_error(f"ctxtrim: {stages}: {'; '.join(parts)}")


def print_totals(report: Report) -> None:
    """Print the totals in one line on standard output."""
    print_text(f"{totals_line(report)}\n")


def _idle(report: Report) -> Iterable[str]:
    """Why a run changed nothing: the reason of each stage. Empty if one does not fit, or if a
    finding says why.
    """
    is_other = report.edited or report.left_out or report.is_idle or report.is_incomplete
    if is_other or report.problems.overflowing or not report.sums.transcripts:
        return ()
    reasons = (spec.stage.idle(spec.settings) for spec in report.pipeline)
    return dict.fromkeys(filter(None, reasons))


def print_differences(report: Report) -> None:
    """Print what a dry run would change on standard error."""
    for line in text.difference_lines(replace(report, view=_compact(report.view))):
        print_error(line)


def print_undo(report: Report) -> None:
    """Print the commands that restore the files that were replaced in place."""
    commands = [finding.message for _, finding in report.findings if finding.code == "undo"]
    for command in commands[:_MAX_UNDONE]:
        print_error(command)
    if (more := len(commands) - _MAX_UNDONE) > 0:
        print_error(f"… and {more:,} files more; ctxtrim archive list has all of them")


def print_report(report: Report, report_format: str, color: str) -> None:
    """Print the report on standard output: text as wide as the terminal and in color, other formats
    as in a file.
    """
    if report_format != "text":
        for block in rendered(report, report_format):
            print_data(block)
        return
    if not report.rows:
        return
    # findings about files are on standard error
    shown = replace(report, findings=[], view=_compact(report.view))
    look = Look(_columns(), _has_colors(color), spelling(sys.stdout))
    for block in joined_pieces(text.render(shown, look)):
        Stdout().write(encoded(without_commands(block)))


def fitted(table: Table) -> str:
    """The text of a table for standard output, as wide as the terminal."""
    return "".join(drawn(table, Look(_columns(), spelling=spelling(sys.stdout))))


def _has_colors(color: str) -> bool:
    """Whether the report has colors. `NO_COLOR` turns them off."""
    if os.environ.get("NO_COLOR"):
        return False
    return color == "always" or (color == "auto" and is_terminal(sys.stdout))


def _columns() -> int | None:
    """The columns of the terminal, or those of the variable `COLUMNS`; None without a limit."""
    if not is_terminal(sys.stdout) and not os.environ.get("COLUMNS"):
        return None
    import shutil  # most reports go to a pipe or a file

    return shutil.get_terminal_size().columns


def _error_columns() -> int | None:
    """The columns of the terminal of standard error; None if it is none."""
    if not is_terminal(sys.stderr):
        return None
    return os.get_terminal_size(sys.stderr.fileno()).columns


def _compact(view: View) -> View:
    """The view with the first differences only."""
    return replace(view, max_differences=_COMPARED)
