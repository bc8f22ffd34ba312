"""Make a transcript fit its budget by priority, or say what cannot go.

What goes first, and what later, is the ladder's to say; here it is climbed down until the rest fits. System messages
(unless they may go), the current task, what the user has pinned and what is hidden never go.

An exchange goes as a whole, so no call loses its result. A turn's user message goes with the last of its turn, so what
is kept begins with a user message wherever the input did.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from operator import not_

from ctxtrim import pins
from ctxtrim.apart import is_answer, set_apart
from ctxtrim.counter import Counter
from ctxtrim.evidence import is_instructions
from ctxtrim.ladder import Loss, View, ladder
from ctxtrim.model import Message, Transcript
from ctxtrim.recency import recent
from ctxtrim.replacement import PLACEHOLDER, POINTER, Replacement
from ctxtrim.results import results
from ctxtrim.retaining import Retaining, kept
from ctxtrim.stage import Action, Finding, Outcome, Written, change_of, describe, overflow, seam, setting
from ctxtrim.summaries import REDACT, Summarizer
from ctxtrim.summing import Summing, put_back, summed
from ctxtrim.telling import told
from ctxtrim.tokens import MARKS, Budget
from ctxtrim.turns import Shape, current_task, is_alternating, opening_task


def share(text: str) -> None:
    """A `ValueError` where a number is no share."""
    if not re.fullmatch(r"0*(?:\.\d+|1(?:\.0*)?|0\.\d+)", text) or float(text) == 0:
        raise ValueError("expected a share of the budget, above 0 and at most 1")


STRATEGIES = ("priority", "priority-based", "oldest", "middle", "age")
_ROOM: tuple[Action, str] = ("kept", "there is room")
_BESIDE: tuple[Action, str] = ("dropped", "it would stand beside the next prompt")
_SHARE = 8  # a summary takes at most this part of the budget
_ACTIVE_STEPS = 5  # a file is in use that was read or changed in so many last steps


@dataclass(frozen=True)
class Trim:
    """Never a transcript above its budget: with an `overflow` finding the outcome is what could not go."""

    counter: Counter
    budget: Budget
    summarizer: Summarizer | None = seam()
    stored: Written | None = seam()
    strategy: str = setting("priority", "What goes first.", choices=STRATEGIES)
    target: float = setting(1.0, "Once over the budget, trim down to this share of it.", check=share)
    keep_recent_turns: int = setting(5, "These last turns stay while anything older is left to go.", least=0)
    keep_recent_messages: int = setting(0, "And these last messages.", least=0)
    keep_recent_tokens: int = setting(0, "And what is in these last tokens.", least=0)
    keep_errors: bool = setting(True, "Results that tell of an error go late.")
    errors: str = setting(
        "strict", "What tells of one: flags, exit codes and first lines, or loose words.", choices=("strict", "loose")
    )
    keep_small: int = setting(0, "Results of fewer tokens than this go late.", least=0)
    keep_quoted: bool = setting(True, "Results that the user quoted later go late.")
    keep_chains: bool = setting(True, "Results that a recent call took its arguments from go late.")
    keep_active_files: bool = setting(True, "Reads of files in use go late.")
    active_steps: int | None = setting(
        None, "A file is in use that was read or changed in so many last steps. [default: 5]", least=0
    )
    keep_tools: tuple[str, ...] = setting(
        (), "Results of these tools go late: a regular expression over names.", check=pins.expression
    )
    preserve_system_prompt: bool = setting(True, "System messages never go; else they go last of all.")
    pin: tuple[str, ...] = setting((), pins.PIN, check=pins.check)
    summarize: bool = setting(False, "Put one summary in the place of all that was dropped.")
    summary_tokens: int = setting(1000, "The most tokens that a summary may have.", least=1)
    redact: bool = setting(True, REDACT, is_restricted=not_)

    def __call__(self, transcript: Transcript) -> Outcome:
        """Changes name every message where any had to go."""
        messages = transcript.messages
        where = self.counter.shape(messages)
        costs = [cost.total for cost in self.counter.costs(messages)]
        tokens = self.counter.fixed(transcript) + sum(costs)
        available = self.budget.available
        if tokens <= available:
            return self._put_back(Outcome(transcript))
        view = self._view(transcript, where, costs)
        cut = self._down(view, tokens, available)
        if self.summarize and cut.dropped and cut.tokens <= available:
            room = min(self.summary_tokens, available // _SHARE)
            roomy = self._down(view, tokens, available - room)
            cut = roomy if roomy.tokens <= available - room else cut
        outcome = self._outcome(transcript, view, cut)
        if cut.tokens > available:
            return outcome
        if self.summarize and cut.dropped:
            outcome = self._summed(transcript, cut, outcome)
        else:
            outcome = self._put_back(outcome)
        cached = tuple(_cached(view, outcome.transcript.messages))
        return replace(outcome, findings=(*outcome.findings, *cached))

    def _down(self, view: View, tokens: int, most: int) -> "_Cut":
        """What is left in at most so many tokens: the target's share of them where it can be reached, else all."""
        goal = int(most * self.target)
        cut = self._cut(view, tokens, goal, most)
        return cut if cut.tokens <= goal or goal == most else self._cut(view, tokens, most, most)

    def _cut(self, view: View, tokens: int, goal: int, most: int) -> "_Cut":
        """What is left where the ladder is climbed down to a number of tokens; answers may come back up to `most`."""
        messages, where = view.transcript.messages, view.where
        cut = _Cut(self.counter, where, list(messages), list(view.costs), tokens)
        for loss in ladder(view, self.strategy):
            if cut.tokens <= goal:
                break
            cut.take(loss)
        if is_alternating(messages, where):
            cut.tokens += set_apart(messages, where, cut.costs, most - cut.tokens, cut.dropped, view.held)
        return cut

    def _summed(self, transcript: Transcript, cut: "_Cut", outcome: Outcome) -> Outcome:
        """The outcome with a summary of what was dropped, where there is room for one."""
        summing = Summing(
            self.counter,
            self.summary_tokens,
            self.summarizer,
            self.redact,
            earlier=self.stored,
            most_input=self.budget.available,
        )
        whole = replace(transcript, messages=tuple(cut.messages))
        found = summed(summing, transcript.messages, whole, cut.dropped, self.budget.available)
        return outcome if found is None else told(outcome, found)

    def _put_back(self, outcome: Outcome) -> Outcome:
        """The outcome with the summary that was stored, where there is room for it."""
        if self.stored is None:
            return outcome
        found = put_back(self.counter, outcome.transcript, self.stored, self.budget.available)
        return outcome if found is None else told(outcome, found)

    def _outcome(self, transcript: Transcript, view: View, cut: "_Cut") -> Outcome:
        """What is left, with what is said of every message, and of the whole where it does not fit."""
        messages, available = transcript.messages, self.budget.available
        kept = [index for index in range(len(messages)) if index not in cut.dropped]
        rest = replace(transcript, messages=tuple(cut.messages[index] for index in kept))
        late = dict.fromkeys(view.opening, "opening task, goes last") | dict(view.held)
        changes = []
        for index in range(len(messages)):
            action, reason = cut.said.get(index, _BESIDE if index in cut.dropped else _ROOM)
            if action == "dropped" and index not in cut.dropped:  # it came back
                action, reason = _ROOM
            if action == "kept":
                reason = late.get(index, reason)
            changes.append(change_of(messages, index, action, reason))
        if cut.tokens <= available:
            return Outcome(rest, tuple(changes))
        exactness = self.counter.exactness(rest)
        details = [
            f"{describe(transcript, messages[index], view.where.call[index], cut.costs[index], exactness)} ({why})"
            for index in kept
            if messages[index].agent_visible
            for why in (view.held.get(index, "cannot go"),)
        ]
        if fixed := self.counter.fixed(transcript):
            details.append(f"tool schemas and the frame of the request: {MARKS[exactness]}{fixed} tokens")
        return Outcome(rest, tuple(changes), (overflow(transcript, cut.tokens, available, details, exactness),))

    def _view(self, transcript: Transcript, where: Shape, costs: Sequence[int]) -> View:
        """The conversation with all that decides what goes when."""
        messages = transcript.messages
        last = recent(
            messages, where, costs, self.keep_recent_turns, self.keep_recent_messages, self.keep_recent_tokens
        )
        ages = [where.steps - step for step in where.step]
        found = results(messages, where, ages)
        asked = Retaining(
            self.keep_errors,
            self.errors == "loose",
            self.keep_small,
            self.keep_quoted,
            self.keep_chains,
            (_ACTIVE_STEPS if self.active_steps is None else self.active_steps) if self.keep_active_files else None,
            self.keep_tools,
        )
        worth = kept(asked, self.counter, messages, where, found, last, where.steps)
        held = self._held(messages, where)
        opening = [index for index in _opening(messages, where, costs) if index not in held]
        special = {*held, *opening}
        return View(
            transcript,
            where,
            costs,
            self.counter,
            held,
            last,
            current_task(messages),
            found,
            worth,
            {where.exchange[index]: one.reason for index, one in worth.items() if one.reason is not None},
            opening,
            [i for i, message in enumerate(messages) if i not in special and is_instructions(message)],
            [i for i, message in enumerate(messages) if i not in special and message.is_summary],
            not self.preserve_system_prompt,
            Replacement("placeholder", PLACEHOLDER, POINTER, 0, assigns=False),
        )

    def _held(self, messages: Sequence[Message], where: Shape) -> dict[int, str]:
        """What may never go, and why; where nobody asked, the last exchange. Prompts stay before what is pinned."""
        pinned = pins.pinned(messages, where, self.pin)
        turns = {where.turn[index] for index in pinned}
        task = current_task(messages)
        if task is None:
            spoken = [index for index, one in enumerate(messages) if one.agent_visible and one.role != "system"]
            task = where.exchange[spoken[-1]] if spoken else None
        held: dict[int, str] = {}
        for index, message in enumerate(messages):
            if not message.agent_visible:
                held[index] = "hidden"
            elif index in pinned:
                held[index] = pinned[index]
            elif where.exchange[index] == task:
                held[index] = "current task" if messages[task].role == "user" else "last exchange"
            elif message.role == "system" and self.preserve_system_prompt:
                held[index] = "system"
            elif message.role == "user" and where.turn[index] in turns:
                held[index] = "prompt of what is pinned"
        return held


@dataclass
class _Cut:
    """What is left so far: messages and their costs by position, what was dropped, what is said, tokens in all."""

    counter: Counter
    where: Shape
    messages: list[Message]
    costs: list[int]
    tokens: int
    dropped: set[int] = field(default_factory=set)
    said: dict[int, tuple[Action, str]] = field(default_factory=dict)

    def take(self, loss: Loss) -> None:
        """Let go of something; an edit that would save nothing is not made."""
        if loss.edit is None:
            for index in loss.positions:
                if index not in self.dropped:
                    self.dropped.add(index)
                    self.tokens -= self.costs[index]
                    self.said[index] = (loss.action, loss.reason)
            return
        index = loss.positions[0]
        if index in self.dropped:
            return
        new = loss.edit(self.messages[index])
        cost = self.counter.cost(new, self.where.fan[index]).total
        if cost < self.costs[index]:
            self.tokens += cost - self.costs[index]
            self.messages[index], self.costs[index] = new, cost
            self.said[index] = (loss.action, loss.reason)


def _opening(messages: Sequence[Message], where: Shape, costs: Sequence[int]) -> list[int]:
    """The prompt that opened the session; where roles take turns, with the answer between it and the next prompt."""
    opening = opening_task(messages)
    if opening is None:
        return []
    opened = [index for index in range(len(messages)) if where.exchange[index] == opening]
    if is_alternating(messages, where):
        turn = [index for index in range(len(messages)) if where.turn[index] == where.turn[opening]]
        answers = [index for index in turn if is_answer(messages, where, index)]
        opened += sorted(answers, key=lambda index: (costs[index], -index))[:1]
    return sorted(opened)


def _cached(view: View, left: Sequence[Message]) -> Iterator[Finding]:
    """From where on a provider has to read the prompt again, which it had in its cache."""
    sent = [(place, one) for place, one in enumerate(view.transcript.messages) if one.agent_visible]
    now = [one for one in left if one.agent_visible]
    same = next((at for at, ((_, old), new) in enumerate(zip(sent, now, strict=False)) if old != new), len(now))
    if same < len(sent):
        first, message = sent[same]
        tokens, index = sum(view.costs[:first]), message.index
        text = f"a prompt cache holds for the messages before message {index}: {tokens} tokens, and what is sent before"
        yield Finding("prompt-cache", "info", text, index=index, tokens=tokens)
