"""The format of a dialect: finds, reads and edits its message lists."""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, repeat, tee
from operator import itemgetter
from typing import Any, NamedTuple

from ctxtrim.formats.base import Edit, EditRules, Format, Layout
from ctxtrim.formats.lines import LineRecords
from ctxtrim.formats.list_search import ListSearch, may_have_answer
from ctxtrim.formats.log_events import first_logged, log_messages
from ctxtrim.formats.message_lists import (
    NOTHING_AROUND,
    Dialect,
    Element,
    Envelope,
    ListContents,
    Predicate,
    messages_as,
)
from ctxtrim.loading import lazy_function
from ctxtrim.model import Companion, Line, Message, Source, Span, Transcript
from ctxtrim.model.request import RequestOptions
from ctxtrim.text.json_paths import Path, Place
from ctxtrim.text.records import BLANK, JsonRecord, value_in

_FEW = 256  # elements of an array whose spans other conversations share
_REMEMBERED = 256  # such arrays
_ROLES = frozenset(("role", "from"))  # members that messages of most formats have
_other_answers = lazy_function("ctxtrim.formats.answers:other_answers")
_unread_answers = lazy_function("ctxtrim.formats.answers:unread_answers")
_unread_request = lazy_function("ctxtrim.formats.answers:unread_request")
_unread_preferences = lazy_function("ctxtrim.formats.preferences:unread_preferences")
_with_answers = lazy_function("ctxtrim.formats.preferences:with_answers")
_answer_conversations = lazy_function("ctxtrim.formats.preferences:answer_conversations")
_WITH_ANSWER = frozenset((
    "completion", "chosen", "rejected", "preferred_output", "non_preferred_output",
    "chosen_messages", "rejected_messages",
))  # fmt: skip
"""The names of lists that have, or end with, an answer for training."""
_REJECTED = (("rejected",), ("rejected_messages",))
"""The ends of paths of lists with a rejected answer, next to that of the chosen one."""
_ANSWER_MEMBERS = frozenset(("chosen", "rejected", "rejected_response"))
"""Members next to a list that may be answers for training."""


def list_format(dialect: Dialect, path: str | None = None) -> Format:
    """The format of a dialect's lists, at their usual paths or at one given path."""
    places = dialect.places if path is None else (path,)
    others = dialect.other_places if path is None else ()
    lists = _Lists(dialect, ListSearch(dialect, places, others), path is None)
    rules = {name: getattr(dialect, name) for name in EditRules.__struct_fields__}
    rules["relink"] = lists.relink
    if path is not None:
        rules["owner"] = dialect.owner_in(path)
    return Format(
        name=dialect.name,
        sniff=lists.sniff,
        read=lists.read,
        insert=dialect.insert,
        takes=lists.takes if dialect.claims or dialect.admits else None,
        placed=lambda path: list_format(dialect, path),
        list_paths=lists.list_paths,
        session_of=dialect.session_of,
        **rules,
    )


class _Talk(NamedTuple):
    """One conversation: elements, envelope, JSON path, the number of foreign elements, what belongs
    to the last message, and the spans of the lists if the last one has an answer for training.
    """

    elements: Iterable[Element]
    envelope: Envelope
    pointer: Path
    foreign_count: int = 0
    companions: tuple[Companion, ...] = ()
    answer_lists: tuple[Span, ...] = ()


class _Lists:
    """Reads and edits the lists of a dialect.

    `is_usual`: at all usual places, with the answers next to them, and elements on lines of their
    own; else at one path that the user named.
    """

    def __init__(self, dialect: Dialect, search: ListSearch, is_usual: bool) -> None:
        self._dialect = dialect
        self._search = search
        self._is_usual = is_usual
        self._opens = dialect.opens if is_usual else None

    def sniff(self, value: object) -> Layout | None:
        """The layout of a value that certainly belongs to the dialect."""
        layout = self._layout(value, self._search.is_claimed)
        if layout is None and self._opens is not None and self._opens(value):
            return "events"
        return layout

    def takes(self, value: object) -> Layout | None:
        """The layout of a value that the dialect can read."""
        return self._layout(value, self._search.is_readable)

    def list_paths(self, value: object) -> set[Path]:
        """The paths of the message lists in the elements of an array, without those of answers, and
        without the second list of a pair.
        """
        paths: set[Path] = set()
        for first, *others in self._search.conversations(value, self._search.is_readable):
            lists = (place for place in others if not isinstance(place.items, dict))
            paths.update(place.path[1:] for place in (first, *lists))
        return {path for path in paths if path[-1:] not in _REJECTED} or paths

    def _layout(self, value: object, is_own: Predicate) -> Layout | None:
        if any(self._search.conversations(value, is_own)) or self._is_logged(value, is_own):
            return "conversation"
        is_element = self._is_usual and isinstance(value, dict)
        return "events" if is_element and is_own(Place((), [value], {}, (), ())) else None

    def _is_logged(self, value: object, is_own: Predicate) -> bool:
        """Whether the first messages of a log service contain conversations."""
        values = first_logged(value) if self._is_usual else ()
        return any(any(self._search.conversations(inner, is_own)) for inner in values)

    def _talks(self, values: Iterable[Any]) -> Iterator[_Talk]:
        """Every conversation in some values. Single elements form one conversation, the last."""
        dialect = self._dialect
        admits = dialect.admits or dialect.knows
        lone_elements: list[Element] = []
        for line, value in enumerate(values):
            talks = [] if dialect.has_own_lists(value) else self._values(line, value)
            yield from talks
            if not talks and isinstance(value, dict):
                lone_elements.append(Element(value, Span(line), Span(line)))
        if any(admits(element.value) for element in lone_elements):
            has_foreign = dialect.has_foreign
            is_own = not has_foreign([element.value for element in lone_elements])
            own_elements = [
                element for element in lone_elements if is_own or not has_foreign([element.value])
            ]
            yield _Talk(own_elements, NOTHING_AROUND, (), len(lone_elements) - len(own_elements))

    def _values(self, line: int, value: Any) -> list[_Talk]:
        """The conversations in a value, or in the messages of a log service that it has."""
        talks = [] if value is BLANK else self._talks_at(Span(line), value)
        if talks or not self._is_usual:
            return talks
        for path, text in log_messages(value):
            talks += self._talks_at(Span(line, path), value_in(text))
        return talks

    def _talks_at(self, span: Span, value: Any) -> list[_Talk]:
        """The conversations in a value, and those of other formats without their elements."""
        foreign_lists: list[list[Place]] = []
        conversations: list[list[Place]] = []
        for lists in self._search.conversations(value, self._search.is_readable, foreign_lists):
            if len(lists) == 1 and self._may_have_preferences(lists[0]):
                conversations += _answer_conversations(lists, self._search.may_be_answer)
            else:
                conversations.append(lists)
        if len(conversations) > 1:
            _copy_shared_lists(conversations)
        talks = [self._talk(span, value, lists, conversations) for lists in conversations]
        if not foreign_lists:
            return talks
        placed = [(lists[0].among, talk) for lists, talk in zip(conversations, talks, strict=True)]
        for lists in foreign_lists:
            count = sum(map(_message_count, lists))
            if count:
                pointer = (*span.path, *_pointer(lists))
                placed.append((lists[0].among, _Talk((), NOTHING_AROUND, pointer, count)))
        return [talk for _, talk in sorted(placed, key=itemgetter(0))]

    def _may_have_preferences(self, place: Place) -> bool:
        """Whether answers for training may be next to a list."""
        return self._is_usual and not _ANSWER_MEMBERS.isdisjoint(place.envelope)

    def _talk(
        self,
        span: Span,
        value: Any,
        lists: Sequence[Place],
        conversations: Sequence[Sequence[Place]],
    ) -> _Talk:
        """The conversation in some lists, one of those in a value, with contents that are stored
        next to them.
        """
        dialect = self._dialect
        envelope = dialect.header(_top(value, lists[0].path))
        notes: tuple[str, ...] = ()
        companions: tuple[Companion, ...] = ()
        if self._search.is_lone_answer(lists):
            notes = _unread_request(value, lists[0])
        elif may_have_answer(lists[0]):
            notes = _unread_answers(value, lists)
            companions = _other_answers(span, value, lists, self._search.may_be_answer)
        elif self._may_have_preferences(lists[0]):
            notes = _unread_preferences(lists, conversations)
        if notes:
            envelope |= Envelope(options=RequestOptions(unread=notes))
        streams = []
        for place in lists:
            envelope |= dialect.envelope(place.envelope, span.inside(*place.envelope_path))
            elements, resolved = _elements(span, place), dialect.resolved
            streams.append(elements if resolved is None else resolved(elements, place.envelope))
        pointer = (*span.path, *_pointer(lists))
        answer_lists: tuple[Span, ...] = ()
        path = lists[-1].path
        if path and path[-1] in _WITH_ANSWER:
            answer_lists = tuple(span.inside(*place.path) for place in lists)
        elements = chain.from_iterable(streams)
        return _Talk(elements, envelope, pointer, companions=companions, answer_lists=answer_lists)

    def read(self, records: Iterable[JsonRecord], lines: Sequence[Line]) -> list[Transcript]:
        """The conversations in some records. Their values lose the elements that were read."""
        expected = iter(records.expected if isinstance(records, LineRecords) else ())
        transcripts: list[Transcript] = []
        for talk in self._talks(record.value for record in records):
            transcripts.append(self._transcript(talk, lines, next(expected, ())))
            if talk.answer_lists:
                transcripts[-2:] = _with_answers(transcripts[-2:], talk.answer_lists)
        return transcripts

    def _transcript(
        self, talk: _Talk, lines: Sequence[Line], expected: Sequence[Message]
    ) -> Transcript:
        envelope = talk.envelope
        contents = ListContents(
            messages_as(expected, envelope.preamble), uncounted=talk.foreign_count
        )
        self._dialect.read(talk.elements, contents)
        if contents.messages and contents.messages[-1].companions != talk.companions:
            contents.change(-1, companions=talk.companions)
        messages = tuple(contents.messages)
        return Transcript(
            messages,
            Source(lines, messages),
            tools=contents.all_tools(envelope.tools),
            tool_choice=envelope.tool_choice,
            model=envelope.model or contents.model,
            id=envelope.id or contents.id,
            pointer=talk.pointer,
            uncounted=contents.uncounted,
            usages=tuple(contents.usages) or ((envelope.usage,) if envelope.usage else ()),
            options=contents.with_unread(envelope.options),
            strict_roles=envelope.strict_roles or self._dialect.strict_roles,
            marks=envelope.marks,
        )

    def relink(self, edit: Edit) -> Edit:
        """The edit of the dialect, with an empty list in the place of a removed text."""
        dialect = self._dialect
        edit = dialect.relink(edit)
        if not dialect.texts:
            return edit
        removed = edit.removed - edit.replacements.keys()
        empty_spans = {span for span in removed if span.path[-1:] in dialect.texts}
        return edit.with_value(empty_spans, [])  # so that reading finds the envelope again


def _top(value: Any, path: Path) -> Any:
    """The value at the top of a conversation: that of its element in an array."""
    if isinstance(value, list) and path and isinstance(path[0], int):
        return value[path[0]]
    return value


def _copy_shared_lists(conversations: Iterable[list[Place]]) -> None:
    """Copy lists that several conversations have, because reading empties them: a prompt with two
    answers.
    """
    known_paths: set[Path] = set()
    for lists in conversations:
        for number, place in enumerate(lists):
            if place.path in known_paths and isinstance(place.items, list):
                lists[number] = place._replace(items=list(place.items))
            known_paths.add(place.path)


def _elements(base: Span, place: Place) -> Iterator[Element]:
    """The elements of a list, each taken out of it when it is read, to free its memory.

    They are made without a call of a Python function for each.
    """
    items, span = place.items, base.inside(*place.path)
    if not isinstance(items, list):
        return iter((Element(items, span, span),))
    number = len(items)
    spans: Sequence[Iterable[Span]]
    if number <= _FEW:
        spans = (_shared_spans(span, number),) * 2
    else:
        spans = tee(_spans(span, number))  # not all at once: the self-check keeps few of them
    items.reverse()
    values = map(list.pop, repeat(items, number))
    return map(tuple.__new__, repeat(Element), zip(values, *spans, strict=True))


def _spans(array: Span, number: int) -> Iterator[Span]:
    """The spans of the elements of an array."""
    return (Span(array.line, (*array.path, index)) for index in range(number))


@lru_cache(_REMEMBERED)
def _shared_spans(array: Span, number: int) -> tuple[Span, ...]:
    return tuple(_spans(array, number))


def _message_count(place: Place) -> int:
    """The number of elements of a list that may be messages of another format."""
    return sum(isinstance(value, dict) and not _ROLES.isdisjoint(value) for value in place.items)


def _pointer(lists: Sequence[Place]) -> Path:
    """The common path of some lists, without the key of a single list."""
    first, *others = (place.path for place in lists)
    if not others:
        return first[:-1] if first and isinstance(first[-1], str) else first
    matches = [len(set(keys)) == 1 for keys in zip(first, *others, strict=False)]
    return first[: matches.index(False) if False in matches else len(matches)]
