"""The report for people: tables and lines. The tables are values, so that a terminal can draw them its own way."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from ctxtrim.report import Explained, Report, Row, pointer
from ctxtrim.stage import Finding
from ctxtrim.text.escaping import clean
from ctxtrim.tokens import MARKS

_TOOLS = 15  # rows of the table by tool


@dataclass(frozen=True)
class Table:
    """A title, column names (those that begin with `>` hold numbers and are set flush right), and rows.

    Its texts are safe to print.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def __post_init__(self) -> None:
        """Clean the texts here, once for every form in which a table is drawn."""
        object.__setattr__(self, "title", clean(self.title))
        object.__setattr__(self, "rows", tuple(tuple(map(clean, cells)) for cells in self.rows))


def render(report: Report) -> str:
    """Everything as plain text: columns set with spaces, no colour, no frame."""
    blocks = [plain(table) for table in tables(report)]
    lines = [*file_lines(report), *row_lines(report.rows)]
    return "\n".join([*blocks, *(["\n".join(lines) + "\n"] if lines else []), totals_line(report) + "\n"])


def tables(report: Report) -> Iterator[Table]:
    """The tables that this report needs."""
    if report.rows:
        yield _transcripts(report)
    stages = [spec.name for spec in report.pipeline]
    if report.rows and "count" in stages:
        yield _breakdown(report)
        yield from _by_tool(report)
        yield from _largest(report)
    for row in report.rows:
        if row.explained:
            yield explained(row)


def explained(row: Row) -> Table:
    """One row a message: what became of it and why, and what its tokens are made of; all sums are those as read."""
    columns = (">message", ">line", "role", ">step", ">age", ">tokens", "decision", "reason", "addends")
    mark = MARKS[row.exactness_read]
    messages = sum(one.tokens for one in row.explained)
    title = f"messages of {place(row)}: {mark}{row.tokens_read:,} tokens = {mark}{messages:,} of messages"
    if beside := _sum_of(row.count.beside, mark):
        title += f" + {beside}"
    return Table(title, columns, tuple(_explained(one, mark) for one in row.explained))


def plain(table: Table) -> str:
    """A table as text."""
    names = tuple(name.removeprefix(">") for name in table.columns)
    lines = [names, *table.rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(names))]
    text = [table.title] if table.title else []
    for line in lines:
        cells = [
            cell.rjust(width) if column.startswith(">") else cell.ljust(width)
            for cell, width, column in zip(line, widths, table.columns, strict=True)
        ]
        text.append("  ".join(cells).rstrip())
    return "\n".join(text) + "\n"


def file_lines(report: Report) -> Iterator[str]:
    """Findings about files, a line each."""
    for path, finding in report.findings:
        yield from _finding(path, finding, None)


def row_lines(rows: Iterable[Row]) -> Iterator[str]:
    """Findings about transcripts: a line each and one for each of their details; only errors are told twice."""
    told: set[str] = set()
    for row in rows:
        for finding in row.findings:
            if finding.severity == "error" or finding.message not in told:
                told.add(finding.message)
                yield from _finding(row.path, finding, row.line)


def _finding(path: str, finding: Finding, line: int | None) -> Iterator[str]:
    """One finding: where, how bad, what; its details are indented."""
    where = finding.line or line
    message = "" if finding.index is None else f"message {finding.index}: "
    code = "" if finding.index is None else f" [{finding.code}]"
    yield clean(f"{path}{f':{where}' if where else ''}: {finding.severity}: {message}{finding.message}{code}")
    yield from (clean(f"    {detail}") for detail in finding.details)


def totals_line(report: Report) -> str:
    """All of it in one line."""
    totals = report.totals
    text = f"{_several(totals.transcripts, 'transcript')}, {_change(totals.messages_read, totals.messages)} messages, "
    marks = MARKS[report.exactness_read], MARKS[report.exactness]
    text += f"{_change(totals.tokens_read, totals.tokens, *marks)} tokens"
    for number, what in (
        (totals.overflowing, "overflowing"),
        (totals.malformed, "malformed"),
        (totals.unreadable, "unreadable"),
    ):
        text += f", {number} {what}" if number else ""
    return text


def place(row: Row) -> str:
    """Where a transcript is: file, line, and what tells it from others on that line."""
    inside = pointer(row.pointer)
    return clean(f"{row.path}:{row.line}" + (f" {inside}" if inside else f" #{row.index}" if row.index else ""))


def verdict(row: Row) -> str:
    """Does it fit, and is it well formed: the word for it."""
    if not row.is_handled:
        return "not handled"
    if row.overflows or not row.fits:
        return "overflow"
    return "malformed" if row.is_malformed else "fits"


def _several(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _change(before: int, after: int, mark_before: str = "", mark: str = "") -> str:
    return f"{mark}{after:,}" if before == after else f"{mark_before}{before:,} → {mark}{after:,}"


def _transcripts(report: Report) -> Table:
    """A row a transcript; what all of them share stands in the title."""
    kinds = [(row.format, row.model or "-", row.tokenizer) for row in report.rows]
    is_one = len(set(kinds)) == 1
    has_usage = any(row.usage for row in report.rows)
    rows = tuple(
        (
            place(row),
            *(() if is_one else kind),
            _change(row.messages_read, row.messages),
            _change(row.tokens_read, row.count.tokens, MARKS[row.exactness_read], MARKS[row.count.exactness]),
            *([f"{row.usage.prompt_tokens:,}" if row.usage else "-"] if has_usage else []),
            f"{row.budget.available:,}",
            verdict(row),
        )
        for row, kind in zip(report.rows, kinds, strict=True)
    )
    usage = (">reported",) if has_usage else ()
    columns = ("transcript", "format", "model", "tokenizer", ">messages", ">tokens", *usage, ">budget", "verdict")
    if not is_one:
        return Table("", columns, rows)
    title = "format {}, model {}, tokenizer {}".format(*map(clean, kinds[0]))
    return Table(title, (columns[0], *columns[4:]), rows)


def _share(tokens: int, total: int) -> str:
    return f"{100 * tokens / total:.1f} %" if total else "-"


def _breakdown(report: Report) -> Table:
    """Tokens by role and, inside the roles, by kind, over all transcripts."""
    total = report.totals.tokens
    counts = [row.count for row in report.rows]
    roles = _sum(count.by_role for count in counts)
    kinds = _sum(count.by_kind for count in counts)
    rows = [("role", name, tokens) for name, tokens in roles.items()]
    rows += [
        ("framing", "", sum(count.framing for count in counts)),
        ("tool schemas", "", sum(count.tools_schema for count in counts)),
    ]
    rows += [("kind", name, tokens) for name, tokens in kinds.items()]
    mark = MARKS[report.exactness]
    cells = tuple((what, name, f"{mark}{tokens:,}", _share(tokens, total)) for what, name, tokens in rows if tokens)
    return Table("where the tokens sit", ("by", "", ">tokens", ">share"), cells)


def _by_tool(report: Report) -> Iterator[Table]:
    tools = _sum(row.count.by_tool for row in report.rows)
    if tools:
        total, mark = report.totals.tokens, MARKS[report.exactness]
        order = sorted(tools.items(), key=lambda item: (-item[1], item[0]))
        rows = [(clean(name), f"{mark}{tokens:,}", _share(tokens, total)) for name, tokens in order[:_TOOLS]]
        if len(order) > _TOOLS:
            rest = sum(tokens for _, tokens in order[_TOOLS:])
            rows.append((f"{len(order) - _TOOLS} more", f"{mark}{rest:,}", _share(rest, total)))
        yield Table("calls and results by tool", ("tool", ">tokens", ">share"), tuple(rows))


def _largest(report: Report) -> Iterator[Table]:
    found = [
        (finding.tokens or 0, row, finding)
        for row in report.rows
        for step in row.steps
        for finding in step.findings
        if finding.code == "large-message"
    ]
    most = max((spec.settings["largest"] for spec in report.pipeline if spec.name == "count"), default=0)
    found.sort(key=lambda item: -item[0])
    rows = tuple(
        (f"{MARKS[row.count.exactness]}{tokens:,}", clean(finding.message.rsplit(":", 1)[0]), place(row))
        for tokens, row, finding in found[:most]
    )
    if rows:
        yield Table("largest messages", (">tokens", "message", "transcript"), rows)


def _sum(parts: Iterator[Mapping[str, int]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for part in parts:
        for name, tokens in part.items():
            total[name] = total.get(name, 0) + tokens
    return total


def _explained(one: Explained, mark: str) -> tuple[str, ...]:
    line = "" if one.line is None else str(one.line)
    numbers = (
        str(one.message),
        line,
        one.role,
        str(one.step),
        str(one.age),
        f"{mark}{one.tokens:,}",
    )
    return (*numbers, one.decision, clean(one.reason), _sum_of(one.addends, mark))


def _sum_of(addends: Mapping[str, int], mark: str) -> str:
    """Addends as people write a sum, each with its mark: those that are 0 are left out."""
    return " + ".join(f"{mark}{tokens:,} {name.replace('_', ' ')}" for name, tokens in addends.items() if tokens)
