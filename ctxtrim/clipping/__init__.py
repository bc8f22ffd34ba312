"""Clips: a text made short enough, in the way that its kind of text asks for.

`KINDS` are tried in order; a new kind is a module with a `Kind` and a name in this table.
"""

from collections.abc import Sequence

from ctxtrim.clipping.diff import DIFF
from ctxtrim.clipping.json_lines import JSON_LINES
from ctxtrim.clipping.json_value import JSON
from ctxtrim.clipping.kind import Cut, Kind
from ctxtrim.clipping.listing import LISTING
from ctxtrim.clipping.log import LOG
from ctxtrim.clipping.markers import Range
from ctxtrim.clipping.order import Mode
from ctxtrim.clipping.plain import PLAIN
from ctxtrim.clipping.selection import fits
from ctxtrim.errors import UsageError
from ctxtrim.tokens import Tokenizer, head, tail

KINDS: tuple[Kind, ...] = (JSON_LINES, JSON, DIFF, LISTING, LOG, PLAIN)
MODES: tuple[Mode, ...] = ("head", "tail", "head-tail")


def kind_of(text: str) -> str:
    """The name of the first kind that knows a text."""
    return next(kind.name for kind in KINDS if kind.knows(text))


def clip(text: str, limit: int, tokenizer: Tokenizer, mode: Mode = "head-tail", keep: Sequence[Range] = ()) -> str:
    """A text with at most `limit` tokens, markers included; a text that fits is given back as it is.

    `mode` says which ends of it stay. `keep` are ranges of characters that stand in the clip where they fit, in order:
    each as a whole where it fits into a third of the limit, else its beginning. Where not even a marker fits, the clip
    is the beginning of the text (its end with mode `tail`) alone. An unknown mode is a `UsageError`.
    """
    if mode not in MODES:
        raise UsageError(f"no such mode: {mode}; expected one of {', '.join(MODES)}")
    if fits(text, limit, tokenizer):
        return text
    if limit < 1:
        return ""
    cut = Cut(text, limit, tokenizer, mode, keep)
    for kind in KINDS:
        if kind.knows(text):
            found = kind.clip(cut)
            if found is not None:
                return found
    return (tail if mode == "tail" else head)(tokenizer, text, limit)
