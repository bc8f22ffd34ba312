"""Pairs of a chosen and a rejected answer, whose prompts must stay the same.

::

    prompt ── chosen answer     the longer one is the leader: the stages edit its prompt
       └───── rejected answer   the other one gets the edited prompt, and its answer stays

The stages never edit the answers, so the shorter conversation fits where the longer one does.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from ctxtrim.errors import NotEditableError
from ctxtrim.findings import overflow
from ctxtrim.formats.preferences import prompt_of
from ctxtrim.model import Message, Part, Span, Transcript
from ctxtrim.pipeline import PipelineRun, StagePipeline, StageRun
from ctxtrim.text.json_paths import Path


def follow(pipeline: StagePipeline, leader: PipelineRun, transcript: Transcript) -> PipelineRun:
    """The result for a transcript that takes the edited prompt of its rival.

    Raises a `NotEditableError` if a stage edited the answer of the rival.
    """
    edited = _with_prompt(leader.transcript, transcript)
    meter = pipeline.metering.meter(transcript)
    verdicts = tuple(spec for spec in pipeline.stages if spec.stage.is_verdict)
    result = replace(pipeline, stages=verdicts).run(edited, meter=meter)
    tokens, available = result.count.tokens, meter.budget.available
    findings = result.findings
    if pipeline.fits_budget and not leader.overflows and tokens > available:
        exactness = result.count.exactness
        findings = (overflow(transcript, tokens, available, (), exactness), *findings)
    tokens_read = meter.counter.tokens(transcript)
    start = len(prompt_of(transcript.messages))
    more_tokens = tokens_read - leader.tokens_read
    more_messages = len(transcript.messages) - len(leader.transcript.source.messages)
    steps = [
        _shifted(step, more_tokens, more_messages, start)
        for step in leader.steps
        if step.stage not in [spec.name for spec in verdicts]
    ]
    return replace(
        result,
        tokens_read=tokens_read,
        exactness_read=meter.counter.exactness(transcript),
        steps=(*steps, *result.steps),
        findings=findings,
    )


def _shifted(step: StageRun, tokens: int, messages: int, start: int) -> StageRun:
    """The run of a stage on the prompt of a transcript that has more tokens and messages."""
    changes = (
        measured
        for measured in step.changes
        if measured.change.message is None or measured.change.message < start
    )
    return replace(
        step,
        tokens_before=step.tokens_before + tokens,
        tokens_after=step.tokens_after + tokens,
        messages_before=step.messages_before + messages,
        messages_after=step.messages_after + messages,
        changes=tuple(changes),
        findings=(),
    )


def _with_prompt(leader: Transcript, transcript: Transcript) -> Transcript:
    """A transcript, as read, with the edited prompt of its rival."""
    read = leader.source.messages
    start = len(prompt_of(read))
    prompt = [message for message in leader.messages if not message.is_answer]
    if leader.messages[len(prompt) :] != read[start:]:
        raise NotEditableError(
            "a stage edits one of two answers to a prompt; with `--thinking keep` both stay"
        )
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
