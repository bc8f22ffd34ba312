"""Adjacent prompts are separated by an answer if there is room, else the first one is dropped."""

import pytest
from builders import call, result, says, transcript, user

from ctxtrim.conversation.alternation import separate_answers, separate_prompts
from ctxtrim.conversation.turns import shape

TALK = transcript(
    [
        user("q0"),
        says("short"),
        says("short too"),
        user("q1"),
        says("short"),
        {"role": "system", "content": "note"},
        user("q2"),
    ]
).messages
COSTS = [10, 20, 20, 10, 20, 5, 10]
ANSWERS = {1, 2, 4}


@pytest.mark.parametrize(
    ("room", "dropped"),
    [
        (40, {1}),  # of two answers with one cost, the newer
        (39, {1, 3, 4}),  # room for one answer; then the prompts around the other meet
        (19, {0, 1, 2}),  # the first prompt makes room for an answer to the second
        (9, {0, 3, *ANSWERS}),
    ],
)
def test_restored_answers_fit_the_room_together(room: int, dropped: set[int]) -> None:
    edited = set(ANSWERS)
    separate_prompts(shape(TALK), COSTS, room, edited, {}, alternates=True)
    assert edited == dropped


def test_a_prompt_between_answers_is_restored_with_the_results_of_its_calls() -> None:
    """A simulated user calls tools."""
    acts = call("u1") | {"role": "user", "content": "ok"}
    talk = transcript([user("q0"), says("kept"), acts, result("u1", "on"), says("so"), user("q1")])
    dropped = {0, 2, 3}
    separate_answers(shape(talk.messages), dropped)
    assert dropped == {0}
