"""The units of a transcript: messages that `trim` keeps or drops as a whole."""

from collections.abc import Iterator

from msgspec import Struct

from ctxtrim.stages.trim.situation import Situation

SEPARATOR = "answer between two prompts"
"""The reason of an answer that is kept only to separate two prompts."""
ANSWER = "answer before the current task"
"""The reason of an answer that the current task may refer to, as `yes` or `2 and 5` do."""


class Unit(Struct, frozen=True):
    """Messages that are kept or dropped together, by position.

    An exchange also needs the prompts of its `turn`; None needs no prompt. `reason`: why they are
    kept first; empty for an `exchange` (its first position), whose reason the strategy knows.
    `must_be_short`: they are kept first only if they need few tokens.
    """

    positions: tuple[int, ...]
    reason: str = ""
    turn: int | None = None
    exchange: int = -1
    must_be_short: bool = False


def first_units(situation: Situation, *, with_answer: bool) -> Iterator[Unit]:
    """The units that are kept before all other exchanges, most important first.

    `with_answer`: the answer before the current task is one of them.
    """
    messages = situation.messages
    for position in range(len(messages) - 1, -1, -1):
        message = messages[position]
        is_own = message.role == "system" and not message.continues
        if is_own and position not in situation.protected:
            yield Unit((position,), "system")
    for position in filter(situation.is_before_others, situation.protected):
        separator = situation.separator(position)
        if separator:
            yield Unit(separator, SEPARATOR, situation.turns[position])
    if situation.newest is not None:
        exchange = situation.newest
        rank = place_in_turn("newest exchange", situation, exchange)
        yield Unit(situation.exchanges[exchange], rank, situation.turns[exchange])
    answer = situation.answer if with_answer else None
    if answer is not None and answer != situation.newest:
        turn = situation.turns[answer]
        yield Unit(situation.exchanges[answer], ANSWER, turn, must_be_short=True)
    for position in reversed(situation.instructions):
        yield Unit(_with_separator(situation, position), "instructions to the agent")
    if situation.opening is not None:
        yield Unit(_with_separator(situation, situation.opening), "opening task")
    yield from _summary_units(situation)


def _summary_units(situation: Situation) -> Iterator[Unit]:
    reason = "summary of earlier messages"
    for position in reversed(situation.led):
        yield Unit((position,), reason)
    for position in reversed(situation.summaries):
        yield Unit(_with_separator(situation, position), reason)


def _with_separator(situation: Situation, position: int) -> tuple[int, ...]:
    """A prompt, what belongs to its exchange, and an answer after it if roles alternate."""
    prompts = situation.prompts.get(situation.turns[position], ())
    own = {other for other in prompts if situation.shape.exchange[other] == position}
    return tuple(sorted({position, *own, *situation.separator(position)}))


def place_in_turn(rank: str, situation: Situation, exchange: int) -> str:
    """The rank of an exchange with its turn and step."""
    return f"{rank} of turn {situation.shape.turn[exchange]}, step {situation.shape.step[exchange]}"
