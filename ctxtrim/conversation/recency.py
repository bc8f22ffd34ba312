"""Which messages are recent: by the last turns, the last messages or the last tokens."""

from collections.abc import Sequence

from ctxtrim.conversation.tasks import is_typed
from ctxtrim.conversation.turns import Shape
from ctxtrim.model import Message

LEAST = 3
"""The number of exchanges that are recent regardless of their cost."""


def recent(
    shape: Shape, costs: Sequence[int], *, turns: int, count: int, tokens: int
) -> list[bool]:
    """For each message, whether it is in the last turns, messages or tokens.

    0 disables a limit. `costs` are tokens. Hidden messages do not count.
    """
    start = min(_by_turns(shape, turns), _by_count(shape, count), _by_tokens(costs, tokens))
    first = _first_exchange(shape, start)
    return [exchange >= first for exchange in shape.exchange]


def recent_from(shape: Shape, costs: Sequence[int], *, turns: int, count: int, tokens: int) -> int:
    """The position of the first recent message: the shorter of the last turns and the last tokens.

    At least the last `count` messages are recent, and the newest three exchanges if only tokens
    would exclude them. 0 disables a limit. Exchanges are never split. Hidden messages do not count.
    """
    starts = []
    if turns:
        starts.append(_first_exchange(shape, _by_turns(shape, turns)))
    if tokens:
        starts.append(_by_exchanges(shape, costs, tokens))
    first = max(starts, default=len(shape.messages))
    if count:
        first = min(first, _first_exchange(shape, _by_count(shape, count)))
    return first


def newest(shape: Shape) -> int:
    """The position of the first of the newest exchanges that are not prompts.

    0 if there are fewer.
    """
    exchanges = [
        position
        for position, exchange in enumerate(shape.exchange)
        if position == exchange and _is_from_agent(shape.messages[position])
    ]
    return exchanges[-LEAST] if len(exchanges) >= LEAST else 0


def _first_exchange(shape: Shape, start: int) -> int:
    """The position where the first exchange begins that has a message from `start` on.

    Results can follow in another order than their calls.
    """
    return min(shape.exchange[start:], default=len(shape.exchange))


def _by_exchanges(shape: Shape, costs: Sequence[int], tokens: int) -> int:
    """The position of the first of the last exchanges that have at most `tokens`
    tokens together.
    """
    cost: dict[int, int] = {}
    for position, exchange in enumerate(shape.exchange):
        cost[exchange] = cost.get(exchange, 0) + costs[position]
    first, spent = len(shape.messages), 0
    for exchange in sorted(cost, reverse=True):
        spent += cost[exchange]
        if spent > tokens:
            break
        first = exchange
    return min(first, newest(shape))


def _is_from_agent(message: Message) -> bool:
    """Whether a message is an answer or a result that the model reads."""
    return message.agent_visible and message.role in ("assistant", "tool")


def _by_turns(shape: Shape, turns: int) -> int:
    """The position of the first of the last turns.

    A turn begins with a typed prompt, or the file numbers it.
    """
    messages = shape.messages
    if turns == 0:
        return len(messages)
    seen: list[int] = []
    turn_of = shape.turn
    for position in range(len(messages) - 1, -1, -1):
        message, turn = messages[position], turn_of[position]
        starts_turn = message.agent_visible and (message.turn is not None or is_typed(message))
        if starts_turn and turn not in seen[-1:]:
            if len(seen) == turns:
                return turn_of.index(seen[-1])
            seen.append(turn)
    return 0


def _by_count(shape: Shape, count: int) -> int:
    """The position of the first of the last messages that the model reads."""
    seen = shape.visible if count else ()
    return seen[-count:][0] if seen else len(shape.messages)


def _by_tokens(costs: Sequence[int], tokens: int) -> int:
    """The position of the first of the last messages that have at most `tokens` tokens together."""
    start, spent = len(costs), 0
    while start and spent + costs[start - 1] <= tokens:
        start -= 1
        spent += costs[start]
    return start if tokens else len(costs)


def kept_from(shape: Shape, costs: Sequence[int], *, count: int, tokens: int) -> int:
    """The position of the first kept message: by tokens, or by messages if `tokens` is 0.

    Exchanges are never split, and the last one is always kept. Hidden messages do not count; their
    costs are 0.
    """
    seen = shape.visible
    if not seen:
        return len(shape.messages)
    start = _by_tokens(costs, tokens) if tokens > 0 else _by_count(shape, count)
    return _first_exchange(shape, min(start, seen[-1]))
