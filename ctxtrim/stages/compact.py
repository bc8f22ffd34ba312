"""`compact`: replace old messages by one summary, and excess tool results by one digest.

::

    before   system · old prompt · old steps · recent prompt · 14 recent steps
    after    system · summary · recent prompt · digest of 4 steps · 10 recent steps

A session is compacted if the trigger is due. Recent messages, the current task and pinned messages
are kept.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from ctxtrim.conversation import pins
from ctxtrim.conversation.protection import not_summarized
from ctxtrim.conversation.recency import kept_from, newest
from ctxtrim.conversation.turns import Shape
from ctxtrim.findings import Finding
from ctxtrim.model import Message, Transcript
from ctxtrim.stage import KEEP, Change, Outcome, Stage, change_of, run_field, setting
from ctxtrim.stages import common_settings
from ctxtrim.stages.compaction_trigger import (
    MAX_MESSAGES,
    SESSION_TOKENS,
    Trigger,
    effective_token_limit,
    estimate,
    should_compact,
)
from ctxtrim.stages.placement.digest_writer import DigestWriter
from ctxtrim.stages.placement.leads import (
    has_compaction_digest,
    has_summary,
    without_compaction,
)
from ctxtrim.stages.placement.summary import NoSummary, summarize_old
from ctxtrim.stages.placement.summary_writer import SummaryWriter
from ctxtrim.stages.placement.tool_cutoff import cut_off
from ctxtrim.summaries.summarizer import Summarizer

_MAX_SUMMARY = 4096  # tokens that a summary may have, and at most a quarter of the limit
_SHARE = 4


@dataclass(frozen=True)
class Compact(Stage):
    """Replace all but the recent messages by one summary when a session is full.

    The result is never larger. `cause` is a reason to compact regardless of the trigger.
    """

    summarizer: Summarizer | None = run_field()
    cause: str | None = run_field()
    max_messages: int = setting(
        MAX_MESSAGES, "Compact at N messages if there is no token limit.", least=0
    )
    session_tokens: int = setting(
        SESSION_TOKENS,
        "Compact at N tokens if no window is known, or one that is less than twice the reserve of "
        "the preset; 0 for no limit.",
        least=0,
    )
    keep_recent_messages: int = setting(
        5, "Keep the last N messages if `keep-recent-tokens` is 0.", least=0, panel=KEEP
    )
    keep_recent_tokens: int = setting(
        20_000,
        "Keep the last N tokens, at most half of the limit; 0 to keep a number of messages.",
        least=0,
        panel=KEEP,
    )
    tool_cutoff: int = common_settings.tool_cutoff()
    tool_summary: str = common_settings.tool_summary()
    auto: bool = setting(True, "Compact when the trigger is due; if off, never compact.")
    redact: bool = common_settings.redact()
    pin: tuple[str, ...] = common_settings.pin()

    @staticmethod
    def idle(settings: Mapping[str, Any]) -> str:
        """Why nothing changes."""
        if not settings["auto"]:
            return "--no-auto turns compaction off"
        return "no session has reached its limit; try a smaller --budget"

    def __call__(self, transcript: Transcript) -> Outcome:
        """If the session is compacted, changes name every message.

        A finding names the rule that decided.
        """
        trigger = self.trigger(transcript)
        verdict = "compaction is due" if trigger.is_due else "no compaction"
        decision = Finding("trigger", "info", f"{verdict}: {trigger.reason}")
        if not trigger.is_due:
            return Outcome(transcript, (), (decision,))
        outcome = self._compacted(transcript, trigger)
        return replace(outcome, findings=(decision, *outcome.findings))

    @property
    def limit(self) -> int | None:
        """The number of tokens at which a session is compacted, at most the budget, to which `trim`
        fits it; None for no such limit.
        """
        limit = effective_token_limit(self.budget.known_room, self.session_tokens)
        return limit if limit is None else min(limit, self.budget.available)

    def trigger(self, transcript: Transcript) -> Trigger:
        """Whether a transcript is due for compaction, and why."""
        if self.cause is not None:
            return Trigger(True, "request", self.cause)
        size = estimate(transcript)
        return should_compact(size, self.limit, self.max_messages, auto=self.auto)

    def reason_to_run(self, transcript: Transcript) -> str | None:
        """Why a transcript is compacted; None if it is not."""
        trigger = self.trigger(transcript)
        return trigger.reason if trigger.is_due else None

    def _compacted(self, transcript: Transcript, trigger: Trigger) -> Outcome:
        """The transcript with a summary of its old messages, then with a digest of
        excess results.
        """
        messages = transcript.messages
        shape = self.counter.shape(messages)
        recent_start = self._first(shape, trigger)
        max_tokens = _MAX_SUMMARY
        if self.limit is not None:
            max_tokens = min(max_tokens, self.limit // _SHARE)
        writer = SummaryWriter(
            self.counter,
            max_tokens,
            self.summarizer,
            redacts=self.redact,
            is_checkpoint=True,
            max_prompt=self.budget.available,
        )
        kept = not_summarized(transcript, shape, self.pin)
        result = summarize_old(transcript, writer, recent_start, kept)
        if isinstance(result, NoSummary):
            why = f"nothing was compacted: {result.why}"
            nothing = Finding("nothing-to-compact", "info", why)
            return Outcome(transcript, (), (nothing, *result.findings))
        return self._digested(result)

    def _first(self, shape: Shape, trigger: Trigger) -> int:
        """The position of the first recent message: by tokens, or by messages if tokens are 0 or
        too many remain.

        The newest exchanges are recent regardless of cost if there are older ones, also if the
        digest of an earlier compaction replaces some of them. The summary and the digest of an
        earlier compaction do not count towards the tokens.
        """
        counter = self.counter
        costs = [
            counter.cost(without_compaction(message), fan).total if message.agent_visible else 0
            for message, fan in zip(shape.messages, shape.fan, strict=True)
        ]
        tokens = self.keep_recent_tokens
        if self.limit is not None:
            tokens = min(tokens, self.limit // 2)
        first = kept_from(shape, costs, count=self.keep_recent_messages, tokens=tokens)
        kept = sum(shape.exchange[position] >= first for position in shape.visible)
        if trigger.rule == "messages" and kept + 1 >= self.max_messages:
            return kept_from(shape, costs, count=self.keep_recent_messages, tokens=0)
        return min(first, _newest_start(shape, first)) if tokens else first

    def _digested(self, outcome: Outcome) -> Outcome:
        """The outcome with one digest of the oldest steps if there are too many results."""
        messages = outcome.transcript.messages
        writer = DigestWriter(self.counter, self.tool_summary, self.summarizer, redacts=self.redact)
        result = cut_off(
            outcome.transcript,
            writer,
            self.budget.available,
            pins.pinned(self.counter.shape(messages), self.pin),
            self.tool_cutoff,
            is_compaction=True,
        )
        if result.transcript is outcome.transcript:
            return outcome
        changes = _united(outcome.changes, result.changes, result.transcript.messages)
        return replace(
            outcome,
            transcript=result.transcript,
            changes=changes,
            findings=(*outcome.findings, *result.findings),
        )


def _newest_start(shape: Shape, first: int) -> int:
    """The position of the first of the newest exchanges; `first` if there are no older ones.

    If a summary or the digest of an earlier compaction replaces some of them, all that remain are
    recent.
    """
    start = newest(shape)
    messages = shape.messages
    if start or any(map(has_summary, messages)) or any(map(has_compaction_digest, messages)):
        return start
    return first


def _united(
    before: Sequence[Change], after: Sequence[Change], messages: Sequence[Message]
) -> tuple[Change, ...]:
    """The changes of two edits as one list, each message once.

    Inserted messages are named by their final position.
    """
    changed = {change.message for change in after}
    earlier = [change for change in before if change.message not in changed]
    united = [change for change in (*earlier, *after) if change.message is not None]
    inserted = [position for position, message in enumerate(messages) if message.index is None]
    reasons = [change.reason for change in (*before, *after) if change.message is None]
    for position, reason in zip(inserted, reasons, strict=False):
        united.append(change_of(messages, position, "inserted", reason))
    return tuple(united)
