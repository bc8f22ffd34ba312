"""Clips: shorten one text, in a way that suits its kind.

`KINDS` are tried in order. A new kind is a module with a `Kind` and an entry in this table.
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
_AROUND = 3  # a wrapper gets at most this fraction of the limit
MODES: tuple[Mode, ...] = ("head", "tail", "head-tail")


def kind_of(text: str) -> str:
    """The name of the first kind that matches a text."""
    return next(kind.name for kind in KINDS if kind.knows(text))


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
    if fits(text, limit, tokenizer):
        return text
    if limit < 1:
        return ""
    return _wrapped(text, limit, tokenizer, mode, keep) or _clip(
        Cut(text, limit, tokenizer, mode, keep)
    )


def _wrapped(
    text: str, limit: int, tokenizer: Tokenizer, mode: Mode, keep: Sequence[Range]
) -> str | None:
    """The clip of an output inside its wrapper; None if there is no wrapper, or no room for it."""
    start, end = inside(text)
    if end - start == len(text):
        return None
    around = tokenizer.count(text[:start]) + tokenizer.count(text[end:])
    if not 0 < around <= limit // _AROUND:
        return None
    clipped = _clip(Cut(text[start:end], limit - around, tokenizer, mode, within(keep, start, end)))
    wrapped = f"{text[:start]}{clipped}{text[end:]}"
    output = text[start:end]
    has_marker = not (output.startswith(clipped) or output.endswith(clipped))
    return wrapped if has_marker and tokenizer.count(wrapped) <= limit else None


def _clip(cut: Cut) -> str:
    for kind in KINDS:
        if kind.knows(cut.text):
            clipped = kind.clip(cut)
            if clipped is not None:
                return clipped
    return (tail if cut.mode == "tail" else head)(cut.tokenizer, cut.text, cut.limit)
