"""Rows of a report, from the results of the stages."""

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from ctxtrim.model import Transcript
from ctxtrim.pipeline import PipelineRun
from ctxtrim.reports.differences import differences
from ctxtrim.reports.model import Explained, Row
from ctxtrim.stage import Change, Finding


class Origin(Struct, frozen=True):
    """The file of a transcript, its format, and its position among the transcripts of its lines."""

    path: str
    format: str
    index: int


def row(
    origin: Origin,
    transcript: Transcript,
    result: PipelineRun,
    *,
    is_written: bool,
    keeps_changes: bool,
    explains: bool,
    compares: bool = False,
) -> Row:
    """The row of a transcript as read and its result."""
    meter, steps = result.meter, result.steps
    lines = {}
    if keeps_changes:
        for message in transcript.messages:
            if message.index is not None:
                lines[message.index] = transcript.line_of(message) or 0
    else:
        steps = tuple(replace(step, changes=()) if step.changes else step for step in steps)
    return Row(
        path=origin.path,
        line=transcript.line,
        index=origin.index,
        pointer=transcript.pointer,
        id=transcript.id,
        format=origin.format,
        model=meter.model,
        tokenizer=meter.counter.tokenizer.name,
        messages_read=len(transcript.messages),
        messages=len(result.transcript.messages),
        tokens_read=result.tokens_read,
        exactness_read=result.exactness_read,
        count=result.count,
        budget=meter.budget,
        is_written=is_written,
        steps=steps,
        findings=(*meter.notes, *_uncounted(transcript), *result.findings),
        usage=transcript.usage,
        lines=lines,
        explained=tuple(explained(transcript, result)) if explains else (),
        differences=tuple(differences(transcript, result)) if compares else (),
    )


def _uncounted(transcript: Transcript) -> Iterator[Finding]:
    if transcript.uncounted:
        number = transcript.uncounted
        noun = "message has" if number == 1 else "messages have"
        text = f"{number} {noun} an unknown role; kept unchanged, not counted"
        yield Finding("not-counted", "warning", text)


def explained(transcript: Transcript, result: PipelineRun) -> Iterator[Explained]:
    """Every message as read, with the last change that a stage made to it."""
    counter = result.meter.counter
    shape = counter.shape(transcript.messages)
    changes: dict[int, Change] = {}
    for change in (measured.change for step in result.steps for measured in step.changes):
        if change.message is None:
            continue
        if change.action != "kept" or changes.get(change.message, change).action == "kept":
            changes[change.message] = change  # an edit overrides a reason to keep
    for position, cost in enumerate(counter.costs(transcript.messages)):
        message = transcript.messages[position]
        last = changes.get(position)
        step = shape.step[position]
        decision, reason = "kept", "nothing to do" if message.agent_visible else "hidden"
        if last is not None:
            decision, reason = last.action, last.reason
        yield Explained(
            message=position,
            line=transcript.line_of(message),
            role=message.role,
            step=step,
            age=shape.steps - step,
            tokens=cost.total,
            addends=counter.addends(message, shape.fan[position]),
            decision=decision,
            reason=reason,
        )
