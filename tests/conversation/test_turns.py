"""The current task is the newest prompt that the person typed; results answer the nearest calls."""

import pytest

from ctxtrim.conversation.turns import current_task, opening_task, shape
from ctxtrim.model import Message, Part

TYPED = Message("user", (Part("text", "Count the lamps."),))
ANSWER = Message("assistant", (Part("text", "Seven."),))


def test_a_user_message_with_calls_alone_is_no_task() -> None:
    """A simulated user calls tools without a word."""
    acts = Message("user", (Part("tool_call", "{}", call_id="a", name="toggle"),))
    assert current_task([TYPED, ANSWER, acts]) == 0
    assert opening_task([acts, ANSWER, TYPED]) == 2
    words = Message("user", (Part("text", "I try it."), *acts.parts))
    assert current_task([TYPED, ANSWER, words]) == 2


def test_a_user_message_that_the_person_cannot_see_is_no_task() -> None:
    unseen = Message("user", (Part("text", "Background notice."),), user_visible=False)
    assert current_task([TYPED, ANSWER, unseen]) == 0
    assert opening_task([unseen, ANSWER, TYPED]) == 2


@pytest.mark.parametrize("call_id", [None, "a"])
def test_results_answer_parallel_calls_in_order(call_id: str | None) -> None:
    """Also very many of them: work that grows with the square would take hours."""
    number = 100_000
    calls = tuple(Part("tool_call", str(at), call_id, "look") for at in range(number))
    answer = Message("tool", (Part("tool_result", "seen", call_id, "look"),))
    found = shape([TYPED, Message("assistant", calls), *[answer] * (number - 2)])
    assert found.call[2:] == calls[:-2]
    assert found.unanswered == ((1, calls[-2]), (1, calls[-1]))
    assert set(found.exchange[1:]) == {1}


def test_unanswered_calls_are_in_the_order_of_the_file() -> None:
    ids = ("a", None, "b", "a", None)
    first = tuple(Part("tool_call", str(at), call_id) for at, call_id in enumerate(ids))
    second = tuple(Part("tool_call", str(at), call_id) for at, call_id in enumerate(reversed(ids)))
    answer = Message("tool", (Part("tool_result", "seen", "a"),))
    found = shape([Message("assistant", first), Message("assistant", second), answer])
    assert found.unanswered == (
        *((0, part) for part in first),
        *((1, part) for part in second if part is not second[1]),
    )
