"""The format of a dialect: finds, reads and edits its message lists."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache, partial
from itertools import chain, islice, repeat, tee
from typing import Any, NamedTuple

from msgspec.structs import replace

from ctxtrim.formats.base import Edit, Format, Layout
from ctxtrim.formats.fields import json_in, log_messages
from ctxtrim.formats.lines import LineRecords
from ctxtrim.formats.message_lists import (
    NOTHING_AROUND,
    Dialect,
    Element,
    Envelope,
    ListContents,
    Predicate,
    messages_as,
)
from ctxtrim.model import Line, Message, Source, Span, Transcript
from ctxtrim.text.json_paths import Path, PathTable, Place, conversations, first_names, patterns
from ctxtrim.text.records import JsonRecord, value_in

_HEAD = 8  # elements inspected to detect a dialect
_START = 8  # characters of a string that show whether it may be a list
_ROLES = frozenset(("role", "from"))  # members that messages of most formats have
_STRINGS = 8  # lists in strings that are kept: every format looks at them to detect a file
_element = partial(tuple.__new__, Element)  # without a call of a Python function


def list_format(dialect: Dialect, path: str | None = None) -> Format:
    """The format of a dialect's lists, at their usual paths or at one given path."""
    places = dialect.places if path is None else (path,)
    others = dialect.other_places if path is None else ()
    lists = _Lists(dialect, places, others, path is None)
    return Format(
        name=dialect.name,
        sniff=lists.sniff,
        read=lists.read,
        owner=dialect.owner if path is None else dialect.owner_in(path),
        insert=dialect.insert,
        relink=lists.relink,
        links_texts=dialect.links_texts,
        takes=lists.takes if dialect.claims is not None else None,
        placed=lambda path: list_format(dialect, path),
        visibility=dialect.visibility,
        must_alternate=dialect.must_alternate,
        strict_roles=dialect.strict_roles,
        text_block=dialect.text_block,
        list_paths=lists.list_paths,
    )


class _Talk(NamedTuple):
    """One conversation: elements, envelope, JSON path, and the number of foreign elements."""

    elements: Iterable[Element]
    envelope: Envelope
    pointer: Path
    foreign: int = 0


class _Lists:
    """The lists of a dialect at some paths, and its `other_places`.

    `has_lines`: also elements on lines of their own.
    """

    def __init__(
        self,
        dialect: Dialect,
        places: Sequence[str],
        others: Sequence[Sequence[str]],
        has_lines: bool,
    ) -> None:
        self._dialect = dialect
        self._usual = PathTable(places)
        self._others = [list(map(patterns, together)) for together in others]
        self._other_names = frozenset(
            name for together in self._others for paths in together for name in first_names(paths)
        )
        self._has_lines = has_lines

    def sniff(self, value: object) -> Layout | None:
        """The layout of a value that certainly belongs to the dialect."""
        layout = self._layout(value, self._claims)
        is_header = layout is None and self._has_lines and self._dialect.opens(value)
        return "events" if is_header else layout

    def takes(self, value: object) -> Layout | None:
        """The layout of a value that the dialect can read."""
        return self._layout(value, self._is_ours)

    def list_paths(self, value: object) -> set[Path]:
        """The paths of the message lists in the elements of an array."""
        own = self._conversations(value, self._is_ours)
        return {place.path[1:] for lists in own for place in lists}

    def _layout(self, value: object, is_own: Predicate) -> Layout | None:
        if any(self._conversations(value, is_own)) or self._is_logged(value, is_own):
            return "conversation"
        is_element = self._has_lines and isinstance(value, dict)
        return "events" if is_element and is_own(Place((), [value], {}, (), ())) else None

    def _is_logged(self, value: object, is_own: Predicate) -> bool:
        """Whether the first messages of a log service contain conversations."""
        texts = islice(log_messages(value), _STRINGS if self._has_lines else 0)
        return any(any(self._conversations(json_in(text), is_own)) for _, text in texts)

    def _claims(self, place: Place) -> bool:
        """Whether a list certainly belongs to the dialect."""
        dialect, items = self._dialect, _items(place)
        if dialect.owns_place(place):
            return True
        if isinstance(items, str) or dialect.refuses_place(place):
            return False
        if dialect.claims is not None:
            return dialect.claims(items, place.envelope)
        return self._holds(items[:_HEAD], dialect.knows) if items else dialect.takes_empty

    def _is_ours(self, place: Place) -> bool:
        """Whether the dialect can read a list, judged by the list alone."""
        dialect, items = self._dialect, _items(place)
        if dialect.owns_place(place):
            return True
        if isinstance(items, str) or dialect.refuses_place(place):
            return False
        if not items:  # emptied by a stage
            return dialect.takes_empty or dialect.admits is not None
        return self._holds(items, dialect.admits or dialect.knows)

    def _is_foreign(self, answer: Place) -> bool:
        """Whether the answer next to a list is one of another dialect."""
        return isinstance(answer.items, (list, dict)) and self._dialect.has_foreign(_items(answer))

    def _holds(self, items: Sequence[Any], knows: Predicate) -> bool:
        return not self._dialect.has_foreign(items) and any(map(knows, items))

    def _conversations(
        self, value: object, is_own: Predicate, unread: list[list[Place]] | None = None
    ) -> Iterator[list[Place]]:
        """The conversations of the dialect in a value, each as its lists; others go to `unread`."""
        found: set[Path] = set()
        refused: dict[Path, list[Place]] = {}
        for paths in self._usual.paths_in(value):
            for lists in conversations(value, paths):
                own = self._lists(lists)
                if any(map(is_own, own)) and not any(map(self._is_foreign, own[1:])):
                    found.add(own[0].among)
                    yield own
                elif own:
                    refused.setdefault(own[0].among, own)
        if self._has_others(value, found):
            yield from self._elsewhere(value, is_own, found, refused)
        if unread is not None:
            unread += (lists for among, lists in refused.items() if among not in found)

    def _lists(self, places: Iterable[Place]) -> list[Place]:
        """The lists among the values at some paths, and the texts in the place of a list."""
        return [
            place
            for place in map(self._opened, places)
            if (isinstance(place.items, list) or self._is_element(place))
            and (place.items or not self._dialect.is_draft(place))
            and not self._dialect.has_own_lists(place.envelope)
        ]

    def _opened(self, place: Place) -> Place:
        """The place with the list that its string contains, as tables store messages.

        A text that a user sent may be a list too; then it has no message of the dialect.
        """
        if not isinstance(place.items, str):
            return place
        items = _list_in(place.items)
        if self._is_element(place):
            if place.items == "[]":  # emptied by a stage
                items = []
            elif items is not None and not any(map(self._dialect.knows, items)):
                items = None
        return place if items is None else place._replace(items=list(items))

    def _is_element(self, place: Place) -> bool:
        """Whether a text or an object is the only element, in the place of a list."""
        ends = self._dialect.texts if isinstance(place.items, str) else self._dialect.answers
        return place.path[-1:] in ends

    def _has_others(self, value: object, found: Collection[Path]) -> bool:
        """Whether a value may have conversations at other places than the usual ones."""
        if isinstance(value, dict):
            return not found and not self._other_names.isdisjoint(value)
        if not isinstance(value, list) or () in found:  # the array is a conversation
            return False
        return len(found) < len(value) and bool(self._others)

    def _elsewhere(
        self, value: object, is_own: Predicate, found: set[Path], refused: dict[Path, list[Place]]
    ) -> Iterator[list[Place]]:
        """The conversations at the other places. A place counts only if all its lists are there."""
        for together in self._others:
            here: set[Path] = set()
            for paths in together:
                for lists in conversations(value, paths):
                    own = self._lists(lists)
                    if len(own) < len(paths) or own[0].among in found:
                        continue
                    if all(map(is_own, own)) and any(place.items for place in own):
                        here.add(own[0].among)
                        yield own
                    else:
                        refused.setdefault(own[0].among, own)
            found |= here

    def _talks(self, values: Iterable[Any], consumes: bool = False) -> Iterator[_Talk]:
        """Every conversation in some values. Single elements form one conversation, the last.
        `consumes`: take elements out of their lists as they are read, to free their memory.
        """
        dialect = self._dialect
        admits = dialect.admits or dialect.knows
        loose: list[Element] = []
        for line, value in enumerate(values):
            found = [] if dialect.has_own_lists(value) else self._values(line, value, consumes)
            yield from found
            if not found and isinstance(value, dict):
                loose.append(Element(value, Span(line), Span(line)))
        if any(admits(element.value) for element in loose):
            foreign = dialect.has_foreign
            is_own = not foreign([element.value for element in loose])
            ours = [each for each in loose if is_own or not foreign([each.value])]
            yield _Talk(ours, NOTHING_AROUND, (), len(loose) - len(ours))

    def _values(self, line: int, value: Any, consumes: bool) -> list[_Talk]:
        """The conversations in a value, or in the messages of a log service that it has."""
        found = self._talks_at(Span(line), value, consumes)
        if found or not self._has_lines:
            return found
        for path, text in log_messages(value):
            found += self._talks_at(Span(line, path), value_in(text), consumes)
        return found

    def _talks_at(self, span: Span, value: Any, consumes: bool) -> list[_Talk]:
        """The conversations in a value, and those of other formats without their elements."""
        unread: list[list[Place]] = []
        found = list(self._conversations(value, self._is_ours, unread))
        talks = [self._talk(span, value, lists, consumes) for lists in found]
        if not unread:
            return talks
        places = [lists[0].among for lists in found]
        for lists in unread:
            foreign = sum(map(_messages, lists))
            if foreign:
                pointer = (*span.path, *_pointer(lists))
                talks.append(_Talk((), NOTHING_AROUND, pointer, foreign))
                places.append(lists[0].among)
        return [talks[index] for index in sorted(range(len(talks)), key=places.__getitem__)]

    def _talk(self, span: Span, value: Any, lists: Sequence[Place], consumes: bool) -> _Talk:
        """The conversation in some lists, with contents that are stored next to them."""
        dialect = self._dialect
        envelope = dialect.header(_top(value, lists[0].path))
        elements = []
        for place in lists:
            envelope |= dialect.envelope(place.envelope, span.inside(*place.envelope_path))
            own = _elements(span, place, consumes)
            elements.append(
                own if dialect.resolved is None else dialect.resolved(own, place.envelope)
            )
        pointer = (*span.path, *_pointer(lists))
        return _Talk(chain.from_iterable(elements), envelope, pointer)

    def read(self, records: Iterable[JsonRecord], lines: Sequence[Line]) -> list[Transcript]:
        """The conversations in some records. Their values lose the elements that were read."""
        talks = self._talks((record.value for record in records), consumes=True)
        expected = iter(records.expected if isinstance(records, LineRecords) else ())
        return [self._transcript(talk, lines, next(expected, ())) for talk in talks]

    def _transcript(
        self, talk: _Talk, lines: Sequence[Line], expected: Sequence[Message]
    ) -> Transcript:
        envelope = talk.envelope
        found = ListContents(messages_as(expected, envelope.preamble), uncounted=talk.foreign)
        self._dialect.read(talk.elements, found)
        messages = tuple(found.messages)
        return Transcript(
            messages,
            Source(lines, messages),
            tools=found.all_tools(envelope.tools),
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
        if not dialect.texts:
            return edit
        replaced = {insert.span for insert in edit.inserted if insert.replaces}
        emptied = {span for span in edit.removed - replaced if span.path[-1:] in dialect.texts}
        return edit.with_value(emptied, [])  # so that reading finds the envelope again


@lru_cache(_STRINGS)
def _list_in(text: str) -> Sequence[Any] | None:
    """The elements of the list that a string contains as JSON; None for other strings and `[]`."""
    if not text[:_START].lstrip().startswith("["):
        return None
    value = value_in(text)
    return value if isinstance(value, list) and value else None


def _top(value: Any, path: Path) -> Any:
    """The value at the top of a conversation: that of its element in an array."""
    if isinstance(value, list) and path and isinstance(path[0], int):
        return value[path[0]]
    return value


def _items(place: Place) -> list[Any] | str:
    """The elements at a place, of which an object is the only one."""
    return [place.items] if isinstance(place.items, dict) else place.items


def _elements(around: Span, place: Place, consumes: bool) -> Iterator[Element]:
    """The elements of a list, made without a call of a Python function for each."""
    items, span = place.items, around.inside(*place.path)
    if not isinstance(items, list):
        return iter((Element(items, span, span),))
    paths = map(span.path.__add__, zip(range(len(items))))
    spans, wholes = tee(map(Span, repeat(span.line), paths))  # of one element at a time
    values: Iterable[Any] = items
    if consumes:
        items.reverse()
        values = map(list.pop, repeat(items, len(items)))
    return map(_element, zip(values, spans, wholes, strict=True))


def _messages(place: Place) -> int:
    """The number of elements of a list that may be messages of another format."""
    return sum(isinstance(value, dict) and not _ROLES.isdisjoint(value) for value in place.items)


def _pointer(lists: Sequence[Place]) -> Path:
    """The common path of some lists, without the key of a single list."""
    first, *others = (place.path for place in lists)
    if not others:
        return first[:-1] if first and isinstance(first[-1], str) else first
    same = [len(set(keys)) == 1 for keys in zip(first, *others, strict=False)]
    return first[: same.index(False) if False in same else len(same)]
