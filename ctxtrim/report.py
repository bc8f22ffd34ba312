"""What a run found out, as values: a row a transcript, findings about files, and totals."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from ctxtrim.counter import Count
from ctxtrim.framing import Addends
from ctxtrim.model import Path, Usage
from ctxtrim.pipeline import Spec, Step
from ctxtrim.stage import NOT_HANDLED, OVERFLOW, SELF_CHECK, Finding
from ctxtrim.tokens import ORDER, Budget, Exactness


@dataclass(frozen=True)
class Explained:
    """One message in `--explain`: where it stands, what it costs, what became of it and why.

    `tokens` as it was read are the sum of its `addends`, tokens by what they are for.
    """

    message: int
    line: int | None
    role: str
    step: int
    age: int
    tokens: int
    addends: Addends
    decision: str
    reason: str


@dataclass(frozen=True)
class Row:
    """One transcript: where it is, what it costs, what was done. Where not written, `count` is what could not go.

    `exactness_read` says how far `tokens_read` can be trusted.
    """

    path: str
    line: int
    index: int
    pointer: Path
    id: str | None
    format: str
    model: str | None
    tokenizer: str
    messages_read: int
    messages: int
    tokens_read: int
    exactness_read: Exactness
    count: Count
    budget: Budget
    is_written: bool
    steps: tuple[Step, ...]
    findings: tuple[Finding, ...]
    usage: Usage | None = None
    lines: dict[int, int] = field(default_factory=dict)  # message index → line of the file
    explained: tuple[Explained, ...] = ()

    @property
    def size(self) -> int:
        """About how many values it holds: a measure of its memory."""
        findings = (*self.findings, *(finding for step in self.steps for finding in step.findings))
        changes = sum(len(step.changes) for step in self.steps)
        return 8 + sum(one.size for one in findings) + changes + len(self.lines) + len(self.explained)

    @property
    def fits(self) -> bool:
        """Whether its tokens are within the budget."""
        return self.count.tokens <= self.budget.available

    @property
    def overflows(self) -> bool:
        """Whether a stage says that it does not fit."""
        return any(finding.code == OVERFLOW for finding in self.findings)

    @property
    def is_handled(self) -> bool:
        """Whether the stages ran and their outcome passed the self-check."""
        return all(finding.code not in (NOT_HANDLED, SELF_CHECK) for finding in self.findings)

    @property
    def is_malformed(self) -> bool:
        """Whether it breaks a structure rule."""
        others = (OVERFLOW, *INCOMPLETE)
        return any(finding.severity == "error" and finding.code not in others for finding in self.findings)


ASIDE = ("claude-bounded",)
"""The codes of findings that only reports show."""

INCOMPLETE = (
    "unreadable", "no-transcript", "not-json", SELF_CHECK, NOT_HANDLED, "not-written", "not-archived", "no-trace-id"
)  # fmt: skip
"""The codes of findings that leave the answer incomplete."""


@dataclass
class Totals:
    """Sums over all transcripts of a run."""

    transcripts: int = 0
    messages_read: int = 0
    messages: int = 0
    tokens_read: int = 0
    tokens: int = 0
    overflowing: int = 0
    malformed: int = 0
    unreadable: int = 0


V = TypeVar("V")


class Store(Protocol[V]):
    """Where the values of a report are kept: a list, or a list whose values are in a file."""

    def append(self, value: V, /) -> None:
        """Add a value."""
        ...

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[V]: ...


@dataclass
class Report:
    """The results of a run: a row for each transcript, findings about files as (path, finding), and totals.

    `keeps_rows` is off if only the totals are needed. `rows` can be read several times, in the order of the inputs; a
    reader never holds all of them. `listeners` get each row as it is added.
    """

    pipeline: tuple[Spec, ...]
    keeps_rows: bool = True
    rows: Store[Row] = field(default_factory=list[Row])
    findings: Store[tuple[str, Finding]] = field(default_factory=list[tuple[str, Finding]])
    listeners: list[Callable[[Row], object]] = field(default_factory=list)
    totals: Totals = field(default_factory=Totals)
    left_out: int = 0  # transcripts that were not written
    is_incomplete: bool = False
    has_findings: bool = False  # about transcripts
    exactness: Exactness = "exact"  # of the totals: the worst of all rows
    exactness_read: Exactness = "exact"  # of the tokens read

    def add(self, rows: Iterable[Row]) -> None:
        """Count some transcripts in."""
        for row in rows:
            for listener in self.listeners:
                listener(row)
            totals = self.totals
            totals.transcripts += 1
            totals.messages_read += row.messages_read
            totals.messages += row.messages
            totals.tokens_read += row.tokens_read
            totals.tokens += row.count.tokens
            totals.overflowing += row.overflows
            totals.malformed += row.is_malformed
            self.left_out += not row.is_written
            self.exactness = max(self.exactness, row.count.exactness, key=ORDER.index)
            self.exactness_read = max(self.exactness_read, row.exactness_read, key=ORDER.index)
            self.has_findings |= bool(row.findings)
            self._note(row.findings)
            if self.keeps_rows:
                self.rows.append(row)

    def note(self, path: str, finding: Finding) -> None:
        """Take in a finding about a file."""
        self.findings.append((path, finding))
        self.totals.unreadable += finding.code in ("unreadable", "not-json", "no-transcript")
        self._note((finding,))

    def _note(self, findings: Iterable[Finding]) -> None:
        self.is_incomplete |= any(one.code in INCOMPLETE for one in findings)

    @property
    def exit_code(self) -> int:
        """0 done, 1 no complete answer, 3 overflow, 4 structure; the worst wins in this order."""
        if self.is_incomplete:
            return 1
        if self.totals.overflowing:
            return 3
        return 4 if self.totals.malformed else 0


def pointer(path: Path) -> str | None:
    """A JSON path as people write it: `[2]`, `simulations[0].messages`; None for the whole value."""
    text = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path)
    return text.removeprefix(".") or None
