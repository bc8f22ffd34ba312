"""Does it fit, and does every result have its call and every call its result? Changes nothing."""

from collections.abc import Iterator
from dataclasses import dataclass

from ctxtrim.counter import Counter
from ctxtrim.model import Transcript
from ctxtrim.stage import Finding, Outcome, describe, overflow
from ctxtrim.tokens import Budget
from ctxtrim.turns import Shape

_NAMED = 5  # of the largest messages


@dataclass(frozen=True)
class Check:
    """The verdict on a transcript, as findings: `overflow`, `tool-result-without-call`, `call-without-result`."""

    counter: Counter
    budget: Budget

    def __call__(self, transcript: Transcript) -> Outcome:
        """A last call that still waits for its result is a warning: recordings may end so."""
        where = self.counter.shape(transcript.messages)
        return Outcome(transcript, findings=(*self._overflow(transcript, where), *_unpaired(transcript, where)))

    def _overflow(self, transcript: Transcript, where: Shape) -> Iterator[Finding]:
        tokens = self.counter.tokens(transcript)
        if tokens > self.budget.available:
            costs = [cost.total for cost in self.counter.costs(transcript.messages)]
            largest = sorted(range(len(costs)), key=lambda index: (-costs[index], index))[:_NAMED]
            details = (describe(transcript, transcript.messages[i], where.call[i], costs[i]) for i in largest)
            yield overflow(transcript, tokens, self.budget.available, details)


def _unpaired(transcript: Transcript, where: Shape) -> Iterator[Finding]:
    messages = transcript.messages
    for index, message in enumerate(messages):
        if message.role == "tool" and where.call[index] is None:
            result = message.result
            text = f"tool result {result.call_id if result else None} answers no call before it"
            line = transcript.line_of(message)
            yield Finding("tool-result-without-call", "error", text, line, message.index)
    spoken = max((place for place, message in enumerate(messages) if message.role in ("user", "assistant")), default=0)
    for index, call in where.unanswered:
        message = messages[index]
        is_pending = index == spoken
        text = f"call {call.call_id} of {call.name} has no result" + (" yet" if is_pending else "")
        line = transcript.line_of(message)
        yield Finding("call-without-result", "warning" if is_pending else "error", text, line, message.index)
