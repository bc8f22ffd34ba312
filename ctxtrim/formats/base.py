"""What every dialect's module offers, as one value."""

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from ctxtrim.evidence import is_only_instructions
from ctxtrim.model import Line, Message, Span, Transcript
from ctxtrim.summaries.markers import is_only_summary, pieces
from ctxtrim.text.json_paths import Path
from ctxtrim.text.records import Record, give_up_if_deep

Layout = Literal["conversation", "events"]
"""What one JSON value of a file is: a whole conversation (or several), or one event of the file's only conversation."""


@dataclass(frozen=True)
class Insertion:
    """A JSON value that is to stand before (or after) another one: an element of its array, or its line.

    `replaces`: `value` takes the place of the one at `where`. `cuts`: `where` is a block of an element of several
    messages; the element is cut in two before it, and `value` stands between its halves.
    """

    value: Any
    where: Span
    is_after: bool = False
    replaces: bool = False
    cuts: bool = False


@dataclass(frozen=True)
class Site:
    """Where messages are to be inserted: the kept messages around the place, None at either end.

    `value_of` gives the JSON value at a span, as it was read, None where there is none. `messages` are all as read.
    """

    earlier: Message | None
    later: Message | None
    messages: Sequence[Message]
    value_of: Callable[[Span], Any]

    @property
    def any(self) -> Message:
        """Some message of the list, kept or not."""
        return self.messages[-1]


@dataclass(frozen=True)
class Mended:
    """What follows for the links of some lines when spans are removed and values inserted.

    `values`: by the span of an object, its members that change or are added. `removed`: all that goes in the end.
    `inserted`: what is inserted, with its links.
    """

    values: Mapping[Span, Mapping[str, Any]] = field(default_factory=dict)
    removed: Set[Span] = frozenset()
    inserted: Sequence[Insertion] = ()


Mend = Callable[[Sequence[Line], Set[Span], Set[Span], Sequence[Insertion]], Mended]


Visibility = Callable[
    [Sequence[tuple[Message, Message]], Sequence[Message], Callable[[Span], Any]],
    Iterable[tuple[Span, Mapping[str, Any]]],
]


def no_links(lines: Sequence[Line], removed: Set[Span], kept: Set[Span], inserted: Sequence[Insertion]) -> Mended:
    """Nothing is linked, so nothing is mended."""
    return Mended({}, removed, inserted)


@dataclass(frozen=True)
class Format:
    """A dialect.

    `sniff`: what a JSON value is in this dialect, None where it is not surely of it. `takes`: the same, where other
    dialects spell some values alike: what it is where the file turns out to be of this one. `read`: the transcripts in
    some records, which are given as lines too, for the transcripts to point into. `owner`: what goes when the array at
    a path has become empty, None where the empty array stays. `insert`: how messages that follow each other are
    spelled at a place. `mend`: what follows for links between lines when spans go and values are inserted while the
    spans of all kept messages stay. `placed`: the same dialect where its message lists are at another JSON path; None
    where it has no message lists. `visibility`: for messages as read and as they shall be, among all as read, the spans
    of objects and those of their members that say who sees a message and what kind it is; None where the dialect cannot
    say it, so that nothing can be hidden. `must_alternate`: its readers want user and assistant to take turns.
    `text_block`: a text as one of several blocks of a message, None where a message has no blocks.
    """

    name: str
    sniff: Callable[[object], Layout | None]
    read: Callable[[Sequence[Record], tuple[Line, ...]], list[Transcript]]
    owner: Callable[[Path], Path | None]
    insert: Callable[[Sequence[Message], Site], Sequence[Insertion]]
    mend: Mend = no_links
    takes: Callable[[object], Layout | None] | None = None
    placed: Callable[[str], "Format"] | None = None
    visibility: Visibility | None = None
    must_alternate: bool = False
    text_block: Callable[[str], Any] | None = None

    def transcripts(self, records: Sequence[Record], lines: tuple[Line, ...]) -> list[Transcript]:
        """What `read` finds. A record nested deeper than it can be spelled again is given up, with a problem."""
        try:
            found = self.read(records, lines)
        except RecursionError:
            for record in records:
                give_up_if_deep(record)
            found = self.read(records, lines)
        return [
            replace(
                _with_marks(one),
                hides=self.visibility is not None,
                must_alternate=self.must_alternate,
                adds_texts=self.text_block is not None,
            )
            for one in found
        ]


def _with_marks(transcript: Transcript) -> Transcript:
    """A transcript in which messages are marked that no person typed, whatever the format says.

    Their texts show it: summaries and digests that were written here, and files with instructions to the agent.
    """
    messages = tuple(map(_marked, transcript.messages))
    if all(new is old for new, old in zip(messages, transcript.messages, strict=True)):
        return transcript
    return replace(transcript, messages=messages, source=replace(transcript.source, messages=messages))


def _marked(message: Message) -> Message:
    if message.role != "user" or not message.parts:
        return message
    if _is_ours(message):
        is_summary = message.is_summary or is_only_summary(message.parts[0].text)
        return replace(message, is_injected=True, is_summary=is_summary)
    if not message.is_injected and is_only_instructions(message):
        return replace(message, is_injected=True)
    return message


def _is_ours(message: Message) -> bool:
    """Whether a message of the user holds nothing but a summary or digests."""
    text = message.parts[0].text
    if not text.startswith("["):
        return False
    return is_only_summary(text) or (
        len(message.parts) == 1 and pieces(text)[1:] != (None, None) and pieces(text)[2] is None
    )
