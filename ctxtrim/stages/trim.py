"""Drop the oldest exchanges until the transcript fits its budget, or say what cannot go.

What goes first::

    exchanges of the oldest turn, oldest first; with the last of them its user message
    … of the next turn, and so on up to the current one, so recent turns are only touched when nothing older is left
    summaries of what was said before the transcript begins
    the prompt that opened the session, where user and assistant take turns with an answer to it
    never: system messages, the current task, what the user has pinned, and what is hidden, which costs nothing

An exchange goes as a whole, so no call loses its result. A turn's user message goes with the last of its turn, so what
is kept begins with a user message wherever the input did.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ctxtrim import pins
from ctxtrim.counter import Counter
from ctxtrim.model import Transcript
from ctxtrim.stage import Outcome, change_of, describe, overflow, setting
from ctxtrim.tokens import MARKS, Budget
from ctxtrim.turns import Shape, current_task, is_alternating, opening_task


@dataclass(frozen=True)
class Trim:
    """Never a transcript above its budget: with an `overflow` finding the outcome is what could not go."""

    counter: Counter
    budget: Budget
    pin: tuple[str, ...] = setting((), pins.PIN, check=pins.check)

    def __call__(self, transcript: Transcript) -> Outcome:
        """Changes name every message where any had to go."""
        messages = transcript.messages
        where = self.counter.shape(messages)
        costs = [cost.total for cost in self.counter.costs(messages)]
        tokens = self.counter.fixed(transcript) + sum(costs)
        available = self.budget.available
        if tokens <= available:
            return Outcome(transcript)
        pinned = _pinned(transcript, where) | self._held(transcript, where)
        dropped: set[int] = set()
        for unit in _order(transcript, where, set(pinned), costs):
            if tokens <= available:
                break
            dropped.update(unit)
            tokens -= sum(costs[index] for index in unit)
        if is_alternating(messages, where):
            tokens += self._set_apart(transcript, where, costs, available - tokens, dropped, pinned)
        kept = [index for index in range(len(messages)) if index not in dropped]
        rest = replace(transcript, messages=tuple(messages[index] for index in kept))
        reasons = {opening_task(messages): "opening task, goes last"} | pinned
        changes = [
            change_of(messages, index, "dropped", f"oldest first: turn {where.turn[index]}, step {where.step[index]}")
            if index in dropped
            else change_of(messages, index, "kept", reasons.get(index, "newer than what went"))
            for index in range(len(messages))
        ]
        if tokens <= available:
            return Outcome(rest, tuple(changes))
        exactness = self.counter.exactness(rest)
        details = [
            f"{describe(transcript, messages[i], where.call[i], costs[i], exactness)} ({pinned[i]})"
            for i in kept
            if messages[i].agent_visible
        ]
        if fixed := self.counter.fixed(transcript):
            details.append(f"tool schemas and the frame of the request: {MARKS[exactness]}{fixed} tokens")
        return Outcome(rest, tuple(changes), (overflow(transcript, tokens, available, details, exactness),))

    def _held(self, transcript: Transcript, where: Shape) -> dict[int, str]:
        """What the user has pinned, and the prompts of those turns: an answer needs the question before it."""
        messages = transcript.messages
        held = pins.pinned(messages, where, self.pin)
        turns = {where.turn[index] for index in held}
        prompts = {
            index: "prompt of what is pinned"
            for index, message in enumerate(messages)
            if message.role == "user" and where.turn[index] in turns
        }
        return prompts | held

    def _set_apart(
        self,
        transcript: Transcript,
        where: Shape,
        costs: Sequence[int],
        room: int,
        dropped: set[int],
        pinned: Mapping[int, str],
    ) -> int:
        """Let no two prompts stand side by side where none did; returns by how much the tokens change.

        What stood between them comes back in part: the cheapest answer without calls, where there is room for it. Else
        the first of the two goes.
        """
        spent = 0
        before: list[int] = []  # prompts kept so far, with nothing but system messages after the last of them
        between: list[int] = []  # what was dropped since then
        for index, message in enumerate(transcript.messages):
            if not message.agent_visible:
                continue
            if index in dropped:
                between.append(index)
            elif message.role == "user":
                answers = [one for one in between if _answers(transcript, where, one) and costs[one] <= room - spent]
                while before and before[-1] not in pinned and not answers:
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


def _answers(transcript: Transcript, where: Shape, index: int) -> bool:
    """Whether a message is an answer in words, which can stand alone."""
    message = transcript.messages[index]
    return message.role == "assistant" and message.agent_visible and where.fan[index] == 0


def _pinned(transcript: Transcript, where: Shape) -> dict[int, str]:
    """What may never go, and why: system messages and the current task; the last exchange where nobody asked.

    What is hidden stays where it is.
    """
    messages = transcript.messages
    pinned = {index: "system" for index, message in enumerate(messages) if message.role == "system"}
    pinned |= {index: "hidden" for index, message in enumerate(messages) if not message.agent_visible}
    task = current_task(messages)
    if task is not None:
        pinned |= {index: "current task" for index in range(len(messages)) if where.exchange[index] == task}
    elif len(pinned) < len(messages):
        last = max(index for index in range(len(messages)) if index not in pinned)
        home = where.exchange[last]
        pinned |= {index: "last exchange" for index in range(len(messages)) if where.exchange[index] == home}
    return pinned


def _order(transcript: Transcript, where: Shape, pinned: set[int], costs: Sequence[int]) -> Iterator[list[int]]:
    """The units in which messages go, first to go first."""
    messages = transcript.messages
    opening = opening_task(messages)
    opened = [] if opening in pinned else [i for i in range(len(messages)) if where.exchange[i] == opening]
    if (
        opened and opening is not None and is_alternating(messages, where)
    ):  # its answer stays between it and the next prompt
        turn = [index for index in range(len(messages)) if where.turn[index] == where.turn[opening]]
        answers = [index for index in turn if _answers(transcript, where, index)]
        opened += sorted(answers, key=lambda index: (costs[index], -index))[:1]
    turns: dict[int, tuple[dict[int, list[int]], list[int]]] = {}
    summaries: list[list[int]] = []
    for index, message in enumerate(messages):
        home = where.exchange[index]
        if index in pinned or index in opened:
            continue
        if message.is_summary:
            summaries.append([index])
            continue
        exchanges, prompts = turns.setdefault(where.turn[home], ({}, []))
        if messages[home].role == "user":
            prompts.append(index)
        else:
            exchanges.setdefault(home, []).append(index)
    for _, (exchanges, prompts) in sorted(turns.items()):
        units = list(exchanges.values())
        if units:
            units[-1] = sorted((*prompts, *units[-1]))
        elif prompts:
            units = [prompts]
        yield from units
    yield from summaries
    if opened:
        yield opened
