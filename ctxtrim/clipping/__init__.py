"""Clips: a text made short enough, in the way that its kind of text asks for.

`KINDS` are tried in order; a new kind is a module with a `Kind` and a name in this table.
"""

from collections.abc import Sequence

from ctxtrim.clipping.diff import DIFF
from ctxtrim.clipping.json_lines import JSON_LINES
from ctxtrim.clipping.json_value import JSON
from ctxtrim.clipping.kind import Cut, Kind
from ctxtrim.clipping.layout import Mode, within
from ctxtrim.clipping.listing import LISTING
from ctxtrim.clipping.log import LOG
from ctxtrim.clipping.plain import PLAIN
from ctxtrim.clipping.selection import fits
from ctxtrim.clipping.wrapper import inside
from ctxtrim.errors import UsageError
from ctxtrim.text.json_spans import Range
from ctxtrim.tokens import Tokenizer, head, tail

KINDS: tuple[Kind, ...] = (JSON_LINES, JSON, DIFF, LISTING, LOG, PLAIN)
_AROUND = 3  # a wrapper may have this part of the limit
MODES: tuple[Mode, ...] = ("head", "tail", "head-tail")


def kind_of(text: str) -> str:
    """The name of the first kind that knows a text."""
    return next(kind.name for kind in KINDS if kind.knows(text))


def clip(text: str, limit: int, tokenizer: Tokenizer, mode: Mode = "head-tail", keep: Sequence[Range] = ()) -> str:
    """A text with at most `limit` tokens, markers included; a text that fits is given back as it is.

    `mode` says which ends of it stay. `keep` are ranges of characters, the most important first: they widen the head or
    the tail, or make one stretch between them, as far as they fit. A range that needs more than a third of the limit is
    kept by its beginning. Where not even a marker fits, the clip is the beginning of the text (its end with mode
    `tail`) alone. An unknown mode is a `UsageError`.
    """
    if mode not in MODES:
        raise UsageError(f"no such mode: {mode}; expected one of {', '.join(MODES)}")
    if fits(text, limit, tokenizer):
        return text
    if limit < 1:
        return ""
    return _wrapped(text, limit, tokenizer, mode, keep) or _clip(Cut(text, limit, tokenizer, mode, keep))


def _wrapped(text: str, limit: int, tokenizer: Tokenizer, mode: Mode, keep: Sequence[Range]) -> str | None:
    """The clip of an output inside its wrapper; None where there is no wrapper, or no room for it."""
    start, end = inside(text)
    around = tokenizer.count(text[:start]) + tokenizer.count(text[end:]) if end - start < len(text) else 0
    if not 0 < around <= limit // _AROUND:
        return None
    clipped = _clip(Cut(text[start:end], limit - around, tokenizer, mode, within(keep, start, end)))
    found = f"{text[:start]}{clipped}{text[end:]}"
    has_marker = clipped != text[start : start + len(clipped)] and clipped != text[end - len(clipped) : end]
    return found if has_marker and tokenizer.count(found) <= limit else None


def _clip(cut: Cut) -> str:
    for kind in KINDS:
        if kind.knows(cut.text):
            found = kind.clip(cut)
            if found is not None:
                return found
    return (tail if cut.mode == "tail" else head)(cut.tokenizer, cut.text, cut.limit)
