"""Annotations for GitHub Actions, and the summary of a job step.

`::error file=a.jsonl,line=3,title=overflow::MESSAGE`; see "Workflow commands for GitHub Actions".
"""

from collections.abc import Iterator
from itertools import chain, islice

from ctxtrim.reports.entries import Entry, entries, lines
from ctxtrim.reports.markdown import findings, row, table
from ctxtrim.reports.model import Report
from ctxtrim.reports.phrases import totals_line
from ctxtrim.stage import Finding

COMMANDS = {"error": "error", "warning": "warning", "info": "notice"}
_MOST = 500  # entries of a summary: GitHub refuses more than 1 MiB


def render(report: Report) -> Iterator[str]:
    """An annotation for each finding, then a line with the totals."""
    for entry in entries(report):
        for finding in entry.findings:
            yield _annotation(entry, finding)
    yield totals_line(report) + "\n"


def summary(report: Report) -> Iterator[str]:
    """The transcripts that fail and the totals, as Markdown for `$GITHUB_STEP_SUMMARY`."""
    yield f"### ctxtrim\n\n{totals_line(report)}\n"
    failures = (entry for entry in entries(report) if entry.errors)
    shown = list(islice(failures, _MOST))
    if shown:
        yield from chain(["\n"], table(map(row, shown)), ["\n"], findings(shown))
    if more := sum(1 for _ in failures):
        yield f"\n… and {more:,} more\n"


def _annotation(entry: Entry, finding: Finding) -> str:
    properties = {
        "file": entry.path,
        "line": str(finding.line or entry.line),
        "title": f"ctxtrim: {finding.code}",
    }
    shown = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::{COMMANDS[finding.severity]} {shown}::{_data(lines(finding))}\n"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
