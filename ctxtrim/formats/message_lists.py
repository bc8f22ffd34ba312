"""Message lists: formats with their messages in an array, anywhere in a document.

::

    {"simulations": [{"messages": [ … ]}]}        path: simulations[*].messages
                     └──────── envelope: tools, model, id
                                  └── elements, read by the dialect
    {"role": …}\\n{"role": …}\\n                    elements on lines, all of one conversation

The elements of one conversation may be in several lists, as in `request.input + response.output`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from ctxtrim.formats.base import (
    Edit,
    Format,
    Insertion,
    Layout,
    Site,
    Visibility,
    no_links,
    no_owner,
)
from ctxtrim.formats.fields import metadata_in, string
from ctxtrim.model import Line, Message, Part, Role, Source, Span, Transcript
from ctxtrim.model.request import RequestOptions, Usage
from ctxtrim.text.json_paths import Path, Place, conversations, first_names, patterns
from ctxtrim.text.records import JsonRecord

_HEAD = 8  # elements inspected to detect a dialect
Tells = Callable[[Any], bool]


class Element(NamedTuple):
    """One element of a message list: its value, its span, and the span to remove with it."""

    value: Any
    span: Span
    whole: Span


_element = partial(tuple.__new__, Element)  # without a call of a Python function


class ListContents(Struct):
    """The messages of a list and the facts collected while reading it, in order.

    `uncounted`: the number of messages with an unknown role. `model`: the last model that a message
    names. `id` and `tools`: the list's id and tool schemas if the elements contain them.
    """

    messages: list[Message] = field(default_factory=list)
    usages: list[Usage] = field(default_factory=list)
    uncounted: int = 0
    model: str | None = None
    id: str | None = None
    tools: str | None = None

    def add(self, role: Role, parts: Iterable[Part], value: Any, whole: Span) -> None:
        """Add the message of an element, with the metadata of a tool result."""
        metadata = metadata_in(value) if role == "tool" else ()
        index = len(self.messages)
        self.messages.append(
            Message(role, tuple(parts), metadata=metadata, index=index, spans=(whole,))
        )


class Envelope(Struct, frozen=True):
    """The fields around a list, as in `Transcript`.

    `usage` covers the whole list; `preamble` messages come first.
    """

    tools: str | None = None
    tool_choice: str | None = None
    model: str | None = None
    id: str | None = None
    usage: Usage | None = None
    preamble: tuple[Message, ...] = ()
    options: RequestOptions = field(default=RequestOptions())

    def __or__(self, later: "Envelope") -> "Envelope":
        """The combined fields of two objects.

        The first tools and preamble win, and the later model, id and usage.
        """
        if self is NOTHING_AROUND:
            return later
        return Envelope(
            self.tools or later.tools,
            self.tool_choice or later.tool_choice,
            later.model or self.model,
            later.id or self.id,
            later.usage or self.usage,
            self.preamble or later.preamble,
            self.options | later.options,
        )


NOTHING_AROUND = Envelope()


def model_and_id(value: dict[str, Any], span: Span) -> Envelope:
    """The model and id next to the messages."""
    return Envelope(model=string(value.get("model")), id=string(value.get("id")))


class Dialect(Struct, frozen=True):
    """The rules of one format for message lists.

    `knows`: whether a value is an element of such a list. `read`: adds the messages of some
    elements to a `ListContents`. `envelope`: the fields of the object around a list, at a span.
    `header`: the fields at the top of the whole value, if those around the list lack them.
    `places`: the JSON paths of such lists. `takes_empty`: an empty list is valid. `claims`: whether
    elements and their envelope certainly belong to this dialect; for dialects whose `knows` also
    accepts elements of others. `has_foreign`: whether some elements show that their whole list
    belongs to another dialect; alone on a line, such an element is counted as unknown. `opens`:
    whether a value is a header line before elements, one per line. `takes`: whether the
    surroundings of a list show that it belongs to this dialect. `admits`: whether a value may be an
    element once the format of the file is known; None means `knows`. `texts`: ends of paths at
    which a string may replace a list, as its only element. `separate`: the insertions, including
    separators that keep messages from running together after an edit. `records_calls` is that of
    `Transcript`; `owner`, `insert`, `relink`, `visibility`, `must_alternate` and `text_block` are
    those of `Format`.
    """

    name: str
    knows: Callable[[object], bool]
    read: Callable[[Sequence[Element], ListContents], None]
    insert: Callable[[Sequence[Message], Site], Sequence[Insertion]]
    envelope: Callable[[dict[str, Any], Span], Envelope] = model_and_id
    owner: Callable[[Path], Path | None] = no_owner
    places: tuple[str, ...] = ("messages", "[*].messages", "")
    takes_empty: bool = False
    claims: Callable[[Sequence[Any], Mapping[str, Any]], bool] | None = None
    has_foreign: Callable[[Sequence[Any]], bool] = lambda items: False
    records_calls: bool = True
    relink: Callable[[Edit], Edit] = no_links
    opens: Tells = lambda value: False
    takes: Callable[[Place], bool] = lambda place: False
    admits: Tells | None = None
    texts: tuple[Path, ...] = ()
    separate: Callable[[Sequence[Element], Edit], Sequence[Insertion]] | None = None
    visibility: Visibility | None = None
    must_alternate: bool = False
    text_block: Callable[[str], Any] | None = None
    header: Callable[[object], Envelope] = lambda value: NOTHING_AROUND


def list_format(dialect: Dialect, path: str | None = None) -> Format:
    """The format of a dialect's lists, at their usual paths or at one given path."""
    lists = _Lists(dialect, dialect.places if path is None else (path,), path is None)
    return Format(
        name=dialect.name,
        sniff=lists.sniff,
        read=lists.read,
        owner=dialect.owner,
        insert=dialect.insert,
        relink=lists.relink,
        takes=lists.takes if dialect.claims is not None else None,
        placed=lambda path: list_format(dialect, path),
        visibility=dialect.visibility,
        must_alternate=dialect.must_alternate,
        text_block=dialect.text_block,
        homes=lists.homes,
    )


class _Talk(NamedTuple):
    """One conversation: elements, envelope, JSON path, and the number of foreign elements."""

    elements: list[Element]
    envelope: Envelope
    pointer: Path
    foreign: int = 0


class _Lists:
    """The lists of a dialect at some paths; `has_lines`: also elements on lines of their own."""

    def __init__(self, dialect: Dialect, places: Sequence[str], has_lines: bool) -> None:
        self._dialect = dialect
        self._known = [(first_names(paths), paths) for paths in map(patterns, places)]
        self._has_lines = has_lines

    def sniff(self, value: object) -> Layout | None:
        """The layout of a value that certainly belongs to the dialect."""
        layout = self._layout(value, self._claims)
        is_header = layout is None and self._has_lines and self._dialect.opens(value)
        return "events" if is_header else layout

    def takes(self, value: object) -> Layout | None:
        """The layout of a value that the dialect can read."""
        return self._layout(value, self._is_ours)

    def homes(self, value: object) -> set[Path]:
        """The paths of the message lists in the elements of an array."""
        own = self._conversations(value, self._is_ours)
        return {place.path[1:] for lists in own for place in lists}

    def _layout(self, value: object, is_own: Tells) -> Layout | None:
        if any(self._conversations(value, is_own)):
            return "conversation"
        is_element = self._has_lines and isinstance(value, dict)
        return "events" if is_element and is_own(Place((), [value], {}, (), ())) else None

    def _claims(self, place: Place) -> bool:
        """Whether a list certainly belongs to the dialect."""
        dialect, items = self._dialect, place.items
        if dialect.takes(place):
            return True
        if isinstance(items, str):
            return False
        if dialect.claims is not None:
            return dialect.claims(items, place.envelope)
        return self._holds(items[:_HEAD], dialect.knows) if items else dialect.takes_empty

    def _is_ours(self, place: Place) -> bool:
        """Whether the dialect can read a list, judged by the list alone."""
        dialect, items = self._dialect, place.items
        if dialect.takes(place):
            return True
        if isinstance(items, str):
            return False
        if not items:  # emptied by a stage
            return dialect.takes_empty or dialect.admits is not None
        return self._holds(items, dialect.admits or dialect.knows)

    def _holds(self, items: Sequence[Any], tells: Tells) -> bool:
        return not self._dialect.has_foreign(items) and any(map(tells, items))

    def _conversations(self, value: object, is_own: Tells) -> Iterator[list[Place]]:
        """The conversations in a value, each as its lists, if a list belongs to the dialect."""
        for names, paths in self._known:
            if isinstance(value, dict) and names.isdisjoint(value):
                continue
            for lists in conversations(value, paths):
                own = [
                    place
                    for place in lists
                    if isinstance(place.items, list) or place.path[-1:] in self._dialect.texts
                ]
                if any(map(is_own, own)):
                    yield own

    def _talks(self, values: Iterable[Any]) -> Iterator[_Talk]:
        """Every conversation in some values. Single elements form one conversation, the last."""
        dialect = self._dialect
        admits = dialect.admits or dialect.knows
        loose: list[Element] = []
        for line, value in enumerate(values):
            is_element = dialect.admits is not None and dialect.knows(value)
            found = [] if is_element else list(self._conversations(value, self._is_ours))
            for lists in found:
                envelope = dialect.header(value)
                for place in lists:
                    envelope |= dialect.envelope(place.envelope, Span(line, place.home))
                elements = [element for place in lists for element in _elements(line, place)]
                yield _Talk(elements, envelope, _pointer(lists))
            if not found and isinstance(value, dict):
                loose.append(Element(value, Span(line), Span(line)))
        if any(admits(element.value) for element in loose):
            ours = [element for element in loose if not dialect.has_foreign([element.value])]
            yield _Talk(ours, NOTHING_AROUND, (), len(loose) - len(ours))

    def read(self, records: Iterable[JsonRecord], lines: Sequence[Line]) -> list[Transcript]:
        """The conversations in some records."""
        talks = self._talks(record.value for record in records)
        return [self._transcript(talk, lines) for talk in talks]

    def _transcript(self, talk: _Talk, lines: Sequence[Line]) -> Transcript:
        envelope = talk.envelope
        found = ListContents(list(envelope.preamble), uncounted=talk.foreign)
        self._dialect.read(talk.elements, found)
        messages = tuple(found.messages)
        return Transcript(
            messages,
            Source(lines, messages),
            tools=envelope.tools or found.tools,
            tool_choice=envelope.tool_choice,
            model=envelope.model or found.model,
            id=envelope.id or found.id,
            pointer=talk.pointer,
            uncounted=found.uncounted,
            usages=tuple(found.usages) or ((envelope.usage,) if envelope.usage else ()),
            records_calls=self._dialect.records_calls,
            options=envelope.options,
        )

    def relink(self, edit: Edit) -> Edit:
        """The edit of the dialect, with an empty list in the place of a removed text."""
        dialect = self._dialect
        edit = dialect.relink(edit)
        if dialect.separate is not None:
            elements = [element for talk in self._talks(edit.values) for element in talk.elements]
            edit = replace(edit, inserted=dialect.separate(elements, edit))
        emptied: dict[Span, dict[str, Any]] = {}
        for span in edit.removed - {insert.span for insert in edit.inserted if insert.replaces}:
            if span.path[-1:] in dialect.texts:  # so that reading finds the envelope again
                emptied.setdefault(Span(span.line, span.path[:-1]), {})[str(span.path[-1])] = []
        return replace(edit, members={**edit.members, **emptied})


def each_as(
    spell: Callable[[Message], Any],
) -> Callable[[Sequence[Message], Site], list[Insertion]]:
    """Inserts each message as the element that `spell` makes. See `insert_elements`."""
    return lambda run, site: insert_elements(run, site, spell)


def insert_elements(
    run: Sequence[Message], site: Site, spell: Callable[[Message], Any]
) -> list[Insertion]:
    """Messages as separate elements: results after their call, others before the next message."""
    if site.later is not None and not site.follows(run):
        return [Insertion(spell(message), site.later.spans[0]) for message in run]
    ends = (_end(message, site.later) for message in (site.earlier, site.any) if message)
    span = next(filter(_is_element, ends), site.any.spans[-1])
    return [Insertion(spell(message), span, is_after=True) for message in run]


def _end(message: Message, later: Message | None) -> Span:
    """The last span of a message before a later one, which may be between its lines."""
    spans = message.spans
    if later is None or spans[-1].line <= later.spans[0].line:
        return spans[-1]
    return next((span for span in reversed(spans) if span.line < later.spans[0].line), spans[0])


def _is_element(span: Span) -> bool:
    """Whether a span is an element of a list or a line, rather than a member next to the list."""
    return not span.path or isinstance(span.path[-1], int)


def _elements(line: int, place: Place) -> list[Element]:
    if isinstance(place.items, str):
        span = Span(line, place.path)
        return [Element(place.items, span, span)]
    spans = [Span(line, (*place.path, index)) for index in range(len(place.items))]
    return list(map(_element, zip(place.items, spans, spans, strict=True)))


def _pointer(lists: Sequence[Place]) -> Path:
    """The common path of some lists, without the key of a single list."""
    first, *others = (place.path for place in lists)
    if not others:
        return first[:-1] if first and isinstance(first[-1], str) else first
    same = [len(set(keys)) == 1 for keys in zip(first, *others, strict=False)]
    return first[: same.index(False) if False in same else len(same)]
