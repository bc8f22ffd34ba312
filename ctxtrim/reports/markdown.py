"""The report as Markdown: a table of transcripts, the findings and the totals."""

import re
from collections.abc import Iterable, Iterator

from ctxtrim.reports.entries import Entry, entries, message
from ctxtrim.reports.phrases import totals_line
from ctxtrim.reports.report import Report
from ctxtrim.text.escaping import clean

_LIST = re.compile(r"^( *)(?:(\d+)(?=[.)])|(?=[-+]))")  # the start of a list
_SPECIAL = re.compile(r"([\\`*_\[\]<>|#~&!$])")


def render(report: Report) -> Iterator[str]:
    """The whole document. A report without transcripts has no table."""
    yield "# ctxtrim report\n"
    yield f"\n{totals_line(report)}\n"
    if report.rows or report.findings:
        yield "\n"
        yield from table(map(row, entries(report)))
        yield "\n"
        yield from findings(entries(report))


def table(rows: Iterable[str]) -> Iterator[str]:
    """The table of some rows."""
    yield "| verdict | transcript | tokens |\n| --- | --- | ---: |\n"
    yield from rows


def row(entry: Entry) -> str:
    """The row of an entry; what fails is bold."""
    verdict = f"**{entry.verdict}**" if entry.errors else entry.verdict
    return f"| {verdict} | {escaped(entry.place)} | {escaped(entry.size)} |\n"


def findings(entries: Iterable[Entry]) -> Iterator[str]:
    """A list item for each finding, and one inside it for each of its details."""
    for entry in entries:
        for finding in entry.findings:
            line = f":{finding.line}" if finding.line else ""
            where = f"{entry.path}{line}" if line or entry.is_file else entry.place
            yield f"- {escaped(where)}: {finding.severity}: {escaped(message(finding))}\n"
            yield from (f"  - {escaped(detail)}\n" for detail in finding.details)


def escaped(text: str) -> str:
    """The text as it is, on one line: no character formats it, or begins a list."""
    return _LIST.sub(r"\1\2\\", _SPECIAL.sub(r"\\\1", clean(text)), 1)
