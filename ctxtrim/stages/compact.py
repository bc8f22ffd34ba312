"""Compact a session: one summary in the place of what is old, and one digest of the tool results that are too many.

::

    system · old prompt · old steps · recent prompt · 14 recent steps
    system · [Previous conversation summary] · recent prompt · [Compaction tool digest] · 10 recent steps

It is done where the trigger says so. What is recent, the current task and what is pinned stay.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import not_

from ctxtrim import pins
from ctxtrim.apart import set_apart
from ctxtrim.archiving import Archiving, fell_back
from ctxtrim.counter import Counter
from ctxtrim.digests import MODES, Digests, steps
from ctxtrim.holding import held
from ctxtrim.model import Message, Transcript
from ctxtrim.stage import Change, Finding, Outcome, change_of, seam, setting
from ctxtrim.summaries import REDACT, Summarizer, titles
from ctxtrim.summing import Summing, has_summary, summed, without_leads
from ctxtrim.telling import told
from ctxtrim.tokens import Budget
from ctxtrim.trigger import (
    MAX_MESSAGES,
    MAX_TOKENS,
    Trigger,
    effective_token_limit,
    estimate,
    kept_from,
    rough,
    should_compact,
)
from ctxtrim.turns import Shape, is_alternating

_MOST = 4096  # tokens that a summary may have, and at most a quarter of the limit
_SHARE = 4


@dataclass(frozen=True)
class Compact:
    """Never a larger transcript. `cause` is why it is to be compacted, whatever the trigger says."""

    counter: Counter
    budget: Budget
    summarizer: Summarizer | None = seam()
    cause: str | None = seam()
    max_messages: int = setting(MAX_MESSAGES, "Compact at this many messages, where tokens have no limit.", least=0)
    session_tokens: int = setting(
        MAX_TOKENS, "Compact at this many tokens, where no window is known; 0 for no such limit.", least=0
    )
    keep_recent_messages: int = setting(5, "How many of the last messages stay, where no tokens are said.", least=0)
    keep_recent_tokens: int = setting(
        20_000, "How much of the end stays, in tokens, and at most half of the limit; 0 for so many messages.", least=0
    )
    tool_cutoff: int = setting(10, "How many tool results the model sees at most; older steps go.", least=0)
    tool_summary: str = setting(
        "llm", "Who writes digests of tool results: an LLM where one is configured; off: they all stay.", choices=MODES
    )
    auto: bool = setting(True, "Compact where the trigger says so; else never.")
    redact: bool = setting(True, REDACT, is_restricted=not_)
    pin: tuple[str, ...] = setting((), pins.PIN, check=pins.check)

    def __call__(self, transcript: Transcript) -> Outcome:
        """Changes name every message where it was compacted; a finding says which rule decided."""
        trigger = self.trigger(transcript)
        verdict = "compaction is due" if trigger.is_due else "no compaction"
        said = Finding("trigger", "info", f"{verdict}: {trigger.reason}")
        if not trigger.is_due:
            return Outcome(transcript, (), (said,))
        outcome = self._compacted(transcript, trigger)
        return replace(outcome, findings=(said, *outcome.findings))

    @property
    def limit(self) -> int | None:
        """The tokens at which it is compacted; None where there is no such limit."""
        return effective_token_limit(self.budget.known_room, 0, self.session_tokens)

    def trigger(self, transcript: Transcript) -> Trigger:
        """Whether a transcript is to be compacted, and why."""
        if self.cause is not None:
            return Trigger(True, "asked", self.cause)
        return should_compact(estimate(transcript), self.limit, self.max_messages, self.auto)

    def _compacted(self, transcript: Transcript, trigger: Trigger) -> Outcome:
        messages = transcript.messages
        where = self.counter.shape(messages)
        stays = held(messages, where, self.pin)
        first = self._first(messages, where, trigger)
        old = {place for place, home in enumerate(where.exchange) if home < first and place not in stays}
        costs = [cost.total for cost in self.counter.costs(messages)]
        tokens = self.counter.tokens(transcript)
        if is_alternating(messages, where):
            set_apart(messages, where, costs, tokens - 1, old, stays)
        if all(has_summary(messages[place]) for place in old):
            return Outcome(transcript, (), (_nothing("nothing is older than what is kept"),))
        answers = sum(
            message.role == "assistant" and message.agent_visible and place not in old
            for place, message in enumerate(messages)
        )
        most = min(_MOST, self.limit // _SHARE) if self.limit is not None else _MOST
        summing = Summing(
            self.counter,
            most,
            self.summarizer,
            self.redact,
            is_checkpoint=True,
            is_titled=True,
            answers=answers,
            most_input=self.budget.available,
        )
        found = summed(summing, messages, transcript, old, tokens - 1)
        if found is None or found.summary.text == titles.OMITTED:
            return Outcome(transcript, (), (_nothing("a summary would not be smaller"),))
        changes = tuple(_change(messages, place, old, stays) for place in range(len(messages)))
        return self._digested(told(Outcome(replace(transcript, messages=found.messages), changes), found))

    def _first(self, messages: Sequence[Message], where: Shape, trigger: Trigger) -> int:
        """Where what is kept begins: by tokens, by messages where those are none, or would have it compacted again.

        What a message begins with that was put there before takes no room from what is recent.
        """
        costs = [rough(without_leads(message)) for message in messages]
        tokens = self.keep_recent_tokens
        if self.limit is not None:
            tokens = min(tokens, self.limit // 2)
        first = kept_from(messages, where.exchange, costs, tokens, self.keep_recent_messages)
        kept = sum(one.agent_visible and home >= first for one, home in zip(messages, where.exchange, strict=True))
        if trigger.rule == "messages" and kept + 1 >= self.max_messages:
            return kept_from(messages, where.exchange, costs, 0, self.keep_recent_messages)
        return first

    def _digested(self, outcome: Outcome) -> Outcome:
        """The outcome with one digest of the oldest steps, where there are too many results."""
        transcript = outcome.transcript
        messages = transcript.messages
        visible = sum(message.role == "tool" and message.agent_visible for message in messages)
        if visible <= self.tool_cutoff or self.tool_summary == "off":
            return outcome
        where = self.counter.shape(messages)
        costs = [cost.total for cost in self.counter.costs(messages)]
        archiving = Archiving(transcript, where)
        taken = []
        for step in steps(messages, where, pins.pinned(messages, where, self.pin).keys()):
            if visible > self.tool_cutoff and archiving.can_take(step):
                archiving.take(step)
                taken.append(step)
                visible -= len(step.results)
        if not taken:
            return outcome
        room = sum(costs[place] for step in taken for place in step.positions)
        digests = Digests(self.counter, self.tool_summary, self.summarizer, self.redact)
        found = digests.of(taken, titles.DIGEST, room)
        if not found.text:
            return outcome
        archiving.put(found.text, taken[-1])
        after, gone = archiving.finish("too many tool results among what is recent")
        if self.counter.tokens(after) >= self.counter.tokens(transcript):
            return outcome
        changes = _united(outcome.changes, gone, after.messages)
        findings = outcome.findings if found.trouble is None else (*outcome.findings, fell_back(found.trouble))
        return replace(outcome, transcript=after, changes=changes, findings=findings)


def _change(messages: Sequence[Message], place: int, old: set[int], stays: dict[int, str]) -> Change:
    if place in old:
        return change_of(messages, place, "dropped", "older than what is kept")
    return change_of(messages, place, "kept", stays.get(place, "recent"))


def _united(first: Sequence[Change], then: Sequence[Change], messages: Sequence[Message]) -> tuple[Change, ...]:
    """What was done in two goes, each message once; what was inserted is named by where it stands in the end."""
    again = {change.message for change in then}
    kept = [change for change in first if change.message is not None and change.message not in again]
    told = [change for change in then if change.message is not None]
    new = (change_of(messages, place, "inserted", "") for place, one in enumerate(messages) if one.index is None)
    reasons = [change.reason for change in (*first, *then) if change.message is None]
    return (*kept, *told, *(replace(change, reason=why) for change, why in zip(new, reasons, strict=False)))


def _nothing(why: str) -> Finding:
    return Finding("nothing-to-compact", "info", f"nothing was compacted: {why}")
