"""Rows of a report, from the results of the stages."""

from collections.abc import Iterator

from msgspec.structs import replace

from ctxtrim.metering import Bound
from ctxtrim.model import Transcript
from ctxtrim.pipeline import PipelineRun
from ctxtrim.reports.model import Explained, Row
from ctxtrim.stage import Change, Finding


def row(
    path: str,
    dialect: str,
    index: int,
    transcript: Transcript,
    bound: Bound,
    result: PipelineRun,
    *,
    is_written: bool,
    keeps_changes: bool,
    explains: bool,
) -> Row:
    """The row of a transcript. `index` is its position among the transcripts of its lines."""
    steps = (
        result.steps
        if keeps_changes
        else tuple(replace(step, changes=()) if step.changes else step for step in result.steps)
    )
    messages = transcript.messages
    return Row(
        path,
        transcript.line,
        index,
        transcript.pointer,
        transcript.id,
        dialect,
        bound.model,
        bound.counter.tokenizer.name,
        len(messages),
        len(result.transcript.messages),
        result.tokens_read,
        result.exactness_read,
        result.count,
        bound.budget,
        is_written,
        steps,
        (*bound.notes, *_uncounted(transcript), *result.findings),
        transcript.usage,
        {
            message.index: transcript.line_of(message) or 0
            for message in messages
            if message.index is not None
        }
        if keeps_changes
        else {},
        tuple(explained(transcript, bound, result)) if explains else (),
    )


def _uncounted(transcript: Transcript) -> Iterator[Finding]:
    if transcript.uncounted:
        number = transcript.uncounted
        noun = "message has" if number == 1 else "messages have"
        text = f"{number} {noun} an unknown role; kept unchanged, not counted"
        yield Finding("not-counted", "warning", text)


def explained(transcript: Transcript, bound: Bound, result: PipelineRun) -> Iterator[Explained]:
    """Every message as read, with the last change that a stage made to it."""
    shape = bound.counter.shape(transcript.messages)
    changes: dict[int, Change] = {}
    for change in (measured.change for step in result.steps for measured in step.changes):
        if change.message is None:
            continue
        if change.action != "kept" or changes.get(change.message, change).action == "kept":
            changes[change.message] = change  # an edit overrides a reason to keep
    for position, cost in enumerate(bound.counter.costs(transcript.messages)):
        message = transcript.messages[position]
        last = changes.get(position)
        step = shape.step[position]
        yield Explained(
            position,
            transcript.line_of(message),
            message.role,
            step,
            shape.steps - step,
            cost.total,
            bound.counter.addends(message, shape.fan[position]),
            last.action if last else "kept",
            last.reason if last else "nothing to do" if message.agent_visible else "hidden",
        )
