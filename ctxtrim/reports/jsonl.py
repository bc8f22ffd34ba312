"""The report as JSON lines: one line for each transcript, then one with the totals."""

from collections.abc import Iterator

from ctxtrim.reports.json import foot, head, transcript
from ctxtrim.reports.report import Report
from ctxtrim.text.escaping import json_text


def render(report: Report) -> Iterator[str]:
    """The lines. The last one has `totals`; the others are transcripts as in the JSON report."""
    for row in report.rows:
        yield json_text(transcript(row)) + "\n"
    yield json_text(head(report) | foot(report)) + "\n"
