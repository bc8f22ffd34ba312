"""Compact a session: one summary in the place of what is old, and one digest of the tool results that are too many.

::

    system · old prompt · old steps · recent prompt · 14 recent steps
    system · [Previous conversation summary] · recent prompt · [Compaction tool digest] · 10 recent steps

It is done where the trigger says so. What is recent, the current task and what is pinned stay.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import not_

from ctxtrim.conversation import pins
from ctxtrim.conversation.protected import held
from ctxtrim.conversation.recency import newest
from ctxtrim.conversation.turns import Shape
from ctxtrim.model import Message, Transcript
from ctxtrim.placement import MODES, Digests, Summing, cut_off, summarize_old, without_compaction
from ctxtrim.stage import Change, Finding, Outcome, change_of, seam, setting
from ctxtrim.stages.compaction_trigger import (
    MAX_MESSAGES,
    MAX_TOKENS,
    Trigger,
    effective_token_limit,
    estimate,
    kept_from,
    should_compact,
)
from ctxtrim.summaries import REDACT, Summarizer
from ctxtrim.tokens import Budget
from ctxtrim.tokens.counter import Counter

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

    def reason_to_run(self, transcript: Transcript) -> str | None:
        """Why a transcript is to be compacted; None where it is not."""
        trigger = self.trigger(transcript)
        return trigger.reason if trigger.is_due else None

    def _compacted(self, transcript: Transcript, trigger: Trigger) -> Outcome:
        """The transcript with a summary of all that is old; then with a digest of results that are still too many."""
        messages = transcript.messages
        where = self.counter.shape(messages)
        first = self._first(messages, where, trigger)
        kept = held(messages, where, self.pin)
        old = {place for place, home in enumerate(where.exchange) if home < first and place not in kept}
        summing = Summing(
            self.counter,
            _MOST if self.limit is None else min(_MOST, self.limit // _SHARE),
            self.summarizer,
            self.redact,
            is_checkpoint=True,
            is_titled=True,
            most_input=self.budget.available,
        )
        found = summarize_old(transcript, summing, old, kept)
        if isinstance(found, str):
            nothing = Finding("nothing-to-compact", "info", f"nothing was compacted: {found}")
            return Outcome(transcript, (), (nothing,))
        return self._digested(found)

    def _first(self, messages: Sequence[Message], where: Shape, trigger: Trigger) -> int:
        """Where the recent part begins: by tokens, or by messages where those are 0 or leave too many messages.

        The newest exchanges are recent whatever they cost, where there are older ones. The summary and the digest of an
        earlier compaction take no room from the others.
        """
        counter = self.counter
        costs = [
            counter.cost(without_compaction(message), fan).total if message.agent_visible else 0
            for message, fan in zip(messages, where.fan, strict=True)
        ]
        tokens = self.keep_recent_tokens
        if self.limit is not None:
            tokens = min(tokens, self.limit // 2)
        first = kept_from(messages, where.exchange, costs, tokens, self.keep_recent_messages)
        kept = sum(one.agent_visible and home >= first for one, home in zip(messages, where.exchange, strict=True))
        if trigger.rule == "messages" and kept + 1 >= self.max_messages:
            return kept_from(messages, where.exchange, costs, 0, self.keep_recent_messages)
        last = newest(messages, where)
        return min(first, last) if tokens and last else first

    def _digested(self, outcome: Outcome) -> Outcome:
        """The outcome with one digest of the oldest steps, where there are too many results."""
        messages = outcome.transcript.messages
        cut = cut_off(
            outcome.transcript,
            Digests(self.counter, self.tool_summary, self.summarizer, self.redact),
            self.budget.available,
            pins.pinned(messages, self.counter.shape(messages), self.pin),
            self.tool_cutoff,
            is_compaction=True,
        )
        if not cut.is_cut:
            return outcome
        changes = _united(outcome.changes, cut.changes, cut.transcript.messages)
        return replace(outcome, transcript=cut.transcript, changes=changes, findings=(*outcome.findings, *cut.findings))


def _united(first: Sequence[Change], then: Sequence[Change], messages: Sequence[Message]) -> tuple[Change, ...]:
    """What was done in two goes, each message once; what was inserted is named by where it stands in the end."""
    again = {change.message for change in then}
    kept = [change for change in first if change.message is not None and change.message not in again]
    told = [change for change in then if change.message is not None]
    new = (change_of(messages, place, "inserted", "") for place, one in enumerate(messages) if one.index is None)
    reasons = [change.reason for change in (*first, *then) if change.message is None]
    return (*kept, *told, *(replace(change, reason=why) for change, why in zip(new, reasons, strict=False)))
