"""Which messages are recent: in the last turns, among the last messages, or in the last tokens."""

from collections.abc import Sequence

from ctxtrim.conversation.turns import Shape
from ctxtrim.model import Message

LEAST = 3
"""Exchanges that are recent whatever they cost."""


def recent(
    messages: Sequence[Message], where: Shape, costs: Sequence[int], turns: int, count: int, tokens: int
) -> list[bool]:
    """For each message whether any of the three says so; 0 says nothing. `costs` are in tokens, as `tokens` is."""
    size = len(messages)
    start = min(_by_turns(messages, where, turns), max(0, size - count) if count else size, _by_tokens(costs, tokens))
    first = where.exchange[start] if start < size else size
    return [home >= first for home in where.exchange]


def recent_from(
    messages: Sequence[Message], where: Shape, costs: Sequence[int], turns: int, count: int, tokens: int
) -> int:
    """The position at which the recent part begins: the shorter of the last turns and the last tokens.

    It has at least the last `count` messages and, where only tokens would shorten it, the newest three exchanges. A
    number that is 0 says nothing. Exchanges are whole.
    """
    exchange, size = where.exchange, len(messages)
    starts = [exchange[_by_turns(messages, where, turns)]] if turns and size else []
    starts += [_by_exchanges(messages, where, costs, tokens)] if tokens else []
    first = max(starts, default=size)
    return min(first, exchange[max(0, size - count)]) if count and size else first


def newest(messages: Sequence[Message], where: Shape, number: int = LEAST) -> int:
    """The position at which the newest exchanges begin, prompts apart; 0 where there are fewer."""
    homes = (at for at, home in enumerate(where.exchange) if at == home and _is_answer(messages[at]))
    return ([0] * number + list(homes))[-number]


def _by_exchanges(messages: Sequence[Message], where: Shape, costs: Sequence[int], tokens: int) -> int:
    """The position at which the last exchanges begin that have at most so many tokens together."""
    cost: dict[int, int] = {}
    for at, home in enumerate(where.exchange):
        cost[home] = cost.get(home, 0) + costs[at]
    first, spent = len(messages), 0
    for home in sorted(cost, reverse=True):
        spent += cost[home]
        if spent > tokens:
            break
        first = home
    return min(first, newest(messages, where))


def _is_answer(message: Message) -> bool:
    return message.agent_visible and message.role in ("assistant", "tool")


def _by_turns(messages: Sequence[Message], where: Shape, turns: int) -> int:
    """Where the last turns begin: each with a prompt of the person, or a number of its own."""
    if turns == 0:
        return len(messages)
    seen: list[int] = []
    for position in range(len(messages) - 1, -1, -1):
        message = messages[position]
        if (
            message.agent_visible
            and (message.turn is not None or _is_prompt(message))
            and where.turn[position] not in seen[-1:]
        ):
            if len(seen) == turns:
                return _start(where, seen[-1])
            seen.append(where.turn[position])
    return 0


def _start(where: Shape, turn: int) -> int:
    return where.turn.index(turn)


def _is_prompt(message: Message) -> bool:
    return message.role == "user" and message.user_visible and not (message.is_injected or message.is_summary)


def _by_tokens(costs: Sequence[int], tokens: int) -> int:
    """Where the last messages begin that have no more tokens together."""
    start, spent = len(costs), 0
    while start and spent + costs[start - 1] <= tokens:
        start -= 1
        spent += costs[start]
    return start if tokens else len(costs)
