"""Entries of reports for programs that show problems: the results of transcripts, then of files."""

from collections.abc import Iterator

from msgspec import Struct

from ctxtrim.errors import STDIN, place_of, source_name
from ctxtrim.findings import Finding
from ctxtrim.io.paths import from_root
from ctxtrim.reports.phrases import place, size, verdict
from ctxtrim.reports.report import Report
from ctxtrim.text.escaping import clean


class Entry(Struct, frozen=True):
    """One transcript, or one finding about a file: its place, verdict, size and findings.

    `file` is the path from the root of the repository, as programs that show the file expect it.
    `size` is a text such as `5,376 of 123,904 tokens`; a file has none. `line` counts from 1.
    """

    path: str
    file: str
    place: str
    line: int
    verdict: str
    size: str
    findings: tuple[Finding, ...]
    is_file: bool = False

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The findings that make the entry fail."""
        return tuple(finding for finding in self.findings if finding.severity == "error")

    @property
    def notes(self) -> tuple[Finding, ...]:
        """The other findings."""
        return tuple(finding for finding in self.findings if finding.severity != "error")


def entries(report: Report) -> Iterator[Entry]:
    """The entries of a report: transcripts, then errors, warnings and notes about files."""
    for row in report.rows:
        yield Entry(
            path=source_name(row.path),
            file=_file(report, row.path),
            place=place(row),
            line=row.line,
            verdict=verdict(row),
            size=size(row),
            findings=row.findings,
        )
    for path, finding in report.findings:
        yield Entry(
            path=source_name(path),
            file=_file(report, path),
            place=clean(place_of(path, finding.line)),
            line=finding.line or 1,
            verdict=finding.severity,
            size="",
            findings=(finding,),
            is_file=True,
        )


def _file(report: Report, path: str) -> str:
    return source_name(path) if path == STDIN else from_root(report.folder, path)


def message(finding: Finding) -> str:
    """The finding in one line: the message of the transcript, what is wrong."""
    subject = "" if finding.index is None else f"message {finding.index}: "
    return clean(f"{subject}{finding.message}")


def lines(finding: Finding) -> str:
    """The finding with its details, a line each."""
    return "\n".join([message(finding), *map(clean, finding.details)])
