"""Count, truncate, trim and check recorded LLM conversations.

The names a library user imports are loaded when they are first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ctxtrim import tokenizers
    from ctxtrim.api.compaction import (
        Compacted,
        compact,
        effective_token_limit,
        estimate_context_tokens,
        should_compact,
    )
    from ctxtrim.api.fitting import PromptUsage
    from ctxtrim.api.limits import (
        EnforcedLimit,
        compute_max_input_tokens,
        enforce_context_limit,
        estimate_tokens,
        trim_conversation,
    )
    from ctxtrim.api.overflows import is_context_length_exceeded
    from ctxtrim.api.prompt import FinalPrompt, build_final_prompt
    from ctxtrim.api.recovery import with_recovery
    from ctxtrim.api.results import (
        active_files,
        count_steps,
        summarize_tool_output,
        tag_steps,
        truncate_old_tool_outputs,
    )
    from ctxtrim.api.summary import ContextSummary, summarize_context
    from ctxtrim.counter import Count, Counter
    from ctxtrim.errors import ContextOverflowError, CtxtrimError, Irreducible
    from ctxtrim.events import Event
    from ctxtrim.evidence import FileReference, KeyInfo, extract_key_info
    from ctxtrim.framing import Framing
    from ctxtrim.limits import truncate_text
    from ctxtrim.model import Message, Part, Transcript
    from ctxtrim.models import Model, find_model
    from ctxtrim.retention import (
        AssistantMessage,
        ContextWindow,
        SpecRefreshMessage,
        ToolResultMessage,
        ToolResultRetentionPolicy,
        UserMessage,
    )
    from ctxtrim.stage import Change, Finding, Outcome, Stage
    from ctxtrim.stages import STAGES
    from ctxtrim.tokenizers import tokenizer
    from ctxtrim.tokens import Budget, Tokenizer

__version__ = "0.1.0"

_HOMES = {
    "AssistantMessage": "retention",
    "Budget": "tokens",
    "Change": "stage",
    "Compacted": "api.compaction",
    "ContextOverflowError": "errors",
    "ContextSummary": "api.summary",
    "ContextWindow": "retention",
    "Count": "counter",
    "Counter": "counter",
    "CtxtrimError": "errors",
    "EnforcedLimit": "api.limits",
    "Event": "events",
    "FileReference": "evidence",
    "FinalPrompt": "api.prompt",
    "Finding": "stage",
    "Framing": "framing",
    "Irreducible": "errors",
    "KeyInfo": "evidence",
    "Message": "model",
    "Model": "models",
    "Outcome": "stage",
    "Part": "model",
    "PromptUsage": "api.fitting",
    "STAGES": "stages",
    "SpecRefreshMessage": "retention",
    "Stage": "stage",
    "Tokenizer": "tokens",
    "ToolResultMessage": "retention",
    "ToolResultRetentionPolicy": "retention",
    "Transcript": "model",
    "UserMessage": "retention",
    "active_files": "api.results",
    "build_final_prompt": "api.prompt",
    "compact": "api.compaction",
    "compute_max_input_tokens": "api.limits",
    "count_steps": "api.results",
    "effective_token_limit": "api.compaction",
    "enforce_context_limit": "api.limits",
    "estimate_context_tokens": "api.compaction",
    "estimate_tokens": "api.limits",
    "extract_key_info": "evidence",
    "find_model": "models",
    "is_context_length_exceeded": "api.overflows",
    "should_compact": "api.compaction",
    "summarize_context": "api.summary",
    "summarize_tool_output": "api.results",
    "tag_steps": "api.results",
    "tokenizer": "tokenizers",
    "tokenizers": "",
    "trim_conversation": "api.limits",
    "truncate_old_tool_outputs": "api.results",
    "truncate_text": "limits",
    "with_recovery": "api.recovery",
}

__all__ = [
    "STAGES",
    "AssistantMessage",
    "Budget",
    "Change",
    "Compacted",
    "ContextOverflowError",
    "ContextSummary",
    "ContextWindow",
    "Count",
    "Counter",
    "CtxtrimError",
    "EnforcedLimit",
    "Event",
    "FileReference",
    "FinalPrompt",
    "Finding",
    "Framing",
    "Irreducible",
    "KeyInfo",
    "Message",
    "Model",
    "Outcome",
    "Part",
    "PromptUsage",
    "SpecRefreshMessage",
    "Stage",
    "Tokenizer",
    "ToolResultMessage",
    "ToolResultRetentionPolicy",
    "Transcript",
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
    "is_context_length_exceeded",
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


def __getattr__(name: str) -> Any:
    """Load a public name from its home; one without is a part of the package itself."""
    if name in _HOMES:
        home = _HOMES[name]
        return getattr(import_module(f"ctxtrim.{home}"), name) if home else import_module(f"ctxtrim.{name}")
    raise AttributeError(f"module 'ctxtrim' has no attribute {name!r}")
