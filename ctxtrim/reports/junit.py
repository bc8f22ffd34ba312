"""The report as JUnit XML, as Jenkins, GitLab and test reporters of GitHub read it.

A transcript is a test case; its errors are one failure. A file that cannot be read is an error. The
attributes are those that Jenkins' `junit-10.xsd` has.
"""

from collections.abc import Iterator
from xml.sax.saxutils import escape, quoteattr

from ctxtrim.reports.entries import Entry, entries, lines, message
from ctxtrim.reports.report import Report
from ctxtrim.text.escaping import clean


def render(report: Report) -> Iterator[str]:
    """The document, one case at a time. The rows are read twice, to count them first."""
    numbers = {"tests": 0, "failures": 0, "errors": 0}
    for entry in _cases(report):
        numbers["tests"] += 1
        if entry.errors:
            numbers["errors" if entry.is_file else "failures"] += 1
    counts = "".join(f' {name}="{number}"' for name, number in numbers.items())
    yield '<?xml version="1.0" encoding="UTF-8"?>\n'
    yield f'<testsuites name="ctxtrim"{counts} time="0">\n'
    yield f'  <testsuite name="ctxtrim"{counts} skipped="0" time="0">\n'
    yield from map(_case, _cases(report))
    yield "  </testsuite>\n</testsuites>\n"


def _cases(report: Report) -> Iterator[Entry]:
    """The transcripts, and the errors about files."""
    return (entry for entry in entries(report) if entry.errors or not entry.is_file)


def _case(entry: Entry) -> str:
    text = (
        f"    <testcase classname={_quoted(entry.path)} name={_quoted(entry.place)} "
        f'file={_quoted(entry.file)} line="{entry.line}" time="0"'
    )
    inside = ""
    if entry.errors:
        first, kind = entry.errors[0], "error" if entry.is_file else "failure"
        body = "\n".join(map(lines, entry.errors))
        inside += (
            f"      <{kind} message={_quoted(message(first))} type={_quoted(first.code)}>"
            f"{escape(body)}</{kind}>\n"
        )
    output = [entry.size, *(f"{note.severity}: {lines(note)}" for note in entry.notes)]
    if shown := "\n".join(filter(None, output)):
        inside += f"      <system-out>{escape(shown)}</system-out>\n"
    return f"{text}>\n{inside}    </testcase>\n" if inside else f"{text}/>\n"


def _quoted(text: str) -> str:
    return quoteattr(clean(text))
