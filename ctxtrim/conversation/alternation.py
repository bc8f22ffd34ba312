"""Keep roles alternating: no two answers become adjacent, and no two prompts if user and assistant
alternated before. No prompt comes to follow a system message in the middle, in any conversation.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from ctxtrim.conversation.turns import Shape
from ctxtrim.model import Message


def separate_prompts(
    messages: Sequence[Message],
    shape: Shape,
    costs: Sequence[int],
    room: int,
    dropped: set[int],
    protected: Mapping[int, str],
    alternates: bool = True,
) -> int:
    """Prevent adjacent prompts where there were none; return the change in tokens.

    The cheapest dropped answer without calls between the two prompts is restored if there is room
    (`room`, tokens), unless it is a piece of a split answer. Otherwise the first of the two prompts
    is dropped. If it is protected and a system message continues it, the second one is dropped.
    Without `alternates`, prompts may be adjacent, but not with such a system message between them.
    Edits `dropped`, a set of positions.
    """
    spent = 0
    sizes = Counter(shape.exchange)
    # the last prompt kept so far and what continues it, with only system messages after them
    before: list[int] = []
    between: list[int] = []  # messages dropped since then
    for position in shape.visible:
        message = messages[position]
        if position in dropped:
            between.append(position)
        elif message.role == "user":
            if not alternates and (not before or messages[before[-1]].role == "user"):
                before, between = [position], []
                continue
            answers = [
                candidate
                for candidate in between
                if is_answer(messages, shape, candidate)
                and sizes[shape.exchange[candidate]] == 1
                and costs[candidate] <= room - spent
            ]
            while before and before[-1] not in protected and not answers:
                spent -= costs[before[-1]]
                dropped.add(before.pop())
            if before and answers:
                answer = min(answers, key=lambda candidate: (costs[candidate], -candidate))
                spent += costs[answer]
                dropped.remove(answer)
            elif before and messages[before[-1]].role == "system" and position not in protected:
                spent -= _drop(position, shape, costs, dropped)
                continue
            before, between = [position], []
        elif message.role != "system":
            before, between = [], []
        elif message.continues:  # no prompt may follow it, either
            before.append(position)
    return spent


def _drop(prompt: int, shape: Shape, costs: Sequence[int], dropped: set[int]) -> int:
    """Drop the exchange of a prompt; return its tokens."""
    own = {at for at, exchange in enumerate(shape.exchange) if exchange == prompt} - dropped
    dropped |= own
    return sum(costs[at] for at in own)


def separate_answers(messages: Sequence[Message], shape: Shape, dropped: set[int]) -> None:
    """Prevent adjacent answers where there were none: restore the last prompt between them, with
    the results of its calls.

    Edits `dropped`, a set of positions. A summary cannot be restored, because it moves.
    """
    restored: set[int] = set()
    role_before: str | None = None
    prompt: int | None = None  # the last prompt dropped since then
    for position, message in enumerate(messages):
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


def is_answer(messages: Sequence[Message], shape: Shape, position: int) -> bool:
    """Whether a message is an answer in words, without calls."""
    message = messages[position]
    return message.role == "assistant" and message.agent_visible and shape.fan[position] == 0


def has_rules(messages: Sequence[Message]) -> bool:
    """Whether a system message in the middle belongs to the prompt or the results before it."""
    return any(message.role == "system" and message.continues for message in messages)
