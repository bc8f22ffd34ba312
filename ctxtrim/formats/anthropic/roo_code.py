"""Histories of Roo Code and its forks, which keep the messages that they no longer send, and
reasoning next to the content of an answer.

::

    {…, "condenseParent": "c1"}                             not sent while its summary exists
    {…, "isSummary": true, "condenseId": "c1"}              the summary
    {…, "truncationParent": "t1"}                           not sent while its marker exists
    {…, "isTruncationMarker": true, "truncationId": "t1"}   the marker
    {"type": "reasoning", "encrypted_content", "id"}        the reasoning of the next answer

After the last summary, results of condensed calls are not sent. Older versions sent the first
message, without a mark, before the summary; newer ones send nothing before it. It counts.

Version 2 of its storage, `{"version": 2, "messages"}`, has the messages of the AI SDK instead of
Anthropic's.

Sources: `getEffectiveApiHistory` in `src/core/condense/index.ts`, and
`src/core/task-persistence/apiMessages.ts` and `rooMessage.ts` of RooCodeInc/Roo-Code.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import Any

from msgspec.structs import replace

from ctxtrim.formats.anthropic import LinkedElement, is_sealed
from ctxtrim.formats.fields import string
from ctxtrim.formats.message_lists import ListContents
from ctxtrim.model import Message, Part, Span

_LINKS = (
    ("condenseParent", "isSummary", "condenseId"),
    ("truncationParent", "isTruncationMarker", "truncationId"),
)


_Link = tuple[str, str]
"""A member with which an element names its parent, and the name."""


def add_reasoning(value: Mapping[str, Any], whole: Span, contents: ListContents) -> LinkedElement:
    """Add the encrypted reasoning of the next answer, and return its element."""
    position = len(contents.messages)
    sealed = Part("reasoning", sealed=len(value["encrypted_content"]))
    contents.add("assistant", [sealed], whole)
    return LinkedElement(value, whole, range(position, position + 1))


def link(contents: ListContents, elements: Sequence[LinkedElement]) -> None:
    """Link answers to their encrypted reasoning, and remove the messages that Roo Code does not
    send.
    """
    messages = contents.messages
    for element in elements:
        after = element.messages.stop
        if is_sealed(element.value) and after < len(messages):
            contents.change(after, continues=messages[after].role == "assistant")
    _hide_unsent(contents, elements)


def with_reasoning(
    messages: Iterable[Message], answer: dict[str, Any], span: Span, contents: ListContents
) -> Iterator[Message]:
    """The messages in the content of an answer, with the reasoning next to it."""
    from ctxtrim.formats.openai.answer_parts import with_members

    for message in messages:
        yield replace(message, parts=with_members(answer, message.parts, span, contents))


def _hide_unsent(contents: ListContents, elements: Sequence[LinkedElement]) -> None:
    """Remove the messages that Roo Code does not send.

    A summary or marker carries the spans of the elements that it hides: without it they would be
    live again. The last summary carries the results after it whose calls it replaces, too.
    """
    by_name = {name: element for element in elements for name in _names(element)}
    marks = {element.messages.start: element for element in by_name.values()}
    roots: dict[Span, LinkedElement] = {}
    hidden: dict[Span, list[Span]] = {}
    unsent: set[int] = set()
    for element in elements:
        if _parents(element, by_name):
            root = _root(element, by_name, roots)
            hidden.setdefault(root.span, []).append(element.span)
            unsent.update(element.messages)
    summaries = [element for element in marks.values() if element.value.get("isSummary")]
    if summaries:
        last = max(summaries, key=lambda summary: summary.messages.start)
        spans = hidden.setdefault(_root(last, by_name, roots).span, [])
        for position in _orphans(contents.messages, last.messages.start, unsent):
            spans += contents.messages[position].spans
            unsent.add(position)
    sent: list[Message] = []
    for position, message in enumerate(contents.messages):
        if position in unsent:
            continue
        mark = marks.get(position)
        if mark is not None:
            message = _marked(message, mark, hidden.get(mark.span, ()))
        sent.append(replace(message, index=len(sent)))
    contents.messages[:] = sent


def _orphans(messages: Sequence[Message], start: int, unsent: Set[int]) -> list[int]:
    """The positions of the results from `start` on whose calls are not sent."""
    call_ids = {
        call.call_id
        for position, message in enumerate(messages)
        if position not in unsent
        for call in message.calls
    }
    results = [(position, messages[position].result) for position in range(start, len(messages))]
    return [position for position, result in results if result and result.call_id not in call_ids]


def _names(element: LinkedElement) -> Iterator[_Link]:
    """The links with which other elements name this one as their parent."""
    for link, mark, key in _LINKS:
        name = string(element.value.get(key))
        if element.value.get(mark) and name:
            yield link, name


def _parents(element: LinkedElement, by_name: Mapping[_Link, LinkedElement]) -> list[LinkedElement]:
    """The elements that hide an element: its summary and its marker."""
    links = [(link, string(element.value.get(link)) or "") for link, _, _ in _LINKS]
    parents = [by_name[link] for link in links if link in by_name]
    return [parent for parent in parents if parent.span != element.span]


def _root(
    element: LinkedElement, by_name: Mapping[_Link, LinkedElement], roots: dict[Span, LinkedElement]
) -> LinkedElement:
    """The last element on the way from an element to its parents. `roots`: those found before."""
    way: dict[Span, None] = {}
    while element.span not in roots:
        way[element.span] = None
        parents = _parents(element, by_name)
        parent = next((parent for parent in parents if parent.span not in way), None)
        if parent is None:
            break
        element = parent
    root = roots.get(element.span, element)
    roots.update(dict.fromkeys(way, root))
    return root


def _marked(message: Message, mark: LinkedElement, hidden: Sequence[Span]) -> Message:
    """The message of a summary or marker, which no person typed."""
    return replace(
        message,
        is_injected=message.role == "user",
        is_summary=bool(mark.value.get("isSummary")),
        spans=(*message.spans, *hidden),
    )
