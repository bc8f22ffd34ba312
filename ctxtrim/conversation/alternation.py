"""Prompts stay apart: where user and assistant took turns, no two prompts come to stand side by side."""

from collections.abc import Mapping, Sequence

from ctxtrim.conversation.turns import Shape
from ctxtrim.model import Message


def set_apart(
    messages: Sequence[Message],
    where: Shape,
    costs: Sequence[int],
    room: int,
    dropped: set[int],
    held: Mapping[int, str],
) -> int:
    """Let no two prompts stand side by side where none did; returns by how much the tokens change.

    What stood between them comes back in part: the cheapest answer without calls, where there is room for it. Else the
    first of the two goes.
    """
    spent = 0
    before: list[int] = []  # prompts kept so far, with nothing but system messages after the last of them
    between: list[int] = []  # what was dropped since then
    for index, message in enumerate(messages):
        if not message.agent_visible:
            continue
        if index in dropped:
            between.append(index)
        elif message.role == "user":
            answers = [one for one in between if is_answer(messages, where, one) and costs[one] <= room - spent]
            while before and before[-1] not in held and not answers:
                spent -= costs[before[-1]]
                dropped.add(before.pop())
            if before and answers:
                answer = min(answers, key=lambda one: (costs[one], -one))
                spent += costs[answer]
                dropped.remove(answer)
            before, between = [index], []
        elif message.role != "system":
            before, between = [], []
    return spent


def is_answer(messages: Sequence[Message], where: Shape, index: int) -> bool:
    """Whether a message is an answer in words, which can stand alone."""
    message = messages[index]
    return message.role == "assistant" and message.agent_visible and where.fan[index] == 0
