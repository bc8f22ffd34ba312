"""The tokenizers by name, and the registry that programs add their own to.

All of them work offline; vocabularies are read when a text is first counted.
"""

from collections.abc import Callable
from functools import cache
from importlib.metadata import EntryPoint, entry_points

from ctxtrim.errors import TokenizerError, UsageError
from ctxtrim.tokenizers.claude_bound import ClaudeBound
from ctxtrim.tokenizers.claude_ctok import Reconstructed, available
from ctxtrim.tokenizers.encodings import Encoding
from ctxtrim.tokenizers.heuristics import Larger, PerUnit
from ctxtrim.tokenizers.registered import OWN, add, family_of
from ctxtrim.tokenizers.tokenizer_files import SUFFIXES, TokenizerFile, is_path
from ctxtrim.tokens import Encodes, Tokenizer
from ctxtrim.tokens.models import assumed_model, find_model

__all__ = ["LIGHT", "OWN", "PLUGINS", "TOKENIZERS", "add", "count", "encode", "family_of", "of_model", "tokenizer"]

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


def tokenizer(name: str, is_light: bool = False) -> Tokenizer:
    """The tokenizer of a name: one's own, ours, a file's, or another package's; a `UsageError` lists those there are.

    `is_light`: there is little to count, so that a quick start matters more than speed. The numbers are the same.
    """
    return OWN.get(name.lower()) or _built(name, is_light)


def _plugins() -> dict[str, EntryPoint]:
    return {plugin.name: plugin for plugin in entry_points(group=PLUGINS)}


@cache
def _built(name: str, is_light: bool) -> Tokenizer:
    if name in TOKENIZERS:
        return TOKENIZERS[name](is_light)
    if is_path(name):
        return TokenizerFile(name)
    plugins = _plugins()
    if name not in plugins:
        known = ", ".join((*TOKENIZERS, *plugins, "usage"))
        raise UsageError(f"--tokenizer {name}: no such tokenizer; there are auto, {known}, or the path of a file")
    made = plugins[name].load()
    return made if hasattr(made, "count") and not isinstance(made, type) else made()  # type: ignore[no-any-return]


def of_model(model: str | None) -> Tokenizer:
    """The tokenizer that counts for a model: one that was added for its family, else what the registry says.

    For a model that nobody knows it is the larger of `o200k_base` and a token for every four characters.
    """
    family = family_of(model) if model is not None else None
    return tokenizer(family or assumed_model(model).tokenizer)


def count(text: str, name: str | None = None) -> int:
    """The tokens of a text; `name` is that of a tokenizer, a family or a model."""
    return _named(name).count(text)


def encode(text: str, name: str | None = None) -> list[int]:
    """The tokens of a text by number; a `TokenizerError` where the tokenizer can only count them."""
    found = _named(name)
    if not isinstance(found, Encodes):
        raise TokenizerError(
            f"tokenizer {found.name} counts tokens but does not number them; "
            "gpt, o200k_base, cl100k_base and the file of a tokenizer do"
        )
    return found.encode(text)


def _named(name: str | None) -> Tokenizer:
    if name is None:
        return of_model(name)
    is_tokenizer = name.lower() in OWN or name in TOKENIZERS or name.endswith(SUFFIXES)
    if is_tokenizer or (find_model(name) is None and name in _plugins()):
        return tokenizer(name)
    return of_model(name)
