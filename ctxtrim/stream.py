"""Read, run, write: the whole program on one page.

::

     lines ──▶ Chunk ──▶ Transcript ──▶ stage ──▶ stage ──▶ Transcript ──▶ lines
                                          └── Step ─┴── Step ──▶ Row
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from ctxtrim.binding import USAGE, Binding, Bound
from ctxtrim.errors import BUG, ArchiveError, SelfCheckError, UsageError
from ctxtrim.events import Event
from ctxtrim.formats.agreement import check
from ctxtrim.formats.chunks import Chunk, Reading
from ctxtrim.formats.rewrite import rewrite
from ctxtrim.model import Transcript
from ctxtrim.pipeline import Result, Spec, run
from ctxtrim.report import Explained, Row
from ctxtrim.stage import Change, Finding, Keeper, Memory, Recalled, overflow
from ctxtrim.stages import VERDICTS
from ctxtrim.summaries import Summarizer
from ctxtrim.summaries.identity import Identity, identity
from ctxtrim.thinking import Thinking, thinking_of


@dataclass(frozen=True)
class Job:
    """What to do with every transcript.

    `on_overflow`: leave out what does not fit, pass it on as it was, or write it as the stages left it.
    `summarizer` writes the summaries that stages ask for, and `memory` keeps them from run to run,
    new ones where it `remembers`. `on_event` is told of each compaction, with the path and the line of its transcript.
    `thinking`: what becomes of it in edited transcripts, None for what the model needs. `is_quick`: an upper bound of
    the tokens is enough wherever it fits. `keeps_changes`: rows carry every change.
    """

    specs: tuple[Spec, ...]
    binding: Binding
    on_overflow: Literal["fail", "keep", "write"] = "fail"
    thinking: Thinking | None = None
    is_quick: bool = False
    keeps_changes: bool = True
    explains: bool = False
    summarizer: Summarizer | None = None
    memory: Memory | None = None
    remembers: bool = True
    on_event: Callable[[str, int, Event], object] | None = None

    def __post_init__(self) -> None:
        """What was recorded is no measure to edit by."""
        editing = [spec.name for spec in self.specs if spec.name not in VERDICTS]
        if editing and self.binding.tokenizer == USAGE:
            raise UsageError(
                f"--tokenizer {USAGE}: recorded usage is no measure to {editing[0]} by, since dropping messages does "
                "not lower what was recorded before; count and check can use it, and --calibrate learns from it"
            )


@dataclass(frozen=True)
class Done:
    """One chunk, worked: the bytes read and those to write, None where it is left out; its rows and findings.

    `is_lossy`: something was left out, so a file that is to hold everything must stay as it is.
    """

    read: bytes
    data: bytes | None
    rows: tuple[Row, ...]
    findings: tuple[Finding, ...]
    is_changed: bool
    is_lossy: bool


def stream(path: str, reading: Reading, job: Job, keeper: Keeper | None = None) -> Iterator[Done]:
    """Every chunk of a file, one at a time; a keeper stores what is replaced."""
    for chunk in reading.chunks:
        yield _work(path, chunk, job, keeper)


def _work(path: str, chunk: Chunk, job: Job, keeper: Keeper | None) -> Done:
    known = [_identity(transcript, path, index, job) for index, transcript in enumerate(chunk.transcripts)]
    worked = [
        _run(transcript, job, keeper, one, path) for transcript, one in zip(chunk.transcripts, known, strict=True)
    ]
    out = [result.transcript for _, result in worked]
    failed = [result.overflows and job.on_overflow == "fail" for _, result in worked]
    findings = chunk.findings
    try:
        data, again = _written(chunk, out, failed)
        worked = [(bound, _recounted(bound, result, again.get(at))) for at, (bound, result) in enumerate(worked)]
    except SelfCheckError as error:
        data, failed = None, [True] * len(failed)
        findings = (*findings, Finding("self-check", "error", str(error), chunk.lines[0].number))
    if data is not None:
        for conversation, (_, result), lost in zip(known, worked, failed, strict=True):
            if not lost:
                _remember(job, conversation, result)
    rows = tuple(
        _row(
            path,
            chunk.format.name if chunk.format else "",
            index,
            chunk,
            *work,
            is_written=data is not None and not lost,
            job=job,
        )
        for index, (work, lost) in enumerate(zip(worked, failed, strict=True))
    )
    return Done(chunk.data, data, rows, findings, data != chunk.data, any(failed))


def _recounted(bound: Bound, result: Result, again: Transcript | None) -> Result:
    """A result with the count of what was read back: what was put in may stand in one message with its neighbour.

    Where that does not fit though it was meant to, a `SelfCheckError`.
    """
    if again is None:
        return result
    count = bound.counter.fresh().count(again)
    if count.tokens > max(result.count.tokens, bound.budget.available):
        raise SelfCheckError(
            f"the edited transcript has {count.tokens} tokens, where {result.count.tokens} were meant; {BUG}"
        )
    return replace(result, count=count)


def _written(chunk: Chunk, out: list[Transcript], failed: list[bool]) -> tuple[bytes | None, Mapping[int, Transcript]]:
    """The chunk with its transcripts as they are now, without those that do not fit; None where nothing is left.

    Beside that, what reads back of those into which something was put, by their places. A document, or a line, of
    several transcripts cannot be written in part: with one of them it goes as a whole.
    """
    if any(failed) and (all(failed) or len(chunk.lines) == 1):
        return None, {}
    kept = [transcript for transcript, is_lost in zip(out, failed, strict=True) if not is_lost]
    lost = {
        message.spans[0].line
        for transcript, is_lost in zip(out, failed, strict=True)
        for message in transcript.source.messages
        if is_lost
    }
    is_same = not lost and all(transcript.messages == transcript.source.messages for transcript in kept)
    if chunk.format is None or is_same:
        return chunk.data, {}
    written = rewrite(chunk.format, chunk.lines, kept, lost)
    found = check(chunk.format, chunk.lines, written, kept)
    places = [at for at, (one, is_lost) in enumerate(zip(out, failed, strict=True)) if one.messages and not is_lost]
    again = dict(zip(places, found, strict=True))
    put = {at for at in places if any(message.index is None for message in out[at].messages)}
    return b"".join(written), {at: again[at] for at in put}


def _identity(transcript: Transcript, path: str, index: int, job: Job) -> Identity | None:
    """What the memory knows a transcript by, None without a memory."""
    if job.memory is None:
        return None
    return identity(transcript.messages, transcript.id, path, transcript.line, index)


def _remember(job: Job, conversation: Identity | None, result: Result) -> None:
    """Keep the summary of a transcript for later runs."""
    if job.memory is None or conversation is None or not job.remembers or result.summary is None:
        return
    covered = () if result.summary_end is None else conversation.covered_until(result.summary_end)
    job.memory.remember(conversation, result.summary, covered)


def _run(
    transcript: Transcript, job: Job, keeper: Keeper | None, conversation: Identity | None, path: str
) -> tuple[Bound, Result]:
    bound = job.binding.bind(transcript)
    thinking = job.thinking or thinking_of(bound.model)
    if job.is_quick:
        quick = replace(bound, counter=bound.counter.bound())
        result = run(transcript, job.specs, quick.counter, quick.budget, thinking)
        if not result.overflows:
            return quick, result
    try:
        stored = _recalled(job, conversation)
        on_event = partial(job.on_event, path, transcript.line) if job.on_event is not None else None
        result = run(
            transcript,
            job.specs,
            bound.counter,
            bound.budget,
            thinking,
            keeper,
            job.summarizer,
            stored.summary,
            on_event,
        )
        if stored.warning is not None:
            warning = Finding("summary", "warning", stored.warning, transcript.line)
            result = replace(result, findings=(*result.findings, warning))
    except ArchiveError as error:
        return bound, _as_read(transcript, bound, job, not_archived(error))
    if result.overflows and job.on_overflow == "keep":
        result = replace(result, transcript=transcript, count=bound.counter.count(transcript))
    return bound, result


def _recalled(job: Job, conversation: Identity | None) -> Recalled:
    if job.memory is None or conversation is None:
        return Recalled(None)
    return job.memory.recall(conversation)


def not_archived(error: ArchiveError) -> Finding:
    """The finding that an original could not be stored, so that nothing was replaced."""
    return Finding("not-archived", "error", f"{error}; the transcript is left as it was")


def _as_read(transcript: Transcript, bound: Bound, job: Job, finding: Finding) -> Result:
    """A transcript without any of the stages; where one of them was to make it fit, that it does not is said too."""
    count = bound.counter.count(transcript)
    findings = [finding]
    if count.tokens > bound.budget.available and any(spec.name == "trim" for spec in job.specs):
        findings.append(overflow(transcript, count.tokens, bound.budget.available, (), count.exactness))
    return Result(transcript, count, count.tokens, count.exactness, (), tuple(findings))


def _row(
    path: str,
    dialect: str,
    index: int,
    chunk: Chunk,
    bound: Bound,
    result: Result,
    *,
    is_written: bool,
    job: Job,
) -> Row:
    steps = result.steps if job.keeps_changes else tuple(replace(step, changes=()) for step in result.steps)
    transcript = chunk.transcripts[index]
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
        {message.index: transcript.line_of(message) or 0 for message in messages if message.index is not None}
        if job.keeps_changes
        else {},
        tuple(_explain(transcript, bound, result)) if job.explains else (),
    )


def _uncounted(transcript: Transcript) -> Iterator[Finding]:
    if transcript.uncounted:
        text = f"{transcript.uncounted} messages of roles nobody knows are kept as they are and not counted"
        yield Finding("not-counted", "warning", text)


def _explain(transcript: Transcript, bound: Bound, result: Result) -> Iterable[Explained]:
    """Every message as read, with the last thing that was said of it."""
    where = bound.counter.shape(transcript.messages)
    said: dict[int, Change] = {}
    for change in (one.change for step in result.steps for one in step.changes):
        if change.message is None:
            continue
        if change.action != "kept" or said.get(change.message, change).action == "kept":
            said[change.message] = change  # what was done counts more than what was left alone
    for position, cost in enumerate(bound.counter.costs(transcript.messages)):
        message = transcript.messages[position]
        last = said.get(position)
        step = where.step[position]
        yield Explained(
            position,
            transcript.line_of(message),
            message.role,
            step,
            where.steps - step,
            cost.total,
            bound.counter.addends(message, where.fan[position]),
            last.action if last else "kept",
            last.reason if last else "nothing to do" if message.agent_visible else "hidden",
        )
