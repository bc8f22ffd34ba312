"""Size limits of tool results, and how longer results are shortened."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ctxtrim.clipping.clipper import clip
from ctxtrim.clipping.layout import Mode
from ctxtrim.clipping.limits import is_limited, spill_notice, truncate_text
from ctxtrim.text import Range
from ctxtrim.text.hashing import sha256_of
from ctxtrim.tokens.counter import Counter
from ctxtrim.tokens.tokenizer import MARKS

_FURTHER = 4  # cuts of a cut text that are compared with it

PathOf = Callable[[str], str]
"""The path of a stored original, by its SHA-256."""

_NOTHING = "…"
"""The clip of a text of which nothing but blanks fits the limit: providers refuse empty texts."""


@dataclass(frozen=True)
class SizeLimits:
    """The limits of one result, 0 for none.

    `spill`, in characters: move longer results to a file as a whole.
    """

    tokens: int
    lines: int
    bytes: int
    characters: int
    mode: Mode
    spill: int

    def shortened(
        self,
        text: str,
        ranges: Callable[[], Sequence[Range]],
        counter: Counter,
        cost: Callable[[str], int],
        path_of: PathOf | None,
    ) -> "Short | None":
        """The shortened text and the reason; None if it is within all limits.

        Keep `ranges` of it if possible; they are found only if it is clipped. `cost` has the tokens
        of the result with a text.
        """
        # An earlier run shortened a text with a notice; marker and notice may make it longer than
        # the limit again.
        is_long = 0 < self.spill < len(text)
        if is_long and path_of is not None and not is_limited(text):
            name = sha256_of(text)
            reason = f"spilled: {len(text)} > {self.spill} characters"
            return Short(spill_notice(path_of(name), name, text), reason, is_spilled=True)
        best = last = self._cut(text, ranges, counter)
        further = 0  # cuts after the best one
        # A clipped line becomes two lines, so the line limit may be exceeded again. Another run
        # must not find a shorter text: it looks at as many cuts after the best one.
        while best is not None and last is not None and further < _FURTHER:
            last = self._cut(last.text, tuple, counter)
            further += 1
            if last is not None and cost(last.text) < cost(best.text):
                best, further = Short(last.text, best.reason), 0
        return best

    def _cut(
        self, text: str, ranges: Callable[[], Sequence[Range]], counter: Counter
    ) -> "Short | None":
        """A text within the limits of lines, characters and bytes, then within the
        limit of tokens.
        """
        reasons = []
        limited = truncate_text(text, self.lines, self.bytes, self.characters, self.mode).text
        if limited != text:
            reasons.append("above the limits of lines, bytes or characters")
        tokens = counter.text(limited) if self.tokens else 0
        if tokens > self.tokens:
            mark = MARKS[counter.tokenizer.exactness]
            reasons.append(f"{mark}{tokens:,} > {self.tokens:,} tokens")
            keep = ranges() if limited == text else ()
            clipped = clip(limited, self.tokens, counter.tokenizer, self.mode, keep)
            limited = clipped if clipped.strip() else _NOTHING
        return Short(limited, ", ".join(reasons)) if reasons else None


@dataclass(frozen=True)
class Short:
    """A shortened text and the reason. `is_spilled`: the whole text has to be stored in a file."""

    text: str
    reason: str
    is_spilled: bool = False
