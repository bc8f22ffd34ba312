"""`check`: report whether a transcript fits its budget and has a valid structure."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from ctxtrim.conversation.turns import Shape
from ctxtrim.model import Transcript
from ctxtrim.stage import RULES, Finding, Outcome, overflow, setting
from ctxtrim.stages.largest import largest
from ctxtrim.structure import PAIRING, PROFILES, findings
from ctxtrim.tokens import Budget
from ctxtrim.tokens.counter import Counter

_NAMED = 5  # of the largest messages


@dataclass(frozen=True)
class Check:
    """Check that the transcript fits the budget and keeps the structure rules.

    Findings only: `overflow`, and the codes of the structure rules that a transcript breaks.
    """

    is_verdict: ClassVar[bool] = True
    accepts_bounds: ClassVar[bool] = True

    counter: Counter
    budget: Budget
    profile: str = setting(
        "",
        f"Check the structure rules of a provider: {', '.join(PROFILES)}.",
        choices=("", *PROFILES),
        panel=RULES,
    )
    as_: str = setting(
        "recording",
        "Report rules that apply only to a request as warnings (recording) or errors (request).",
        choices=("recording", "request"),
        panel=RULES,
    )

    def __call__(self, transcript: Transcript) -> Outcome:
        """Without a profile, only the pairing of calls and results is checked."""
        shape = self.counter.shape(transcript.messages)
        rules = PROFILES[self.profile].rules if self.profile else PAIRING
        broken = findings(rules, transcript, shape, self.as_ == "request")
        return Outcome(transcript, findings=(*self._overflow(transcript, shape), *broken))

    def _overflow(self, transcript: Transcript, shape: Shape) -> Iterator[Finding]:
        tokens = self.counter.tokens(transcript)
        if tokens > self.budget.available:
            exactness = self.counter.exactness(transcript)
            details = [text for _, _, text in largest(self.counter, transcript, shape, _NAMED)]
            yield overflow(transcript, tokens, self.budget.available, details, exactness)
