"""The text report: tables and lines.

Tables are values, so that a terminal can draw them differently.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice
from typing import Generic, TypeVar

from ctxtrim.errors import source_name
from ctxtrim.reports.differences import lines_of
from ctxtrim.reports.model import Explained, Report, Row, pointer
from ctxtrim.stage import Finding
from ctxtrim.text.escaping import clean
from ctxtrim.tokens import MARKS

Cells = tuple[str, ...]
T = TypeVar("T")
_TOOLS = 15  # rows of the table by tool
_SHORT = 5_000  # rows of a table that is held in memory while it is written
_REPEATED = 10_000  # messages of which a second one is noticed


@dataclass(frozen=True)
class Table:
    """A title, column names (those of numbers begin with `>`), and rows.

    `rows` can be read several times; there may be more than fit in memory.
    Its texts are safe to print.
    """

    title: str
    columns: Cells
    rows: Iterable[Cells]

    def __post_init__(self) -> None:
        """Clean the texts here, once for every form in which a table is drawn."""
        object.__setattr__(self, "title", clean(self.title))
        object.__setattr__(self, "rows", _Each(self.rows, _cleaned))


@dataclass(frozen=True)
class _Each(Generic[T]):
    """The cells of each row, made anew each time they are read."""

    rows: Iterable[T]
    cells: Callable[[T], Cells]

    def __iter__(self) -> Iterator[Cells]:
        return map(self.cells, self.rows)


def _cleaned(cells: Cells) -> Cells:
    return tuple(map(clean, cells))


def render(report: Report) -> Iterator[str]:
    """The report as plain text: aligned columns, and an empty line between blocks."""
    lines = (f"{line}\n" for line in chain(file_lines(report.findings), row_lines(report)))
    changed = (f"{line}\n" for line in difference_lines(report))
    has_text = False
    for block in chain(
        map(_plain_lines, tables(report)), [changed], [lines], [[totals_line(report) + "\n"]]
    ):
        separator = "\n" if has_text else ""
        for piece in block:
            yield separator + piece
            separator, has_text = "", True


def tables(report: Report) -> Iterator[Table]:
    """The tables that this report needs."""
    if not report.rows:
        return
    yield _transcripts(report)
    if report.largest is not None:
        yield _breakdown(report)
        yield from _by_tool(report)
        yield from _largest(report)
    yield from _losses(report)
    if report.overview.is_explained:
        yield from (explained(row) for row in report.rows if row.explained)


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
    if others := _sum_of(row.count.overhead, mark):
        title += f" + {others}"
    return Table(title, columns, tuple(_explained(message, mark) for message in row.explained))


def plain(table: Table) -> str:
    """A table as text."""
    return "".join(_plain_lines(table))


def _plain_lines(table: Table) -> Iterator[str]:
    """The lines of a table. The rows of a long table are read twice."""
    names = tuple(name.removeprefix(">") for name in table.columns)
    widths = [len(name) for name in names]
    first = list(islice(table.rows, _SHORT))
    rows = first if len(first) < _SHORT else table.rows
    for cells in rows:
        widths = [max(width, len(cell)) for width, cell in zip(widths, cells, strict=True)]
    if table.title:
        yield f"{table.title}\n"
    for cells in chain([names], rows):
        aligned = [
            cell.rjust(width) if column.startswith(">") else cell.ljust(width)
            for cell, width, column in zip(cells, widths, table.columns, strict=True)
        ]
        yield "  ".join(aligned).rstrip() + "\n"


def file_lines(findings: Iterable[tuple[str, Finding]]) -> Iterator[str]:
    """Findings about files with their paths, a line each and one for each of their details."""
    for path, finding in findings:
        yield from _finding(path, finding, None)


def row_lines(report: Report) -> Iterator[str]:
    """Findings about transcripts, in the order of the rows."""
    if report.overview.has_findings:
        yield from finding_lines(report.rows)


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
    where = finding.line or line
    message = "" if finding.index is None else f"message {finding.index}: "
    code = "" if finding.index is None else f" [{finding.code}]"
    yield clean(
        f"{source_name(path)}{f':{where}' if where else ''}: {finding.severity}: "
        f"{message}{finding.message}{code}"
    )
    yield from (clean(f"    {detail}") for detail in finding.details)


def difference_lines(report: Report) -> Iterator[str]:
    """What the run changes in each transcript, as in a diff."""
    shown = left = 0
    for row in report.rows:
        if row.differences and (not shown or not left):
            yield f"what changes in {place(row)}"
        for difference in row.differences:
            if report.most_differences is None or shown < report.most_differences:
                shown += 1
                yield from lines_of(difference)
            else:
                left += 1
    if left:
        yield f"… {_several(left, 'message')} more; --report FILE has all of them"


def totals_line(report: Report) -> str:
    """The totals in one line."""
    totals = report.totals
    text = (
        f"{_several(totals.transcripts, 'transcript')}, "
        f"{_change(totals.messages_read, totals.messages)} messages, "
    )
    marks = MARKS[report.exactness_read], MARKS[report.exactness]
    text += f"{_change(totals.tokens_read, totals.tokens, *marks)} tokens"
    for number, what in (
        (totals.overflowing, "overflowing"),
        (totals.above_limits, "above limits"),
        (totals.malformed, "malformed"),
        (totals.unreadable, "unreadable"),
    ):
        text += f", {number} {what}" if number else ""
    return text


def place(row: Row) -> str:
    """The place of a transcript: file, line, and its path or position within the line."""
    inside = pointer(row.pointer)
    return clean(
        f"{source_name(row.path)}:{row.line}"
        + (f" {inside}" if inside else f" #{row.index}" if row.index else "")
    )


def verdict(row: Row) -> str:
    """The verdict in a word: fits, overflow, above limit, malformed or not handled."""
    if not row.is_handled:
        return "not handled"
    if row.overflows or not row.fits:
        return "overflow"
    if row.is_above_limit:
        return "above limit"
    return "malformed" if row.is_malformed else "fits"


def _several(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _change(before: int, after: int, mark_before: str = "", mark: str = "") -> str:
    return f"{mark}{after:,}" if before == after else f"{mark_before}{before:,} → {mark}{after:,}"


def _transcripts(report: Report) -> Table:
    """A row for each transcript; values that all of them share are in the title."""
    kinds, has_usage = report.overview.kinds, report.overview.has_usage
    is_one = len(kinds) == 1

    def cells(row: Row) -> Cells:
        return (
            place(row),
            *(() if is_one else (row.format, row.model or "-", row.tokenizer)),
            _change(row.messages_read, row.messages),
            _change(
                row.tokens_read,
                row.count.tokens,
                MARKS[row.exactness_read],
                MARKS[row.count.exactness],
            ),
            *(
                [f"{row.usage.prompt_tokens:,}" if row.usage and row.usage.prompt_tokens else "-"]
                if has_usage
                else []
            ),
            f"{row.budget.available:,}",
            verdict(row),
        )

    usage = (">reported",) if has_usage else ()
    columns = (
        "transcript",
        "format",
        "model",
        "tokenizer",
        ">messages",
        ">tokens",
        *usage,
        ">budget",
        "verdict",
    )
    if not is_one:
        return Table("", columns, _Each(report.rows, cells))
    title = "format {}, model {}, tokenizer {}".format(*(clean(name or "-") for name in kinds[0]))
    return Table(title, (columns[0], *columns[4:]), _Each(report.rows, cells))


def _share(tokens: int, total: int) -> str:
    return f"{100 * tokens / total:.1f} %" if total else "-"


def _breakdown(report: Report) -> Table:
    """Tokens by role and, inside the roles, by kind, over all transcripts."""
    total, found = report.totals.tokens, report.overview
    rows = [("role", name, tokens) for name, tokens in found.by_role.items()]
    rows += [("framing", "", found.framing), ("tool schemas", "", found.tools_schema)]
    rows += [("kind", name, tokens) for name, tokens in found.by_kind.items()]
    mark = MARKS[report.exactness]
    cells = tuple(
        (what, name, f"{mark}{tokens:,}", _share(tokens, total))
        for what, name, tokens in rows
        if tokens
    )
    return Table("where the tokens sit", ("by", "", ">tokens", ">share"), cells)


def _by_tool(report: Report) -> Iterator[Table]:
    if report.overview.by_tool:
        total, mark = report.totals.tokens, MARKS[report.exactness]
        order = sorted(report.overview.by_tool.items(), key=lambda item: (-item[1], item[0]))
        rows = [
            (clean(name), f"{mark}{tokens:,}", _share(tokens, total))
            for name, tokens in order[:_TOOLS]
        ]
        if len(order) > _TOOLS:
            rest = sum(tokens for _, tokens in order[_TOOLS:])
            rows.append((f"{len(order) - _TOOLS} more", f"{mark}{rest:,}", _share(rest, total)))
        yield Table("calls and results by tool", ("tool", ">tokens", ">share"), tuple(rows))


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
            clean(finding.message.rsplit(":", 1)[0]),
            place(row),
        )
        for tokens, row, finding in report.overview.large
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
        clean(message.reason),
        _sum_of(message.addends, mark),
    )


def _sum_of(addends: Mapping[str, int], mark: str) -> str:
    """Addends as a sum, each with its mark, without those that are 0."""
    return " + ".join(
        f"{mark}{tokens:,} {name.replace('_', ' ')}" for name, tokens in addends.items() if tokens
    )
