"""The report as CSV: a line for each transcript and each finding about a file."""

import csv
from collections.abc import Iterator
from io import StringIO

from ctxtrim.errors import source_name
from ctxtrim.findings import Finding
from ctxtrim.reports.entries import message
from ctxtrim.reports.model import Row
from ctxtrim.reports.phrases import pointer, verdict
from ctxtrim.reports.report import Report
from ctxtrim.text.escaping import clean

COLUMNS = (
    "path", "line", "index", "pointer", "id", "format", "model", "tokenizer", "exactness",
    "counted", "messages_read", "messages", "tokens_read", "tokens", "reported", "budget",
    "written", "verdict", "findings"
)  # fmt: skip
_FORMULA = ("=", "+", "-", "@")


def render(report: Report) -> Iterator[str]:
    """The names of the columns, then the lines."""
    yield _line(COLUMNS)
    for row in report.rows:
        yield _line(_transcript(row))
    for path, finding in report.findings:
        others = [""] * (len(COLUMNS) - 4)
        yield _line((source_name(path), finding.line, *others, finding.severity, message(finding)))


def _transcript(row: Row) -> tuple[object, ...]:
    return (
        source_name(row.path),
        row.line,
        row.index,
        pointer(row.pointer),
        row.id,
        row.format,
        row.model,
        row.tokenizer,
        row.count.exactness,
        str(row.is_counted).lower(),
        row.messages_read,
        row.messages,
        row.tokens_read,
        row.count.tokens,
        row.usage.prompt_tokens if row.usage else None,
        row.budget.available,
        str(row.is_written).lower(),
        verdict(row),
        "; ".join(map(_finding, row.findings)),
    )


def _finding(finding: Finding) -> str:
    return f"{finding.severity}: {message(finding)} [{finding.code}]"


def _line(values: tuple[object, ...]) -> str:
    target = StringIO()
    csv.writer(target, lineterminator="\n").writerow(map(_cell, values))
    return target.getvalue()


def _cell(value: object) -> object:
    """A value of a cell. A quote before a text keeps spreadsheets from reading it as a formula."""
    if not isinstance(value, str):
        return value
    text = clean(value)
    return f"'{text}" if text.startswith(_FORMULA) else text
