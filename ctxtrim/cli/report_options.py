"""The options about reports: format, file, and what is shown."""

import os
from pathlib import Path

from msgspec import Struct

from ctxtrim.config.option import Values
from ctxtrim.config.run_settings import OPTIONS
from ctxtrim.errors import STDOUT, UsageError
from ctxtrim.io.compression import kind_named
from ctxtrim.metering import USAGE
from ctxtrim.reports import REPORTS, form_of
from ctxtrim.reports.tables import View

_COUNTING = ("explain", "calibrate", "verbose", "log", "baseline", "strict")
"""The options that show, compare or judge counts."""


class ReportOptions(Struct, frozen=True):
    """The format and the path of the report, each None if it is not given, and what is shown.

    The path `-` is standard output, which has the `view` and the `color`. `step_summary`: the file
    to which the report `github` appends its summary.
    """

    form: str | None
    path: str | None
    view: View
    color: str
    step_summary: Path | None

    @property
    def file(self) -> Path | None:
        """The file of the report; None if there is none."""
        return None if self.path in (None, STDOUT) else Path(str(self.path))

    @property
    def is_text(self) -> bool:
        """Whether people read it on standard output, with the findings."""
        return self.form in (None, "text", "github")


def report_options(values: Values, writes: bool) -> ReportOptions:
    """The options about the report of a command. Raises `UsageError` if they do not agree."""
    form, path = _target(values, writes)
    return ReportOptions(form, path, _view(values, form), values["color"], _step_summary(form))


def _target(values: Values, writes: bool) -> tuple[str | None, str | None]:
    """The format and the path of the report, None for each that is not given."""
    path, form = values["report"], values["report_format"]
    if form is not None and form not in REPORTS:
        raise UsageError(
            f"--report-format {form}: unknown format; expected one of {', '.join(REPORTS)}"
        )
    if values["json"]:
        if path is not None or form not in (None, "json"):
            raise UsageError(
                "--json is the JSON report on standard output; leave out --report and "
                "--report-format"
            )
        path, form = STDOUT, "json"
    if form is None and path is not None:
        form = _form_by_name(path)
    if path is None and form is not None:
        path = STDOUT
    if path == STDOUT and writes and not _frees_stdout(values):
        raise UsageError(
            "standard output is used for the transcript; write the report with --report "
            "FILE or the transcript with -o"
        )
    return form, path


def _form_by_name(path: str) -> str:
    """The format of the report at a path; an ending of compressed files is ignored."""
    if path == STDOUT:
        return "text"
    name = Path(path)
    if kind_named(name) is not None:
        name = name.with_suffix("")
    try:
        return form_of(name.suffix)
    except ValueError as error:
        raise UsageError(f"--report {path}: {error}") from None


def _frees_stdout(values: Values) -> bool:
    """Whether the options write transcripts to files, or write none."""
    has_file = values.get("output") not in (None, STDOUT)
    return bool(has_file or values.get("in_place") or values.get("dry_run"))


def _step_summary(form: str | None) -> Path | None:
    """The file of GitHub's summary of a step, if the report is for GitHub."""
    path = os.environ.get("GITHUB_STEP_SUMMARY")
    return Path(path) if path and form == "github" else None


def _view(values: Values, form: str | None) -> View:
    """What the report on standard output shows."""
    by = OPTIONS["by"].parse("--by", values.get("by") or "")
    is_check = "verbose" in values
    return View(
        by=str(by),
        passing=not is_check or bool(values["verbose"]),
        totals=not ((is_check or form == "github") and values["quiet"]),
    )


def needs_counts(values: Values) -> bool:
    """Whether an upper bound of the tokens is not enough, because the run shows numbers."""
    return any(values.get(name) for name in _COUNTING) or values["tokenizer"] == USAGE
