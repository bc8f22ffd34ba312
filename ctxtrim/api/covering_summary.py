"""The summary of a prompt, for the next prompt of the same conversation."""

from collections.abc import Sequence
from typing import Any

from ctxtrim.metering import Meter
from ctxtrim.model import Message
from ctxtrim.pipeline import PipelineRun
from ctxtrim.stage import StoredSummary
from ctxtrim.summaries import markers, sections


class CoveringSummary(str):
    """The text of a summary that knows which messages it covers.

    `messages` is their number. `covered` are the fingerprints of the messages up to the last one
    that it covers, and `kept` those of them that it does not cover.
    """

    messages: int
    covered: tuple[str, ...]
    kept: tuple[str, ...]

    def __new__(
        cls, text: str, messages: int, covered: tuple[str, ...], kept: tuple[str, ...]
    ) -> "CoveringSummary":
        """The text with its attributes."""
        summary = super().__new__(cls, text)
        summary.messages, summary.covered, summary.kept = messages, covered, kept
        return summary

    def __reduce__(self) -> tuple[Any, ...]:
        return CoveringSummary, (str(self), self.messages, self.covered, self.kept)


def summary_of(result: PipelineRun, as_read: Sequence[Message]) -> str | None:
    """The summary that a run inserted; None if it inserted none."""
    from ctxtrim.summaries.identity import identity  # for summaries only

    summary, end = result.summary, result.summary_end
    if summary is None or end is None:
        return None if summary is None else summary.text
    known = identity(as_read, None, "", 0, 0)
    covered = known.covered_until(end)
    kept = known.kept(covered, summary.indices)
    return CoveringSummary(summary.text, summary.messages, covered, kept)


def stored(text: str, as_read: Sequence[Message], meter: Meter) -> StoredSummary:
    """A stored summary from its text, with the messages that it covers as far as that is known."""
    tokens = meter.counter.text(text)
    if not isinstance(text, CoveringSummary):
        facts = sections.parse_facts(markers.untitled(text))
        return StoredSummary(text, tokens, facts.messages)
    from ctxtrim.summaries.identity import identity  # for summaries only

    indices = identity(as_read, None, "", 0, 0).indices(text.covered, text.kept)
    return StoredSummary(str(text), tokens, text.messages, indices)
