"""The tokenizers by name. All of them work offline; vocabularies are read when a text is first counted."""

from collections.abc import Callable
from functools import cache
from importlib.metadata import entry_points

from ctxtrim.errors import UsageError
from ctxtrim.tokenizers.claude import ClaudeBound
from ctxtrim.tokenizers.claude_ctok import Reconstructed, available
from ctxtrim.tokenizers.encodings import Encoding
from ctxtrim.tokenizers.file import TokenizerFile, is_path
from ctxtrim.tokenizers.heuristics import Larger, PerUnit
from ctxtrim.tokens import Tokenizer

LIGHT = 200_000
"""Bytes of input up to which the engine for little text is done before another has read its vocabulary."""


def _encoding(name: str) -> Callable[[bool], Encoding]:
    return lambda is_light: Encoding(name, is_light=is_light)


def _claude(name: str, version: str) -> Callable[[bool], Tokenizer]:
    """Claude's tokens as ctok counts them for a version of the model; their bound where ctok is not installed."""
    return lambda is_light: Reconstructed(name, version) if available() else TOKENIZERS[f"{name}-bound"](is_light)


def _claude_bound(name: str, factor: float, spells_capitals: bool) -> Callable[[bool], Tokenizer]:
    latin, other = _encoding("o200k_base"), _encoding("cl100k_base")
    return lambda is_light: ClaudeBound(name, factor, latin(is_light), other(is_light), spells_capitals)


def _unknown(is_light: bool) -> Tokenizer:
    """For a model nobody knows: too many tokens rather than too few."""
    return Larger((Encoding("o200k_base", "estimated", is_light), PerUnit("chars4")))


TOKENIZERS: dict[str, Callable[[bool], Tokenizer]] = {
    "o200k_base": _encoding("o200k_base"),
    "cl100k_base": _encoding("cl100k_base"),
    "claude-v3": _claude("claude-v3", "4.5"),
    "claude-v4.7": _claude("claude-v4.7", "4.7"),
    "claude-v4.8": _claude("claude-v4.8", "4.8"),
    "claude-v3-bound": _claude_bound("claude-v3-bound", 1.65, spells_capitals=False),
    "claude-v4.7-bound": _claude_bound("claude-v4.7-bound", 2.35, spells_capitals=True),
    "claude-v4.8-bound": _claude_bound("claude-v4.8-bound", 2.35, spells_capitals=True),
    "gpt": _encoding("o200k_base"),
    "claude": _claude("claude-v4.8", "4.8"),
    "llama": _unknown,
    "unknown": _unknown,
    "chars4": lambda is_light: PerUnit("chars4"),
    "bytes4": lambda is_light: PerUnit("bytes4"),
}
"""What each name stands for; the family names stand for the newest of the family, and Claude's for
ctok where it is installed (Python 3.12 and newer), else for the bound."""


PLUGINS = "ctxtrim.tokenizers"
"""The entry point group of other packages: an entry is a `Tokenizer`, or a function without arguments making one."""


@cache
def tokenizer(name: str, is_light: bool = False) -> Tokenizer:
    """The tokenizer of a name: ours, a file's, or another package's; a `UsageError` lists those that there are.

    `is_light`: there is little to count, so that a quick start matters more than speed. The numbers are the same.
    """
    if name in TOKENIZERS:
        return TOKENIZERS[name](is_light)
    if is_path(name):
        return TokenizerFile(name)
    plugins = {plugin.name: plugin for plugin in entry_points(group=PLUGINS)}
    if name not in plugins:
        known = ", ".join((*TOKENIZERS, *plugins, "usage"))
        raise UsageError(f"--tokenizer {name}: no such tokenizer; there are auto, {known}, or the path of a file")
    made = plugins[name].load()
    return made if hasattr(made, "count") and not isinstance(made, type) else made()  # type: ignore[no-any-return]
