"""The facts about a transcript that decide what `trim` keeps, and the units that it keeps or drops whole."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from ctxtrim.conversation.alternation import is_answer
from ctxtrim.conversation.tool_results import Result
from ctxtrim.conversation.turns import Shape, current_task, is_alternating, opening_task
from ctxtrim.evidence import is_instructions
from ctxtrim.model import Message
from ctxtrim.stages.keep import Kept
from ctxtrim.tokens.counter import Counter

APART = "answer between two prompts"
"""Why an answer is kept that only keeps two prompts apart, where roles alternate."""


@dataclass(frozen=True, slots=True)
class Unit:
    """Messages that are kept or dropped together, by position, and what drops them.

    An exchange also needs the prompts of its `turn`; None needs none.
    """

    positions: tuple[int, ...]
    reason: str
    turn: int | None = None


@dataclass(frozen=True)
class Situation:
    """A transcript and the facts about its messages, by position.

    `costs` are tokens. `protected` messages are never dropped or shortened, each with the reason. `is_recent`: in the
    last turns. `results` are the tool results that the model sees; `worth` says why some should be kept, and `stale`
    holds the text that replaces a result repeated later. `drops_system`: system messages may be dropped.
    """

    messages: Sequence[Message]
    shape: Shape
    costs: Sequence[int]
    counter: Counter
    protected: Mapping[int, str]
    is_recent: Sequence[bool]
    results: Mapping[int, Result]
    worth: Mapping[int, Kept]
    stale: Mapping[int, tuple[str, str]]
    drops_system: bool

    @cached_property
    def asides(self) -> set[int]:
        """Messages that the client injects among the steps of an agent, such as the text of a skill.

        The steps after such a message need the prompt that the person wrote, not that message.
        """
        found: set[int] = set()
        follows_result = False
        for position, message in enumerate(self.messages):
            if not message.agent_visible:
                continue
            if message.role == "user" and follows_result and _is_aside(message):
                found.add(position)
            else:
                follows_result = message.role == "tool"
        return found

    @cached_property
    def turns(self) -> list[int]:
        """The turn of each message, by position; asides are in the turn that they interrupt."""
        turns: list[int] = []
        for position, turn in enumerate(self.shape.turn):
            is_same = position > 0 and turn == self.shape.turn[position - 1]
            turns.append(turns[-1] if is_same or position in self.asides else turn)
        return turns

    @cached_property
    def task(self) -> int | None:
        """The position of the current task."""
        return current_task(self.messages)

    @cached_property
    def is_alternating(self) -> bool:
        """Whether user and assistant take turns."""
        return is_alternating(self.messages, self.shape)

    @cached_property
    def soft(self) -> dict[int, str]:
        """By exchange, why one of its results is worth keeping."""
        exchange = self.shape.exchange
        return {exchange[at]: kept.reason for at, kept in self.worth.items() if kept.reason is not None}

    @cached_property
    def exchanges(self) -> dict[int, tuple[int, ...]]:
        """The exchanges that may be dropped, by their first message, in order; prompts are in none."""
        found: dict[int, list[int]] = {}
        for position in self._free:
            if not self._is_prompt(position):
                found.setdefault(self.shape.exchange[position], []).append(position)
        return {home: tuple(positions) for home, positions in found.items()}

    @cached_property
    def prompts(self) -> dict[int, tuple[int, ...]]:
        """By turn, the user messages that may be dropped, with the results of calls that they make."""
        found: dict[int, list[int]] = {}
        for position in self._free:
            if self._is_prompt(position):
                found.setdefault(self.turns[position], []).append(position)
        return {turn: tuple(positions) for turn, positions in found.items()}

    @cached_property
    def prompt_costs(self) -> dict[int, int]:
        """By turn, the tokens of the prompts that may be dropped."""
        return {turn: sum(self.costs[at] for at in positions) for turn, positions in self.prompts.items()}

    @cached_property
    def last_prompt(self) -> int | None:
        """The newest user message that the model sees."""
        places = range(len(self.messages) - 1, -1, -1)
        return next((at for at in places if self.messages[at].agent_visible and self.messages[at].role == "user"), None)

    @cached_property
    def special(self) -> set[int]:
        """Prompts with a rank of their own."""
        opening = () if self.opening is None else (self.opening,)
        return {*self.instructions, *self.summaries, *opening}

    @cached_property
    def of_turn(self) -> dict[int, list[int]]:
        """By turn, the exchanges that may be dropped, by their first message."""
        found: dict[int, list[int]] = {}
        for home in self.exchanges:
            found.setdefault(self.turns[home], []).append(home)
        return found

    @cached_property
    def instructions(self) -> list[int]:
        """Messages that bring instructions to the agent."""
        return [at for positions in self.prompts.values() for at in positions if is_instructions(self.messages[at])]

    @cached_property
    def summaries(self) -> list[int]:
        """Messages that stand for what was said before."""
        messages = self.messages
        return [at for at in self._free if messages[at].is_summary and not is_instructions(messages[at])]

    @cached_property
    def opening(self) -> int | None:
        """The prompt that opened the session, where it may be dropped."""
        opening = opening_task(self.messages)
        return None if opening is None or opening in self.protected else opening

    @cached_property
    def newest(self) -> int | None:
        """The exchange that the session ends with: its last answer, or the step that it is working on."""
        home = next(reversed(self.exchanges), None)
        last = next((at for at in range(len(self.messages) - 1, -1, -1) if self.messages[at].agent_visible), None)
        if home is None or last is None:
            return None
        return home if self.shape.exchange[last] == home else None

    def company(self, position: int) -> tuple[int, ...]:
        """The cheapest exchange of a prompt's turn, which keeps it apart from the next prompt where roles alternate.

        Answers in words first. Empty where the turn has none, or one that is protected.
        """
        if not self.is_alternating or self._has_protected(self.turns[position]):
            return ()
        homes = self.of_turn.get(self.turns[position], [])

        def price(home: int) -> tuple[bool, int, int]:
            is_step = not is_answer(self.messages, self.shape, home)
            return is_step, sum(self.costs[at] for at in self.exchanges[home]), -home

        return self.exchanges[min(homes, key=price)] if homes else ()

    def _has_protected(self, turn: int) -> bool:
        return turn in self._answered

    @cached_property
    def _answered(self) -> set[int]:
        """The turns that have a protected message of the assistant."""
        roles = {at: self.messages[at].role for at in self.protected if self.messages[at].agent_visible}
        return {self.turns[at] for at, role in roles.items() if role == "assistant"}

    @cached_property
    def _free(self) -> list[int]:
        """Messages that may be dropped, system messages apart."""
        return [at for at, message in enumerate(self.messages) if at not in self.protected and message.role != "system"]

    def _is_prompt(self, position: int) -> bool:
        home = self.shape.exchange[position]
        return self.messages[home].role == "user" and home not in self.asides


def _is_aside(message: Message) -> bool:
    return message.is_injected and not message.is_summary and not is_instructions(message)


def firsts(situation: Situation) -> Iterator[Unit]:
    """The units that are kept before all other exchanges, the most needed first."""
    messages = situation.messages
    if situation.drops_system:
        for at in range(len(messages) - 1, -1, -1):
            if messages[at].role == "system" and at not in situation.protected:
                yield Unit((at,), "system")
    for at in situation.protected:
        company = situation.company(at) if messages[at].role == "user" and at != situation.last_prompt else ()
        if company:
            yield Unit(company, APART, situation.turns[at])
    if situation.newest is not None:
        home = situation.newest
        yield Unit(situation.exchanges[home], named("newest exchange", situation, home), situation.turns[home])
    for at in reversed(situation.instructions):
        yield Unit(_with_company(situation, at), "instructions to the agent")
    if situation.opening is not None:
        yield Unit(_with_company(situation, situation.opening), "opening task")
    for at in reversed(situation.summaries):
        yield Unit(_with_company(situation, at), "summary of what was said before")


def _with_company(situation: Situation, position: int) -> tuple[int, ...]:
    return tuple(sorted({position, *situation.company(position)}))


def named(what: str, situation: Situation, home: int) -> str:
    """What drops an exchange, with its turn and step."""
    return f"{what}: turn {situation.shape.turn[home]}, step {situation.shape.step[home]}"
