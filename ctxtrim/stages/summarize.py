"""`summarize`: replace all messages that are not recent by one summary.

::

    system · old prompt · old steps · recent prompt · recent steps
    system · [Summary of 12 earlier messages …] · recent prompt · recent steps

Recent messages are the shorter of the last turns and the last tokens. An earlier summary is merged
into the new one. If nothing is old, or the summary would not be smaller, the transcript is
unchanged and a finding says why.
"""

from dataclasses import dataclass

from ctxtrim.conversation.protection import not_summarized
from ctxtrim.conversation.recency import recent_from
from ctxtrim.findings import Finding
from ctxtrim.model import Transcript
from ctxtrim.stage import KEEP, Outcome, Stage, StoredSummary, run_field, setting
from ctxtrim.stages import common_settings
from ctxtrim.stages.placement.summary import summarize_old, with_stored
from ctxtrim.stages.placement.summary_writer import SummaryWriter
from ctxtrim.summaries.summarizer import Summarizer

_RECENT = 20_000  # tokens of the recent turns, and at most half of the budget


@dataclass(frozen=True)
class Summarize(Stage):
    """Replace old messages by one summary.

    Recent, system and pinned messages and the current task are kept unchanged.
    """

    summarizer: Summarizer | None = run_field()
    stored: StoredSummary | None = run_field()
    keep_recent_turns: int = setting(5, "Keep the last N turns.", least=0, panel=KEEP)
    keep_recent_messages: int = common_settings.keep_recent_messages()
    keep_recent_tokens: int | None = setting(
        None,
        "Keep at most the last N tokens of the turns; 0: whole turns. [default: 20000, at "
        "most half the budget]",
        least=0,
        panel=KEEP,
    )
    summary_tokens: int = common_settings.summary_tokens()
    redact: bool = common_settings.redact()
    pin: tuple[str, ...] = common_settings.pin()

    def __call__(self, transcript: Transcript) -> Outcome:
        """If messages are summarized, changes name every message."""
        messages = transcript.messages
        shape = self.counter.shape(messages)
        costs = [cost.total for cost in self.counter.costs(messages)]
        tokens = self.keep_recent_tokens
        if tokens is None:
            tokens = _RECENT if self.keep_recent_turns else 0
        tokens = min(tokens, self.budget.available // 2)
        recent_start = recent_from(
            shape,
            costs,
            turns=self.keep_recent_turns,
            count=self.keep_recent_messages,
            tokens=tokens,
        )
        writer = SummaryWriter(
            self.counter,
            self.summary_tokens,
            self.summarizer,
            redacts=self.redact,
            earlier=self.stored,
            max_prompt=self.budget.available,
        )
        kept = not_summarized(transcript, shape, self.pin)
        result = summarize_old(transcript, writer, recent_start, kept)
        if isinstance(result, Outcome):
            return result
        is_recent = any(
            exchange >= recent_start and position not in kept
            for position, exchange in enumerate(shape.exchange)
        )
        advice = "; try --keep-recent-turns 0" if is_recent and self.keep_recent_turns else ""
        why = f"nothing was summarized: {result.why}{advice}"
        nothing = Finding("nothing-to-summarize", "info", why)
        unchanged = Outcome(transcript, (), (nothing, *result.findings))
        return with_stored(self.counter, unchanged, self.stored, self.budget.available)
