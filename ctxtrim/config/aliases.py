"""Aliases: the names and values that other programs use for the settings of ctxtrim.

A camelCase form of a ctxtrim name needs no row. The target of a row is `stage.setting`, or
`setting` alone for a run setting and for every stage that has the setting.
"""

from collections.abc import Mapping

from msgspec import Struct


class Alias(Struct, frozen=True):
    """An alias and its target.

    If `word` is set, the alias is a flag and the target is not: true is the word, and false only
    means that a source with less precedence must not choose the word.
    """

    name: str
    target: str
    word: str = ""


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
        Alias("summarizeOnTruncate", "truncate.replace", "summary"),
        Alias("summarizeOnTruncate", "trim.summarize"),
        Alias("maxContextTokens", "context-window"),
        Alias("reservedOutputTokens", "reserve"),
        Alias("tokenEstimator", "tokenizer"),
        Alias("trimStrategy", "trim.strategy"),
        Alias("preserveSystemPrompt", "trim.preserve-system-prompt"),
        Alias("preserveRecentTurns", "trim.keep-recent-turns"),
        # of the compactor, and also names of settings of other stages
        Alias("maxMessages", "compact.max-messages"),
        Alias("keepRecentTokens", "compact.keep-recent-tokens"),
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
"""Aliases by the block that other programs use.

Files of ctxtrim accept every alias in any place, without `AMBIGUOUS`.
"""

AMBIGUOUS: Mapping[str, str] = {
    "maxMessages": "[compact] max-messages or [check] max-messages",
    "maxTokens": "[compact] session-tokens or [truncate] max-tokens",
}
"""Aliases that files of ctxtrim accept in tables only, each with the keys that it may mean.

They are also names of other settings in camelCase.
"""

VALUE_ALIASES: Mapping[str, Mapping[str, str]] = {
    "truncate.mode": {"head_tail": "head-tail"},
    "trim.strategy": {
        "priority-based": "priority",
        "oldest-first": "oldest",
        "middle-out": "middle",
        "age-based": "age",
    },
}
"""Aliases of values, by setting."""

STAGES_OF: Mapping[str, tuple[str, ...]] = {
    COMPACTOR: ("cutoff", "compact", "summarize"),
    OUTPUT: ("truncate",),
}
"""The stages that a block configures. Other blocks configure the run and all stages."""
