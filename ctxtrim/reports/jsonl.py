"""The report as JSON lines: one a transcript, and the totals last."""

import json

from ctxtrim.report import Report
from ctxtrim.reports.json import foot, head, transcript


def render(report: Report) -> str:
    """The last line has `totals`; the others are transcripts as in the JSON report."""
    values = [transcript(row) for row in report.rows] + [head(report) | foot(report)]
    return "".join(json.dumps(value, ensure_ascii=False) + "\n" for value in values)
