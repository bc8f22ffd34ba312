"""Does it fit, and does every result have its call and every call its result? Changes nothing."""

from collections.abc import Iterator
from dataclasses import dataclass

from ctxtrim.conversation.turns import Shape
from ctxtrim.model import Transcript
from ctxtrim.stage import Finding, Outcome, describe, overflow, setting
from ctxtrim.structure import PAIRING, PROFILES, findings
from ctxtrim.tokens import Budget
from ctxtrim.tokens.counter import Counter

_NAMED = 5  # of the largest messages


@dataclass(frozen=True)
class Check:
    """The verdict on a transcript, as findings: `overflow`, and the codes of the rules that are broken."""

    counter: Counter
    budget: Budget
    profile: str = setting("", f"Whose structure rules to ask for: {', '.join(PROFILES)}.", choices=("", *PROFILES))
    as_: str = setting(
        "recording",
        "Rules that hold only for a request about to be sent are warnings (recording) or errors (request).",
        choices=("recording", "request"),
    )

    def __call__(self, transcript: Transcript) -> Outcome:
        """Without a profile only calls and results are looked at."""
        where = self.counter.shape(transcript.messages)
        rules = PROFILES[self.profile].rules if self.profile else PAIRING
        broken = findings(rules, transcript, where, self.as_ == "request")
        return Outcome(transcript, findings=(*self._overflow(transcript, where), *broken))

    def _overflow(self, transcript: Transcript, where: Shape) -> Iterator[Finding]:
        tokens = self.counter.tokens(transcript)
        if tokens > self.budget.available:
            exactness = self.counter.exactness(transcript)
            costs = [cost.total for cost in self.counter.costs(transcript.messages)]
            sent = [index for index, message in enumerate(transcript.messages) if message.agent_visible]
            largest = sorted(sent, key=lambda index: (-costs[index], index))[:_NAMED]
            details = (
                describe(transcript, transcript.messages[index], where.call[index], costs[index], exactness)
                for index in largest
            )
            yield overflow(transcript, tokens, self.budget.available, details, exactness)
