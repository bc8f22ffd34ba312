"""Report formats by name.

A format reads the rows of a report and yields its text piece by piece; it keeps no rows. The module
of a format has its name and is imported when it is used.
"""

from collections.abc import Iterator
from importlib import import_module

from ctxtrim.reports.report import Report

REPORTS: dict[str, tuple[str, ...]] = {
    "text": ("", ".txt", ".log"),
    "json": (".json",),
    "jsonl": (".jsonl",),
    "csv": (".csv",),
    "markdown": (".md",),
    "junit": (".xml",),
    "sarif": (".sarif",),
    "github": (),
}
"""The endings of the files of each format. Its module has the function `render`."""

_BLOCK = 1 << 16  # characters


def rendered(report: Report, report_format: str) -> Iterator[str]:
    """The text of a report in a format, in blocks, which are faster to write than pieces."""
    pieces: Iterator[str] = import_module(f"ctxtrim.reports.{report_format}").render(report)
    return joined_pieces(pieces)


def report_format_of(ending: str) -> str:
    """The format of files with an ending, as in `.md`. Raises `ValueError` for an unknown one."""
    for report_format, endings in REPORTS.items():
        if ending.lower() in endings:
            return report_format
    known = ", ".join(known for endings in REPORTS.values() for known in endings if known)
    raise ValueError(
        f"unknown ending {ending}; expected one of {known}, or set --report-format to the format "
        "of the file"
    )


def joined_pieces(pieces: Iterator[str]) -> Iterator[str]:
    """The text in larger pieces."""
    block: list[str] = []
    size = 0
    for piece in pieces:
        block.append(piece)
        size += len(piece)
        if size >= _BLOCK:
            yield "".join(block)
            block, size = [], 0
    if block:
        yield "".join(block)
