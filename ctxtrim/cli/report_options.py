"""The options about reports: format, file, and what is shown."""

import os
from pathlib import Path

from msgspec import Struct

from ctxtrim.cli.commands import StageCommand
from ctxtrim.config.option import Values
from ctxtrim.config.run_settings import given
from ctxtrim.errors import STDOUT, UsageError
from ctxtrim.io.compression import kind_named
from ctxtrim.metering import USAGE
from ctxtrim.reports import REPORTS, report_format_of
from ctxtrim.reports.tables import View

_COUNTING = ("explain", "calibrate", "verbose", "log", "baseline", "strict")
"""The options that show, compare or judge counts."""


class ReportOptions(Struct, frozen=True):
    """The reports of a run.

    - `shown`: the format of the report on standard output; None if the options do not name it
    - `file`, `file_format`: the file of the report, None without one, and its format
    - `view`, `color`: what the report on standard output shows
    - `step_summary`: the file to which the report `github` appends its summary
    """

    shown: str | None
    file: Path | None
    file_format: str
    view: View
    color: str
    step_summary: Path | None

    @property
    def is_text(self) -> bool:
        """Whether people read it on standard output, with the findings."""
        return self.shown in (None, "text", "github")

    @property
    def has_tables(self) -> bool:
        """Whether the report is text, which has tables."""
        if self.file is not None:
            return self.file_format == "text"
        return self.shown in (None, "text")

    @property
    def has_changes(self) -> bool:
        """Whether a report shows the changes of a transcript: all except the text do."""
        return not {self.shown, self.file_format} <= {None, "text"}


def report_options(command: StageCommand, values: Values) -> ReportOptions:
    """The options about the report of a command. Raises `UsageError` if they do not agree."""
    path, report_format = _path_and_format(values)
    file = None if path in (None, STDOUT) else Path(str(path))
    shown, file_format = report_format, report_format or "text"
    if file is not None:
        if report_format in (None, "github"):
            file_format = _format_by_name(file)
        if report_format != "github":  # GitHub reads annotations from standard output
            shown = None
    if shown is not None and command.writes and not _frees_stdout(values):
        other = "" if command.checks else " or the transcript with -o"
        raise UsageError(
            "standard output is used for the transcript; write the report with --report "
            f"FILE{other}"
        )
    view, summary = _view(command, values, shown), _step_summary(shown)
    return ReportOptions(shown, file, file_format, view, values["color"], summary)


def _path_and_format(values: Values) -> tuple[str | None, str | None]:
    """The path of the report and the name of its format, None for each that is not given."""
    path, report_format = values["report"], values["report_format"]
    if report_format is not None and report_format not in REPORTS:
        raise UsageError(
            f"--report-format {report_format}: unknown format; expected one of {', '.join(REPORTS)}"
        )
    if values["json"]:
        if path is not None or report_format not in (None, "json"):
            raise UsageError(
                "--json is the JSON report on standard output; leave out --report and "
                "--report-format"
            )
        report_format = "json"
    if report_format is None and path == STDOUT:
        report_format = "text"
    return path, report_format


def _format_by_name(path: Path) -> str:
    """The format of the report at a path; an ending of compressed files is ignored."""
    name = path.with_suffix("") if kind_named(path) is not None else path
    try:
        return report_format_of(name.suffix)
    except ValueError as error:
        raise UsageError(f"--report {path}: {error}") from None


def _frees_stdout(values: Values) -> bool:
    """Whether the options write transcripts to files, or write none."""
    has_file = values["output"] not in (None, STDOUT)
    return bool(has_file or values["in_place"] or values["dry_run"])


def _step_summary(shown: str | None) -> Path | None:
    """The file of GitHub's summary of a step, if the report is for GitHub."""
    path = os.environ.get("GITHUB_STEP_SUMMARY")
    return Path(path) if path and shown == "github" else None


def _view(command: StageCommand, values: Values, shown: str | None) -> View:
    """What the report on standard output shows."""
    return View(
        by=given(values, "by"),
        passing=not command.checks or bool(values["verbose"]),
        totals=not ((command.checks or shown == "github") and values["quiet"]),
    )


def needs_counts(values: Values) -> bool:
    """Whether an upper bound of the tokens is not enough, because the run shows numbers."""
    return any(values[name] for name in _COUNTING) or values["tokenizer"] == USAGE
