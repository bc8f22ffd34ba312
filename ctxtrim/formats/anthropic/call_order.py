"""Pairs calls and results without ids by their order."""

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from ctxtrim.model import Message


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
