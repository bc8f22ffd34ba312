"""Annotations for GitHub Actions, and the summary of a job step.

`::error file=a.jsonl,line=3,title=overflow::MESSAGE`; see "Workflow commands for GitHub Actions".
"""

from collections.abc import Iterator
from itertools import chain, takewhile

from ctxtrim.findings import Finding
from ctxtrim.reports.entries import Entry, entries, lines
from ctxtrim.reports.markdown import findings, row, table
from ctxtrim.reports.phrases import totals_line
from ctxtrim.reports.report import Report

COMMANDS = {"error": "error", "warning": "warning", "info": "notice"}
_MAX_ENTRIES = 500  # entries of a summary
_LARGEST = 1 << 20  # bytes: GitHub refuses a larger summary of a step
_FRAME = 200  # bytes of the summary besides its head, rows and findings


def render(report: Report) -> Iterator[str]:
    """An annotation for each finding that the view shows, then a line with the totals."""
    for entry in entries(report):
        for finding in entry.findings if report.view.totals else entry.errors:
            yield _annotation(entry, finding)
    if report.view.totals:
        yield totals_line(report) + "\n"


def summary(report: Report, size: int = 0) -> Iterator[str]:
    """The transcripts that fail and the totals, as Markdown for `$GITHUB_STEP_SUMMARY`.

    `size`: the bytes that the file already has. A full file gets nothing.
    """
    head = f"### ctxtrim\n\n{totals_line(report)}\n"
    room = _Room(_LARGEST - size - _FRAME)
    if not room.takes(head):
        return
    yield head
    failures = (entry for entry in entries(report) if entry.errors)
    rows: list[str] = []
    items: list[str] = []
    more = 0
    for entry in failures:
        line = row(entry)
        if len(rows) == _MAX_ENTRIES or not room.takes(line):
            more += 1
            continue
        rows.append(line)
        items += takewhile(room.takes, findings([entry]))
        more += room.is_full
    if rows:
        yield from chain(["\n"], table(rows), ["\n"], items)
    if more:
        yield f"\n… and {more:,} more\n"


class _Room:
    """The bytes that a file may still get. It is full from the first text that does not fit."""

    def __init__(self, left: int) -> None:
        self._left = left

    @property
    def is_full(self) -> bool:
        """Whether a text did not fit."""
        return self._left < 0

    def takes(self, text: str) -> bool:
        """Whether a text fits; the room for it is then taken."""
        if not self.is_full:
            self._left -= len(text.encode(errors="backslashreplace"))
        return not self.is_full


def _annotation(entry: Entry, finding: Finding) -> str:
    properties = {
        "file": entry.file,
        "line": str(finding.line or entry.line),
        "title": f"ctxtrim: {finding.code}",
    }
    shown = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::{COMMANDS[finding.severity]} {shown}::{_data(lines(finding))}\n"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
