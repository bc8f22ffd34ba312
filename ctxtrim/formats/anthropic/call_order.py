"""Pairs calls and results without ids by their order.

Cursor's sessions have calls without ids, and mostly no results [caura-ai/caura#612].
"""

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from ctxtrim.formats.message_lists import ListContents
from ctxtrim.model import Message, Part
from ctxtrim.model.request import NO_RESULTS


def pair(contents: ListContents, start: int) -> None:
    """Pair the calls and results from a position on, or record that Cursor wrote no results."""
    messages = contents.messages[start:]
    has_result = any(message.result is not None for message in messages)
    calls = [call for message in messages for call in message.calls]
    if not has_result and all(map(_is_by_cursor, calls)):
        contents.add_unread(NO_RESULTS)
    else:
        contents.messages[start:] = by_order(messages)


def _is_by_cursor(call: Part) -> bool:
    """Whether a call has no id, and its content is under `message`."""
    path = () if call.block is None else call.block.path
    return call.call_id is None and path[-3:-1] == ("message", "content")


def by_order(messages: Sequence[Message]) -> Iterator[Message]:
    """The messages with results without a call id paired to calls without an id, in order."""
    calls: set[str | None] = set()
    nameless_calls = 0  # calls without an id that have no result yet
    for message in messages:
        result = message.result
        if nameless_calls and result is not None and result.call_id not in calls:
            nameless_calls -= 1
            message = replace(
                message, parts=tuple(replace(part, call_id=None) for part in message.parts)
            )
        ids = [call.call_id for call in message.calls]
        nameless_calls += ids.count(None)
        calls.update(ids)
        yield message
