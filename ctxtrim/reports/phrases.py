"""The words of reports: the place, the verdict and the size of a transcript, and the totals."""

from collections.abc import Iterator

from ctxtrim.errors import source_name
from ctxtrim.reports.model import Difference, Row
from ctxtrim.reports.report import Report
from ctxtrim.text.escaping import clean
from ctxtrim.text.json_paths import Path
from ctxtrim.text.numbers import several
from ctxtrim.tokens.tokenizer import MARKS


def place(row: Row) -> str:
    """The place of a transcript: file, line, and its path or position within the line."""
    inside = pointer(row.pointer)
    if not inside and row.index:
        inside = f"#{row.index}"
    text = f"{source_name(row.path)}:{row.line}"
    return clean(f"{text} {inside}" if inside else text)


def pointer(path: Path) -> str | None:
    """A JSON path as text: `[2]`, `simulations[0].messages`; None for the whole value."""
    if not path:
        return None
    text = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path)
    return text.removeprefix(".") or None


def verdict(row: Row) -> str:
    """The verdict: fits, overflow, above limit, malformed, fails --strict or not handled."""
    if not row.findings:
        return "fits" if row.fits else "overflow"
    if not row.is_handled:
        return "not handled"
    if row.overflows or not row.fits:
        return "overflow"
    if row.is_above_limit:
        return "above limit"
    if row.is_malformed:
        return "malformed"
    return "fails --strict" if row.fails_strict else "fits"


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
    sums, counted, numbers = report.sums, report.counted, report.problems
    messages = "message" if sums.messages == 1 else "messages"
    parts = [
        several(sums.transcripts, "transcript"),
        f"{change(sums.messages_read, sums.messages)} {messages}",
    ]
    if counted.transcripts or not sums.transcripts:
        marks = MARKS[counted.exactness_read], MARKS[counted.exactness]
        number = change(counted.tokens_read, counted.tokens, *marks)
        some = ""
        if counted.transcripts < sums.transcripts:
            is_one = counted.transcripts == 1
            some = " in one of them" if is_one else f" in the {counted.transcripts:,} counted"
        parts.append(f"{number} tokens{some}")
    problems = [
        f"{number:,} {what}"
        for number, what in (
            (numbers.overflowing, "overflowing"),
            (numbers.above_limits, "above limits"),
            (numbers.malformed, "malformed"),
            (numbers.failing_strict, "failing --strict"),
        )
        if number
    ]
    files = numbers.unreadable - report.unreadable_lines
    unreadable = ((files, "unreadable file"), (report.unreadable_lines, "unreadable line"))
    problems += [several(count, noun) for count, noun in unreadable if count]
    if report.refused:
        problems.append(f"{several(report.refused, 'file')} not written")
    if not problems and not report.view.passing:
        problems = ["fits" if sums.transcripts == 1 else "all fit"]
    return ", ".join(parts + problems)


def change(before: int, after: int, mark_before: str = "", mark: str = "") -> str:
    """Two numbers with their marks, or one if they are the same."""
    return f"{mark}{after:,}" if before == after else f"{mark_before}{before:,} → {mark}{after:,}"


def share(tokens: int, total: int) -> str:
    """A share in percent."""
    return f"{100 * tokens / total:.1f} %" if total else "-"


def lines_of(difference: Difference) -> Iterator[str]:
    """A difference as lines. The first character is that of a diff: `@`, `-` or `+`."""
    mark = MARKS[difference.exactness]
    number = "inserted" if difference.message is None else f"message {difference.message}"
    line = "" if difference.line is None else f", line {difference.line}"
    tokens = f"{mark}{difference.tokens_before:,} → {mark}{difference.tokens_after:,} tokens"
    if difference.message is None:
        tokens = f"{mark}{difference.tokens_after:,} tokens"
    elif not difference.tokens_after:
        tokens = f"{mark}{difference.tokens_before:,} tokens"
    action = "" if difference.message is None else f"{difference.action}, "
    reason = f": {difference.reason}" if difference.reason else ""
    yield clean(f"@@ {number}{line} ({difference.subject}): {action}{tokens}{reason}")
    for sign, lines, more in (
        ("-", difference.before, difference.before_more),
        ("+", difference.after, difference.after_more),
    ):
        yield from (clean(f"{sign} {text}".rstrip()) for text in lines)
        if more:
            yield f"{sign} … {several(more, 'line')} more"
