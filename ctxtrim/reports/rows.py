"""Rows of a report, from the results of the stages."""

from collections.abc import Iterator
from itertools import chain

from msgspec import Struct

from ctxtrim.findings import Finding
from ctxtrim.metering import BOUNDED
from ctxtrim.model import Message, Transcript
from ctxtrim.pipeline import PipelineRun
from ctxtrim.reports.model import Difference, Explained, Row
from ctxtrim.stage import Change
from ctxtrim.tokens.tokenizer import Ceiling


class Origin(Struct, frozen=True):
    """The file of a transcript, its format, and its position among the transcripts of its lines.

    `lines`: the number of these lines if the transcript is the only one, else 0.
    """

    path: str
    format: str
    index: int
    lines: int = 0


class Details(Struct, frozen=True):
    """What a row has besides the result.

    `changes`: every step and change. `explained`: a value for each message. `by`: tokens by one of
    `GROUPS`. `left_out`: the number of lines that are no part of the conversation. `differences`:
    what changes in each message. `converts`: the output is a request, without messages of unknown
    roles.
    """

    changes: bool = True
    explained: bool = False
    by: str = ""
    left_out: bool = False
    differences: bool = False
    converts: bool = False

    @property
    def shows_changes(self) -> bool:
        """Whether a row has changes in some form."""
        return self.changes or self.explained or self.differences

    @property
    def needs_costs(self) -> bool:
        """Whether a row has costs of single messages."""
        return self.explained or self.differences or bool(self.by)


PLAIN = Details()


def row(
    origin: Origin,
    transcript: Transcript,
    result: PipelineRun,
    *,
    is_written: bool,
    details: Details,
) -> Row:
    """The row of a transcript as read and its result."""
    meter = result.meter
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
        steps=result.steps if details.changes else (),
        findings=(*_notes(result), *_uncounted(transcript, result, details), *result.findings),
        usage=transcript.usage,
        lines=_lines(transcript, result) if details.changes else {},
        explained=tuple(explained(transcript, result)) if details.explained else (),
        overhead_read=result.meter_read.counter.overhead(transcript) if details.explained else {},
        dropped=result.dropped(len(transcript.messages)),
        is_edited=True in [step.is_edited for step in result.steps],
        is_counted=not isinstance(meter.counter.tokenizer, Ceiling),
        by=_tokens_by(details.by, result) if details.by else {},
        lines_left_out=_left_out(transcript, origin.lines) if details.left_out else 0,
        differences=_differences(transcript, result) if details.differences else (),
        large=tuple(chain.from_iterable([step.large for step in result.steps])),
    )


def _lines(transcript: Transcript, result: PipelineRun) -> dict[int, int]:
    """The line of the file of each message with a change, by its index."""
    changed = {measured.change.message for step in result.steps for measured in step.changes}
    return {
        index: transcript.line_of(transcript.messages[index]) or 0
        for index in changed
        if index is not None
    }


def _tokens_by(group: str, result: PipelineRun) -> dict[str, int]:
    from ctxtrim.reports.groups import tokens_by  # for --by only

    return tokens_by(group, result.transcript, result.meter.counter)


def _differences(transcript: Transcript, result: PipelineRun) -> tuple[Difference, ...]:
    from ctxtrim.reports.differences import differences  # for --dry-run only

    return tuple(differences(transcript, result))


def _left_out(transcript: Transcript, lines: int) -> int:
    """The number of lines in which no message starts that the model reads."""
    if lines < 2:
        return 0
    starts = {
        transcript.line_at(span)
        for message in transcript.messages
        if message.agent_visible
        for span in message.spans
    }
    return max(0, lines - len(starts))


def _notes(result: PipelineRun) -> Iterator[Finding]:
    """The notes about assumptions. An estimate is not called an upper bound."""
    for note in result.meter.notes:
        if note != BOUNDED or result.count.exactness == "bounded":
            yield note


def _uncounted(transcript: Transcript, result: PipelineRun, details: Details) -> Iterator[Finding]:
    """The parts that are not counted.

    A conversion lists messages of unknown roles as lost, and has no ids of stored reasoning.
    """
    number = 0 if details.converts else transcript.uncounted
    if number:
        noun = "message has" if number == 1 else "messages have"
        text = f"{number} {noun} an unknown role or form; kept unchanged, not counted"
        yield Finding("not-counted", "warning", text)
    if transcript.sessions > 1:
        text = f"the file has {transcript.sessions} sessions, but is read as one"
        yield Finding("not-counted", "warning", f"{text}; split it to count each of them")
    if hidden := transcript.options.hidden:
        names = ", ".join(f"`{name}`" for name in hidden)
        text = f"{names}: the provider adds text that the file does not contain; not counted"
        yield Finding("not-counted", "warning", text)
    for part in transcript.options.unread:
        yield Finding("not-counted", "warning", f"{part}; not counted")
    if base := transcript.options.base:
        text = f"the session continues {base}, whose messages are in another file; not counted"
        yield Finding("not-counted", "warning", text)
    if details.converts or result.count.exactness != "estimated":
        return
    number = sum(map(_has_stored_reasoning, result.transcript.messages))
    if number:
        noun = "answer has" if number == 1 else "answers have"
        text = f"`reasoning`: {number} {noun} only the id of text that the provider stored"
        yield Finding("not-counted", "warning", f"{text}; not counted")


def _has_stored_reasoning(message: Message) -> bool:
    """Whether the provider stored reasoning of an answer without a summary."""
    if message.role != "assistant" or not message.agent_visible:
        return False
    return any(part.kind == "reasoning" and part.stored and not part.text for part in message.parts)


def explained(transcript: Transcript, result: PipelineRun) -> Iterator[Explained]:
    """Every message as read, with the last change that a stage made to it."""
    counter = result.meter_read.counter
    shape = counter.shape(transcript.messages)
    changes: dict[int, Change] = {}
    for measured in chain.from_iterable(step.changes for step in result.steps):
        change = measured.change
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
