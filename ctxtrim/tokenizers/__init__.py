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


def _claude_v3(is_light: bool) -> Tokenizer:
    if available():
        return Reconstructed("claude-v3", "4.5")
    return _claude_v3_bound(is_light)


def _claude_v3_bound(is_light: bool) -> Tokenizer:
    return ClaudeBound("claude-v3-bound", 1.6, _encoding("o200k_base")(is_light), _encoding("cl100k_base")(is_light))


def _claude_v4_7(is_light: bool) -> Tokenizer:
    if available():
        return Reconstructed("claude-v4.7", "4.7")
    return _claude_v4_7_bound(is_light)


def _claude_v4_7_bound(is_light: bool) -> Tokenizer:
    encodings = _encoding("o200k_base")(is_light), _encoding("cl100k_base")(is_light)
    return ClaudeBound("claude-v4.7-bound", 2.35, *encodings, spells_capitals=True)


def _unknown(is_light: bool) -> Tokenizer:
    """For a model nobody knows: too many tokens rather than too few."""
    return Larger((Encoding("o200k_base", "estimated", is_light), PerUnit("chars4")))


TOKENIZERS: dict[str, Callable[[bool], Tokenizer]] = {
    "o200k_base": _encoding("o200k_base"),
    "cl100k_base": _encoding("cl100k_base"),
    "claude-v3": _claude_v3,
    "claude-v4.7": _claude_v4_7,
    "claude-v3-bound": _claude_v3_bound,
    "claude-v4.7-bound": _claude_v4_7_bound,
    "gpt": _encoding("o200k_base"),
    "claude": _claude_v4_7,
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
