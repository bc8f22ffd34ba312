"""The API for programs: message lists in, new lists and small frozen values out.

Arguments are never changed. The names are loaded when they are first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ctxtrim import tokenizers
    from ctxtrim.api.budgets import (
        EnforcedLimit,
        compute_max_input_tokens,
        enforce_context_limit,
        estimate_tokens,
        trim_conversation,
    )
    from ctxtrim.api.compaction import (
        Compacted,
        compact,
        effective_token_limit,
        estimate_context_tokens,
        should_compact,
    )
    from ctxtrim.api.configs import (
        CompactConfig,
        CountConfig,
        PipelineConfig,
        PromptConfig,
        ReadConfig,
        SummaryConfig,
        TrimConfig,
        TruncateConfig,
    )
    from ctxtrim.api.files import read
    from ctxtrim.api.final_prompt import FinalPrompt, build_final_prompt
    from ctxtrim.api.fit import PromptUsage
    from ctxtrim.api.overflow import ContextOverflowError, Irreducible
    from ctxtrim.api.pipelines import FileOutcome, MessagesOutcome, Pipeline, RequestOutcome
    from ctxtrim.api.provider_errors import is_context_length_exceeded
    from ctxtrim.api.retention import (
        AssistantMessage,
        ContextMessage,
        ContextWindow,
        SpecRefreshMessage,
        ToolResultMessage,
        ToolResultRetentionPolicy,
        UserMessage,
    )
    from ctxtrim.api.retry import with_recovery
    from ctxtrim.api.summary import ContextSummary, summarize_context
    from ctxtrim.api.tool_outputs import (
        active_files,
        count_steps,
        summarize_tool_output,
        tag_steps,
        truncate_old_tool_outputs,
    )
    from ctxtrim.api.verdict import BudgetVerdict, fits
    from ctxtrim.clipping.limits import truncate_text
    from ctxtrim.errors import (
        CtxtrimError,
        InputError,
        OutputError,
        SummaryError,
        TokenizerError,
        UsageError,
    )
    from ctxtrim.evidence.active_files import FileReference
    from ctxtrim.evidence.key_info import KeyInfo, extract_key_info
    from ctxtrim.findings import Finding
    from ctxtrim.model import Message, Part, Transcript
    from ctxtrim.reports.model import Row
    from ctxtrim.stage import Change, Outcome, Stage
    from ctxtrim.stages import STAGES
    from ctxtrim.stages.events import Event
    from ctxtrim.stream.job import Done
    from ctxtrim.summaries.summarizer import Reply, Summarizer
    from ctxtrim.tokenizers import tokenizer
    from ctxtrim.tokens.counter import Count, Counter
    from ctxtrim.tokens.framing import Framing
    from ctxtrim.tokens.models import Model, find_model
    from ctxtrim.tokens.tokenizer import Budget, Tokenizer

_NAMES = {
    "api.budgets": (
        "EnforcedLimit",
        "compute_max_input_tokens",
        "enforce_context_limit",
        "estimate_tokens",
        "trim_conversation",
    ),
    "api.compaction": (
        "Compacted",
        "compact",
        "effective_token_limit",
        "estimate_context_tokens",
        "should_compact",
    ),
    "api.configs": (
        "CompactConfig",
        "CountConfig",
        "PipelineConfig",
        "PromptConfig",
        "ReadConfig",
        "SummaryConfig",
        "TrimConfig",
        "TruncateConfig",
    ),
    "api.files": ("read",),
    "api.final_prompt": ("FinalPrompt", "build_final_prompt"),
    "api.fit": ("PromptUsage",),
    "api.overflow": ("ContextOverflowError", "Irreducible"),
    "api.pipelines": ("FileOutcome", "MessagesOutcome", "Pipeline", "RequestOutcome"),
    "api.provider_errors": ("is_context_length_exceeded",),
    "api.retention": (
        "AssistantMessage",
        "ContextMessage",
        "ContextWindow",
        "SpecRefreshMessage",
        "ToolResultMessage",
        "ToolResultRetentionPolicy",
        "UserMessage",
    ),
    "api.retry": ("with_recovery",),
    "api.summary": ("ContextSummary", "summarize_context"),
    "api.tool_outputs": (
        "active_files",
        "count_steps",
        "summarize_tool_output",
        "tag_steps",
        "truncate_old_tool_outputs",
    ),
    "api.verdict": ("BudgetVerdict", "fits"),
    "clipping.limits": ("truncate_text",),
    "errors": (
        "CtxtrimError",
        "InputError",
        "OutputError",
        "SummaryError",
        "TokenizerError",
        "UsageError",
    ),
    "evidence.active_files": ("FileReference",),
    "evidence.key_info": ("KeyInfo", "extract_key_info"),
    "findings": ("Finding",),
    "model": ("Message", "Part", "Transcript"),
    "reports.model": ("Row",),
    "stage": ("Change", "Outcome", "Stage"),
    "stages": ("STAGES",),
    "stages.events": ("Event",),
    "stream.job": ("Done",),
    "summaries.summarizer": ("Reply", "Summarizer"),
    "tokenizers": ("tokenizer",),
    "tokens.tokenizer": ("Budget", "Tokenizer"),
    "tokens.counter": ("Count", "Counter"),
    "tokens.framing": ("Framing",),
    "tokens.models": ("Model", "find_model"),
}
"""The public names by module."""
_MODULE_OF = {name: module for module, names in _NAMES.items() for name in names}

__all__ = [
    "STAGES",
    "AssistantMessage",
    "Budget",
    "BudgetVerdict",
    "Change",
    "CompactConfig",
    "Compacted",
    "ContextMessage",
    "ContextOverflowError",
    "ContextSummary",
    "ContextWindow",
    "Count",
    "CountConfig",
    "Counter",
    "CtxtrimError",
    "Done",
    "EnforcedLimit",
    "Event",
    "FileOutcome",
    "FileReference",
    "FinalPrompt",
    "Finding",
    "Framing",
    "InputError",
    "Irreducible",
    "KeyInfo",
    "Message",
    "MessagesOutcome",
    "Model",
    "Outcome",
    "OutputError",
    "Part",
    "Pipeline",
    "PipelineConfig",
    "PromptConfig",
    "PromptUsage",
    "ReadConfig",
    "Reply",
    "RequestOutcome",
    "Row",
    "SpecRefreshMessage",
    "Stage",
    "Summarizer",
    "SummaryConfig",
    "SummaryError",
    "Tokenizer",
    "TokenizerError",
    "ToolResultMessage",
    "ToolResultRetentionPolicy",
    "Transcript",
    "TrimConfig",
    "TruncateConfig",
    "UsageError",
    "UserMessage",
    "active_files",
    "build_final_prompt",
    "compact",
    "compute_max_input_tokens",
    "count_steps",
    "effective_token_limit",
    "enforce_context_limit",
    "estimate_context_tokens",
    "estimate_tokens",
    "extract_key_info",
    "find_model",
    "fits",
    "is_context_length_exceeded",
    "read",
    "should_compact",
    "summarize_context",
    "summarize_tool_output",
    "tag_steps",
    "tokenizer",
    "tokenizers",
    "trim_conversation",
    "truncate_old_tool_outputs",
    "truncate_text",
    "with_recovery",
]


def __dir__() -> list[str]:
    """The public names, loaded or not."""
    return list(__all__)


if not TYPE_CHECKING:  # otherwise type checkers accept every name

    def __getattr__(name: str) -> Any:
        """Load a public name from its module."""
        if name == "tokenizers":
            return import_module("ctxtrim.tokenizers")
        if name not in _MODULE_OF:
            raise AttributeError(f"module 'ctxtrim' has no attribute {name!r}")
        return getattr(import_module(f"ctxtrim.{_MODULE_OF[name]}"), name)
