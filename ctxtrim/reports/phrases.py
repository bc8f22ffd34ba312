"""The words of reports: the place, the verdict and the size of a transcript, and the totals."""

from ctxtrim.errors import source_name
from ctxtrim.reports.model import Report, Row, pointer
from ctxtrim.text.escaping import clean
from ctxtrim.tokens import MARKS


def place(row: Row) -> str:
    """The place of a transcript: file, line, and its path or position within the line."""
    inside = pointer(row.pointer)
    return clean(
        f"{source_name(row.path)}:{row.line}"
        + (f" {inside}" if inside else f" #{row.index}" if row.index else "")
    )


def verdict(row: Row) -> str:
    """The verdict in a word: fits, overflow, malformed or not handled."""
    if not row.is_handled:
        return "not handled"
    if row.overflows or not row.fits:
        return "overflow"
    return "malformed" if row.is_malformed else "fits"


def tokens(row: Row) -> str:
    """The tokens of a transcript, as read and as written if they differ; `-` if not counted."""
    if not row.is_counted:
        return "-"
    marks = MARKS[row.exactness_read], MARKS[row.count.exactness]
    return change(row.tokens_read, row.count.tokens, *marks)


def size(row: Row) -> str:
    """The tokens of a transcript and its budget: `5,376 of 123,904 tokens`."""
    budget = f"{row.budget.available:,} tokens"
    return f"{tokens(row)} of {budget}" if row.is_counted else f"at most {budget}"


def totals_line(report: Report) -> str:
    """The totals in one line. Tokens are those of the transcripts that are counted."""
    totals, counted = report.totals, report.counted
    parts = [
        several(totals.transcripts, "transcript"),
        f"{change(totals.messages_read, totals.messages)} messages",
    ]
    if counted.transcripts or not totals.transcripts:
        marks = MARKS[counted.exactness_read], MARKS[counted.exactness]
        number = change(counted.tokens_read, counted.tokens, *marks)
        is_part = counted.transcripts < totals.transcripts
        parts.append(
            f"{number} tokens" + (f" in the {counted.transcripts:,} counted" if is_part else "")
        )
    problems = [
        f"{number:,} {what}"
        for number, what in (
            (totals.overflowing, "overflowing"),
            (totals.malformed, "malformed"),
            (totals.unreadable, "unreadable"),
        )
        if number
    ]
    if not problems and not report.view.passing:
        problems = ["fits" if totals.transcripts == 1 else "all fit"]
    return ", ".join(parts + problems)


def several(number: int, what: str) -> str:
    """A number and its noun, which gets an `s`: `3 transcripts`."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def change(before: int, after: int, mark_before: str = "", mark: str = "") -> str:
    """Two numbers with their marks, or one if they are the same."""
    return f"{mark}{after:,}" if before == after else f"{mark_before}{before:,} → {mark}{after:,}"


def share(tokens: int, total: int) -> str:
    """A share in percent."""
    return f"{100 * tokens / total:.1f} %" if total else "-"
