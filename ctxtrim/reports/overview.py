"""Facts about all rows of a report that tables need before their first row."""

from dataclasses import dataclass, field

from ctxtrim.counter import Count
from ctxtrim.report import Report, Row, pointer
from ctxtrim.text.escaping import clean
from ctxtrim.tokens import MARKS


@dataclass
class Overview:
    """Facts about all rows that the tables need: what the transcripts have in common, sums, the largest messages."""

    kinds: list[tuple[str, ...]] = field(default_factory=list)  # format, model, tokenizer: at most two different ones
    has_usage: bool = False
    is_explained: bool = False
    by_role: dict[str, int] = field(default_factory=dict)
    by_kind: dict[str, int] = field(default_factory=dict)
    by_tool: dict[str, int] = field(default_factory=dict)
    framing: int = 0
    tools_schema: int = 0
    large: list[tuple[int, tuple[str, ...]]] = field(default_factory=list)  # tokens and cells, the largest first

    def add(self, count: Count) -> None:
        """Add to the sums."""
        self.framing += count.framing
        self.tools_schema += count.tools_schema
        for total, part in (
            (self.by_role, count.by_role),
            (self.by_kind, count.by_kind),
            (self.by_tool, count.by_tool),
        ):
            for name, tokens in part.items():
                total[name] = total.get(name, 0) + tokens


def overview(report: Report) -> Overview:
    """The facts, in one pass over the rows."""
    found = Overview()
    most = largest_named(report)
    for row in report.rows:
        if len(found.kinds) < 2 and kind(row) not in found.kinds:
            found.kinds.append(kind(row))
        found.has_usage |= row.usage is not None
        found.is_explained |= bool(row.explained)
        if most is not None:
            found.add(row.count)
            found.large = _larger(found.large, row, most)
    return found


def largest_named(report: Report) -> int | None:
    """How many of the largest messages a count was asked to name; None without a count."""
    return max((spec.settings["largest"] for spec in report.pipeline if spec.name == "count"), default=None)


def _larger(large: list[tuple[int, tuple[str, ...]]], row: Row, most: int) -> list[tuple[int, tuple[str, ...]]]:
    """The largest messages, with those of one more transcript."""
    for finding in (finding for step in row.steps for finding in step.findings):
        tokens = finding.tokens or 0
        if finding.code == "large-message" and (len(large) < most or (large and tokens > large[-1][0])):
            name = clean(finding.message.rsplit(":", 1)[0])
            cells = (f"{MARKS[row.count.exactness]}{tokens:,}", name, place(row))
            large = sorted([*large, (tokens, cells)], key=lambda item: -item[0])[:most]
    return large


def kind(row: Row) -> tuple[str, ...]:
    """Format, model and tokenizer, as tables show them."""
    return row.format, row.model or "-", row.tokenizer


def place(row: Row) -> str:
    """Where a transcript is: file, line, and what tells it from others on that line."""
    inside = pointer(row.pointer)
    return clean(f"{row.path}:{row.line}" + (f" {inside}" if inside else f" #{row.index}" if row.index else ""))
