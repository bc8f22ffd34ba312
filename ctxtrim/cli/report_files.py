"""The report in a file, and the summary of a step of GitHub Actions."""

from pathlib import Path

from msgspec.structs import replace

from ctxtrim.io.outputs import Sink
from ctxtrim.io.shared_files import Appended
from ctxtrim.reports import joined_pieces, rendered
from ctxtrim.reports.report import Report


def write_report(report: Report, report_format: str, sink: Sink) -> None:
    """Write the report with every row."""
    whole = replace(report, view=replace(report.view, passing=True, totals=True))
    for block in rendered(whole, report_format):
        sink.write(block.encode(errors="backslashreplace"))
    sink.commit()


def append_summary(report: Report, path: Path) -> None:
    """Append the summary to the file of the step, to which other programs of the step write too.

    GitHub limits the size of the whole file.
    """
    from ctxtrim.reports.github import summary

    file = Appended(path)
    try:
        for block in joined_pieces(summary(report, path.stat().st_size)):
            file.write(block.encode(errors="backslashreplace"))
    finally:
        file.close()
