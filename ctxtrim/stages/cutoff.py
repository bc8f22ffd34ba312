"""`cutoff`: limit the number of visible tool results; digests replace older steps.

The oldest step is replaced first, calls and results together, until the limit is met. A digest
follows the prompt of its step, in a message that the client injects and the person does not see. If
the format can hide messages, the step stays in the file; otherwise it is dropped. A step is kept if
it is pinned, waits for a result, is the last message, or if its digest would not be smaller.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from ctxtrim.conversation import pins
from ctxtrim.conversation.turns import visible
from ctxtrim.findings import Finding
from ctxtrim.model import Message, Transcript
from ctxtrim.stage import SUMMARIES, Outcome, Stage, run_field, setting
from ctxtrim.stages import common_settings
from ctxtrim.stages.placement.digest_writer import DigestWriter
from ctxtrim.stages.placement.tool_cutoff import cut_off
from ctxtrim.summaries.summarizer import Summarizer
from ctxtrim.text.numbers import several


@dataclass(frozen=True)
class Cutoff(Stage):
    """Replace old steps by digests."""

    summarizer: Summarizer | None = run_field()
    tool_cutoff: int = common_settings.tool_cutoff()
    tool_summary: str = common_settings.tool_summary()
    summary_place: str = setting(
        "in-place",
        "Insert digests in place of the step, or before the newest prompt if roles need "
        "not alternate.",
        choices=("in-place", "append"),
        panel=SUMMARIES,
    )
    redact: bool = common_settings.redact()
    pin: tuple[str, ...] = common_settings.pin()

    @staticmethod
    def idle(settings: Mapping[str, Any]) -> str:
        """Why nothing changes."""
        most = settings["tool_cutoff"]
        if not most:
            return "no tool result is visible"
        return f"no more than {most:,} tool results are visible; try a smaller --tool-cutoff"

    def __call__(self, transcript: Transcript) -> Outcome:
        """Changes name every replaced message, and the results that are kept although they exceed
        the limit.
        """
        protected = pins.pinned(self.counter.shape(transcript.messages), self.pin)
        writer = DigestWriter(self.counter, self.tool_summary, self.summarizer, redacts=self.redact)
        outcome = cut_off(
            transcript,
            writer,
            self.budget.available,
            protected,
            self.tool_cutoff,
            appends=self.summary_place == "append",
        )
        messages = transcript.messages
        seen = [messages[at] for at in visible(messages) if messages[at].role == "tool"]
        if outcome.transcript is not transcript or len(seen) <= self.tool_cutoff:
            return outcome
        return replace(outcome, findings=(*outcome.findings, self._nothing(outcome, seen)))

    def _nothing(self, outcome: Outcome, seen: Sequence[Message]) -> Finding:
        """Why no result is replaced although more are visible than allowed."""
        why = "the conversation still needs their steps"
        if self.tool_summary == "off":
            why = "tool-summary=off replaces nothing"
        indices = {message.index for message in seen}
        reasons = (change.reason for change in outcome.changes if change.message in indices)
        excess = f"{several(len(seen), 'tool result')} > {self.tool_cutoff:,}"
        text = f"nothing was replaced although {excess}: {next(reasons, why)}"
        return Finding("nothing-to-replace", "info", text, outcome.transcript.line)
