"""Claude's tokenizers by version: ctok's numbers if it is installed, else their upper bound."""

from collections.abc import Callable

from ctxtrim.tokenizers.claude_bound import ClaudeBound
from ctxtrim.tokenizers.claude_ctok import Reconstructed, available
from ctxtrim.tokenizers.encodings import CL100K, O200K
from ctxtrim.tokens.tokenizer import Tokenizer


def _bound(name: str, factor: float, spells_capitals: bool) -> Callable[[bool], Tokenizer]:
    """A function that makes the upper bound of a version."""
    return lambda is_light: ClaudeBound(
        name, factor, O200K(is_light), CL100K(is_light), spells_capitals
    )


def _tokenizer(
    name: str, version: str, bound: Callable[[bool], Tokenizer]
) -> Callable[[bool], Tokenizer]:
    """A function that makes the tokenizer of a version: ctok's, or the bound without ctok."""
    return lambda is_light: Reconstructed(name, version) if available() else bound(is_light)


V3_BOUND = _bound("claude-v3-bound", 1.65, spells_capitals=False)
V4_7_BOUND = _bound("claude-v4.7-bound", 2.35, spells_capitals=True)
V4_8_BOUND = _bound("claude-v4.8-bound", 2.35, spells_capitals=True)
V3 = _tokenizer("claude-v3", "4.5", V3_BOUND)
V4_7 = _tokenizer("claude-v4.7", "4.7", V4_7_BOUND)
V4_8 = _tokenizer("claude-v4.8", "4.8", V4_8_BOUND)
