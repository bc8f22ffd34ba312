"""What every dialect's module offers, as one value."""

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Literal

from ctxtrim.lines import Record
from ctxtrim.model import Line, Path, Span, Transcript

Layout = Literal["conversation", "events"]
"""What one JSON value of a file is: a whole conversation, or one event of the file's only conversation."""

METADATA = ("_originalLength", "_truncatedAt")
"""The keys beside a tool result that a stage may set: characters of the original, and the age at which it went."""


def _mends_nothing(lines: Sequence[Line], removed: Set[Span]) -> Mapping[Span, str | None]:
    return {}


@dataclass(frozen=True)
class Format:
    """A dialect.

    `sniff`: what a JSON value is in this dialect, None where it is none of its own. `read`: the transcripts in some
    records, which are given as lines too, for the transcripts to point into. `owner`: what goes when the array at a
    path has become empty, None where the empty array stays. `mend`: the link fields to rewrite when some spans go, and
    their new values.
    """

    sniff: Callable[[object], Layout | None]
    read: Callable[[Sequence[Record], tuple[Line, ...]], list[Transcript]]
    owner: Callable[[Path], Path | None]
    mend: Callable[[Sequence[Line], Set[Span]], Mapping[Span, str | None]] = _mends_nothing
