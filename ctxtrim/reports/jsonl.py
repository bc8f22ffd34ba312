"""The report as JSON lines: one a transcript, and the totals last."""

from ctxtrim.report import Report
from ctxtrim.reports.json import foot, head, transcript
from ctxtrim.text.escaping import json_text


def render(report: Report) -> str:
    """The last line has `totals`; the others are transcripts as in the JSON report."""
    values = [transcript(row) for row in report.rows] + [head(report) | foot(report)]
    return "".join(json_text(value) + "\n" for value in values)
