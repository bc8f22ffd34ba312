"""Fit a list of messages: read, run stages, write, as with the transcripts of files."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from ctxtrim.api.covering_summary import stored, summary_of
from ctxtrim.api.messages import PlainConversation, position_of
from ctxtrim.api.options import Settings
from ctxtrim.api.overflow import ContextOverflowError, Irreducible
from ctxtrim.metering import Meter
from ctxtrim.pipeline import PipelineRun, Services, Spec, StagePipeline
from ctxtrim.summaries.summarizer import Summarizer


@dataclass(frozen=True)
class PromptUsage:
    """The usage of one prompt: tokens before, after and allowed.

    `trimmed`: messages were dropped or shortened. `dropped` is the number of dropped messages.
    """

    original_tokens: int
    final_tokens: int
    max_tokens: int
    trimmed: bool
    dropped: int

    @property
    def utilization(self) -> float:
        """The used fraction of the budget."""
        return self.final_tokens / self.max_tokens if self.max_tokens > 0 else 1.0


OnUsage = Callable[[PromptUsage], object]

_NOT_SHORTER = frozenset({"kept", "inserted", "merged"})
"""The actions on messages that are neither dropped nor shortened."""


@dataclass(frozen=True)
class Fitted:
    """A new list, its usage, the summary for the next prompt (the new one, else the earlier one),
    and the findings.
    """

    messages: list[Any]
    usage: PromptUsage
    summary: str | None
    findings: tuple[str, ...]


def fitted(
    read: PlainConversation,
    settings: Settings,
    summarizer: Summarizer | None = None,
    earlier: str | None = None,
) -> Fitted:
    """A list that fits after the stages. Raises `ContextOverflowError` if it does not.

    `earlier` is the text of an earlier summary. With one that this function returned, the
    summarizer is used only if more messages are dropped.
    """
    meter = settings.metering.meter(read.transcript)
    as_read = read.transcript.messages
    summary = None
    if earlier is not None and as_read:  # without messages there is no place for a summary
        summary = stored(earlier, as_read, meter)
    services = Services(summarizer=summarizer, stored=summary)
    result = run_stages(read, settings.pipeline(*settings.stages), services, meter)
    must_fit(result)
    actions = {measured.change.action for step in result.steps for measured in step.changes}
    usage = PromptUsage(
        result.tokens_read,
        result.count.tokens,
        meter.budget.available,
        trimmed=not actions <= _NOT_SHORTER,
        dropped=result.dropped(len(as_read)),
    )
    in_force = summary_of(result, as_read) or earlier
    return Fitted(read.with_messages(result.transcript), usage, in_force, findings_of(result))


def findings_of(result: PipelineRun) -> tuple[str, ...]:
    """The findings of all stages, without the one that says why a compaction was due."""
    findings = [finding for step in result.steps for finding in step.findings]
    return tuple(finding.message for finding in findings if finding.code != "trigger")


def run_stages(
    read: PlainConversation,
    pipeline: StagePipeline,
    services: Services,
    meter: Meter | None = None,
) -> PipelineRun:
    """The result of some stages.

    A system prompt that is not in the list is never dropped, because the caller sends it
    separately.
    """
    first = next(iter(read.transcript.messages), None)
    has_system = first is not None and first.role == "system" and position_of(first) is None
    if has_system:
        pipeline = replace(pipeline, stages=_keeping(pipeline.stages))
    return pipeline.run(read.transcript, services, meter)


def must_fit(result: PipelineRun) -> None:
    """Raise `ContextOverflowError`, with what cannot be dropped and why, unless the result fits."""
    counter, available = result.meter.counter, result.meter.budget.available
    if result.count.tokens <= available:
        return
    left = result.transcript
    reasons = {
        measured.change.message: measured.change.reason
        for step in result.steps
        for measured in step.changes
    }
    exactness = result.count.exactness
    costs = counter.costs(left.messages)
    rows = [
        Irreducible(
            position_of(message),
            message.role,
            cost.total,
            reasons.get(message.index, "cannot be dropped"),
            exactness,
        )
        for message, cost in zip(left.messages, costs, strict=True)
        if message.agent_visible
    ]
    if fixed := counter.fixed(left):
        reason = "tool schemas and the frame of the request"
        rows.append(Irreducible(None, "request", fixed, reason, exactness))
    raise ContextOverflowError(result.count.tokens, available, rows, exactness)


def _keeping(stages: Sequence[Spec]) -> tuple[Spec, ...]:
    """The stages, with the setting that protects system prompts."""
    name = "preserve_system_prompt"
    return tuple(
        replace(spec, settings=spec.settings | {name: True}) if name in spec.settings else spec
        for spec in stages
    )
