"""Clips: shorten one text, in a way that suits its kind.

`clipper.KINDS` are tried in order. A new kind is a module with a `Kind` and an entry in this table.
"""

from collections.abc import Sequence

from ctxtrim.clipping.clipper import KINDS, Clipper, kind_of
from ctxtrim.clipping.layout import Mode
from ctxtrim.errors import UsageError
from ctxtrim.text.json_spans import Range
from ctxtrim.tokens import Tokenizer

__all__ = ["KINDS", "MODES", "Clipper", "Mode", "clip", "kind_of"]

MODES: tuple[Mode, ...] = ("head", "tail", "head-tail")


def clip(
    text: str,
    limit: int,
    tokenizer: Tokenizer,
    mode: Mode = "head-tail",
    keep: Sequence[Range] = (),
) -> str:
    """A text cut to at most `limit` tokens, markers included.

    A text that fits is returned unchanged.

    `mode` says which ends are kept. `keep` are ranges of characters, most important first: they
    extend the head or the tail, or form one range between them, as far as they fit. A range that
    needs more than a third of the limit is cut to its beginning. If not even a marker fits, the
    clip is the beginning of the text only (its end with mode `tail`). An unknown mode is a
    `UsageError`.
    """
    if mode not in MODES:
        raise UsageError(f"unknown mode: {mode}; expected one of {', '.join(MODES)}")
    return Clipper(text, tokenizer, mode, keep).within(limit)
