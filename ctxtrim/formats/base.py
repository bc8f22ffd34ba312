"""The interface of a format module: one `Format` value."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from functools import cached_property
from typing import Any, Literal, TypeVar, cast

from msgspec import Struct, field
from msgspec.structs import replace

from ctxtrim.evidence.agent_instructions import is_only_instructions
from ctxtrim.formats.lines import SourceValues
from ctxtrim.model import FormatRules, Line, Message, Source, Span, Transcript
from ctxtrim.summaries.markers import is_only_summary, leads_of
from ctxtrim.text.json_paths import Path
from ctxtrim.text.records import JsonRecord, decoded_again, shallow

T = TypeVar("T")
Layout = Literal["conversation", "events"]
"""The content of one JSON value of a file: whole conversations, or one event of a session."""


class Insertion(Struct, frozen=True):
    """A JSON value to insert before or after the value at `span`, as an array element or a line.

    `replaces`: `value` replaces the value at `span`. `cuts`: `span` locates a block of an element
    that contains several messages; the element is split before that block, and `value` is inserted
    between the halves. `reopened`: members with which a half differs from the element, as a new id:
    the second half has those before its list of blocks, the first half those after it.
    """

    value: Any
    span: Span
    is_after: bool = False
    replaces: bool = False
    cuts: bool = False
    reopened: Mapping[str, Any] = {}


BEFORE_SUMMARY = "no message can come before the summary of a compaction"
"""Why a message cannot be inserted where the client sends its summary first."""


class Site(Struct, frozen=True):
    """The position of an insertion: the kept messages before and after it, None at either end.

    `value_of` returns the JSON value at a span, as read; None if there is none. `messages` are all
    messages as read. `facts`: see `fact`.
    """

    earlier: Message | None
    later: Message | None
    messages: Sequence[Message]
    value_of: Callable[[Span], Any]
    facts: dict[object, Any] = field(default_factory=dict)

    def fact(self, find: Callable[["Site"], T]) -> T:
        """The result of a function of all messages. It runs once for the sites of a transcript."""
        if find not in self.facts:
            self.facts[find] = find(self)
        return cast(T, self.facts[find])

    @property
    def last(self) -> Message:
        """The last message of the list, kept or not."""
        return self.messages[-1]

    @property
    def neighbour(self) -> Message:
        """The message whose form new messages take: the next one, else the one before, else any."""
        return self.later or self.earlier or self.last

    def follows(self, run: Sequence[Message]) -> bool:
        """Whether new messages come right after the message before them, as results do."""
        return self.later is None or (run[0].role == "tool" and self.earlier is not None)


class Edit(Struct, frozen=True, dict=True):
    """The edit of some lines, as spans to remove and values to insert and to set.

    `lines`: the lines as read, and `values` their JSON values. `transcripts`: the edited
    transcripts. `members`: changed or added members, by the span of their object. `texts`: new
    texts, by the span of the string that they replace.
    """

    lines: Sequence[Line]
    values: SourceValues
    removed: Set[Span]
    transcripts: Sequence[Transcript]
    inserted: Sequence[Insertion]
    members: Mapping[Span, Mapping[str, Any]] = {}
    texts: Mapping[Span, Any] = {}

    @cached_property
    def kept(self) -> Set[Span]:
        """The spans of kept messages, which stay. Few formats need them."""
        return {
            span
            for transcript in self.transcripts
            for message in transcript.messages
            for span in message.spans
        }

    @cached_property
    def changed(self) -> Set[Span]:
        """The spans of removed values and of replaced texts, and those at which values are new."""
        return {*self.removed, *self.texts, *(insertion.span for insertion in self.inserted)}

    def mentions(self, index: int, words: Iterable[bytes]) -> bool:
        """Whether a line has one of some words. It is not parsed, which saves memory."""
        data = self.lines[index].data
        return any(word in data for word in words)

    def value_at(self, span: Span) -> Any:
        """The value at a span, as read, also inside a string that contains JSON."""
        return self.values.at(span)

    def copy_at(self, span: Span) -> Any:
        """The value at a span after the edit, to write it at another place."""
        return self._copy(self.value_at(span), span)

    def _copy(self, value: Any, span: Span) -> Any:
        if span in self.texts:
            return self.texts[span]
        if isinstance(value, dict):
            return {
                key: self._copy(inner, span.inside(key))
                for key, inner in value.items()
                if span.inside(key) not in self.removed
            }
        if isinstance(value, list):
            return [
                self._copy(inner, span.inside(index))
                for index, inner in enumerate(value)
                if span.inside(index) not in self.removed
            ]
        return value

    def with_value(self, spans: Set[Span], value: Any) -> "Edit":
        """The edit in which some removed members stay, with another value.

        It is for members without which a line would have another effect, such as a summary.
        """
        changes = ((span.outer, {str(span.path[-1]): value}) for span in spans)
        return replace(self.with_members(changes), removed=self.removed - spans)

    def with_members(self, changes: Iterable[tuple[Span | Insertion, Mapping[str, Any]]]) -> "Edit":
        """The edit that also sets members of objects: of those at a span, and of new ones."""
        members = {span: dict(earlier) for span, earlier in self.members.items()}
        new: dict[int, Insertion] = {}  # by the identity of the insertion
        for item, more in changes:
            if isinstance(item, Insertion):
                new[id(item)] = replace(item, value=item.value | more)
            else:
                members.setdefault(item, {}).update(more)
        inserted = [new.get(id(insertion), insertion) for insertion in self.inserted]
        return replace(self, inserted=inserted, members=members)

    def in_order(self, spans: Iterable[Span]) -> Iterator[Span | Insertion]:
        """What is left of the values at some spans, and the new values around them, in order."""
        for span in spans:
            yield from self.around.get((span, False), ())
            if span not in self.removed:
                yield self.replacements.get(span, span)
            yield from self.around.get((span, True), ())

    @cached_property
    def replacements(self) -> dict[Span, Insertion]:
        """The insertions that replace a value, by its span."""
        return {insertion.span: insertion for insertion in self.inserted if insertion.replaces}

    @cached_property
    def around(self) -> dict[tuple[Span, bool], list[Insertion]]:
        """The insertions by their span, and whether they come after it."""
        insertions: dict[tuple[Span, bool], list[Insertion]] = {}
        for insertion in self.inserted:
            if not insertion.replaces:
                insertions.setdefault((insertion.span, insertion.is_after), []).append(insertion)
        return insertions


def no_owner(array: Path) -> Path | None:
    """None: no object is removed with an array."""
    return None


def content_owner(array: Path) -> Path | None:
    """A message is removed with the last block of its content."""
    return array[:-1] if array[-1] == "content" else None


def parts_owner(array: Path) -> Path | None:
    """A message is removed with the last of its parts."""
    return array[:-1] if array[-1] == "parts" else None


def no_links(edit: Edit) -> Edit:
    """The edit as it is, for formats without links between lines."""
    return edit


Visibility = Callable[
    [Sequence[tuple[Message, Message]], Sequence[Message], Callable[[Span], Any]],
    Iterable[tuple[Span, Mapping[str, Any]]],
]


class EditRules(Struct, frozen=True, kw_only=True):
    """The rules of a format for edits; the defaults are those of most formats.

    - `owner`: the path to remove when the array at a path becomes empty; None keeps the array
    - `relink`: an edit with updated links between lines, which may remove more than was asked for;
      with `links_texts` also for edits that only replace texts
    - `visibility`: for pairs of messages (as read, as edited), the members that record their
      visibility and kind, with the spans of their objects
    - `text_block`: a text as a content block
    - `records_calls`, `must_alternate`: see `FormatRules`

    A field is None if the format cannot do it.
    """

    owner: Callable[[Path], Path | None] = no_owner
    relink: Callable[[Edit], Edit] = no_links
    links_texts: bool = False
    visibility: Visibility | None = None
    text_block: Callable[[str], Any] | None = None
    records_calls: bool = True
    must_alternate: bool = False


class Format(EditRules, frozen=True, dict=True):
    """A file format: how to recognize, read and edit its files. Other fields: see `EditRules`.

    - `sniff`: the layout of a JSON value that certainly belongs to this format, else None
    - `takes`: the same for values that another format could also contain; used once the format of
      the file is known
    - `read`: the transcripts of some records, which are also given as lines. The records of a
      session are decoded one at a time, and its lines are complete after the last one
    - `insert`: the JSON values for consecutive new messages at a site
    - `placed`: the same format with its message lists at another JSON path
    - `each_request`: the same format with a transcript for each logged request
    - `list_paths`: for an array, the paths of the message lists inside its elements
    - `session_of`: the id of the session that a line begins, None for other lines; several sessions
      in a file are reported
    - `repeats_headers`: a fork begins with its own header and those of the sessions it continues

    A field is None if the format cannot do it.
    """

    name: str
    sniff: Callable[[object], Layout | None]
    read: Callable[[Iterable[JsonRecord], Sequence[Line]], list[Transcript]]
    insert: Callable[[Sequence[Message], Site], Sequence[Insertion]]
    takes: Callable[[object], Layout | None] | None = None
    placed: Callable[[str], "Format"] | None = None
    each_request: "Format | None" = None
    list_paths: Callable[[object], Set[Path]] | None = None
    session_of: Callable[[Mapping[str, Any]], str | None] | None = None
    repeats_headers: bool = False

    @cached_property
    def rules(self) -> FormatRules:
        """The rules of all its transcripts."""
        return FormatRules(
            records_calls=self.records_calls,
            hides=self.visibility is not None,
            adds_texts=self.text_block is not None,
            must_alternate=self.must_alternate,
        )

    def transcripts(self, records: Iterable[JsonRecord], lines: Sequence[Line]) -> list[Transcript]:
        """The transcripts that `read` returns, with the rules of the format.

        Records nested too deeply to be written again get a problem instead.
        """
        try:
            transcripts = self.read(records, lines)
        except RecursionError:
            transcripts = self.read(map(shallow, decoded_again(records)), lines)
        rules = self.rules
        return [
            transcript if transcript.rules == rules else replace(transcript, rules=rules)
            for transcript in map(_with_marks, transcripts)
        ]


def layout_of_events(is_event: Callable[[object], bool]) -> Callable[[object], Layout | None]:
    """`sniff` or `takes` of a format whose values are events, from a test for its events."""
    return lambda value: "events" if is_event(value) else None


def session(
    messages: Sequence[Message],
    lines: Sequence[Line],
    uncounted: int = 0,
    events: list[Any] | None = None,
    **fields: Any,
) -> list[Transcript]:
    """The one conversation of a session, with the events of its `Source` and other fields of
    `Transcript`; none if it is empty.
    """
    if not messages and not uncounted:
        return []
    source = Source(lines, tuple(messages), events=events)
    return [Transcript(source.messages, source, uncounted=uncounted, **fields)]


def _with_marks(transcript: Transcript) -> Transcript:
    """The transcript with injected messages marked, in any format.

    Their text shows it: summaries and digests written by ctxtrim, and files with instructions to
    the agent.
    """
    new_messages: dict[int, Message] = {}  # by the identity of the message as read
    for message in transcript.messages:
        if message.role == "user" and message.parts:
            new_message = _with_mark(message)
            if new_message is not message:
                new_messages[id(message)] = new_message
    if not new_messages:
        return transcript
    messages = tuple(new_messages.get(id(message), message) for message in transcript.messages)
    source = replace(transcript.source, messages=messages)
    return replace(transcript, messages=messages, source=source)


def _with_mark(message: Message) -> Message:
    if message.parts[0].text.startswith("[") and _is_ours(message):
        is_summary = message.is_summary or is_only_summary(message.parts[0].text)
        return replace(message, is_injected=True, is_summary=is_summary)
    if not message.is_injected and is_only_instructions(message):
        return replace(message, is_injected=True)
    return message


def _is_ours(message: Message) -> bool:
    """Whether a user message contains only a summary or digests written by ctxtrim."""
    text = message.parts[0].text
    if is_only_summary(text):
        return True
    leads = leads_of(text)
    return len(message.parts) == 1 and leads.digests is not None and leads.own is None
