"""Count, truncate, trim and check recorded LLM conversations.

The names a library user imports are loaded when they are first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ctxtrim.api.results import (
        active_files,
        count_steps,
        summarize_tool_output,
        tag_steps,
        truncate_old_tool_outputs,
    )
    from ctxtrim.counter import Count, Counter
    from ctxtrim.errors import CtxtrimError
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
    "ContextWindow": "retention",
    "Count": "counter",
    "Counter": "counter",
    "CtxtrimError": "errors",
    "FileReference": "evidence",
    "Finding": "stage",
    "Framing": "framing",
    "KeyInfo": "evidence",
    "Message": "model",
    "Model": "models",
    "Outcome": "stage",
    "Part": "model",
    "STAGES": "stages",
    "SpecRefreshMessage": "retention",
    "Stage": "stage",
    "Tokenizer": "tokens",
    "ToolResultMessage": "retention",
    "ToolResultRetentionPolicy": "retention",
    "Transcript": "model",
    "UserMessage": "retention",
    "active_files": "api.results",
    "count_steps": "api.results",
    "extract_key_info": "evidence",
    "find_model": "models",
    "summarize_tool_output": "api.results",
    "tag_steps": "api.results",
    "tokenizer": "tokenizers",
    "truncate_old_tool_outputs": "api.results",
    "truncate_text": "limits",
}

__all__ = [
    "STAGES",
    "AssistantMessage",
    "Budget",
    "Change",
    "ContextWindow",
    "Count",
    "Counter",
    "CtxtrimError",
    "FileReference",
    "Finding",
    "Framing",
    "KeyInfo",
    "Message",
    "Model",
    "Outcome",
    "Part",
    "SpecRefreshMessage",
    "Stage",
    "Tokenizer",
    "ToolResultMessage",
    "ToolResultRetentionPolicy",
    "Transcript",
    "UserMessage",
    "active_files",
    "count_steps",
    "extract_key_info",
    "find_model",
    "summarize_tool_output",
    "tag_steps",
    "tokenizer",
    "truncate_old_tool_outputs",
    "truncate_text",
]


def __getattr__(name: str) -> Any:
    """Load a public name from its home."""
    if name in _HOMES:
        return getattr(import_module(f"ctxtrim.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'ctxtrim' has no attribute {name!r}")
