"""Steps, turns, exchanges, and which call belongs to which result: the shape of a conversation.

Call ids are not unique in real files, so calls and results are paired by order: a result answers the nearest call
before it with its id that has no result yet. In formats without ids or names (LLaMA-Factory) one result may stand for
all calls of a message, so what follows such a result closes the others too.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from ctxtrim.model import Message, Part


@dataclass(frozen=True, slots=True)
class Shape:
    """What each message is in its conversation; all sequences are parallel to the messages.

    `step`: the step a message belongs to, from 1; 0 before the first one. `turn`: the same for turns, or their own
    number where the file has one. `exchange`: the index of the first message of its exchange, which goes as a whole.
    A hidden message is an exchange of its own that takes no part: it makes no step and no turn, and none of its calls
    waits.
    `call`: for a result the call it answers, else None. `fan`: how many calls the assistant message of its exchange
    makes. `unanswered`: (message index, call). `steps`: how many steps there are.
    """

    step: tuple[int, ...]
    turn: tuple[int, ...]
    exchange: tuple[int, ...]
    call: tuple[Part | None, ...]
    fan: tuple[int, ...]
    unanswered: tuple[tuple[int, Part], ...]
    steps: int


def shape(messages: Sequence[Message]) -> Shape:
    """The shape of a conversation, in one pass.

    A step is an assistant message with calls, or with an action in its text, and their results. A turn is a user
    message and everything up to the next one. An exchange is a step, or a message alone; where users call tools too
    (simulated ones do), theirs is their message with its results.
    """
    step: list[int] = []
    turn: list[int] = []
    exchange: list[int] = []
    answered: list[Part | None] = []
    fan: list[int] = []
    waiting: dict[str | None, list[tuple[int, Part]]] = {}
    closing: set[int] = set()  # messages with calls of which a result without id or name stands for all
    acting: int | None = None  # the message with an action whose result comes next
    steps = turns = 0
    for index, message in enumerate(messages):
        home, answers, width = index, None, 0
        role = message.role if message.agent_visible else None
        if closing and role is not None and role != "tool":
            _close(waiting, closing)
        if message.action is not None and role == "assistant":
            steps += not any(message.calls)
            acting = index
        elif role is not None and (role != "tool" or message.result is None or message.result.call_id is not None):
            acting = None
        if role in ("assistant", "user"):
            calls = [part for part in message.parts if part.kind == "tool_call"]
            width = len(calls)
            steps += width > 0 and role == "assistant"
            turns += role == "user"
            for call in calls:
                waiting.setdefault(call.call_id, []).append((index, call))
        elif role == "tool":
            result = message.result
            open_calls = waiting.get(result.call_id) if result else None
            if open_calls:
                home, answers = _nearest(open_calls)
                width = fan[home]
                if result and result.call_id is None and result.name is None:
                    closing.add(home)
            elif acting is not None:
                home, answers, width = acting, messages[acting].action, 1
                acting = None
        turns = turns if message.turn is None else message.turn
        step.append(step[home] if home < index else steps)
        turn.append(turns)
        exchange.append(home)
        answered.append(answers)
        fan.append(width)
    _close(waiting, closing)
    unanswered = sorted((entry for calls in waiting.values() for entry in calls), key=lambda entry: entry[0])
    return Shape(tuple(step), tuple(turn), tuple(exchange), tuple(answered), tuple(fan), tuple(unanswered), steps)


def _close(waiting: dict[str | None, list[tuple[int, Part]]], homes: set[int]) -> None:
    """No call without an id waits any longer in some messages."""
    if homes:
        waiting[None] = [entry for entry in waiting[None] if entry[0] not in homes]
        homes.clear()


def _nearest(waiting: list[tuple[int, Part]]) -> tuple[int, Part]:
    """Take the first call that waits in the nearest message that has one."""
    home = waiting[-1][0]
    return waiting.pop(next(place for place, (index, _) in enumerate(waiting) if index == home))


def current_task(messages: Sequence[Message]) -> int | None:
    """The index of the newest user message that the person wrote; of any user message where the person wrote none.

    What is hidden is no task, and what the person is not shown is none of theirs.
    """
    return _prompt(range(len(messages) - 1, -1, -1), messages)


def opening_task(messages: Sequence[Message]) -> int | None:
    """The index of the prompt that opened the session, found like `current_task`."""
    return _prompt(range(len(messages)), messages)


def is_alternating(messages: Sequence[Message], where: Shape) -> bool:
    """Whether user and assistant take turns: no two messages of one of them side by side, results right after calls."""
    spoken = [index for index, message in enumerate(messages) if message.role != "system" and message.agent_visible]
    return all(
        where.exchange[other] == where.exchange[one]
        if messages[other].role == "tool"
        else _differ(messages, one, other)
        for one, other in pairwise(spoken)
    )


def _differ(messages: Sequence[Message], one: int, other: int) -> bool:
    return messages[one].role != messages[other].role


def _prompt(order: range, messages: Sequence[Message]) -> int | None:
    users = [index for index in order if messages[index].role == "user" and messages[index].agent_visible]
    said = (index for index in users if _is_said(messages[index]) and _speaks(messages[index]))
    return next(said, users[0] if users else None)


def _is_said(message: Message) -> bool:
    """Whether the person wrote it."""
    return message.user_visible and not message.is_injected


def _speaks(message: Message) -> bool:
    """Whether it says something, and is not only a call."""
    return not message.parts or any(part.kind != "tool_call" for part in message.parts)
