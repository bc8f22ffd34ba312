"""Keep so many tool results in view: a digest replaces older steps.

The oldest step is replaced first, calls and results together, until no more results than that are left. Digests follow
the prompt of their steps in a message of the client, which the person is not shown. Where a format can say that a
message is hidden, the step stays in the file; elsewhere it is dropped. A step is kept where it is pinned, still waits
for a result, nothing has followed yet, or its digest would not be smaller.
"""

from dataclasses import dataclass
from operator import not_

from ctxtrim.conversation import pins
from ctxtrim.model import Transcript
from ctxtrim.placement import MODES, Digests, cut_off
from ctxtrim.stage import Outcome, seam, setting
from ctxtrim.summaries import REDACT, Summarizer
from ctxtrim.tokens import Budget
from ctxtrim.tokens.counter import Counter


@dataclass(frozen=True)
class Cutoff:
    """Digests replace old steps."""

    counter: Counter
    budget: Budget
    summarizer: Summarizer | None = seam()
    tool_cutoff: int = setting(10, "How many tool results the model sees at most; older steps go.", least=0)
    tool_summary: str = setting(
        "llm", "Who writes digests of tool results: an LLM where one is configured; off: they all stay.", choices=MODES
    )
    summary_place: str = setting(
        "in-place",
        "Where digests are inserted: where the step was, or before the newest prompt, if roles need not alternate.",
        choices=("in-place", "append"),
    )
    redact: bool = setting(True, REDACT, is_restricted=not_)
    pin: tuple[str, ...] = setting((), pins.PIN, check=pins.check)

    def __call__(self, transcript: Transcript) -> Outcome:
        """Changes name every message that was replaced, and the results that are kept although they are too many."""
        held = pins.pinned(transcript.messages, self.counter.shape(transcript.messages), self.pin)
        cut = cut_off(
            transcript,
            Digests(self.counter, self.tool_summary, self.summarizer, self.redact),
            self.budget.available,
            held,
            self.tool_cutoff,
            appends=self.summary_place == "append",
        )
        return Outcome(cut.transcript, cut.changes, cut.findings)
