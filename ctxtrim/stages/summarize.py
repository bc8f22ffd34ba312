"""Replace all messages that are not recent by one summary.

::

    system · old prompt · old steps · recent prompt · recent steps
    system · [Summary of 12 earlier messages …] · recent prompt · recent steps

Recent is the shorter of the last turns and the last tokens. An earlier summary is merged into the new one. Where
nothing is old, or the summary would not be smaller, nothing is done, and a finding says why.
"""

from dataclasses import dataclass
from operator import not_

from ctxtrim.conversation import pins
from ctxtrim.conversation.protected import held
from ctxtrim.conversation.recency import recent_from
from ctxtrim.model import Transcript
from ctxtrim.placement import Summing, outcome_of, put_back, summarize_old
from ctxtrim.stage import NOTHING_DONE, Finding, Outcome, Written, seam, setting
from ctxtrim.summaries import REDACT, Summarizer
from ctxtrim.tokens import Budget
from ctxtrim.tokens.counter import Counter

_RECENT = 20_000  # tokens of the recent turns, and at most half of the budget


@dataclass(frozen=True)
class Summarize:
    """Recent messages are kept as they are, and so are system messages, the current task and pinned messages."""

    counter: Counter
    budget: Budget
    summarizer: Summarizer | None = seam()
    stored: Written | None = seam()
    keep_recent_turns: int = setting(5, "Keep the last N turns.", least=0)
    keep_recent_messages: int = setting(0, "Keep the last N messages too.", least=0)
    keep_recent_tokens: int | None = setting(
        None,
        "Keep no more than the last N tokens of the turns; 0: whole turns. [default: 20000, at most half the budget]",
        least=0,
    )
    summary_tokens: int = setting(1000, "The most tokens that a summary may have.", least=1)
    redact: bool = setting(True, REDACT, is_restricted=not_)
    pin: tuple[str, ...] = setting((), pins.PIN, check=pins.check)

    def __call__(self, transcript: Transcript) -> Outcome:
        """Changes name every message where any had to go."""
        messages = transcript.messages
        where = self.counter.shape(messages)
        costs = [cost.total for cost in self.counter.costs(messages)]
        tokens = self.keep_recent_tokens
        if tokens is None:
            tokens = _RECENT if self.keep_recent_turns else 0
        tokens = min(tokens, self.budget.available // 2)
        first = recent_from(messages, where, costs, self.keep_recent_turns, self.keep_recent_messages, tokens)
        kept = held(messages, where, self.pin)
        summing = Summing(
            self.counter,
            self.summary_tokens,
            self.summarizer,
            self.redact,
            earlier=self.stored,
            most_input=self.budget.available,
        )
        old = {place for place, home in enumerate(where.exchange) if home < first and place not in kept}
        found = summarize_old(transcript, summing, old, kept)
        if isinstance(found, Outcome):
            return found
        nothing = Finding(NOTHING_DONE, "info", f"nothing was summarized: {found}")
        return self._put_back(Outcome(transcript, (), (nothing,)))

    def _put_back(self, outcome: Outcome) -> Outcome:
        """The outcome with the summary that was stored, where there is room for it."""
        if self.stored is None:
            return outcome
        found = put_back(self.counter, outcome.transcript, self.stored, self.budget.available)
        return outcome if found is None else outcome_of(outcome, found)
