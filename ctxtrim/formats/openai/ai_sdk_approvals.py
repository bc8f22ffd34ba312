"""Removes requests for approval, and the answers to them, with their calls from messages of the
AI SDK.

::

    assistant  [{"type": "tool-call", "toolCallId": "c1", …},
                {"type": "tool-approval-request", "toolCallId": "c1", "approvalId": "a1"}]
    tool       [{"type": "tool-approval-response", "approvalId": "a1", "approved": true}]

Neither is sent to the model, but the SDK reads both when it continues the conversation.
"""

from collections.abc import Iterable, Iterator, Set
from itertools import chain
from typing import Any

from msgspec.structs import replace

from ctxtrim.formats.base import Edit
from ctxtrim.formats.fields import elements, members, string
from ctxtrim.formats.message_lists import element_of
from ctxtrim.formats.openai import SDK_REQUEST, SDK_RESPONSE
from ctxtrim.model import Span
from ctxtrim.text.records import value_in

_CONTENT = ("content",)


def without_approvals(edit: Edit) -> Edit:
    """The edit, which also removes the requests and answers of the calls that it removes."""
    removed = set(edit.removed)
    for messages in _by_list(element_of(span, _CONTENT) for span in edit.removed).values():
        requests = dict(chain.from_iterable(_requests(edit, message) for message in messages))
        if requests:  # ids are those of one conversation
            removed |= requests.keys()
            removed.update(_answers(edit, messages, set(requests.values()) - {None}))
    if removed == edit.removed:
        return edit
    return replace(edit, removed=removed.union(_empty_messages(edit, removed)))


def _by_list(messages: Iterable[Span]) -> dict[Span | None, set[Span]]:
    """The messages of each list; those on lines of their own are one conversation."""
    lists: dict[Span | None, set[Span]] = {}
    for message in messages:
        array = message.outer if message.path else None
        lists.setdefault(array, set()).add(message)
    return lists


def _blocks(edit: Edit, message: Span) -> list[tuple[Span, dict[str, Any]]]:
    """The blocks of a message with their spans."""
    content = elements(members(edit.value_at(message)).get("content"))
    return [
        (message.inside("content", index), members(block)) for index, block in enumerate(content)
    ]


def _requests(edit: Edit, message: Span) -> Iterator[tuple[Span, str | None]]:
    """The requests of a message for calls that the edit removes, with the ids of the answers."""
    blocks = _blocks(edit, message)
    is_dropped = message in edit.removed
    calls = [
        string(block.get("toolCallId"))
        for span, block in blocks
        if block.get("type") == "tool-call" and (is_dropped or span in edit.removed)
    ]
    for span, block in blocks:
        if block.get("type") == SDK_REQUEST and string(block.get("toolCallId")) in calls:
            yield span, string(block.get("approvalId"))


def _answers(edit: Edit, messages: Set[Span], ids: Set[str | None]) -> Iterator[Span]:
    """The answers with some ids, in the lists of some messages."""
    for sibling in {sibling for message in messages for sibling in _siblings(edit, message)}:
        for span, block in _blocks(edit, sibling):
            if block.get("type") == SDK_RESPONSE and string(block.get("approvalId")) in ids:
                yield span


def _siblings(edit: Edit, message: Span) -> Iterator[Span]:
    """The messages in the list of a message, or on lines of their own."""
    if message.path:
        array = message.outer
        value = edit.value_at(array)
        siblings = elements(value_in(value) if isinstance(value, str) else value)
        yield from (array.inside(index) for index in range(len(siblings)))
        return
    for line in range(len(edit.lines)):
        if edit.mentions(line, (SDK_RESPONSE.encode(),)):
            yield Span(line)


def _empty_messages(edit: Edit, removed: Set[Span]) -> Iterator[Span]:
    """The messages of which all blocks are removed."""
    for message in {element_of(span, _CONTENT) for span in removed}:
        blocks = _blocks(edit, message)
        if blocks and all(span in removed for span, _ in blocks):
            yield message
