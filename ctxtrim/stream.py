"""Read, run, write: from the chunks of a file to bytes and report rows.

::

     lines ──▶ Chunk ──▶ Transcript ──▶ stage ──▶ stage ──▶ Transcript ──▶ lines
                                          └── Step ─┴── Step ──▶ Row
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Literal

from msgspec.structs import replace

from ctxtrim.errors import BUG, ArchiveError, SelfCheckError, UsageError
from ctxtrim.events import Event
from ctxtrim.formats.reading import Chunk, Reading
from ctxtrim.formats.self_check import written_chunk
from ctxtrim.metering import USAGE, Binding, Bound
from ctxtrim.model import Transcript
from ctxtrim.pipeline import PipelineRun, Spec, run
from ctxtrim.reports.failures import not_archived, not_handled, not_written
from ctxtrim.reports.model import Row
from ctxtrim.reports.rows import row
from ctxtrim.stage import LEFT_OUT, Finding, Keeper, Memory, Recalled, overflow
from ctxtrim.stages import VERDICTS
from ctxtrim.stages.reasoning import Thinking, thinking_of
from ctxtrim.summaries import Summarizer
from ctxtrim.summaries.identity import Identity, identity

Worked = tuple[Bound, PipelineRun]


@dataclass(frozen=True)
class Job:
    """What to do with every transcript.

    `on_overflow`: leave out a transcript that does not fit (`fail`), keep it unchanged (`keep`), or
    write it as edited (`write`). `summarizer` writes summaries. `memory` stores them between runs,
    and new ones if it `remembers`. `on_event` is called for each compaction, with the path and the
    line of its transcript. `thinking`: what to do with reasoning in edited transcripts, None for
    the default of the model. `keeps_snapshots`: keep snapshot and progress lines of dropped
    messages. `is_quick`: an upper bound of the tokens is enough if it fits. `keeps_changes`: rows
    have every change. `shows_tracebacks`: the finding about a transcript that cannot be handled
    includes the traceback.
    """

    specs: tuple[Spec, ...]
    binding: Binding
    on_overflow: Literal["fail", "keep", "write"] = "fail"
    thinking: Thinking | None = None
    keeps_snapshots: bool = False
    is_quick: bool = False
    keeps_changes: bool = True
    explains: bool = False
    shows_tracebacks: bool = False
    summarizer: Summarizer | None = None
    memory: Memory | None = None
    remembers: bool = True
    on_event: Callable[[str, int, Event], object] | None = None

    def __post_init__(self) -> None:
        """Raise `UsageError` if stages would edit by recorded usage."""
        editing = [spec.name for spec in self.specs if spec.name not in VERDICTS]
        if editing and self.binding.tokenizer == USAGE:
            raise UsageError(
                f"--tokenizer {USAGE}: recorded usage cannot be used for {editing[0]}, "
                "because dropping messages does "
                "not lower it; use it with count and check, or use --calibrate"
            )


@dataclass(frozen=True)
class Done:
    """The result of one chunk: the bytes read, the bytes to write (None: left out), rows and
    findings.

    `is_lossy`: a transcript was left out, so the file must not be replaced.
    """

    read: bytes
    data: bytes | None
    rows: tuple[Row, ...]
    findings: tuple[Finding, ...]
    is_changed: bool
    is_lossy: bool


def stream(path: str, reading: Reading, job: Job, keeper: Keeper | None = None) -> Iterator[Done]:
    """The results of the chunks of a file, one at a time. A keeper stores originals."""
    for chunk in reading.chunks:
        yield _work(path, chunk, job, keeper)


def _work(path: str, chunk: Chunk, job: Job, keeper: Keeper | None) -> Done:
    if chunk.error is not None:
        finding = not_handled(chunk.error, chunk.lines[0].number, job.shows_tracebacks)
        return Done(chunk.data, None, (), (finding,), is_changed=True, is_lossy=True)
    known = [
        _identity(transcript, path, index, job)
        for index, transcript in enumerate(chunk.transcripts)
    ]

    def attempt(index: int, model: str | None) -> Worked:
        transcript = chunk.transcripts[index]
        named = transcript if model == transcript.model else replace(transcript, model=model)
        return _attempt(named, job, keeper, known[index], path)

    worked = [
        attempt(index, transcript.model) for index, transcript in enumerate(chunk.transcripts)
    ]
    failed = [_is_left_out(result, job) for _, result in worked]
    try:
        data, worked, failed = _written_and_counted(chunk, worked, job, attempt)
    except Exception as error:  # noqa: BLE001 - after an unexpected error, nothing of these lines is written
        found = [
            not_written(error, chunk, transcript.line, job.shows_tracebacks)
            for transcript in chunk.transcripts
        ]
        data, failed = None, [True] * len(failed)
        worked = [
            (bound, replace(result, findings=(*result.findings, finding)))
            for (bound, result), finding in zip(worked, found, strict=True)
        ]
    if data is not None:
        for conversation, (_, result), lost in zip(known, worked, failed, strict=True):
            if not lost:
                _remember(job, conversation, result)
    name = chunk.format.name if chunk.format else ""
    rows = tuple(
        row(
            path,
            name,
            index,
            transcript,
            bound,
            result,
            is_written=data is not None and not lost,
            keeps_changes=job.keeps_changes,
            explains=job.explains and _is_handled(result),
        )
        for index, (transcript, (bound, result), lost) in enumerate(
            zip(chunk.transcripts, worked, failed, strict=True)
        )
    )
    return Done(chunk.data, data, rows, chunk.findings, data != chunk.data, any(failed))


def _attempt(
    transcript: Transcript,
    job: Job,
    keeper: Keeper | None,
    conversation: Identity | None,
    path: str,
) -> Worked:
    """The result of the stages; after an unexpected error, the transcript as read and a finding."""
    try:
        return _run(transcript, job, keeper, conversation, path)
    except Exception as error:  # noqa: BLE001 - an unexpected error must not stop the other transcripts
        finding = not_handled(error, transcript.line, job.shows_tracebacks)
    try:
        bound = job.binding.bind(transcript)
        count = bound.counter.count(transcript)
    except Exception:  # noqa: BLE001 - counting failed, so count an empty transcript
        empty = replace(
            transcript, messages=(), tools=None, tool_choice=None, model=None, usages=()
        )
        bound = job.binding.bind(empty)
        count = bound.counter.count(empty)
    return bound, PipelineRun(transcript, count, count.tokens, count.exactness, (), (finding,))


def _is_handled(result: PipelineRun) -> bool:
    return all(finding.code not in LEFT_OUT for finding in result.findings)


def _is_left_out(result: PipelineRun, job: Job) -> bool:
    return not _is_handled(result) or (result.overflows and job.on_overflow == "fail")


def _written_and_counted(
    chunk: Chunk, worked: list[Worked], job: Job, attempt: Callable[[int, str | None], Worked]
) -> tuple[bytes | None, list[Worked], list[bool]]:
    """The bytes of the chunk, the results counted as a reader counts them, and which transcripts
    are left out.

    A stage may drop the message that names the model. If the output then names another model and
    does not fit it, the stages run once more for that model.
    """
    worked = list(worked)
    retried: set[int] = set()
    while True:
        failed = [_is_left_out(result, job) for _, result in worked]
        data, read_back = written_chunk(chunk, [result.transcript for _, result in worked], failed)
        counted: list[Worked] = []
        too_large: set[int] = set()
        for index, (bound, result) in enumerate(worked):
            recounted = _recounted(job, bound, result, read_back.get(index))
            if recounted is None:
                too_large.add(index)
            else:
                counted.append(recounted)
        if not too_large:
            return data, counted, failed
        if not retried.isdisjoint(too_large):
            raise SelfCheckError(
                "no edit fits the model that the output names; name the model with --model"
            )
        retried |= too_large
        for index in too_large:
            worked[index] = attempt(index, read_back[index].model)


def _recounted(
    job: Job, bound: Bound, result: PipelineRun, again: Transcript | None
) -> Worked | None:
    """A result counted as it reads back; None if the output names another model and does not fit
    it.

    Neighbors may have become one message. Raises `SelfCheckError` if the result then exceeds the
    budget.
    """
    if again is None:
        return bound, result
    if job.binding.model is None and again.model != bound.model:
        return _renamed(job, bound, result, again)
    if not _is_regrouped(result.transcript, again):
        return bound, result
    count = bound.counter.fresh().count(again)
    if count.tokens > max(result.count.tokens, bound.budget.available):
        raise SelfCheckError(
            f"the edited transcript has {count.tokens} tokens instead of "
            f"{result.count.tokens}; {BUG}"
        )
    return bound, replace(result, transcript=again, count=count)


def _renamed(job: Job, bound: Bound, result: PipelineRun, again: Transcript) -> Worked | None:
    """A result counted for the model that the output names; None if it should fit and does not."""
    named = job.binding.bind(again)
    count = named.counter.count(again)
    is_to_fit = any(spec.name == "trim" for spec in job.specs) and not result.overflows
    if is_to_fit and count.tokens > named.budget.available:
        return None
    text = (
        f"stages counted for {bound.model or 'no model'}; the output names "
        f"{again.model or 'none'} and is counted so"
    )
    note = Finding("other-model", "info", text, result.transcript.line)
    whole = again if _is_regrouped(result.transcript, again) else result.transcript
    # another name may mean the same numbers
    notes = (note,) if named.counter != bound.counter else ()
    return replace(named, notes=(*named.notes, *notes)), replace(
        result, transcript=whole, count=count
    )


def _is_regrouped(meant: Transcript, found: Transcript) -> bool:
    """Whether messages may have been merged with their neighbors, so that the count must be
    repeated.
    """
    return len(meant.messages) != len(found.messages) or any(
        message.index is None for message in meant.messages
    )


def _identity(transcript: Transcript, path: str, index: int, job: Job) -> Identity | None:
    """The identity of a transcript in the memory, None without a memory."""
    if job.memory is None:
        return None
    return identity(transcript.messages, transcript.id, path, transcript.line, index)


def _remember(job: Job, conversation: Identity | None, result: PipelineRun) -> None:
    """Store the summary of a transcript for later runs."""
    if job.memory is None or conversation is None or not job.remembers or result.summary is None:
        return
    covered = () if result.summary_end is None else conversation.covered_until(result.summary_end)
    job.memory.remember(conversation, result.summary, covered)


def _run(
    transcript: Transcript,
    job: Job,
    keeper: Keeper | None,
    conversation: Identity | None,
    path: str,
) -> Worked:
    if job.keeps_snapshots:
        transcript = transcript.without_companions()
    bound = job.binding.bind(transcript)
    thinking = job.thinking or thinking_of(bound.model)
    if job.is_quick:
        quick = replace(bound, counter=bound.counter.bound())
        result = run(transcript, job.specs, quick.counter, quick.budget, thinking)
        if not result.overflows:
            return quick, result
    try:
        stored = _recalled(job, conversation)
        on_event = (
            partial(job.on_event, path, transcript.line) if job.on_event is not None else None
        )
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


def _as_read(transcript: Transcript, bound: Bound, job: Job, finding: Finding) -> PipelineRun:
    """The result for a transcript without the stages.

    If a stage should make it fit, an overflow finding is added.
    """
    count = bound.counter.count(transcript)
    findings = [finding]
    if count.tokens > bound.budget.available and any(spec.name == "trim" for spec in job.specs):
        findings.append(
            overflow(transcript, count.tokens, bound.budget.available, (), count.exactness)
        )
    return PipelineRun(transcript, count, count.tokens, count.exactness, (), tuple(findings))
