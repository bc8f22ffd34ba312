"""What other programs call our settings: the names and values of the designs that ctxtrim grew from.

A name of ours in camelCase needs no row. What a row leads to is `stage.setting`, or `setting` alone: one of the whole
run, or of every stage that has it.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Alias:
    """A name, and what it is here. A flag that is no flag here has `values` for true and false; None says nothing."""

    name: str
    target: str
    values: Mapping[bool, str | None] | None = None


CONTEXT, COMPACTOR, OUTPUT = "contextManagement", "compactor", "toolOutput"

ALIASES: Mapping[str, tuple[Alias, ...]] = {
    CONTEXT: (
        Alias("maxTokensPerOutput", "truncate.max-tokens"),
        Alias("maxToolOutputAge", "truncate.max-age"),
        Alias("maxToolOutputTokens", "truncate.max-tokens"),
        Alias("truncatePlaceholder", "truncate.placeholder"),
        Alias("truncatedPlaceholder", "truncate.placeholder"),
        Alias("placeholderTemplate", "truncate.placeholder"),
        Alias("preserveRecentFiles", "keep-active-files"),
        Alias("activeFileSteps", "active-steps"),
        Alias("summarizeOnTruncate", "truncate.replace", {True: "summary", False: None}),
        Alias("summarizeOnTruncate", "trim.summarize"),
        Alias("maxContextTokens", "context-window"),
        Alias("reservedOutputTokens", "reserve"),
        Alias("tokenEstimator", "tokenizer"),
        Alias("trimStrategy", "trim.strategy"),
        Alias("preserveSystemPrompt", "trim.preserve-system-prompt"),
        Alias("preserveRecentTurns", "trim.keep-recent-turns"),
    ),
    COMPACTOR: (
        Alias("maxMessages", "compact.max-messages"),
        Alias("maxTokens", "compact.session-tokens"),
        Alias("keepRecent", "compact.keep-recent-messages"),
        Alias("keepRecentTokens", "compact.keep-recent-tokens"),
        Alias("reserveTokens", "reserve"),
        Alias("toolCallCutoff", "tool-cutoff"),
        Alias("toolSummaryStrategy", "tool-summary"),
        Alias("autoCompact", "compact.auto"),
    ),
    OUTPUT: (
        Alias("truncationMode", "truncate.mode"),
        Alias("spillThreshold", "truncate.spill-above"),
        Alias("largeOutputThreshold", "truncate.spill-above"),
    ),
}
"""By the block in which other programs say it. In files of our own every name may stand anywhere."""

WORDS: Mapping[str, Mapping[str, str]] = {
    "truncate.mode": {"head_tail": "head-tail"},
    "trim.strategy": {
        "priority-based": "priority",
        "oldest-first": "oldest",
        "middle-out": "middle",
        "age-based": "age",
    },
}
"""What values are called there, by setting."""

STAGES_OF: Mapping[str, tuple[str, ...]] = {COMPACTOR: ("cutoff", "compact", "summarize"), OUTPUT: ("truncate",)}
"""The stages that a block is about; what it does not name is about all of them, and about the whole run."""
