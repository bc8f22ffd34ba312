"""Put one summary in the place of everything that is not recent.

::

    system · old prompt · old steps · recent prompt · recent steps
    system · [Summary of 12 earlier messages …] · recent prompt · recent steps

An earlier summary is merged into the new one. Where nothing is old, or the summary would not be smaller, nothing is
done.
"""

from dataclasses import dataclass
from operator import not_

from ctxtrim import pins
from ctxtrim.counter import Counter
from ctxtrim.holding import held
from ctxtrim.model import Transcript
from ctxtrim.placement import Summing, outcome_of, put_back, summarize_old
from ctxtrim.recency import recent
from ctxtrim.stage import Finding, Outcome, Written, seam, setting
from ctxtrim.summaries import REDACT, Summarizer
from ctxtrim.tokens import Budget


@dataclass(frozen=True)
class Summarize:
    """What is recent stays as it is, and so do system messages, the current task and what is pinned."""

    counter: Counter
    budget: Budget
    summarizer: Summarizer | None = seam()
    stored: Written | None = seam()
    keep_recent_turns: int = setting(5, "These last turns stay.", least=0)
    keep_recent_messages: int = setting(0, "And these last messages.", least=0)
    keep_recent_tokens: int = setting(0, "And what is in these last tokens.", least=0)
    summary_tokens: int = setting(1000, "The most tokens that a summary may have.", least=1)
    redact: bool = setting(True, REDACT, is_restricted=not_)
    pin: tuple[str, ...] = setting((), pins.PIN, check=pins.check)

    def __call__(self, transcript: Transcript) -> Outcome:
        """Changes name every message where any had to go."""
        messages = transcript.messages
        where = self.counter.shape(messages)
        costs = [cost.total for cost in self.counter.costs(messages)]
        last = recent(
            messages, where, costs, self.keep_recent_turns, self.keep_recent_messages, self.keep_recent_tokens
        )
        kept = held(messages, where, self.pin)
        summing = Summing(
            self.counter,
            self.summary_tokens,
            self.summarizer,
            self.redact,
            earlier=self.stored,
            most_input=self.budget.available,
        )
        old = {place for place in range(len(messages)) if not last[place] and place not in kept}
        found = summarize_old(transcript, summing, old, kept)
        if isinstance(found, Outcome):
            return found
        nothing = Finding("nothing-to-summarize", "info", f"nothing was summarized: {found}")
        return self._put_back(Outcome(transcript, (), (nothing,)))

    def _put_back(self, outcome: Outcome) -> Outcome:
        """The outcome with the summary that was stored, where there is room for it."""
        if self.stored is None:
            return outcome
        found = put_back(self.counter, outcome.transcript, self.stored, self.budget.available)
        return outcome if found is None else outcome_of(outcome, found)
