"""The tokenizers by name. All of them work offline; vocabularies are read when a text is first counted."""

from collections.abc import Callable
from functools import cache

from ctxtrim.errors import UsageError
from ctxtrim.tokenizers.claude import ClaudeBound
from ctxtrim.tokenizers.encodings import Encoding
from ctxtrim.tokenizers.heuristics import Larger, PerUnit
from ctxtrim.tokens import Tokenizer

LIGHT = 200_000
"""Bytes of input up to which the engine for little text is done before another has read its vocabulary."""


def _encoding(name: str) -> Callable[[bool], Encoding]:
    return lambda is_light: Encoding(name, is_light=is_light)


def _claude_v3(is_light: bool) -> Tokenizer:
    return ClaudeBound("claude-v3", 1.6, _encoding("o200k_base")(is_light), _encoding("cl100k_base")(is_light))


def _claude_v4_7(is_light: bool) -> Tokenizer:
    encodings = _encoding("o200k_base")(is_light), _encoding("cl100k_base")(is_light)
    return ClaudeBound("claude-v4.7", 2.35, *encodings, spells_capitals=True)


def _unknown(is_light: bool) -> Tokenizer:
    """For a model nobody knows: too many tokens rather than too few."""
    return Larger((Encoding("o200k_base", "estimated", is_light), PerUnit("chars4")))


TOKENIZERS: dict[str, Callable[[bool], Tokenizer]] = {
    "o200k_base": _encoding("o200k_base"),
    "cl100k_base": _encoding("cl100k_base"),
    "claude-v3": _claude_v3,
    "claude-v4.7": _claude_v4_7,
    "gpt": _encoding("o200k_base"),
    "claude": _claude_v4_7,
    "llama": _unknown,
    "unknown": _unknown,
    "chars4": lambda is_light: PerUnit("chars4"),
    "bytes4": lambda is_light: PerUnit("bytes4"),
}
"""What each name stands for; the family names stand for the newest of the family."""


@cache
def tokenizer(name: str, is_light: bool = False) -> Tokenizer:
    """The tokenizer of a name; one that does not exist is a `UsageError` that lists those that do.

    `is_light`: there is little to count, so that a quick start matters more than speed. The numbers are the same.
    """
    if name not in TOKENIZERS:
        raise UsageError(f"--tokenizer {name}: no such tokenizer; there are auto, {', '.join(TOKENIZERS)}")
    return TOKENIZERS[name](is_light)
