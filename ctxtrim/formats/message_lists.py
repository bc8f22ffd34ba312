"""Message lists: the dialects that have their messages in an array, wherever in a document that stands.

::

    {"simulations": [{"messages": [ … ]}]}        the place       simulations[*].messages
                     └──────── envelope: tools, model, id
                                  └── elements, which a dialect reads
    {"role": …}\\n{"role": …}\\n                    elements too, one a line, of one conversation

The elements of one conversation may stand in several lists, as those of `request.input + response.output` do.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ctxtrim.formats.base import Format, Insertion, Layout, Mend, Mended, Site, Visibility, no_links
from ctxtrim.model import Line, Message, RequestOptions, Source, Span, Transcript, Usage
from ctxtrim.text.json_paths import Path, Pattern, Place, conversations, patterns
from ctxtrim.text.records import Record, document, split

_HEAD = 8  # elements that are looked at to tell a dialect

Tells = Callable[[object], bool]


class Element(NamedTuple):
    """One element of a message list: its value, where that is spelled, and what goes when it goes."""

    value: Any
    at: Span
    whole: Span


@dataclass
class Found:
    """What is found in a list, in its order.

    `uncounted`: how many of its messages nobody understands. `model`: the last one that a message names. `id`: the
    list's own name, where its elements say it; `tools` what they say of them.
    """

    messages: list[Message] = field(default_factory=list)
    usages: list[Usage] = field(default_factory=list)
    uncounted: int = 0
    model: str | None = None
    id: str | None = None
    tools: str | None = None


@dataclass(frozen=True)
class Envelope:
    """What stands around a list, as in `Transcript`. `usage` is of the whole; messages of the `preamble` come first."""

    tools: str | None = None
    tool_choice: str | None = None
    model: str | None = None
    id: str | None = None
    usage: Usage | None = None
    preamble: tuple[Message, ...] = ()
    options: RequestOptions = field(default=RequestOptions())

    def __or__(self, later: "Envelope") -> "Envelope":
        """What two objects say together: of tools and of what comes first the first has its say, else the later."""
        return Envelope(
            self.tools or later.tools,
            self.tool_choice or later.tool_choice,
            later.model or self.model,
            later.id or self.id,
            later.usage or self.usage,
            self.preamble or later.preamble,
            self.options | later.options,
        )


@dataclass(frozen=True)
class Dialect:
    """How a message list is spelled.

    `knows`: whether a value is an element of such a list. `read`: take in the messages of some elements. `envelope`:
    what an object around a list says, which stands at a span. `owner`, `insert`, `mend` and `visibility` are those of
    `Format`.
    `places`: where such lists are known to be. `takes_empty`: an empty list is one of its own. `claims`: whether some
    elements, in the object around them, are surely of this dialect, where `knows` takes what others spell alike.
    `is_foreign`: whether an element shows its whole list to be another dialect's; on a line of its own it is not
    understood. `opens`: whether a value is no element, but what elements, one a line, come after. `records_calls` is
    that of `Transcript`. `takes`: whether a list is surely one of its own by what stands around it. `admits`: whether a
    value may be an element where the file is known to have such lists, None for what `knows` says. `texts`: the ends of
    paths at which a string stands for a list, and is its only element. `apart`: what is inserted so that no two
    messages run together where elements at some spans go and others are inserted; all of it, in order.
    `must_alternate` and `text_block` are those of `Format`.
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
    opens: Tells = lambda value: False
    takes: Callable[[Place], bool] = lambda place: False
    admits: Tells | None = None
    texts: tuple[Path, ...] = ()
    apart: Callable[[Sequence[Element], Set[Span], Sequence[Insertion]], Sequence[Insertion]] | None = None
    visibility: Visibility | None = None
    must_alternate: bool = False
    text_block: Callable[[str], Any] | None = None


def list_format(dialect: Dialect, at: str | None = None) -> Format:
    """The format of a dialect's lists: at the places known, or at one path only."""
    known = [patterns(place) for place in dialect.places] if at is None else [patterns(at)]

    def looks(value: object, is_own: Callable[[Place], bool]) -> Layout | None:
        if any(_conversations(dialect, known, value, is_own)):
            return "conversation"
        return "events" if at is None and isinstance(value, dict) and is_own(Place((), [value], {}, (), ())) else None

    def sniff(value: object) -> Layout | None:
        found = looks(value, lambda place: _claims(dialect, place))
        return "events" if found is None and at is None and dialect.opens(value) else found

    def takes(value: object) -> Layout | None:
        return looks(value, lambda place: _is_ours(dialect, place))

    def read(records: Sequence[Record], lines: tuple[Line, ...]) -> list[Transcript]:
        return [_transcript(dialect, one, lines) for one in _talks(dialect, known, [one.value for one in records])]

    def mend(lines: Sequence[Line], removed: Set[Span], kept: Set[Span], inserted: Sequence[Insertion]) -> Mended:
        if dialect.apart is not None:
            values = [(document(line.data) or split(line.data, 1)[0]).value for line in lines]
            elements = [element for talk in _talks(dialect, known, values) for element in talk.elements]
            inserted = dialect.apart(elements, removed, inserted)
        replaced = {one.where for one in inserted if one.replaces}
        emptied: dict[Span, dict[str, Any]] = {}
        for span in removed - replaced:
            if span.path[-1:] in dialect.texts:  # so that what is around the list is found again
                emptied.setdefault(Span(span.line, span.path[:-1]), {})[str(span.path[-1])] = []
        return Mended(emptied, removed, inserted)

    def placed(at: str) -> Format:
        return list_format(dialect, at)

    shared = takes if dialect.claims is not None else None
    mends = mend if dialect.texts or dialect.apart else dialect.mend
    return Format(
        dialect.name,
        sniff,
        read,
        dialect.owner,
        dialect.insert,
        mends,
        shared,
        placed,
        dialect.visibility,
        dialect.must_alternate,
        dialect.text_block,
    )


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
    if dialect.takes(place):
        return True
    if isinstance(place.items, str):
        return False
    if dialect.claims is not None:
        return dialect.claims(place.items, place.envelope)
    if not place.items:
        return dialect.takes_empty
    return _holds(dialect, place.items[:_HEAD], dialect.knows)


def _is_ours(dialect: Dialect, place: Place) -> bool:
    """Whether a list can be read in a dialect, as far as it alone can tell."""
    if dialect.takes(place):
        return True
    if not place.items:
        return place.items == [] and (dialect.takes_empty or dialect.admits is not None)  # what a stage has left of it
    return not isinstance(place.items, str) and _holds(dialect, place.items, dialect.admits or dialect.knows)


def _holds(dialect: Dialect, items: Sequence[Any], tells: Tells) -> bool:
    if dialect.is_foreign is not None and any(map(dialect.is_foreign, items)):
        return False
    return any(map(tells, items))


class _Talk(NamedTuple):
    """The elements of one conversation, what stands around their lists, where that is, and how many are not ours."""

    elements: list[Element]
    envelope: Envelope
    pointer: Path
    foreign: int = 0


def _conversations(
    dialect: Dialect, known: Iterable[Sequence[Pattern]], value: object, is_own: Callable[[Place], bool]
) -> Iterator[list[Place]]:
    """The conversations in a value, each as its lists, where one of them, or what is around it, tells it."""
    for paths in known:
        for lists in conversations(value, paths):
            own = [one for one in lists if isinstance(one.items, list) or one.path[-1:] in dialect.texts]
            if any(map(is_own, own)):
                yield own


def _talks(dialect: Dialect, known: Sequence[Sequence[Pattern]], values: Sequence[Any]) -> Iterator[_Talk]:
    """Every conversation in some values; single elements together are one, the last."""
    admits = dialect.admits or dialect.knows
    loose: list[Element] = []
    for line, value in enumerate(values):
        is_element = dialect.admits is not None and dialect.knows(value)
        found = [] if is_element else list(_conversations(dialect, known, value, lambda one: _is_ours(dialect, one)))
        for lists in found:
            envelope = Envelope()
            for place in lists:
                envelope |= dialect.envelope(place.envelope, Span(line, place.home))
            yield _Talk([one for place in lists for one in _elements(line, place)], envelope, _pointer(lists))
        if not found and isinstance(value, dict):
            loose.append(Element(value, Span(line), Span(line)))
    if any(admits(element.value) for element in loose):
        ours = [element for element in loose if dialect.is_foreign is None or not dialect.is_foreign(element.value)]
        yield _Talk(ours, Envelope(), (), len(loose) - len(ours))


def _elements(line: int, place: Place) -> Iterator[Element]:
    at = Span(line, place.path)
    if isinstance(place.items, str):
        yield Element(place.items, at, at)
        return
    for index, item in enumerate(place.items):
        span = at.inside(index)
        yield Element(item, span, span)


def _pointer(lists: Sequence[Place]) -> Path:
    """What the paths of some lists have in common, without the key of a single one."""
    first, *others = (place.path for place in lists)
    if not others:
        return first[:-1] if first and isinstance(first[-1], str) else first
    same = [len(set(keys)) == 1 for keys in zip(first, *others, strict=False)]
    return first[: same.index(False) if False in same else len(same)]


def _transcript(dialect: Dialect, talk: _Talk, lines: tuple[Line, ...]) -> Transcript:
    envelope = talk.envelope
    found = Found(list(envelope.preamble), uncounted=talk.foreign)
    dialect.read(talk.elements, found)
    messages = tuple(found.messages)
    return Transcript(
        messages,
        Source(lines, messages),
        envelope.tools or found.tools,
        envelope.tool_choice,
        envelope.model or found.model,
        envelope.id or found.id,
        talk.pointer,
        found.uncounted,
        tuple(found.usages) or ((envelope.usage,) if envelope.usage else ()),
        dialect.records_calls,
        options=envelope.options,
    )
