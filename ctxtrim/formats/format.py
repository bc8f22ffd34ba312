"""What every dialect's module offers, as one value."""

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Literal

from ctxtrim.lines import Record, give_up_if_deep
from ctxtrim.model import Line, Path, Span, Transcript

Layout = Literal["conversation", "events"]
"""What one JSON value of a file is: a whole conversation, or one event of the file's only conversation."""

METADATA = ("_originalLength", "_truncatedAt")
"""The keys beside a tool result that a stage may set: characters of the original, and the age at which it went."""


@dataclass(frozen=True)
class Mended:
    """What follows for the links of some lines when spans are removed.

    `values`: by the span of an object, its members that change or are added. `removed`: all that goes in the end.
    """

    values: Mapping[Span, Mapping[str, str | None]]
    removed: Set[Span]


def _no_links(lines: Sequence[Line], removed: Set[Span], kept: Set[Span]) -> Mended:
    return Mended({}, removed)


@dataclass(frozen=True)
class Format:
    """A dialect.

    `sniff`: what a JSON value is in this dialect, None where it is none of its own. `read`: the transcripts in some
    records, which are given as lines too, for the transcripts to point into. `owner`: what goes when the array at a
    path has become empty, None where the empty array stays. `mend`: what follows for links between lines when spans go
    while the spans of all kept messages stay.
    """

    sniff: Callable[[object], Layout | None]
    read: Callable[[Sequence[Record], tuple[Line, ...]], list[Transcript]]
    owner: Callable[[Path], Path | None]
    mend: Callable[[Sequence[Line], Set[Span], Set[Span]], Mended] = _no_links

    def transcripts(self, records: Sequence[Record], lines: tuple[Line, ...]) -> list[Transcript]:
        """What `read` finds. A record nested deeper than it can be spelled again is given up, with a problem."""
        try:
            return self.read(records, lines)
        except RecursionError:
            for record in records:
                give_up_if_deep(record)
            return self.read(records, lines)
