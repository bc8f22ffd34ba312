"""Say where the tokens sit; changes nothing."""

from dataclasses import dataclass

from ctxtrim.conversation.turns import Shape
from ctxtrim.model import Transcript
from ctxtrim.stage import Finding, Outcome, describe, setting
from ctxtrim.tokens import Budget, Exactness
from ctxtrim.tokens.counter import Counter


@dataclass(frozen=True)
class Count:
    """Names the largest messages; what they and all others cost, every report shows."""

    counter: Counter
    budget: Budget
    largest: int = setting(5, "How many of the largest messages to name.", least=0)

    def __call__(self, transcript: Transcript) -> Outcome:
        """Findings of severity `info`, the largest first."""
        where = self.counter.shape(transcript.messages)
        costs = [cost.total for cost in self.counter.costs(transcript.messages)]
        sent = [index for index, message in enumerate(transcript.messages) if message.agent_visible]
        order = sorted(sent, key=lambda index: (-costs[index], index))[: self.largest]
        exactness = self.counter.exactness(transcript)
        findings = (_finding(transcript, where, index, costs[index], exactness) for index in order)
        return Outcome(transcript, findings=tuple(findings))


def _finding(transcript: Transcript, where: Shape, index: int, tokens: int, exactness: Exactness) -> Finding:
    message = transcript.messages[index]
    text = describe(transcript, message, where.call[index], tokens, exactness)
    return Finding("large-message", "info", text, transcript.line_of(message), message.index, tokens)
