"""The text report: tables, findings and totals."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain

from msgspec.structs import replace

from ctxtrim.errors import place_of
from ctxtrim.findings import Finding
from ctxtrim.reports.model import Explained, Row
from ctxtrim.reports.phrases import (
    change,
    lines_of,
    place,
    share,
    tokens,
    totals_line,
    verdict,
)
from ctxtrim.reports.report import Report
from ctxtrim.reports.tables import PLAIN, Cells, Each, Look, Table, View, bar, drawn
from ctxtrim.text.escaping import clean
from ctxtrim.text.numbers import most_first, several
from ctxtrim.tokens.tokenizer import MARKS

_GROUPS = 15  # rows of the table of a group
_REPEATED = 10_000  # messages of which a second one is noticed


def render(report: Report, look: Look = PLAIN) -> Iterator[str]:
    """The report as text: tables, then lines, with an empty line between blocks."""
    differing = (f"{look.difference(line)}\n" for line in difference_lines(report))
    files = (f"{line}\n" for line in file_lines(report.findings))
    lines = (f"{line}\n" for line in chain(row_lines(report), notes(report)))
    total = [look.bold(totals_line(report)) + "\n"] if report.view.totals else []
    has_text = False
    in_tables = (drawn(table, look) for table in tables(report))
    for block in chain(in_tables, [differing, files, lines, total]):
        separator = "\n" if has_text else ""
        for piece in block:
            yield separator + piece
            separator, has_text = "", True


def tables(report: Report) -> Iterator[Table]:
    """The tables that this report needs."""
    if not report.rows:
        return
    if report.view.passing or any(map(is_failing, report.rows)):
        yield _transcripts(report)
    if report.largest_limit is not None:
        yield from _breakdown(report)
        yield from _largest(report)
    yield from _losses(report)
    if report.overview.is_explained:
        yield from (explained(row) for row in report.rows if row.explained)


def is_failing(row: Row) -> bool:
    """Whether a transcript has an error or exceeds its budget."""
    return verdict(row) != "fits" or any(finding.severity == "error" for finding in row.findings)


def explained(row: Row) -> Table:
    """One row for each message: tokens and their addends as read, decision and reason."""
    columns = (
        ">message",
        ">line",
        "role",
        ">step",
        ">age",
        ">tokens",
        "decision",
        "reason",
        "addends",
    )
    mark = MARKS[row.exactness_read]
    messages = sum(message.tokens for message in row.explained)
    title = (
        f"messages of {place(row)}: {mark}{row.tokens_read:,} tokens = "
        f"{mark}{messages:,} of messages"
    )
    if others := _sum_of(row.overhead_read, mark):
        title += f" + {others}"
    rows = tuple(_explained(message, mark) for message in row.explained)
    return Table(title, columns, rows, optional=("addends", "step", "line", "age"))


def file_lines(findings: Iterable[tuple[str, Finding]]) -> Iterator[str]:
    """Findings about files with their paths, a line each and one for each of their details."""
    for path, finding in findings:
        yield from _finding(path, finding, None)


def row_lines(report: Report) -> Iterator[str]:
    """Findings about transcripts, in the order of the rows, as far as the report shows them."""
    if report.overview.has_findings:
        yield from finding_lines(_shown(row, report.view) for row in report.rows)


def _shown(row: Row, view: View) -> Row:
    """The row with the findings to show: no notes of transcripts that pass."""
    if view.passing:
        return row
    severities = ("error", "warning", "info") if is_failing(row) else ("error", "warning")
    shown = severities if view.totals else ("error",)
    return replace(
        row, findings=tuple(finding for finding in row.findings if finding.severity in shown)
    )


def finding_lines(rows: Iterable[Row]) -> Iterator[str]:
    """The findings of some rows: a line each and one for each of their details.

    Only errors and losses of conversions are repeated.
    """
    known: set[str] = set()
    for row in rows:
        for finding in row.findings:
            is_repeated = finding.severity == "error" or finding.kind is not None
            if is_repeated or finding.message not in known:
                if len(known) < _REPEATED:
                    known.add(finding.message)
                yield from _finding(row.path, finding, row.line)


def _finding(path: str, finding: Finding, line: int | None) -> Iterator[str]:
    """One finding: where, how bad, what; its details are indented."""
    message = "" if finding.index is None else f"message {finding.index}: "
    code = "" if finding.index is None else f" [{finding.code}]"
    yield clean(
        f"{place_of(path, finding.line or line)}: {finding.severity}: "
        f"{message}{finding.message}{code}"
    )
    yield from (clean(f"    {detail}") for detail in finding.details)


def difference_lines(report: Report) -> Iterator[str]:
    """What the run changes in each transcript, as in a diff."""
    if not report.overview.has_differences:
        return
    shown, left, limit = 0, 0, report.view.max_differences
    for row in report.rows:
        if row.differences and (not shown or not left):
            yield f"what changes in {place(row)}"
        for difference in row.differences:
            if limit is None or shown < limit:
                shown += 1
                yield from lines_of(difference)
            else:
                left += 1
    if left:
        yield f"… {several(left, 'message')} more; --report FILE has all of them"


def notes(report: Report) -> Iterator[str]:
    """What the numbers of a count leave out, and what its columns mean."""
    overview = report.overview
    if report.largest_limit is None:
        return
    if overview.has_usage:
        yield (
            "reported: prompt tokens of the last request, as the provider recorded them; "
            "they include prompts and tools that are not in the file"
        )
    if overview.lines_left_out:
        verb = "is" if overview.lines_left_out == 1 else "are"
        yield (
            f"left out: {several(overview.lines_left_out, 'line')} {verb} not in the conversation: "
            "compacted history, side chains and events without a message"
        )


def _transcripts(report: Report) -> Table:
    """A row for each transcript; values that all of them share are in the title."""
    kinds, has_usage = report.overview.kinds, report.overview.has_usage
    is_one = len(kinds) == 1

    def cells(row: Row) -> Cells:
        usage = row.usage.prompt_tokens if row.usage else None
        reported = f"{usage:,}" if usage else "-"
        return (
            verdict(row),
            place(row),
            tokens(row),
            f"{row.budget.available:,}",
            *((reported,) if has_usage else ()),
            change(row.messages_read, row.messages),
            *(() if is_one else (row.model or "-", row.format, row.tokenizer)),
        )

    columns = (
        "verdict",
        "transcript",
        ">tokens",
        ">budget",
        *((">reported",) if has_usage else ()),
        ">messages",
        *(() if is_one else ("model", "format", "tokenizer")),
    )
    optional = [name.removeprefix(">") for name in reversed(columns[4:])]
    title = ""
    if is_one:
        names = (name or "-" for name in kinds[0])
        title = "format {}, model {}, tokenizer {}".format(*names)
    rows = report.rows if report.view.passing else _Failing(report.rows)
    return Table(title, columns, Each(rows, cells), tuple(optional))


class _Failing:
    """The rows that fail; they can be read several times."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self._rows = rows

    def __iter__(self) -> Iterator[Row]:
        return filter(is_failing, self._rows)


def _breakdown(report: Report) -> Iterator[Table]:
    """Tokens by role, kind and tool, over all transcripts, or by the group that `--by` names."""
    overview = report.overview
    others = {"(framing)": overview.framing, "(tool schemas)": overview.tools_schema}
    if report.view.by:
        yield from _shares(report, f"tokens by {report.view.by}", report.view.by, overview.by)
        return
    yield from _shares(report, "tokens by role", "role", overview.by_role | others)
    yield from _shares(report, "tokens of messages by kind", "kind", overview.by_kind)
    yield from _shares(report, "tokens of calls and results by tool", "tool", overview.by_tool)


def _shares(report: Report, title: str, name: str, groups: Mapping[str, int]) -> Iterator[Table]:
    """The largest groups, with their shares of all tokens as numbers and as bars."""
    total, mark = report.sums.tokens, MARKS[report.sums.exactness]
    order = [(name, number) for name, number in most_first(groups) if number]
    shown = order[:_GROUPS]
    if rest := order[_GROUPS:]:
        shown.append((f"{len(rest):,} more", sum(number for _, number in rest)))
    if shown:
        rows = tuple(
            (name, f"{mark}{number:,}", share(number, total), bar(number, total))
            for name, number in shown
        )
        yield Table(title, (name, ">tokens", ">share", ""), rows, optional=("",))


def _losses(report: Report) -> Iterator[Table]:
    """What conversions lost and changed, by kind."""
    rows = tuple(
        (code, kind, f"{number:,}")
        for code, numbers in report.losses.by_code.items()
        for kind, number in numbers.items()
    )
    if rows:
        yield Table("what the conversion lost and changed", ("", "kind", ">number"), rows)


def _largest(report: Report) -> Iterator[Table]:
    rows = tuple(
        (
            f"{MARKS[row.count.exactness]}{tokens:,}",
            message.name,
            place(replace(row, line=message.line or row.line)),
        )
        for tokens, _, row, message in sorted(report.overview.large, reverse=True)
    )
    if rows:
        yield Table("largest messages", (">tokens", "message", "transcript"), rows)


def _explained(message: Explained, mark: str) -> tuple[str, ...]:
    return (
        str(message.message),
        "" if message.line is None else str(message.line),
        message.role,
        str(message.step),
        str(message.age),
        f"{mark}{message.tokens:,}",
        message.decision,
        message.reason,
        _sum_of(message.addends, mark),
    )


def _sum_of(addends: Mapping[str, int], mark: str) -> str:
    """Addends as a sum, each with its mark, without those that are 0."""
    return " + ".join(
        f"{mark}{tokens:,} {name.replace('_', ' ')}" for name, tokens in addends.items() if tokens
    )
