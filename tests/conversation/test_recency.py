"""Which messages are recent: limits include their last token."""

from collections.abc import Sequence

import pytest
from builders import call, result, says, transcript, user
from msgspec.structs import replace

from ctxtrim.conversation.recency import recent, recent_from
from ctxtrim.conversation.turns import shape

TALK = transcript(
    [message for turn in range(5) for message in (user(f"q{turn}"), says(f"a{turn}"))]
).messages
COSTS = [10] * len(TALK)


@pytest.mark.parametrize(("tokens", "first"), [(79, 3), (80, 2), (81, 2)])
def test_messages_that_fill_the_last_tokens_exactly_are_recent(tokens: int, first: int) -> None:
    limits = {"turns": 0, "count": 0, "tokens": tokens}
    turns = shape(TALK)
    assert recent_from(turns, COSTS, **limits) == first
    assert positions(recent(turns, COSTS, **limits)) == list(range(first, len(TALK)))


def test_turns_numbered_in_the_file_count_once() -> None:
    numbered = [
        replace(message, turn=position // 4 + 1) for position, message in enumerate(TALK * 2)
    ]
    turns = shape(numbered)
    costs = [10] * len(numbered)
    for number, first in ((1, 16), (2, 12), (4, 4), (9, 0)):
        assert recent_from(turns, costs, turns=number, count=0, tokens=0) == first


def test_the_last_messages_are_recent_with_their_calls_in_any_order() -> None:
    """Results answer the calls in reverse order, and the last result answers the first call."""
    names = ["c1", "c2", "c3"]
    results = [result(name, "found") for name in reversed(names)]
    talk = transcript([user("q"), *map(call, names), *results, says("a")]).messages
    turns = shape(talk)
    limits = {"turns": 0, "count": 2, "tokens": 0}
    assert recent_from(turns, COSTS, **limits) == 1
    assert positions(recent(turns, COSTS, **limits)) == list(range(1, len(talk)))


def positions(flags: Sequence[bool]) -> list[int]:
    return [position for position, flag in enumerate(flags) if flag]
