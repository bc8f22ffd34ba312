"""Message lists: the dialects that have their messages in an array, wherever in a document that stands.

::

    {"simulations": [{"messages": [ … ]}]}        the place       simulations[*].messages
                     └──────── envelope: tools, model, id
                                  └── elements, which a dialect reads
    {"role": …}\\n{"role": …}\\n                    elements too, one a line, of one conversation
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ctxtrim.formats.format import Format, Insertion, Layout, Mend, Site, no_links
from ctxtrim.formats.places import Pattern, Place, pattern, places
from ctxtrim.lines import Record
from ctxtrim.model import Line, Message, Path, Source, Span, Transcript, Usage

_HEAD = 8  # elements that are looked at to tell a dialect


class Element(NamedTuple):
    """One element of a message list: its value, where that is spelled, and what goes when it goes."""

    value: Any
    at: Span
    whole: Span


@dataclass
class Found:
    """What is found in a list, in its order.

    `uncounted`: how many of its messages nobody understands. `model`: the last one that a message names. `id`: the
    list's own name, where its elements say it.
    """

    messages: list[Message] = field(default_factory=list)
    usages: list[Usage] = field(default_factory=list)
    uncounted: int = 0
    model: str | None = None
    id: str | None = None


@dataclass(frozen=True)
class Envelope:
    """What stands around a list, as in `Transcript`. `usage` is of the whole; messages of the `preamble` come first."""

    tools: str | None = None
    tool_choice: str | None = None
    model: str | None = None
    id: str | None = None
    usage: Usage | None = None
    preamble: tuple[Message, ...] = ()


@dataclass(frozen=True)
class Dialect:
    """How a message list is spelled.

    `knows`: whether a value is an element of such a list. `read`: take in the messages of some elements. `envelope`:
    what an object around a list says, which stands at a span. `owner`, `insert` and `mend` are those of `Format`.
    `places`: where such lists are known to be. `takes_empty`: an empty list is one of its own. `claims`: whether some
    elements, in the object around them, are surely of this dialect, where `knows` takes what others spell alike.
    `is_foreign`: whether an element shows its whole list to be another dialect's; on a line of its own it is not
    understood. `opens`: whether a value is no element, but what elements, one a line, come after. `records_calls` is
    that of `Transcript`.
    """

    name: str
    knows: Callable[[object], bool]
    read: Callable[[Sequence[Element], Found], None]
    envelope: Callable[[dict[str, Any], Span], Envelope]
    owner: Callable[[Path], Path | None]
    insert: Callable[[Sequence[Message], Site], Sequence[Insertion]]
    places: tuple[str, ...]
    takes_empty: bool = False
    claims: Callable[[Sequence[Any], Mapping[str, Any]], bool] | None = None
    is_foreign: Callable[[object], bool] | None = None
    records_calls: bool = True
    mend: Mend = no_links
    opens: Callable[[object], bool] = lambda value: False


def list_format(dialect: Dialect, at: str | None = None) -> Format:
    """The format of a dialect's lists: at the places known, or at one path only."""
    patterns = [pattern(place) for place in dialect.places] if at is None else [pattern(at)]

    def looks(value: object, holds: Callable[[Place], bool]) -> Layout | None:
        for keys in patterns:
            if any(holds(place) for place in places(value, keys)):
                return "conversation"
        return "events" if at is None and isinstance(value, dict) and holds(Place((), [value], {}, ())) else None

    def sniff(value: object) -> Layout | None:
        found = looks(value, lambda place: _claims(dialect, place))
        return "events" if found is None and at is None and dialect.opens(value) else found

    def takes(value: object) -> Layout | None:
        return looks(value, lambda place: _is_ours(dialect, place))

    def read(records: Sequence[Record], lines: tuple[Line, ...]) -> list[Transcript]:
        return _read(dialect, patterns, records, lines)

    def placed(at: str) -> Format:
        return list_format(dialect, at)

    shared = takes if dialect.claims is not None else None
    return Format(dialect.name, sniff, read, dialect.owner, dialect.insert, dialect.mend, shared, placed)


def beside(run: Sequence[Message], site: Site, spell: Callable[[Message], Any]) -> list[Insertion]:
    """Messages as elements of their own: results right after what they answer, all others right before what follows."""
    if site.later is not None and not (run[0].role == "tool" and site.earlier is not None):
        return [Insertion(spell(message), site.later.spans[0]) for message in run]
    where = next(filter(_is_element, (one.spans[-1] for one in (site.earlier, site.any) if one)), site.any.spans[-1])
    return [Insertion(spell(message), where, is_after=True) for message in run]


def _is_element(span: Span) -> bool:
    """Whether a span is an element of a list, or a line, and not a member beside the list."""
    return not span.path or isinstance(span.path[-1], int)


def _claims(dialect: Dialect, place: Place) -> bool:
    """Whether a list is surely of a dialect."""
    if dialect.claims is not None:
        return dialect.claims(place.items, place.envelope)
    return _is_ours(dialect, place._replace(items=place.items[:_HEAD]))


def _is_ours(dialect: Dialect, place: Place) -> bool:
    """Whether a list can be read in a dialect, as far as it alone can tell."""
    if not place.items:
        return dialect.takes_empty
    if dialect.is_foreign is not None and any(map(dialect.is_foreign, place.items)):
        return False
    return any(map(dialect.knows, place.items))


def _read(
    dialect: Dialect, patterns: Sequence[Pattern], records: Sequence[Record], lines: tuple[Line, ...]
) -> list[Transcript]:
    """Every conversation in the records; single elements together are one, the last."""
    transcripts: list[Transcript] = []
    loose: list[Element] = []
    for line, record in enumerate(records):
        value = record.value
        found = [place for keys in patterns for place in places(value, keys) if _is_ours(dialect, place)]
        for place in found:
            at = Span(line, place.path)
            elements = [
                Element(item, span, span) for index, item in enumerate(place.items) for span in (at.inside(index),)
            ]
            envelope = dialect.envelope(place.envelope, Span(line, place.home))
            pointer = place.path[:-1] if place.path and isinstance(place.path[-1], str) else place.path
            transcripts.append(_transcript(dialect, elements, lines, envelope, pointer))
        if not found and isinstance(value, dict):
            loose.append(Element(value, Span(line), Span(line)))
    if any(dialect.knows(element.value) for element in loose):
        ours = [element for element in loose if dialect.is_foreign is None or not dialect.is_foreign(element.value)]
        transcripts.append(_transcript(dialect, ours, lines, Envelope(), (), len(loose) - len(ours)))
    return transcripts


def _transcript(
    dialect: Dialect,
    elements: Sequence[Element],
    lines: tuple[Line, ...],
    envelope: Envelope,
    pointer: Path,
    foreign: int = 0,
) -> Transcript:
    found = Found(list(envelope.preamble), uncounted=foreign)
    dialect.read(elements, found)
    messages = tuple(found.messages)
    return Transcript(
        messages,
        Source(lines, messages),
        envelope.tools,
        envelope.tool_choice,
        envelope.model or found.model,
        envelope.id or found.id,
        pointer,
        found.uncounted,
        tuple(found.usages) or ((envelope.usage,) if envelope.usage else ()),
        dialect.records_calls,
    )
