"""What a run found out, as values: a row a transcript, findings about files, and totals."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

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


@dataclass
class Report:
    """Everything a run has to say. `keeps_rows` is off where only the totals are wanted: memory stays flat."""

    pipeline: tuple[Spec, ...]
    keeps_rows: bool = True
    rows: list[Row] = field(default_factory=list)
    findings: list[tuple[str, Finding]] = field(default_factory=list)  # (path, finding) about files
    totals: Totals = field(default_factory=Totals)
    troubled: list[Row] = field(default_factory=list)  # rows with findings, where rows are not kept
    left_out: int = 0  # transcripts that were not written
    is_incomplete: bool = False
    exactness: Exactness = "exact"  # of the totals: the worst of all rows
    exactness_read: Exactness = "exact"  # of the tokens read

    on_rows: Callable[[Sequence[Row]], None] | None = None  # told of all rows as they come

    def add(self, rows: Sequence[Row]) -> None:
        """Count some transcripts in."""
        if self.on_rows is not None and rows:
            self.on_rows(rows)
        for row in rows:
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
            self._note(row.findings)
            if self.keeps_rows:
                self.rows.append(row)
            elif any(finding.code not in ASIDE for finding in row.findings):
                self.troubled.append(row)

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
