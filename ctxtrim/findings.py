"""Notes, warnings and errors about transcripts and files, and the codes that name them."""

from collections.abc import Iterable
from typing import Literal, get_args

from msgspec import Struct

from ctxtrim.errors import does_not_fit
from ctxtrim.model import Message, Part, Transcript
from ctxtrim.tokens.tokenizer import MARKS, MEANINGS, Exactness

Severity = Literal["error", "warning", "info"]

StructureCode = Literal[
    "arguments-not-json", "call-after-model", "call-without-result", "duplicate-call-id",
    "empty-content", "ends-with-assistant", "first-not-user", "lone-surrogate",
    "reasoning-without-follower", "roles-not-alternating", "server-tool-caller-missing",
    "server-tool-result-without-use", "server-tool-use-without-result", "system-not-first",
    "system-out-of-place", "text-after-call", "thinking-missing", "thinking-only-message",
    "tool-result-not-adjacent", "tool-result-without-call", "tools-missing", "unknown-member",
]  # fmt: skip
"""The name of a rule about the structure of messages."""

# docs/reports.md has the meaning of each code
Code = Literal[
    StructureCode,
    # files
    "unreadable", "not-json", "no-transcript", "glued-values", "mixed-formats", "not-read",
    "format", "skipped", "latest", "not-written", "not-archived", "undo",
    # settings
    "config", "config-ignored",
    # edits
    "not-handled", "self-check", "not-editable", "no-trace-id", "not-replaceable", "summary",
    "nothing-to-summarize", "nothing-to-replace", "nothing-to-compact", "trigger",
    "thinking-stripped", "thinking-kept", "prompt-cache",
    # conversions
    "not-converted", "lost", "changed", "losses",
    # counts
    "not-counted", "unknown-model", "derived-model", "other-model", "claude-bounded", "estimate",
    "calibrated", "not-calibrated", "anchored", "not-anchored", "large-message",
    # limits
    "overflow", "max-messages", "max-tokens-per-result", "max-tool-share", "growth", "baseline",
    "vanished",
]  # fmt: skip
"""The name of a kind of finding, in every report."""

LEFT_OUT: frozenset[Code] = frozenset(
    ("not-handled", "self-check", "not-editable", "not-converted")
)
"""The transcript is left out."""
INCOMPLETE: frozenset[Code] = LEFT_OUT | {
    "unreadable", "not-json", "no-transcript", "not-written", "not-archived", "no-trace-id"
}  # fmt: skip
"""The result is incomplete (exit code 1)."""
LIMITS: frozenset[Code] = frozenset(
    ("max-messages", "max-tokens-per-result", "max-tool-share", "growth")
)
"""The transcript is above a limit that `check` was given, or above its baseline (exit code 3)."""
STRUCTURE: frozenset[Code] = frozenset(get_args(StructureCode))
"""The transcript breaks a structure rule (exit code 4)."""
STRICT = frozenset[Code](get_args(Code)) - INCOMPLETE - LIMITS - STRUCTURE - {"overflow"}
"""Only `--strict` makes it an error (exit code 4)."""
IDLE: frozenset[Code] = frozenset(
    ("nothing-to-summarize", "nothing-to-replace", "nothing-to-compact")
)
"""Why a stage changed nothing, which standard error shows."""
ONLY_IN_REPORTS: frozenset[Code] = frozenset(("claude-bounded", "lost", "changed"))
"""Standard error does not show the finding."""


class Finding(Struct, frozen=True):
    """A note, warning or error about a transcript or a file.

    `details` are further lines; `tokens` is the cost of the subject. `line` counts the lines of the
    file from 1; `index` is the position of the message among the messages as read. `kind` is the
    noun by which reports add up losses of a conversion.
    """

    code: Code
    severity: Severity
    message: str
    line: int | None = None
    index: int | None = None
    tokens: int | None = None
    details: tuple[str, ...] = ()
    kind: str | None = None


def has_error(findings: Iterable[Finding], codes: frozenset[Code]) -> bool:
    """Whether one of the findings is an error with one of the codes."""
    return any(finding.severity == "error" and finding.code in codes for finding in findings)


def has_overflow(findings: Iterable[Finding]) -> bool:
    """Whether the findings report that a transcript does not fit."""
    return "overflow" in [finding.code for finding in findings]


def is_handled(findings: Iterable[Finding]) -> bool:
    """Whether the stages ran and their outcome passed the self-check."""
    return LEFT_OUT.isdisjoint([finding.code for finding in findings])


SPLIT = "Split the input into several transcripts, or raise the budget."
"""What to do about a transcript whose messages do not fit."""
FEWER_TOOLS = "Send fewer tools, or raise the budget."
"""What to do about a transcript whose tool schemas alone do not fit."""


def overflow(
    transcript: Transcript,
    tokens: int,
    available: int,
    details: Iterable[str],
    exactness: Exactness,
    advice: str = SPLIT,
) -> Finding:
    """The finding that a transcript does not fit.

    `details`: one line for each message that cannot be dropped. `advice`: what to do.
    """
    return Finding(
        "overflow",
        "error",
        does_not_fit(tokens, available),
        transcript.line,
        tokens=tokens,
        details=(*label_of(tokens, exactness), *details, advice),
    )


def label_of(tokens: int, exactness: Exactness) -> tuple[str, ...]:
    """The line that says what the tokens of an overflow are; none if they are exact."""
    if exactness == "exact":
        return ()
    return (f"Current is {MEANINGS[exactness]}: {MARKS[exactness]}{tokens:,} tokens",)


class Subject(Struct, frozen=True):
    """A message as reports name it, and its cost in tokens.

    `tool`: the tool whose result it is. The texts are made when they are read: most large messages
    of a run are not among its largest.
    """

    index: int | None
    role: str
    tool: str | None
    line: int | None
    tokens: int
    exactness: Exactness

    @property
    def name(self) -> str:
        """The message by its index and its role or tool."""
        number = "" if self.index is None else f" {self.index}"
        subject = f"result of {self.tool}" if self.tool else self.role
        return f"message{number} ({subject})"

    @property
    def text(self) -> str:
        """One line that names the message, its line in the file and its cost."""
        place = "" if self.line is None else f", line {self.line}"
        return f"{self.name}{place}: {MARKS[self.exactness]}{self.tokens:,} tokens"


def subject_of(
    message: Message, line: int | None, call: Part | None, tokens: int, exactness: Exactness
) -> Subject:
    """A message as reports name it. `call`: the call that the message answers, if any."""
    result, tool = message.result, None
    if result is not None:
        tool = result.name or (call.name if call else None)
    return Subject(message.index, message.role, tool, line, tokens, exactness)
