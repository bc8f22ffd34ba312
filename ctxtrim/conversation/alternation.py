"""Keep messages alternating: no two answers become adjacent, and no two prompts if user and
assistant alternated before. No prompt comes to follow a system message in the middle, in any
conversation.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise, takewhile
from operator import attrgetter

from ctxtrim.conversation.turns import Shape, grouped
from ctxtrim.model import Message

_continues = attrgetter("continues")

AFTER_SYSTEM = "answer after a system message"
"""Why an exchange is kept that separates a system message in the middle from a prompt."""


def is_alternating(shape: Shape) -> bool:
    """Whether user and assistant alternate: no adjacent messages of one role, and results right
    after their calls, if they have one. An answer may follow a summary by the assistant.
    """
    messages = shape.messages
    spoken = [position for position in shape.visible if messages[position].role != "system"]
    for before, after in pairwise(spoken):
        if messages[after].role == "tool":
            is_valid = shape.call[after] is None or shape.caller[after] == shape.caller[before]
        else:
            is_prompted = messages[before].starts_turn and messages[after].role == "assistant"
            is_valid = is_prompted or messages[after].role != messages[before].role
        if not is_valid:
            return False
    return True


def has_late_system(messages: Sequence[Message]) -> bool:
    """Whether a system message in the middle belongs to the prompt or the results before it."""
    if True not in map(_continues, messages):  # as in most conversations
        return False
    return any(message.role == "system" and message.continues for message in messages)


def separate_prompts(
    shape: Shape,
    costs: Sequence[int],
    room: int,
    dropped: set[int],
    protected: Collection[int],
    *,
    alternates: bool,
) -> None:
    """Prevent adjacent prompts where there were none.

    The cheapest dropped answer without calls between the two prompts is restored if there is room
    (`room`, tokens), unless it is a piece of a split answer. Otherwise the first of the two prompts
    is dropped, or the second one if the first is protected. Without `alternates`, prompts may be
    adjacent, but not with a system message between them that continues the first. Edits `dropped`,
    a set of positions.
    """
    messages = shape.messages
    answers = _whole_answers(shape)
    # the last prompt kept so far and what continues it, with only system messages after them
    before: list[int] = []
    between: list[int] = []  # messages dropped since then
    for position in shape.visible:
        message = messages[position]
        if position in dropped:
            between.append(position)
        elif message.role == "user" and not message.continues:
            if before and (alternates or messages[before[-1]].role == "system"):
                answer = _cheapest(answers.intersection(between), costs, room)
                if answer is not None:
                    room -= costs[answer]
                    dropped.remove(answer)
                else:
                    while before and before[-1] not in protected:
                        room += costs[before[-1]]
                        dropped.add(before.pop())
                    if before and position not in protected:
                        room += _drop(position, shape, costs, dropped)
                        continue
            before, between = [position], []
        elif message.role != "system":
            before, between = [], []
        elif message.continues:  # no prompt may follow it, either
            before.append(position)


def _whole_answers(shape: Shape) -> set[int]:
    """The positions of answers in words that are no pieces of a split answer."""
    sizes = Counter(shape.exchange)
    return {
        position
        for position, exchange in enumerate(shape.exchange)
        if sizes[exchange] == 1 and is_answer_in_words(shape, position)
    }


def _cheapest(positions: Collection[int], costs: Sequence[int], room: int) -> int | None:
    """The position with the lowest cost, the last of equal ones; None if none fits the room."""
    fitting = [position for position in positions if costs[position] <= room]
    return min(fitting, key=lambda position: (costs[position], -position), default=None)


def _drop(prompt: int, shape: Shape, costs: Sequence[int], dropped: set[int]) -> int:
    """Drop the exchange of a prompt; return its tokens."""
    own = {at for at, exchange in enumerate(shape.exchange) if exchange == prompt} - dropped
    dropped |= own
    return sum(costs[at] for at in own)


def separate_answers(shape: Shape, dropped: set[int]) -> None:
    """Prevent adjacent answers where there were none: restore the last prompt between them, with
    the results of its calls.

    Edits `dropped`, a set of positions. A summary cannot be restored, because it moves.
    """
    restored: set[int] = set()
    role_before: str | None = None
    prompt: int | None = None  # the last prompt dropped since then
    for position, message in enumerate(shape.messages):
        if not message.agent_visible or message.role == "system":
            continue
        if position not in dropped:
            if message.role == role_before == "assistant" and prompt is not None:
                restored.add(prompt)
            role_before, prompt = message.role, None
        elif message.role == "user" and not message.is_summary:
            prompt = position
    if restored:
        for position, exchange in enumerate(shape.exchange):
            if exchange in restored:
                dropped.discard(position)


def is_answer_in_words(shape: Shape, position: int) -> bool:
    """Whether a message is an answer in words, without calls."""
    message = shape.messages[position]
    return message.role == "assistant" and message.agent_visible and shape.fan[position] == 0


def with_answers_after_system(
    shape: Shape, costs: Sequence[int], kept: Mapping[int, str]
) -> dict[int, str]:
    """The kept messages, each with its reason, and an exchange after each system message in the
    middle that a kept prompt would follow.

    It is the cheapest one before the next prompt; answers in words come first.
    """
    messages, reasons = shape.messages, dict(kept)
    members = grouped(range(len(messages)), shape.exchange)

    def price(exchange: int) -> tuple[bool, bool, int, int]:
        own = members[exchange]
        ends_with_system = messages[own[-1]].role == "system"  # which needs an exchange, too
        is_step = not is_answer_in_words(shape, exchange)
        return is_step, ends_with_system, sum(costs[at] for at in own), -exchange

    for place, position in enumerate(shape.visible):
        message = messages[position]
        if position not in reasons or message.role != "system" or not message.continues:
            continue
        after = shape.visible[place + 1 :]
        next_role = next((messages[at].role for at in after if at in reasons), "assistant")
        answers = takewhile(lambda at: messages[at].role != "user", after)
        exchanges = {shape.exchange[at] for at in answers} - {shape.exchange[position]}
        if next_role in ("user", "system") and exchanges:
            reasons |= dict.fromkeys(members[min(exchanges, key=price)], AFTER_SYSTEM)
    return dict(sorted(reasons.items()))
