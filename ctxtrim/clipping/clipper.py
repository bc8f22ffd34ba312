"""A text prepared for clips: kind, weight and structure are found once for all limits."""

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from itertools import tee

from ctxtrim.clipping.diff import DIFF
from ctxtrim.clipping.json_lines import JSON_LINES
from ctxtrim.clipping.json_value import JSON
from ctxtrim.clipping.kind import ClipText, Draft, TextKind
from ctxtrim.clipping.layout import Mode, ranges_inside
from ctxtrim.clipping.limits import Limited, limited_text
from ctxtrim.clipping.listing import LISTING
from ctxtrim.clipping.log import LOG
from ctxtrim.clipping.plain import PLAIN
from ctxtrim.clipping.weight import WIDEST, Weight
from ctxtrim.clipping.wrapper import output_range
from ctxtrim.errors import UsageError
from ctxtrim.text import Range
from ctxtrim.tokens.tokenizer import Tokenizer, head, tail

MODES: tuple[Mode, ...] = ("head", "tail", "head-tail")
KINDS: tuple[TextKind, ...] = (JSON_LINES, JSON, DIFF, LISTING, LOG, PLAIN)
_AROUND = 3  # a wrapper gets at most this fraction of the limit
_MARKERS = 8  # tokens of the markers of a clip
# by corrections so far, the fraction of the limit that a good enough clip leaves free
_SPARE = (33, 25, 16, 16, 10)
_TRIES = 12  # until any clip fits


def kind_of(text: str) -> str:
    """The name of the first kind that matches a text."""
    return next(kind.name for kind in KINDS if kind.knows(text))


@dataclass(frozen=True)
class Clipper:
    """Clips a text to any number of limits. See `clip`."""

    text: str
    tokenizer: Tokenizer
    mode: Mode = "head-tail"
    keep: Sequence[Range] = ()

    def within(self, limit: int) -> str:
        """The text in at most `limit` tokens, markers included; unchanged if it fits."""
        if self._weight.fits(limit):
            return self.text
        if limit < 1:
            return ""
        return self._limited(limit) or self._wrapped(limit) or self._cut(limit)

    def _limited(self, limit: int) -> str | None:
        """The clip of a text that was limited before, with a notice of what it shows now; None for
        other texts, or if there is no room.
        """
        if self._content is None:
            return None
        limited, content = self._content
        clipped = content.within(limit - self.tokenizer.count(f"\n\n{limited.notice}"))
        text = limited.with_content(clipped).text
        return text if clipped.strip() and self.tokenizer.count(text) <= limit else None

    def _wrapped(self, limit: int) -> str | None:
        """The clip of an output inside its wrapper; None if there is no wrapper, or no room."""
        if self._output is None:
            return None
        before, output, after = self._output
        around = self.tokenizer.count(before) + self.tokenizer.count(after)
        if not 0 < around <= limit // _AROUND:
            return None
        clipped = output._cut(limit - around)
        wrapped = f"{before}{clipped}{after}"
        has_marker = not (output.text.startswith(clipped) or output.text.endswith(clipped))
        return wrapped if has_marker and self.tokenizer.count(wrapped) <= limit else None

    def _cut(self, limit: int) -> str:
        """The text cut by the first draft with room for a marker, else its beginning or end."""
        for kind, draft in copy(self._drafts):
            clipped = self._longest(draft, limit, kind.first * limit)
            if clipped is not None:
                return clipped
        cut = tail if self.mode == "tail" else head
        return cut(self.tokenizer, self.text, limit)

    def _longest(self, draft: Draft, limit: int, least: int) -> str | None:
        """The draft of a size that follows from the weight of the text; None if none fits.

        The first draft has at least `least` characters if the text has as many. The size is
        corrected by the tokens of the draft: a few times to fill the limit, and more often only
        while no draft fits. The correction interpolates between a size that fits and one that does
        not (regula falsi, Illinois algorithm).
        """
        markers = min(_MARKERS, limit // 4)
        low, high, best = 0, len(self.text), None
        below, above = float(limit - markers), float(self._weight.tokens(limit) - limit)
        size = min(max(self._weight.characters(limit - markers, limit), least, 1), high - 1)
        for corrections in range(_TRIES):
            clipped = draft(size, 4 * WIDEST * limit)
            tokens = WIDEST * limit if clipped is None else self.tokenizer.count(clipped)
            if tokens <= limit:
                above = above / 2 if low else above
                low, below, best = size, limit - tokens, clipped
            else:
                below = below / 2 if high < len(self.text) else below
                high, above = size, tokens - limit
            spare = _SPARE[min(corrections, len(_SPARE) - 1)]
            if high - low <= max(low // spare, 1) or (best and below <= limit // spare):
                break
            size = low + min(max(int((high - low) * below / (below + above)), 1), high - low - 1)
        return best

    @cached_property
    def _weight(self) -> Weight:
        return Weight(self.text, self.tokenizer)

    @cached_property
    def _content(self) -> "tuple[Limited, Clipper] | None":
        """A text that was limited before, and its content; None for other texts."""
        limited = limited_text(self.text)
        if limited is None or not limited.content:
            return None
        keep = ranges_inside(self.keep, 0, len(limited.content))
        return limited, Clipper(limited.content, self.tokenizer, self.mode, keep)

    @cached_property
    def _output(self) -> "tuple[str, Clipper, str] | None":
        """The text before an output, the output, and the text after it; None without a wrapper."""
        start, end = output_range(self.text)
        if end - start == len(self.text):
            return None
        keep = ranges_inside(self.keep, start, end)
        output = Clipper(self.text[start:end], self.tokenizer, self.mode, keep)
        return self.text[:start], output, self.text[end:]

    @cached_property
    def _drafts(self) -> Iterator[tuple[TextKind, Draft]]:
        """The drafts of all kinds that match the text. Copies of it share what was made before."""
        source = ClipText(self.text, self.tokenizer, self.mode, self.keep)
        kinds = (kind for kind in KINDS if kind.knows(self.text))
        return tee(((kind, draft) for kind in kinds for draft in kind.drafts(source)), 1)[0]


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
    needs more than a third of the limit is cut to its beginning, of at least a quarter of the
    limit; headers of diffs and whole JSON lines may leave it less. If not even a marker fits, the
    clip is the beginning of the text only (its end with mode `tail`). An unknown mode is a
    `UsageError`.
    """
    if mode not in MODES:
        raise UsageError(f"unknown mode: {mode}; expected one of {', '.join(MODES)}")
    return Clipper(text, tokenizer, mode, keep).within(limit)
