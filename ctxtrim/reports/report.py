"""The report of a run as a value: the rows of transcripts, findings about files, and totals."""

from collections.abc import Callable, Iterable
from functools import cached_property
from heapq import heappop, heappush

from msgspec import Struct, field
from msgspec.structs import replace

from ctxtrim.findings import IDLE, INCOMPLETE, Finding, Subject
from ctxtrim.formats.conversion.losses import LossTotals
from ctxtrim.io.spool import Store
from ctxtrim.pipeline import Spec
from ctxtrim.reports.model import Row
from ctxtrim.reports.tables import WHOLE, View
from ctxtrim.tokens.tokenizer import Exactness, worse

SMALL = "(small ones)"
"""The group of tokens whose own groups are too many to list."""

_MAX_NAMES = 20_000  # groups of tokens in memory


class Sums(Struct):
    """The messages and tokens of some transcripts, and how exact the tokens are."""

    transcripts: int = 0
    messages_read: int = 0
    messages: int = 0
    tokens_read: int = 0
    tokens: int = 0
    exactness: Exactness = "exact"
    exactness_read: Exactness = "exact"

    def add(self, row: Row) -> None:
        """Add a row."""
        self.transcripts += 1
        self.messages_read += row.messages_read
        self.messages += row.messages
        self.tokens_read += row.tokens_read
        self.tokens += row.count.tokens
        self.exactness = worse(self.exactness, row.count.exactness)
        self.exactness_read = worse(self.exactness_read, row.exactness_read)


class ProblemCounts(Struct):
    """The numbers of transcripts with a problem, and of unreadable files and lines."""

    overflowing: int = 0
    malformed: int = 0
    unreadable: int = 0
    above_limits: int = 0
    failing_strict: int = 0

    def add(self, row: Row) -> None:
        """Add a row."""
        self.overflowing += row.overflows
        self.malformed += row.is_malformed
        self.above_limits += row.is_above_limit
        self.failing_strict += row.fails_strict


class Overview(Struct):
    """Facts about all rows that tables need before their first row, and sums.

    `large` is a heap of the largest messages: tokens, a falling number, brief row, message.
    """

    # format, model, tokenizer; at most two
    kinds: list[tuple[str, str | None, str]] = field(default_factory=list)
    has_usage: bool = False
    has_findings: bool = False
    has_differences: bool = False
    is_explained: bool = False
    by_role: dict[str, int] = field(default_factory=dict)
    by_kind: dict[str, int] = field(default_factory=dict)
    by_tool: dict[str, int] = field(default_factory=dict)
    framing: int = 0
    tools_schema: int = 0
    by: dict[str, int] = field(default_factory=dict)
    lines_left_out: int = 0
    large: list[tuple[int, int, Row, Subject]] = field(default_factory=list)
    _noted: int = 0

    def add(self, row: Row, number: int | None) -> None:
        """Add a row. Keep the `number` largest messages; None: no table shows them or sums."""
        kind = (row.format, row.model, row.tokenizer)
        if len(self.kinds) < 2 and kind not in self.kinds:
            self.kinds.append(kind)
        self.has_usage |= row.usage is not None
        self.has_findings |= bool(row.findings)
        self.has_differences |= bool(row.differences)
        self.is_explained |= bool(row.explained)
        self.lines_left_out += row.lines_left_out
        if number is not None:
            self._sum(row)
            self.note_largest(row, number)

    def _sum(self, row: Row) -> None:
        count = row.count
        self.framing += count.framing
        self.tools_schema += count.tools_schema
        for total, part in (
            (self.by_role, count.by_role),
            (self.by_kind, count.by_kind),
            (self.by_tool, count.by_tool),
            (self.by, row.by),
        ):
            for name, tokens in part.items():
                total[name] = total.get(name, 0) + tokens
        if len(self.by) > _MAX_NAMES:
            self._fold()

    def _fold(self) -> None:
        """Add up the smaller half of `by`, so that it stays small."""
        order = sorted(self.by, key=self.by.__getitem__, reverse=True)
        rest = sum(self.by.pop(name) for name in order[_MAX_NAMES // 2 :])
        self.by[SMALL] = self.by.get(SMALL, 0) + rest

    def note_largest(self, row: Row, number: int) -> tuple[Subject, ...]:
        """Note and return the large messages that are among the `number` largest so far."""
        subjects: list[Subject] = []
        brief: Row | None = None
        for message in row.large:
            is_full = len(self.large) == number
            if is_full and (not number or message.tokens <= self.large[0][0]):
                continue
            brief = brief or replace(row, steps=(), lines={}, explained=(), large=())
            subjects.append(message)
            self._noted += 1
            heappush(self.large, (message.tokens, -self._noted, brief, message))
            if is_full:
                heappop(self.large)
        return tuple(subjects)


def largest_limit(pipeline: Iterable[Spec]) -> int | None:
    """How many of the largest messages a stage lists, None without such a stage."""
    numbers = [spec.settings.get("largest") for spec in pipeline]
    return max((number for number in numbers if number is not None), default=None)


class Report(Struct, dict=True):
    """The results of a run: rows of transcripts, findings about files by path, and totals.

    `keeps_rows` is off if only the totals are needed. `rows` can be read several times, in the
    order of the inputs; a reader never holds all of them. `listeners` get each row as it is added,
    after `judges` have added findings to it. `on_note` may change findings about files. `folder` is
    the working folder as a path from the root of its repository, empty for the root itself.
    `has_tables`: the report has tables of sums and of the largest messages.
    """

    pipeline: tuple[Spec, ...]
    keeps_rows: bool = True
    rows: Store[Row] = field(default_factory=list[Row])
    findings: Store[tuple[str, Finding]] = field(default_factory=list[tuple[str, Finding]])
    listeners: list[Callable[[Row], object]] = field(default_factory=list)
    judges: tuple[Callable[[Row], Row], ...] = ()
    on_note: Callable[[Finding], Finding] | None = None
    sums: Sums = field(default_factory=Sums)  # of all rows
    counted: Sums = field(default_factory=Sums)  # of the rows that are counted
    problems: ProblemCounts = field(default_factory=ProblemCounts)
    left_out: int = 0  # transcripts that were not written
    refused: int = 0  # files that could not be written, whose transcripts have no rows
    unreadable_lines: int = 0
    edited: int = 0  # transcripts that a stage changed
    is_incomplete: bool = False
    has_errors: bool = False  # about files, without those that make it incomplete
    is_idle: bool = False  # a finding says why a stage changed nothing
    overview: Overview = field(default_factory=Overview)  # of the rows that are kept
    losses: LossTotals = field(default_factory=LossTotals)  # of conversions
    view: View = WHOLE
    folder: str = ""
    has_tables: bool = True

    def add(self, rows: Iterable[Row]) -> None:
        """Add rows."""
        for row in rows:
            for judge in self.judges:
                row = judge(row)
            for listener in self.listeners:
                listener(row)
            self.sums.add(row)
            if row.is_counted:
                self.counted.add(row)
            self.left_out += not row.is_written
            self.edited += row.is_edited
            if row.findings:
                self.problems.add(row)
                self._note(row.findings)
                self.losses.add(row.findings)
            if self.keeps_rows:
                self.overview.add(row, self.largest_limit if self.has_tables else None)
                self.rows.append(replace(row, large=()) if row.large else row)

    @cached_property
    def largest_limit(self) -> int | None:
        """How many of the largest messages a stage lists, None without such a stage."""
        return largest_limit(self.pipeline)

    def note(self, path: str, finding: Finding) -> None:
        """Add a finding about a file."""
        if self.on_note is not None:
            finding = self.on_note(finding)
            self.has_errors |= finding.severity == "error" and finding.code not in INCOMPLETE
        self.findings.append((path, finding))
        self.refused += finding.code in ("not-written", "not-archived")
        self.problems.unreadable += finding.code in ("unreadable", "not-json", "no-transcript")
        self.unreadable_lines += finding.code == "not-json"
        self._note((finding,))

    def _note(self, findings: Iterable[Finding]) -> None:
        codes = {finding.code for finding in findings}
        self.is_incomplete |= not INCOMPLETE.isdisjoint(codes)
        self.is_idle |= not IDLE.isdisjoint(codes)

    @property
    def exit_code(self) -> int:
        """The first of 1 incomplete, 3 above a budget or limit, 4 a broken rule; else 0."""
        if self.is_incomplete:
            return 1
        problems = self.problems
        if problems.overflowing or problems.above_limits:
            return 3
        return 4 if problems.malformed or problems.failing_strict or self.has_errors else 0
