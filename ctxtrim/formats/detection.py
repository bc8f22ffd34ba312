"""Detects the format of a file: each format votes for the first values that it recognizes."""

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from ctxtrim.formats.base import Format, Layout
from ctxtrim.formats.lines import Numbered
from ctxtrim.text.records import JsonRecord, split

HEAD = 64  # values inspected to detect the format
HEAD_BYTES = 1 << 22

Vote = tuple[Format, Layout]
"""A format that recognizes a value, and the layout of the value."""

_LAYOUTS: dict[Layout, str] = {
    "conversation": "whole conversations",
    "events": "one message or event per line",
}


class Detection(Struct, frozen=True):
    """The format that a file is read as.

    `votes`: the number of values, among the first `looked` values, that are of each format and
    layout, those of the file first; none for an unknown format. `reason`: why a file of an unknown
    format has no conversation, if the file is known.
    """

    votes: Mapping[tuple[str, Layout], int]
    looked: int
    reason: str | None

    @property
    def format(self) -> str | None:
        """The name of the format; None if it is unknown."""
        return next((name for name, _ in self.votes), None)

    @property
    def is_mixed(self) -> bool:
        """Whether the first values look like several formats."""
        return len({name for name, _ in self.votes}) > 1

    @property
    def description(self) -> str:
        """The detected format and the votes for it, as a sentence."""
        if not self.votes:
            return f"unknown format: no format recognizes any of the {self.looked} values inspected"
        (first, matches), *rest = sorted(self.votes.items(), key=lambda vote: -vote[1])
        others = "".join(f", {count} look like {_in_words(*vote)}" for vote, count in rest)
        return (
            f"read as {_in_words(*first)}: {matches} of {self.looked} values inspected "
            f"match{others}"
        )

    @property
    def why_empty(self) -> str | None:
        """Why a file of a known kind has no transcript; None for a file of an unknown kind."""
        if self.format is not None:
            return f"it looks like {self.format}, but has no messages"
        return self.reason


def _in_words(name: str, layout: Layout) -> str:
    return f"{name} ({_LAYOUTS[layout]})"


def extend_head(
    head: list[JsonRecord], rest: Iterator[Numbered], formats: Sequence[Format]
) -> list[Vote | None]:
    """Move lines from the rest of a file to its head until they show its format.

    Returns the vote of each value in the head.

    One conversation is enough; the rest of the file is then read as a stream.
    """
    votes = [first_vote(record.value, formats) for record in head]
    size = sum(len(record.data) for record in head)
    records = head
    while len(head) < HEAD and size <= HEAD_BYTES:
        if _has_conversation(records, votes[-len(records) :], formats):
            break
        number, line = next(rest, (0, b""))
        if not number:
            break
        records = split(line, number)
        head += records
        votes += [first_vote(record.value, formats) for record in records]
        size += len(line)
    return votes


def may_be_read(value: object) -> bool:
    """Whether a format may recognize a value: a list, an object, or a string that contains one."""
    return isinstance(value, (dict, list, str))


def first_vote(value: object, formats: Sequence[Format]) -> Vote | None:
    """The first format that recognizes a value."""
    if not may_be_read(value):
        return None
    for file_format in formats:
        layout = file_format.sniff(value)
        if layout is not None:
            return file_format, layout
    return None


def _has_conversation(
    records: Sequence[JsonRecord], votes: Sequence[Vote | None], formats: Sequence[Format]
) -> bool:
    """Whether a value is a conversation that no format before the one of its vote could read."""
    for record, vote in zip(records, votes, strict=True):
        if vote is not None and vote[1] == "conversation":
            earlier = formats[: formats.index(vote[0])]
            if not any(other.takes and other.takes(record.value) for other in earlier):
                return True
    return False


def votes_for(
    values: Sequence[object], first: Sequence[Vote | None], formats: Sequence[Format]
) -> dict[Vote, int]:
    """The number of values that each format reads, the format of the file first.

    `first` holds the vote of each value. The file has the format that reads the most values; ties
    go to the first. If only one format is allowed, values that it shares with others count too.
    """
    candidates = {vote for vote in first if vote is not None}
    if not candidates and len(formats) == 1 and formats[0].takes is not None:
        layouts = map(formats[0].takes, values)
        candidates = {(formats[0], layout) for layout in layouts if layout is not None}
    if not candidates:
        return {}
    readable: dict[Vote, list[bool]] = {}
    in_order = sorted(candidates, key=lambda vote: (formats.index(vote[0]), vote[1]))
    for file_format, layout in in_order:
        reads = file_format.takes or file_format.sniff
        readable[file_format, layout] = [reads(value) == layout for value in values]
    best = max(readable, key=lambda vote: sum(readable[vote]))
    votes = {best: sum(readable[best])}
    for vote, is_read in zip(first, readable[best], strict=True):
        if vote is not None and not is_read:
            votes[vote] = votes.get(vote, 0) + 1
    return votes
