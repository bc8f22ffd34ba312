"""The tokenizers by name. All of them work offline; vocabularies are read when a text is first counted."""

from collections.abc import Callable
from functools import cache

from ctxtrim.errors import UsageError
from ctxtrim.tokenizers.claude import ClaudeBound
from ctxtrim.tokenizers.encodings import Encoding
from ctxtrim.tokenizers.heuristics import Larger, PerUnit
from ctxtrim.tokens import Tokenizer


def _unknown() -> Tokenizer:
    """For a model nobody knows: too many tokens rather than too few."""
    return Larger((Encoding("o200k_base", "estimated"), PerUnit("chars4")))


TOKENIZERS: dict[str, Callable[[], Tokenizer]] = {
    "o200k_base": lambda: Encoding("o200k_base"),
    "cl100k_base": lambda: Encoding("cl100k_base"),
    "claude-v3": lambda: ClaudeBound("claude-v3", 1.6),
    "claude-v4.7": lambda: ClaudeBound("claude-v4.7", 2.35),
    "gpt": lambda: Encoding("o200k_base"),
    "claude": lambda: ClaudeBound("claude-v4.7", 2.35),
    "llama": _unknown,
    "unknown": _unknown,
    "chars4": lambda: PerUnit("chars4"),
    "bytes4": lambda: PerUnit("bytes4"),
}
"""What each name stands for; the family names stand for the newest of the family."""


@cache
def tokenizer(name: str) -> Tokenizer:
    """The tokenizer of a name; one that does not exist is a `UsageError` that lists those that do."""
    if name not in TOKENIZERS:
        raise UsageError(f"--tokenizer {name}: no such tokenizer; there are auto, {', '.join(TOKENIZERS)}")
    return TOKENIZERS[name]()
