"""Message lists: formats with their messages in an array, anywhere in a document.

::

    {"simulations": [{"messages": [ … ]}]}        path: simulations[*].messages
                     └──────── envelope: tools, model, id
                                  └── elements, read by the dialect
    {"role": …}\\n{"role": …}\\n                    elements on lines, all of one conversation

The elements of one conversation may be in several lists, as in `request.input + response.output`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from ctxtrim.errors import NotEditableError
from ctxtrim.formats.base import EditRules, Insertion, Site
from ctxtrim.formats.fields import elements, identifier, metadata_in, string
from ctxtrim.model import Message, Part, Role, Span, StrictRoles
from ctxtrim.model.request import RequestOptions, Usage
from ctxtrim.text.json_paths import Path, Place, matches, patterns
from ctxtrim.text.records import dump, parsed

Predicate = Callable[[Any], bool]


class Element(NamedTuple):
    """One element of a message list: its value, its span, and the span to remove with it."""

    value: Any
    span: Span
    whole: Span


class _SecondReading(list[Message]):
    """Messages that are read again. One that equals the expected message at its place is replaced
    by it, so that memory holds only one of them.
    """

    def __init__(self, messages: Iterable[Message], expected: Sequence[Message]) -> None:
        super().__init__(messages)
        self._expected = expected

    def append(self, message: Message) -> None:
        """Add a message."""
        index = len(self)
        if index < len(self._expected):
            expected = self._expected[index]
            has_place = (expected.index, expected.spans) == (message.index, message.spans)
            if has_place and expected == message:
                message = expected
        list.append(self, message)  # much faster than `super`


def messages_as(expected: Sequence[Message], preamble: Iterable[Message]) -> list[Message]:
    """The list to which the messages of a conversation are added, after its preamble.

    `expected`: all messages, if they are read again.
    """
    return _SecondReading(preamble, expected) if expected else list(preamble)


class ListContents(Struct):
    """The messages of a list and the facts collected while reading it, in order.

    `uncounted`: the number of messages with an unknown role. `model`: the last model that a message
    names. `id` and `tools`: the list's id and tool schemas if the elements contain them.
    `more_tools`: schemas that elements add to those of the request. `unread`: the parts that the
    elements lack, or that are not read, in words.
    """

    messages: list[Message] = field(default_factory=list)
    usages: list[Usage] = field(default_factory=list)
    uncounted: int = 0
    model: str | None = None
    id: str | None = None
    tools: str | None = None
    more_tools: list[Any] = field(default_factory=list)
    unread: tuple[str, ...] = ()

    def all_tools(self, tools: str | None) -> str | None:
        """The tool schemas of a request (JSON text, or None) and those that elements add."""
        tools = tools or self.tools
        if not self.more_tools:
            return tools
        return dump([*elements(parsed(tools or "[]")), *self.more_tools])

    def add_unread(self, part: str) -> None:
        """Record a part that is not read, in words, which many messages may have."""
        if part not in self.unread:
            self.unread = (*self.unread, part)

    def with_unread(self, options: RequestOptions) -> RequestOptions:
        """The options of the request, with the parts that are not read."""
        return options | RequestOptions(unread=self.unread) if self.unread else options

    def add(
        self, role: Role, parts: Iterable[Part], *spans: Span, value: Any = None, **fields: Any
    ) -> None:
        """Add a message with its spans and other fields of `Message`.

        `value`: the object with the metadata of a tool result.
        """
        metadata = metadata_in(value or {}) if role == "tool" else ()
        index = len(self.messages)
        self.messages.append(
            Message(role, tuple(parts), metadata=metadata, index=index, spans=spans, **fields)
        )

    def add_message(self, message: Message) -> None:
        """Add a message at the next index."""
        self.messages.append(replace(message, index=len(self.messages)))

    def change(self, index: int, **fields: Any) -> None:
        """Change some fields of a message."""
        self.messages[index] = replace(self.messages[index], **fields)

    def add_usage(self, usage: Usage | None) -> None:
        """Add the usage of an answer, if there is one."""
        if usage is not None:
            self.usages.append(usage)

    def add_summary(self, parts: Iterable[Part], *spans: Span) -> None:
        """Add the summary of a compaction, with the spans of all that it replaces."""
        self.add("user", parts, *spans, is_injected=True, is_summary=True)


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
    strict_roles: StrictRoles = ""
    marks: tuple[str, ...] = ()

    def __or__(self, later: "Envelope") -> "Envelope":
        """The combined fields of two objects.

        The first tools and preamble win, and the later model, id and usage.
        """
        if self is NOTHING_AROUND:
            return later
        return Envelope(
            self.tools or later.tools,
            tool_choice=self.tool_choice or later.tool_choice,
            model=later.model or self.model,
            id=later.id or self.id,
            usage=later.usage or self.usage,
            preamble=self.preamble or later.preamble,
            options=self.options | later.options,
            strict_roles=self.strict_roles or later.strict_roles,
            marks=self.marks or later.marks,
        )


NOTHING_AROUND = Envelope()


def model_and_id(value: dict[str, Any], span: Span) -> Envelope:
    """The model and id next to the messages."""
    return Envelope(model=string(value.get("model")), id=identifier(value.get("id")))


class Dialect(EditRules, frozen=True):
    """The rules of one format for message lists. Other fields: see `Format` and `EditRules`.

    Elements and their messages:

    - `knows`: whether a value is an element of such a list
    - `admits`: whether it may be one once the format of the file is known; None: `knows`
    - `opens`: whether it is a header line before elements, one per line; None: there is none
    - `read`: adds the messages of some elements, which it can go through once, to a `ListContents`
    - `resolved`: for reading only, the elements with the contents that the object around their list
      stores for them

    Where lists are:

    - `places`: the JSON paths of such lists
    - `other_places`: paths that are read only in values without a list at `places`, in this order:
      the first with a list counts, and so do those next to it
    - `texts`, `answers`: ends of paths at which a string or a message may replace a list, as its
      only element
    - `envelope`: the fields of the object around a list, at a span
    - `header`: the fields at the top of the value, or of its element in an array, if those around
      the list lack them

    Whose lists they are, in the order in which these are asked; then `knows` or `admits` decides:

    - `is_draft`: whether an empty list is no conversation, because a later value has its elements
    - `owns_place`: whether the surroundings of a list show that it belongs to this dialect
    - `refuses_place`: whether they show that it belongs to another one, which reads the same
      elements
    - `has_foreign`: whether some elements show that their whole list belongs to another dialect;
      alone on a line, such an element is counted as unknown
    - `claims`: whether elements and their envelope certainly belong to this dialect, in place of
      `knows` to detect a format; for dialects whose `knows` also accepts elements of others
    - `takes_empty`: whether an empty list is valid

    `strict_roles`: as in `Transcript`, for lists whose envelope has none.
    """

    name: str
    knows: Callable[[object], bool]
    read: Callable[[Iterable[Element], ListContents], None]
    insert: Callable[[Sequence[Message], Site], Sequence[Insertion]]
    envelope: Callable[[dict[str, Any], Span], Envelope] = model_and_id
    places: tuple[str, ...] = ("messages", "[*].messages", "")
    other_places: tuple[tuple[str, ...], ...] = ()
    texts: tuple[Path, ...] = ()
    answers: tuple[Path, ...] = ()
    header: Callable[[object], Envelope] = lambda value: NOTHING_AROUND
    admits: Predicate | None = None
    opens: Predicate | None = None
    session_of: Callable[[Mapping[str, Any]], str | None] | None = None
    resolved: Callable[[Iterable[Element], Mapping[str, Any]], Iterable[Element]] | None = None
    is_draft: Callable[[Place], bool] = lambda place: False
    owns_place: Callable[[Place], bool] = lambda place: False
    refuses_place: Callable[[Place], bool] = lambda place: False
    has_foreign: Callable[[Sequence[Any]], bool] = lambda items: False
    claims: Callable[[Sequence[Any], Mapping[str, Any]], bool] | None = None
    takes_empty: bool = False
    strict_roles: StrictRoles = ""

    def has_own_lists(self, value: object) -> bool:
        """Whether a value is an element whose lists are its content: no list of messages."""
        return self.admits is not None and self.knows(value)

    def owner_in(self, path: str) -> Callable[[Path], Path | None]:
        """The `owner` for lists at a path. An empty list stays, even one named as a content."""
        lists = patterns(path)

        def owner(array: Path) -> Path | None:
            is_list = any(matches(array, keys) for keys in lists)
            return None if is_list else self.owner(array)

        return owner


def each_as(
    spell: Callable[[Message], Any],
) -> Callable[[Sequence[Message], Site], list[Insertion]]:
    """Inserts each message as the element that `spell` makes. See `insert_elements`."""
    return lambda run, site: insert_elements(run, site, map(spell, run))


def insert_elements(run: Sequence[Message], site: Site, values: Iterable[Any]) -> list[Insertion]:
    """The values of messages as separate elements: results after their call, others before the next
    message.
    """
    if site.later is not None and not site.follows(run):
        return [Insertion(value, site.later.spans[0]) for value in values]
    ends = (_end(message, site.later) for message in (site.earlier, site.last) if message)
    span = next(filter(_is_element, ends), site.last.spans[-1])
    return [Insertion(value, span, is_after=True) for value in values]


def insert_around(
    run: Sequence[Message],
    site: Site,
    element: Callable[[Span], Span],
    spell: Callable[[Message, Any, int], Any],
    half: Callable[[Any, Span, int], Mapping[str, Any]] = lambda neighbour, cut, number: {},
) -> list[Insertion]:
    """Messages as separate elements. An element that contains both neighbours is split.

    `element`: the element that contains a span. `spell`: the value of a message, from a neighbour
    and its position among the new ones. `half`: the members with which the second half of a split
    element differs, from the element and the span at which it is cut.
    """
    earlier = None if site.earlier is None else element(site.earlier.spans[-1])
    later = None if site.later is None else element(site.later.spans[0])
    is_after = site.follows(run)
    span = (earlier if is_after else later) or element(site.last.spans[0])
    neighbour = site.value_of(span)
    values = [spell(message, neighbour, number) for number, message in enumerate(run)]
    if site.later is None or earlier != later:
        return [Insertion(value, span, is_after) for value in values]
    cut = site.later.spans[0]
    members = half(neighbour, cut, len(run))
    return [Insertion(value, cut, cuts=True, reopened=members) for value in values]


def sent_site(site: Site, element: Callable[[Span], Span | None]) -> Site:
    """The site among the messages that were sent, in a list; the answer may be outside of it.

    `element`: the element that contains the span of a message, None for a message that has none.
    Raises a `NotEditableError` for a position after the answer.
    """

    def is_answer(message: Message | None) -> bool:
        home = None if message is None else element(message.spans[0])
        return home is not None and bool(home.path) and isinstance(home.path[-1], str)

    end = len(site.messages)  # before the answers, which come last
    while end and is_answer(site.messages[end - 1]):
        end -= 1
    if is_answer(site.earlier) or not end:
        raise NotEditableError("a request takes no new message after its answer")
    later = None if is_answer(site.later) else site.later
    return replace(site, later=later, messages=site.messages[:end])


def element_site(site: Site, element: Callable[[Span], Span], refusal: str) -> Site:
    """The site among elements that contain several messages: each has the span of its element.

    Raises a `NotEditableError` with a refusal for a position inside an element.
    """

    def in_element(message: Message) -> Message:
        return replace(message, spans=(element(message.spans[0]),))

    earlier = site.earlier and in_element(site.earlier)
    later = site.later and in_element(site.later)
    if earlier and later and earlier.spans == later.spans:
        raise NotEditableError(refusal)
    return replace(site, earlier=earlier, later=later, messages=[in_element(site.last)])


def element_of(span: Span, *lists: Path) -> Span:
    """The element that contains a span, which is the element or an item of one of its lists.

    `lists`: paths of lists inside an element, such as `("content",)`; the first that fits counts.
    """
    for path in lists:
        depth = len(path) + 1
        if span.path[-depth:-1] == path:
            return Span(span.line, span.path[:-depth])
    return span


def _end(message: Message, later: Message | None) -> Span:
    """The last span of a message before a later one, which may be between its lines."""
    spans = message.spans
    if later is None or spans[-1].line <= later.spans[0].line:
        return spans[-1]
    return next((span for span in reversed(spans) if span.line < later.spans[0].line), spans[0])


def _is_element(span: Span) -> bool:
    """Whether a span is an element of a list or a line, rather than a member next to the list."""
    return not span.path or isinstance(span.path[-1], int)
