"""Count, truncate, trim and check recorded LLM conversations.

The names a library user imports are loaded when they are first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ctxtrim.counter import Count, Counter
    from ctxtrim.errors import CtxtrimError
    from ctxtrim.framing import Framing
    from ctxtrim.model import Message, Part, Transcript
    from ctxtrim.models import Model, find_model
    from ctxtrim.stage import Change, Finding, Outcome, Stage
    from ctxtrim.stages import STAGES
    from ctxtrim.tokenizers import tokenizer
    from ctxtrim.tokens import Budget, Tokenizer

__version__ = "0.1.0"

_HOMES = {
    "Budget": "tokens",
    "Change": "stage",
    "Count": "counter",
    "Counter": "counter",
    "CtxtrimError": "errors",
    "Finding": "stage",
    "Framing": "framing",
    "Message": "model",
    "Model": "models",
    "Outcome": "stage",
    "Part": "model",
    "STAGES": "stages",
    "Stage": "stage",
    "Tokenizer": "tokens",
    "Transcript": "model",
    "find_model": "models",
    "tokenizer": "tokenizers",
}

__all__ = [
    "STAGES",
    "Budget",
    "Change",
    "Count",
    "Counter",
    "CtxtrimError",
    "Finding",
    "Framing",
    "Message",
    "Model",
    "Outcome",
    "Part",
    "Stage",
    "Tokenizer",
    "Transcript",
    "find_model",
    "tokenizer",
]


def __getattr__(name: str) -> Any:
    """Load a public name from its home."""
    if name in _HOMES:
        return getattr(import_module(f"ctxtrim.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'ctxtrim' has no attribute {name!r}")
