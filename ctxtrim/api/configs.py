"""The configs of the API as types, so that type checkers see an unknown key.

Every key is optional. Keys are the settings of `ctxtrim.toml` in snake_case, and the names that
other programs use for them. Sizes are in tokens, ages in steps or turns, unless a name says lines,
bytes or characters. `docs/architecture/context-management.md` explains each setting.
"""

from collections.abc import Mapping
from typing import Any, Literal, TypedDict

TextList = str | list[str] | tuple[str, ...]


class _Count(TypedDict, total=False):
    tokenizer: str | None
    tokenEstimator: str
    safety: float


class _Model(TypedDict, total=False):
    model: str | None
    calibrate: bool
    thinking: str


class _Budget(TypedDict, total=False):
    context_window: int | None
    maxContextTokens: int
    reserve: int | None
    reservedOutputTokens: int
    reserveTokens: int
    budget: int | None
    enabled: bool


class _Pin(TypedDict, total=False):
    pin: TextList


class _Keep(TypedDict, total=False):
    keep_errors: bool
    errors: str
    keep_small: int
    keep_quoted: bool
    keep_chains: bool
    keep_active_files: bool
    preserveRecentFiles: bool
    active_steps: int | None
    activeFileSteps: int
    keep_tools: TextList


class _Recent(TypedDict, total=False):
    keep_recent_messages: int
    keepRecent: int
    keep_recent_tokens: int
    keepRecentTokens: int


class _RecentTurns(TypedDict, total=False):
    keep_recent_turns: int
    preserveRecentTurns: int


class _Summary(TypedDict, total=False):
    summary_tokens: int


class _Redact(TypedDict, total=False):
    redact: bool


class _Trim(TypedDict, total=False):
    strategy: str
    trimStrategy: str
    target: float
    preserve_system_prompt: bool
    preserveSystemPrompt: bool
    keep_answer: bool
    summarize: bool
    summarizeOnTruncate: bool


class _Truncate(TypedDict, total=False):
    clock: str
    max_age: int
    maxToolOutputAge: int
    max_tokens: int
    maxTokensPerOutput: int
    maxToolOutputTokens: int
    max_lines: int
    max_bytes: int
    max_chars: int
    mode: str
    truncationMode: str
    spill_above: int
    spillThreshold: int
    largeOutputThreshold: int
    tool: TextList
    replace: str
    placeholder: str
    truncatePlaceholder: str
    truncatedPlaceholder: str
    placeholderTemplate: str
    pointer: str
    head_lines: int
    assign_ids: bool
    dedupe: bool
    metadata: bool
    current_turn: int | None


class _Compact(TypedDict, total=False):
    max_messages: int
    maxMessages: int
    session_tokens: int
    maxTokens: int
    tool_cutoff: int
    toolCallCutoff: int
    tool_summary: str
    toolSummaryStrategy: str
    summary_place: str
    auto: bool
    autoCompact: bool


class _Others(TypedDict, total=False):
    preset: str
    pipeline: list[str]
    largest: int
    repair: str
    profile: str
    max_tokens_per_result: int
    max_tool_share: float
    current_step: int | None
    contextManagement: Mapping[str, Any]
    compactor: Mapping[str, Any]
    toolOutput: Mapping[str, Any]


class _Read(TypedDict, total=False):
    format: str
    messages_path: str
    each_request: bool
    max_size: int | str


class _Job(TypedDict, total=False):
    on_overflow: Literal["fail", "keep"]
    keep_snapshots: bool
    explain: bool


class CountConfig(_Count, total=False):
    """The tokenizer. `safety` divides budgets, so it has no effect on a count."""


class TrimConfig(
    _Count, _Model, _Pin, _Keep, _Recent, _RecentTurns, _Trim, _Summary, _Redact, total=False
):
    """How messages are dropped: model, strategy, and what is kept."""


class TruncateConfig(_Count, _Model, _Budget, _Pin, _Keep, _Truncate, total=False):
    """Which tool results are replaced or clipped."""


class SummaryConfig(_Count, _Model, _Pin, _Recent, _RecentTurns, _Summary, _Redact, total=False):
    """The length of a summary, and whether secrets in it are masked."""


class CompactConfig(_Count, _Model, _Budget, _Pin, _Recent, _Compact, _Redact, total=False):
    """When a session is compacted, and what is kept."""


class PromptConfig(
    _Count,
    _Model,
    _Budget,
    _Pin,
    _Keep,
    _Recent,
    _RecentTurns,
    _Summary,
    _Redact,
    _Trim,
    _Truncate,
    _Compact,
    _Others,
    total=False,
):
    """The budget of a prompt, the stages that make it fit, and all settings of these stages."""


class ReadConfig(_Read, total=False):
    """The format of files, and the most bytes of a line or document."""


class PipelineConfig(PromptConfig, _Read, _Job, total=False):
    """All settings of a pipeline, the format of files, and what to do with an overflow."""
