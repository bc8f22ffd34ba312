"""The facts about a transcript that decide what `trim` keeps."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import NamedTuple

from ctxtrim.conversation.alternation import is_answer_in_words
from ctxtrim.conversation.roles import RoleOrder
from ctxtrim.conversation.tasks import (
    answer_before,
    current_loop,
    current_task,
    is_typed,
    opening_task,
)
from ctxtrim.conversation.tool_results import ToolResult, results
from ctxtrim.conversation.turns import Shape, grouped
from ctxtrim.evidence.agent_instructions import is_instructions
from ctxtrim.evidence.evidence import Evidence
from ctxtrim.evidence.tool_kinds import ToolKind, kind_of_tool
from ctxtrim.model import Message
from ctxtrim.stages.keep_rules import KeepReason, KeepRules
from ctxtrim.stages.placeholder import copy_text, read_again_text
from ctxtrim.stages.placement.leads import is_led_by_summary
from ctxtrim.tokens.counter import Counter


class Stale(NamedTuple):
    """The text that replaces a result which the result at `newer` repeats, and the reason."""

    text: str
    reason: str
    newer: int


@dataclass(frozen=True)
class Situation:
    """The facts about a transcript that determine drop order, by position. Facts that only some
    strategies need are found when they are first needed.

    - `costs`: tokens
    - `protected`: messages that are never dropped, each with the reason
    - `shrinkable`: protected messages that may be shortened and have a rank like all others,
      because they are the last exchange, separate others, are required by the provider, or are
      led by a summary
    - `emptied`: messages without anything but reasoning that is removed; they are not written
    - `is_recent`: in the last turns
    - `keep_rules`: which results should be kept
    - `roles`: the order of roles, which is kept
    """

    shape: Shape
    costs: Sequence[int]
    counter: Counter
    protected: Mapping[int, str]
    shrinkable: Set[int]
    emptied: Set[int]
    is_recent: Sequence[bool]
    keep_rules: KeepRules
    roles: RoleOrder

    @property
    def messages(self) -> Sequence[Message]:
        """The messages of the transcript."""
        return self.shape.messages

    def is_fixed(self, position: int) -> bool:
        """Whether a message is never shortened."""
        return position in self.protected and position not in self.shrinkable

    def with_citations(self, prompt: int) -> "Situation":
        """The same facts if each source to cite costs the tokens of a prompt in addition."""
        costs = list(self.costs)
        for position, message in enumerate(self.messages):
            if any(part.cites for part in message.parts):
                costs[position] += prompt
        return replace(self, costs=costs)

    @cached_property
    def results(self) -> dict[int, ToolResult]:
        """The visible tool results."""
        return {result.position: result for result in results(self.shape, self.shape.ages())}

    @cached_property
    def evidence(self) -> Evidence:
        """What the messages say about the results."""
        return Evidence(self.shape)

    @cached_property
    def keep_reasons(self) -> Mapping[int, KeepReason]:
        """Why some results should be kept."""
        tool_results = list(self.results.values())
        return self.keep_rules.keep_reasons(
            self.counter, self.evidence, tool_results, self.is_recent, self.shape.steps
        )

    @cached_property
    def tool_kinds(self) -> dict[int, ToolKind]:
        """The kind of the tool of each result."""
        return {
            position: kind_of_tool(result.tool, result.call.text if result.call else "")
            for position, result in self.results.items()
        }

    @cached_property
    def stale(self) -> Mapping[int, Stale]:
        """The results that a later result repeats."""
        stale: dict[int, Stale] = {}
        for position in self.results:
            copy = self.results.get(self.evidence.copies.get(position, -1))
            read = self.results.get(self.evidence.reread.get(position, -1))
            if copy is not None:
                stale[position] = Stale(copy_text(copy), "same as a newer result", copy.position)
            elif read is not None:
                stale[position] = Stale(read_again_text(read), "read again later", read.position)
        return stale

    def is_old(self, position: int) -> bool:
        """Whether a message is neither in the last turns nor in the current tool loop."""
        return not self.is_recent[position] and position < self._loop

    @cached_property
    def _loop(self) -> int:
        """The position where the current tool loop begins; that of the first message if there is
        no prompt.
        """
        return current_loop(self.messages) or 0

    @cached_property
    def injections(self) -> set[int]:
        """The positions of messages that the client injects between the steps of an agent, or
        between a prompt and its first step, such as the text of a skill or an attached file.

        The steps after such a message need the prompt that the person typed, not that message.
        """
        injections: set[int] = set()
        if not any(message.is_injected for message in self.messages):
            return injections
        is_inside_turn = False
        for position, message in enumerate(self.messages):
            if not message.agent_visible:
                continue
            if message.role == "user" and is_inside_turn and _is_injection(message):
                injections.add(position)
            else:
                is_inside_turn = is_typed(message) or message.role == "tool"
        return injections

    @cached_property
    def turns(self) -> list[int]:
        """The turn of each message; injections belong to the turn that they interrupt."""
        if not self.injections:
            return list(self.shape.turn)
        turns: list[int] = []
        before: int | None = None
        for position, turn in enumerate(self.shape.turn):
            turns.append(turns[-1] if turn == before or position in self.injections else turn)
            before = turn
        return turns

    @cached_property
    def worth_keeping(self) -> dict[int, str]:
        """By exchange, why one of its results is worth keeping."""
        exchange = self.shape.exchange
        return {
            exchange[position]: kept.reason
            for position, kept in self.keep_reasons.items()
            if kept.reason is not None
        }

    @cached_property
    def exchanges(self) -> dict[int, tuple[int, ...]]:
        """The exchanges that may be shortened or dropped, by their first message, in order,
        without prompts.
        """
        exchange, starts = self.shape.exchange, self._starts
        steps = [position for position in self._free if exchange[position] not in starts]
        return grouped(steps, exchange)

    @cached_property
    def prompts(self) -> dict[int, tuple[int, ...]]:
        """By turn, the user messages that may be shortened or dropped, with the results of calls
        that they make.
        """
        exchange, starts = self.shape.exchange, self._starts
        prompts = [position for position in self._free if exchange[position] in starts]
        return grouped(prompts, self.turns)

    @cached_property
    def prompt_costs(self) -> dict[int, int]:
        """By turn, the tokens of the prompts that may be dropped."""
        return {
            turn: sum(self.costs[position] for position in positions)
            for turn, positions in self.prompts.items()
        }

    @cached_property
    def last_prompt(self) -> int | None:
        """The position of the newest visible user message."""
        for position in reversed(self.shape.visible):
            if self.messages[position].role == "user":
                return position
        return None

    @cached_property
    def special(self) -> set[int]:
        """The positions of prompts with a separate rank."""
        opening = () if self.opening is None else (self.opening,)
        return {*self.instructions, *self.summaries, *opening}

    @cached_property
    def exchanges_of_turn(self) -> dict[int, tuple[int, ...]]:
        """By turn, the exchanges that may be dropped, by their first message."""
        return grouped(self.exchanges, self.turns)

    @cached_property
    def instructions(self) -> list[int]:
        """The positions of messages with instructions to the agent."""
        prompts = chain.from_iterable(self.prompts.values())
        return [position for position in prompts if is_instructions(self.messages[position])]

    @cached_property
    def summaries(self) -> list[int]:
        """The positions of summaries of earlier messages."""
        summaries = [position for position in self._free if self.messages[position].is_summary]
        return [position for position in summaries if not is_instructions(self.messages[position])]

    @cached_property
    def led(self) -> list[int]:
        """The positions of prompts that are not dropped, but lose the summary that leads them."""
        return [at for at in sorted(self.shrinkable) if is_led_by_summary(self.messages[at])]

    @cached_property
    def opening(self) -> int | None:
        """The position of the prompt that opened the session, if it may be dropped."""
        opening = opening_task(self.messages)
        return None if opening is None or opening in self.protected else opening

    @cached_property
    def newest(self) -> int | None:
        """The exchange at the end of the session: its last answer, or the current step.

        What the client injects after it, such as the output of `/exit`, does not count.
        """
        for position in reversed(self.shape.visible):
            if not _is_injection(self.messages[position]):
                exchange = self.shape.exchange[position]
                return exchange if exchange in self.exchanges else None
        return None

    @cached_property
    def answer(self) -> int | None:
        """The exchange of the answer in words right before the current task, which may refer to it,
        if it may be dropped.
        """
        task = current_task(self.messages)
        position = None if task is None else answer_before(self.messages, task)
        if position is None or self.shape.exchange[position] not in self.exchanges:
            return None
        return self.shape.exchange[position]

    def is_unanswered(self, positions: Sequence[int]) -> bool:
        """Whether messages are prompts of a turn without an exchange that only the client injects,
        such as `/exit`, or the caveat before it.
        """
        return positions[0] not in self.exchanges and all(
            _is_injection(self.messages[position]) for position in positions
        )

    def is_before_others(self, position: int) -> bool:
        """Whether a message is a visible prompt before other prompts."""
        message = self.messages[position]
        return message.role == "user" and message.agent_visible and position != self.last_prompt

    def separator(self, position: int) -> tuple[int, ...]:
        """The cheapest exchange of a prompt's turn, which separates it from the next prompt if
        roles alternate.

        Answers in words come first. Empty if the turn has no exchange, or a protected one.
        """
        if not self.roles.alternates or self.turns[position] in self._answered:
            return ()
        if self.messages[position].role != "user":  # a summary by the assistant
            return ()
        exchanges = self.exchanges_of_turn.get(self.turns[position], ())

        def price(exchange: int) -> tuple[bool, int, int]:
            is_step = not is_answer_in_words(self.shape, exchange)
            tokens = sum(self.costs[position] for position in self.exchanges[exchange])
            return is_step, tokens, -exchange

        return self.exchanges[min(exchanges, key=price)] if exchanges else ()

    @cached_property
    def _answered(self) -> set[int]:
        """The turns with a protected message of the assistant."""
        turns = set()
        for position in self.protected:
            message = self.messages[position]
            if message.agent_visible and message.role == "assistant":
                turns.add(self.turns[position])
        return turns

    @cached_property
    def _free(self) -> list[int]:
        """The positions of messages that may be shortened or dropped, without system messages of
        their own and prompts that only lose a summary.
        """
        fixed = {*filter(self.is_fixed, self.protected), *self.led}
        return [
            position
            for position, message in enumerate(self.messages)
            if position not in fixed and (message.role != "system" or message.continues)
        ]

    @cached_property
    def _starts(self) -> set[int]:
        """The positions at which exchanges of prompts start."""
        prompts = [at for at, message in enumerate(self.messages) if message.starts_turn]
        return set(prompts) - self.injections


def _is_injection(message: Message) -> bool:
    return message.is_injected and not message.is_summary and not is_instructions(message)
