"""`count`: report the largest messages."""

from dataclasses import dataclass
from typing import ClassVar

from ctxtrim.conversation.turns import Shape
from ctxtrim.model import Transcript
from ctxtrim.stage import Finding, Outcome, describe, setting
from ctxtrim.tokens import Budget, Exactness
from ctxtrim.tokens.counter import Counter


@dataclass(frozen=True)
class LargestMessages:
    """Findings for the largest messages. Every report shows the costs of all messages."""

    is_verdict: ClassVar[bool] = True

    counter: Counter
    budget: Budget
    largest: int = setting(5, "List the N largest messages.", least=0)

    def __call__(self, transcript: Transcript) -> Outcome:
        """Findings of severity `info`, the largest message first."""
        shape = self.counter.shape(transcript.messages)
        costs = [cost.total for cost in self.counter.costs(transcript.messages)]
        visible = [
            position
            for position, message in enumerate(transcript.messages)
            if message.agent_visible
        ]
        order = sorted(visible, key=lambda position: (-costs[position], position))[: self.largest]
        exactness = self.counter.exactness(transcript)
        findings = (
            _finding(transcript, shape, position, costs[position], exactness) for position in order
        )
        return Outcome(transcript, findings=tuple(findings))


def _finding(
    transcript: Transcript, shape: Shape, position: int, tokens: int, exactness: Exactness
) -> Finding:
    message = transcript.messages[position]
    text = describe(transcript, message, shape.call[position], tokens, exactness)
    return Finding(
        "large-message", "info", text, transcript.line_of(message), message.index, tokens
    )
