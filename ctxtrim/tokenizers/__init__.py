"""The tokenizers by name, including those that programs register.

All of them work offline. Vocabularies are loaded when the first text is counted.
"""

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

from ctxtrim.errors import TokenizerError, UsageError, must_be_text
from ctxtrim.loading import LazyTable, module_table
from ctxtrim.tokenizers.program_tokenizers import OWN, add, family_of, registrations
from ctxtrim.tokenizers.tokenizer_files import SUFFIXES, is_path, tokenizer_file
from ctxtrim.tokens.models import assumed_model, find_model
from ctxtrim.tokens.tokenizer import Encodes, Tokenizer

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = [
    "LIGHT",
    "OWN",
    "PLUGINS",
    "TOKENIZERS",
    "add",
    "check_name",
    "count",
    "encode",
    "family_of",
    "of_model",
    "registrations",
    "tokenizer",
]

LIGHT = 200_000
"""Bytes of input up to which the small-text engine finishes before others have loaded their
vocabulary.
"""


TOKENIZERS: LazyTable[Callable[[bool], Tokenizer]] = module_table(
    "ctxtrim.tokenizers",
    {
        "o200k_base": "encodings:O200K",
        "cl100k_base": "encodings:CL100K",
        "claude-v3": "claude:V3",
        "claude-v4.7": "claude:V4_7",
        "claude-v4.8": "claude:V4_8",
        "claude-v3-bound": "claude:V3_BOUND",
        "claude-v4.7-bound": "claude:V4_7_BOUND",
        "claude-v4.8-bound": "claude:V4_8_BOUND",
        "gpt": "encodings:O200K",
        "claude": "claude:V4_8",
        "llama": "heuristics:unknown",
        "unknown": "heuristics:unknown",
        "chars4": "heuristics:CHARS4",
        "bytes4": "heuristics:BYTES4",
    },
)
"""The tokenizers by name.

A family name is the newest tokenizer of the family. Claude's names use ctok if installed (Python
3.12 and newer), otherwise the bound.
"""


PLUGINS = "ctxtrim.tokenizers"
"""The entry point group of other packages.

An entry is a `Tokenizer`, or a function that makes one.
"""


def check_name(name: str, *others: str) -> None:
    """Raise a `ValueError` unless there is a tokenizer of this name, or it is one of `others`.

    The path of a file is valid; the file is not read.
    """
    if name.lower() in OWN or name in TOKENIZERS or name in others or is_path(name):
        return
    plugins = _plugins()
    if name not in plugins:
        names = ", ".join((*others, *TOKENIZERS, *plugins))
        raise ValueError(f"unknown tokenizer; expected {names}, or a tokenizer.json or .model file")


def tokenizer(name: str, is_light: bool = False) -> Tokenizer:
    """The tokenizer of a name: one of ctxtrim, of the program or of a package, or a file.

    Raises a `UsageError` that lists the names for an unknown one.

    `is_light`: the input is small, so that a quick start matters more than speed. The numbers are
    the same.
    """
    must_be_text(name, "tokenizer: name")
    registration = OWN.get(name.lower())
    if registration is not None:
        return registration
    return tokenizer_file(name) if is_path(name) else _built(name, is_light)


def _plugins() -> "dict[str, EntryPoint]":
    from importlib.metadata import entry_points  # slow to import, and few programs have plugins

    return {plugin.name: plugin for plugin in entry_points(group=PLUGINS)}


@cache
def _built(name: str, is_light: bool) -> Tokenizer:
    if name in TOKENIZERS:
        return TOKENIZERS[name](is_light)
    try:
        check_name(name)
    except ValueError as error:
        raise UsageError(f"tokenizer {name}: {error}") from None
    plugin = _plugins()[name].load()
    is_tokenizer = hasattr(plugin, "count") and not isinstance(plugin, type)
    return plugin if is_tokenizer else plugin()  # type: ignore[no-any-return]


def of_model(model: str | None) -> Tokenizer:
    """The tokenizer for a model: one registered for its family, else the one in the model registry.

    For an unknown model, the larger of `o200k_base` and one token per four characters.
    """
    family = family_of(model) if model is not None else None
    return tokenizer(family or assumed_model(model).tokenizer)


def count(text: str, name: str | None = None) -> int:
    """The tokens of a text. `name` is a tokenizer, a family or a model."""
    must_be_text(text, "count: text")
    return _tokenizer_of(name).count(text)


def encode(text: str, name: str | None = None) -> list[int]:
    """The token ids of a text; a `TokenizerError` if the tokenizer can only count them."""
    must_be_text(text, "encode: text")
    encoder = _tokenizer_of(name)
    if not isinstance(encoder, Encodes):
        raise TokenizerError(
            f"tokenizer {encoder.name} can count tokens but not encode them; "
            "use gpt, o200k_base, cl100k_base or a tokenizer file"
        )
    return encoder.encode(text)


def _tokenizer_of(name: str | None) -> Tokenizer:
    """The tokenizer of a tokenizer, family or model name; without a name, the default."""
    if name is None:
        return of_model(name)
    must_be_text(name, "tokenizer: name")
    is_tokenizer = name.lower() in OWN or name in TOKENIZERS or name.endswith(SUFFIXES)
    if is_tokenizer or (find_model(name) is None and name in _plugins()):
        return tokenizer(name)
    return of_model(name)
