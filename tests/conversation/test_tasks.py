"""The current task is the newest prompt that the person typed."""

from ctxtrim.conversation.tasks import current_task, opening_task
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
