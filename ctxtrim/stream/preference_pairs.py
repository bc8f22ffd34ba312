"""Preference pairs: a chosen and a rejected answer to one prompt, which must stay the same.

::

    prompt ── chosen answer
       └───── rejected answer

The stages edit the prompt of the longer conversation, and the shorter one takes it. They never edit
the answers, so the shorter conversation fits where the longer one does.
"""

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from ctxtrim.errors import NotEditableError
from ctxtrim.findings import overflow
from ctxtrim.formats.preferences import prompt_of
from ctxtrim.model import Message, Part, Span, Transcript
from ctxtrim.pipeline import PipelineRun, StagePipeline, StageRun
from ctxtrim.stage import Change, Measured
from ctxtrim.text.json_paths import Path
from ctxtrim.tokens.counter import Counter


def with_prompt_of(
    longer: PipelineRun, transcript: Transcript, pipeline: StagePipeline
) -> PipelineRun:
    """The result for the shorter transcript of a pair, with the edited prompt of the longer one.

    Raises a `NotEditableError` if a stage edited the answer of the longer one.
    """
    edited = _with_prompt(transcript, longer.transcript)
    meter = pipeline.metering.meter(transcript)
    verdicts = tuple(spec for spec in pipeline.stages if spec.stage.is_verdict)
    result = replace(pipeline, stages=verdicts).run(edited, meter=meter)
    count, available, findings = result.count, meter.budget.available, result.findings
    if pipeline.fits_budget and count.tokens > available:
        details = ("its prompt is that of the longer answer",)
        finding = overflow(transcript, count.tokens, available, details, count.exactness)
        findings = (finding, *findings)
    edits = [spec.name for spec in pipeline.stages if not spec.stage.is_verdict]
    steps = [
        _step(step, longer, transcript, meter.counter)
        for step in longer.steps
        if step.stage in edits
    ]
    return replace(
        result,
        tokens_read=meter.counter.tokens(transcript),
        exactness_read=meter.counter.exactness(transcript),
        steps=(*steps, *result.steps),
        findings=findings,
    )


def _step(
    step: StageRun, longer: PipelineRun, transcript: Transcript, counter: Counter
) -> StageRun:
    """The run of a stage on the longer transcript of a pair, as a run on the shorter one."""
    tokens = counter.tokens(transcript) - longer.tokens_read
    messages = len(transcript.messages) - len(longer.transcript.source.messages)
    return replace(
        step,
        tokens_before=step.tokens_before + tokens,
        tokens_after=step.tokens_after + tokens,
        messages_before=step.messages_before + messages,
        messages_after=step.messages_after + messages,
        changes=tuple(_changes(step.changes, transcript, counter)),
        findings=(),
    )


def _changes(
    changes: Sequence[Measured], transcript: Transcript, counter: Counter
) -> Iterator[Measured]:
    """The changes of the prompt, and the answer of the transcript in place of the other one."""
    start = len(prompt_of(transcript.messages))
    reason = ""  # none if the stage names only what it edits
    for measured in changes:
        if measured.change.message is None or measured.change.message < start:
            yield measured
        else:
            reason = measured.change.reason
    costs = [cost.total for cost in counter.costs(transcript.messages)]
    for position in range(start, len(costs)) if reason else ():
        yield Measured(Change(position, "kept", reason), costs[position], costs[position])


def _with_prompt(transcript: Transcript, longer: Transcript) -> Transcript:
    """A transcript, as read, with the edited prompt of the longer one."""
    read = longer.source.messages
    start = len(prompt_of(read))
    prompt = [message for message in longer.messages if not message.is_training_answer]
    if longer.messages[len(prompt) :] != read[start:]:
        raise NotEditableError("a stage edits one of two answers to a prompt")
    moved = [_moved(message, read, transcript.messages) for message in prompt]
    return replace(transcript, messages=(*moved, *transcript.messages[start:]))


def _moved(message: Message, read: Sequence[Message], others: Sequence[Message]) -> Message:
    """A message of an edited prompt, at its place in the other prompt."""
    if message.index is None:
        return message
    original, other = read[message.index], others[message.index]
    if message is original:
        return other
    here, there = original.spans[0].path, other.spans[0].path
    parts = tuple(_part_at(part, here, there) for part in message.parts)
    return replace(message, parts=parts, spans=other.spans)


def _part_at(part: Part, here: Path, there: Path) -> Part:
    """A part of a message in another message of the same form."""

    def span_at(span: Span | None) -> Span | None:
        if span is None or span.path[: len(here)] != here:
            return span
        return Span(span.line, there + span.path[len(here) :])

    spans = {"span": part.span, "block": part.block, "source": part.source}
    return replace(part, **{name: span_at(span) for name, span in spans.items()})
