"""The rows of a report as values: one for each transcript."""

from msgspec import Struct

from ctxtrim.findings import (
    LIMITS,
    STRICT,
    STRUCTURE,
    Finding,
    Subject,
    has_error,
    has_overflow,
    is_handled,
)
from ctxtrim.model.request import Usage
from ctxtrim.pipeline import StageRun
from ctxtrim.stage import Action
from ctxtrim.text.json_paths import Path
from ctxtrim.tokens.counter import Count
from ctxtrim.tokens.request import Addends
from ctxtrim.tokens.tokenizer import Budget, Exactness


class Explained(Struct, frozen=True):
    """One message in `--explain`: its position, its tokens, the decision and the reason.

    `tokens` as read are the sum of `addends`, tokens by kind.
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


class Difference(Struct, frozen=True):
    """A message that a run changes, drops or inserts.

    `message` is its index as read, None for an inserted one. `before` and `after` are the first
    lines that differ, and `before_more` and `after_more` the numbers of lines that follow.
    """

    message: int | None
    line: int | None
    subject: str
    action: Action
    reason: str
    tokens_before: int
    tokens_after: int
    exactness: Exactness
    before: tuple[str, ...] = ()
    before_more: int = 0
    after: tuple[str, ...] = ()
    after_more: int = 0


class Row(Struct, frozen=True):
    """One transcript: its place, its tokens and the steps.

    If it is not written, `count` is what cannot be dropped. `exactness_read` is the exactness of
    `tokens_read`. `is_counted`: the tokens were counted; otherwise they are an upper bound that
    fits. `by` has the tokens by one of `GROUPS`. `overhead_read`: the tokens outside of messages as
    read, next to `explained` messages. `lines_left_out`: lines of the file that are no part of the
    conversation. `is_edited`: a stage changed the transcript. `dropped`: the number of messages as
    read that are not in it any more. `large`: its largest messages.
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
    steps: tuple[StageRun, ...]
    findings: tuple[Finding, ...]
    usage: Usage | None = None
    lines: dict[int, int] = {}  # message index → line of the file
    explained: tuple[Explained, ...] = ()
    overhead_read: dict[str, int] = {}
    differences: tuple[Difference, ...] = ()
    is_counted: bool = True
    by: dict[str, int] = {}
    lines_left_out: int = 0
    is_edited: bool = True
    dropped: int = 0
    large: tuple[Subject, ...] = ()

    @property
    def size(self) -> int:
        """The approximate number of values in the row, as a measure of its memory."""
        size = 8 + len(self.findings) + len(self.lines) + len(self.explained) + len(self.by)
        for step in self.steps:
            size += len(step.changes) + len(step.findings)
        return size + 4 * len(self.differences) + len(self.large)

    @property
    def fits(self) -> bool:
        """Whether its tokens are within the budget."""
        return self.count.tokens <= self.budget.available

    @property
    def overflows(self) -> bool:
        """Whether a stage reports an overflow."""
        return has_overflow(self.findings)

    @property
    def is_handled(self) -> bool:
        """Whether the stages ran and their outcome passed the self-check."""
        return is_handled(self.findings)

    @property
    def is_above_limit(self) -> bool:
        """Whether it is above a limit of `check` or above its baseline."""
        return bool(self.findings) and any(finding.code in LIMITS for finding in self.findings)

    @property
    def is_malformed(self) -> bool:
        """Whether it breaks a structure rule. With `--strict`, warnings are such errors."""
        return has_error(self.findings, STRUCTURE)

    @property
    def fails_strict(self) -> bool:
        """Whether `--strict` made an error of a warning or an estimate about something else."""
        return has_error(self.findings, STRICT)
