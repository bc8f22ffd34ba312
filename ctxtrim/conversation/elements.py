"""Keep the elements of a conversation alternating, for providers that reject two adjacent elements
of one role and an answer at the start.

An element may contain several messages. Results of tools are part of user elements, so a dropped
answer makes the result before it adjacent to the next prompt. Sources: "A conversation must
alternate between user and assistant roles" [langchain-ai/langchain-aws#130], and the first message
must be from the user [strands-agents/sdk-typescript#727].
"""

from collections.abc import Collection, Iterator, Sequence, Set
from dataclasses import dataclass
from typing import NamedTuple

from ctxtrim.conversation.turns import Shape, grouped, visible
from ctxtrim.model import Message, StrictRoles


class SentElement(NamedTuple):
    """An element of the file: whether it is the user's, and the positions of its messages."""

    is_prompt: bool
    positions: list[int]


def elements(messages: Sequence[Message], strict: StrictRoles = "elements") -> list[SentElement]:
    """The elements that the model reads, without system messages.

    Messages of one element have spans in one list of blocks; as `runs`, they have one role.
    """
    sent: list[SentElement] = []
    block_list: object = None
    for position in visible(messages):
        message = messages[position]
        if message.role == "system":
            continue
        is_prompt = message.role != "assistant"
        before = block_list
        block_list = message.role if strict == "runs" else _block_list(message, position)
        if sent and block_list == before and is_prompt == sent[-1].is_prompt:
            sent[-1].positions.append(position)
        else:
            sent.append(SentElement(is_prompt, [position]))
    return sent


def _block_list(message: Message, position: int) -> object:
    """The list of blocks that contains a message, or its position if it is a whole element."""
    if not message.spans or message.spans[0].path[-2:-1] != ("content",):
        return position
    return message.spans[0].line, message.spans[0].path[:-1]


def starts_and_alternates(messages: Sequence[Message], strict: StrictRoles) -> bool:
    """Whether the first element is the user's, and user and assistant alternate."""
    sent = elements(messages, strict)
    return all(element.is_prompt == (number % 2 == 0) for number, element in enumerate(sent))


@dataclass
class Separation:
    """Prevents adjacent elements of one role, and an answer at the start.

    The cheapest dropped exchange that separates two elements is restored if there is room (`room`,
    tokens). Otherwise one of the two is dropped with its exchanges, the first if it is not
    protected. Dropped exchanges are not restored later. `dropped` is a set of positions, which
    `separate` edits. `is_led`: a summary of the user will be the first element.
    """

    shape: Shape
    strict: StrictRoles
    costs: Sequence[int]
    room: int
    dropped: set[int]
    protected: Collection[int]
    is_led: bool = False

    def __post_init__(self) -> None:
        self._elements = elements(self.shape.messages, self.strict)
        self._element_of = {
            position: number
            for number, element in enumerate(self._elements)
            for position in element.positions
        }
        self._members = grouped(range(len(self.shape.exchange)), self.shape.exchange)
        self._refused: set[int] = set()

    def separate(self) -> None:
        """Separate all elements."""
        while True:  # a dropped exchange may have had messages in elements before
            known = len(self._refused)
            self._pass()
            if len(self._refused) == known:
                return

    def _pass(self) -> None:
        kept: list[int] = []  # the elements with kept messages so far
        for number in range(len(self._elements)):
            while self._is_kept(number):
                before = kept[-1] if kept else -1
                if not self._is_adjacent(before, number):
                    kept.append(number)
                    break
                separator = self._separator(before, number)
                if separator is not None:
                    self._restore(separator)
                    kept.append(self._element_of[separator])
                    continue
                droppable = [at for at in (before, number) if at >= 0 and self._may_drop(at)]
                if not droppable:  # as in a damaged file
                    kept.append(number)
                    break
                self._drop(droppable[0])
                while kept and not self._is_kept(kept[-1]):
                    kept.pop()

    def _is_kept(self, number: int) -> bool:
        return not self.dropped.issuperset(self._elements[number].positions)

    def _is_adjacent(self, before: int, number: int) -> bool:
        """Whether an element may not follow the one before it; -1 for the start."""
        is_prompt = self._elements[number].is_prompt
        if before < 0:
            return not is_prompt and not self.is_led
        return is_prompt == self._elements[before].is_prompt

    def _separator(self, before: int, number: int) -> int | None:
        """The first message of the cheapest exchange between two elements that separates them; of
        two with one cost, the newer. None if there is no room for any.
        """
        best: tuple[int, int] | None = None
        for between in range(before + 1, number):
            if self._elements[between].is_prompt == self._elements[number].is_prompt:
                continue
            for exchange in self._exchanges(between):
                touched = {self._element_of.get(at, between) for at in self._members[exchange]}
                cost = sum(self.costs[at] for at in self._missing(exchange))
                is_free = exchange not in self._refused and touched <= {between, number}
                if is_free and cost <= self.room and (best is None or (cost, -exchange) < best):
                    best = cost, -exchange
        return None if best is None else -best[1]

    def _exchanges(self, number: int) -> Set[int]:
        return {self.shape.exchange[position] for position in self._elements[number].positions}

    def _missing(self, exchange: int) -> Iterator[int]:
        return (position for position in self._members[exchange] if position in self.dropped)

    def _restore(self, exchange: int) -> None:
        missing = list(self._missing(exchange))
        self.dropped.difference_update(missing)
        self.room -= sum(self.costs[position] for position in missing)

    def _may_drop(self, number: int) -> bool:
        """Whether no message of the exchanges in an element is protected."""
        return not any(
            position in self.protected
            for exchange in self._kept_exchanges(number)
            for position in self._members[exchange]
        )

    def _kept_exchanges(self, number: int) -> set[int]:
        positions = self._elements[number].positions
        return {self.shape.exchange[at] for at in positions if at not in self.dropped}

    def _drop(self, number: int) -> None:
        """Drop the kept exchanges in an element."""
        for exchange in self._kept_exchanges(number):
            kept = [at for at in self._members[exchange] if at not in self.dropped]
            self.room += sum(self.costs[position] for position in kept)
            self.dropped.update(kept)
            self._refused.add(exchange)
