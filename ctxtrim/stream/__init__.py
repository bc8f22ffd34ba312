"""Read, run, write: from the chunks of a file to bytes and report rows.

::

     lines ──▶ Chunk ──▶ Transcript ──▶ stage ──▶ stage ──▶ Transcript ──▶ lines
                                          └─────────┴── StageRun ──▶ Row
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, partial
from itertools import chain
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from ctxtrim.errors import ArchiveError, SelfCheckError
from ctxtrim.findings import Finding, is_handled, overflow
from ctxtrim.formats.chunks import Chunk
from ctxtrim.formats.lines import Bytes
from ctxtrim.formats.self_check import written_chunk
from ctxtrim.io.spool import Spool
from ctxtrim.loading import lazy_function
from ctxtrim.metering import Meter
from ctxtrim.model import Message, Transcript
from ctxtrim.pipeline import PipelineRun, Services, StagePipeline
from ctxtrim.reports.failures import not_archived, not_handled, not_written
from ctxtrim.reports.model import Row
from ctxtrim.reports.rows import Origin, row
from ctxtrim.stage import NOTHING_STORED, Keeper
from ctxtrim.stream.job import Done, Job

if TYPE_CHECKING:
    from ctxtrim.summaries.identity import Identity

# data with preferences only
_is_pair = lazy_function("ctxtrim.formats.preferences:is_pair")
_with_prompt_of = lazy_function("ctxtrim.stream.preference_pairs:with_prompt_of")


def done_chunks(
    path: str, chunks: Iterable[Chunk], job: Job, keeper: Keeper | None
) -> Iterator[Done]:
    """The results of some chunks of a file, one at a time. A keeper stores originals."""
    chunks = iter(chunks)
    for chunk in chunks:
        if chunk.element is None or job.convert is not None:
            yield _done(path, chunk, job, keeper)
        else:
            yield from _array(path, chunk, chunks, job, keeper)


def _array(
    path: str, first: Chunk, others: Iterable[Chunk], job: Job, keeper: Keeper | None
) -> Iterator[Done]:
    """The results of the chunks of an array, which are written together or not at all.

    Until the last one is known they wait without the bytes that the array has, too.
    """
    array = first.lines[0].document
    assert array is not None
    waiting: Spool[tuple[int, Done]] = Spool(lambda item: 1 + item[0] // 1024)
    after_writing: list[Callable[[], None]] = []
    is_lossy = False
    try:
        for chunk in chain((first,), others):
            done = _done(path, chunk, job, keeper, after_writing)
            is_lossy |= done.is_lossy
            output = done.output if done.is_changed else None
            stored = () if keeper is None else keeper.take()
            done_later = replace(done, read=b"", output=output, originals=stored)
            waiting.append((len(done.read), done_later))
            if chunk.element is None or chunk.element.is_last:
                break
        for remember in after_writing if not is_lossy else ():
            remember()
        start = 0
        for size, done in waiting:
            done.store(keeper)
            read = array.data[start : start + size]
            done = replace(done, read=read, output=done.output if done.is_changed else read)
            yield _left_out(done) if is_lossy else done
            start += size
    finally:
        waiting.close()


def _left_out(done: Done) -> Done:
    """A result of which nothing is written."""
    rows = tuple(replace(row, is_written=False) for row in done.rows)
    return replace(done, output=None, rows=rows, is_changed=True, is_lossy=True)


def _done(
    path: str,
    chunk: Chunk,
    job: Job,
    keeper: Keeper | None,
    after_writing: list[Callable[[], None]] | None = None,
) -> Done:
    """The result of a chunk. `after_writing` collects what to do then, instead of now."""
    if chunk.error is not None:
        finding = not_handled(chunk.error, chunk.lines[0].number, job.shows_tracebacks)
        return Done(chunk.data, None, (), (finding,), True, True, is_open=chunk.is_open)
    begin = chunk.element.index if chunk.element is not None else 0
    tasks = [
        _Task(path, index, transcript, job, keeper)
        for index, transcript in enumerate(chunk.transcripts, begin)
    ]
    results = _results(tasks)
    try:
        write = _written if job.convert is None else _converted
        data, results, left_out = write(chunk, tasks, results, job)
    except Exception as error:  # noqa: BLE001 - after an unexpected error, nothing of these lines is written
        data, left_out = None, [True] * len(tasks)
        for index, result in enumerate(results):
            line = tasks[index].transcript.line
            finding = not_written(error, chunk, line, job.shows_tracebacks)
            results[index] = replace(result, findings=(*result.findings, finding))
    rows = []
    for task, result, is_left_out in zip(tasks, results, left_out, strict=True):
        is_written = data is not None and not is_left_out
        if is_written and job.memory is not None:
            if after_writing is None:
                task.remember(result)
            else:
                after_writing.append(partial(task.remember, result))
        rows.append(_row(chunk, task, result, is_written))
    return Done(
        chunk.data,
        data,
        tuple(rows),
        _findings(chunk, job),
        is_changed=data != chunk.data,
        is_lossy=any(left_out),
        is_open=chunk.is_open,
    )


def _results(tasks: Sequence["_Task"]) -> list[PipelineRun]:
    """The result of each task. Both transcripts of a preference pair get the same prompt."""
    results: list[PipelineRun] = []
    while len(results) < len(tasks):
        task, *others = tasks[len(results) : len(results) + 2]
        may_be_pair = bool(others) and task.has_answer and task.job.edits
        if not may_be_pair or not _is_pair(task.transcript, others[0].transcript):
            results.append(task.run(task.transcript.model))
        elif task.tokens < others[0].tokens:
            longer = others[0].run(others[0].transcript.model)
            results += (task.run(task.transcript.model, longer), longer)
        else:
            longer = task.run(task.transcript.model)
            results += (longer, others[0].run(others[0].transcript.model, longer))
    return results


def _findings(chunk: Chunk, job: Job) -> tuple[Finding, ...]:
    """The findings about the lines of a chunk, which a conversion does not keep."""
    if job.convert is None:
        return chunk.findings
    from ctxtrim.stream.requests import lost_lines  # for conversions only

    return lost_lines(chunk.findings)


def _row(chunk: Chunk, task: "_Task", result: PipelineRun, is_written: bool) -> Row:
    details = task.job.details
    if details.explained and not is_handled(result.findings):
        details = replace(details, explained=False)
    format_name = chunk.format.name if chunk.format else ""
    lines = len(chunk.lines) if len(chunk.transcripts) == 1 else 0
    origin = Origin(task.path, format_name, task.index, lines)
    return row(origin, task.transcript, result, is_written=is_written, details=details)


class _Task(Struct, frozen=True, dict=True):
    """The work on one transcript. `index` is its position among the transcripts of its lines."""

    path: str
    index: int
    transcript: Transcript
    job: Job
    keeper: Keeper | None

    @cached_property
    def identity(self) -> "Identity | None":
        """The identity of the transcript in the memory, None without a memory."""
        if self.job.memory is None:
            return None
        from ctxtrim.summaries.identity import identity  # for summary stores only

        transcript = self.transcript
        return identity(transcript.messages, transcript.id, self.path, transcript.line, self.index)

    @property
    def has_answer(self) -> bool:
        """Whether the transcript ends with an answer in data for training."""
        messages = self.transcript.messages
        return bool(messages) and messages[-1].is_answer

    @property
    def tokens(self) -> int:
        """The tokens as read; 0 if they cannot be counted, which the run reports."""
        try:
            return self.job.pipeline.metering.meter(self.transcript).counter.tokens(self.transcript)
        except Exception:  # noqa: BLE001 - an unexpected error must not stop the other transcripts
            return 0

    def run(self, model: str | None, longer: PipelineRun | None = None) -> PipelineRun:
        """The result for a model; after an unexpected error, that of the transcript as read.

        `longer`: the result of the longer transcript of a pair, whose prompt this one takes.
        """
        transcript, metering = self.transcript, self.job.pipeline.metering
        if model != transcript.model:
            transcript = replace(transcript, model=model)
        try:
            if longer is not None:
                result: PipelineRun = _with_prompt_of(longer, transcript, self.job.pipeline)
                return result
            return self._run(transcript)
        except Exception as error:  # noqa: BLE001 - an unexpected error must not stop the other transcripts
            finding = not_handled(error, transcript.line, self.job.shows_tracebacks)
        try:
            return _as_read(transcript, metering.meter(transcript), finding)
        except Exception:  # noqa: BLE001 - counting failed, so count an empty transcript
            empty = replace(
                transcript, messages=(), tools=None, tool_choice=None, model=None, usages=()
            )
            result = _as_read(empty, metering.meter(empty), finding)
            return replace(result, transcript=transcript)

    def remember(self, result: PipelineRun) -> None:
        """Store the summary of the transcript for later runs."""
        memory, known = self.job.memory, self.identity
        if not self.job.remembers or memory is None or known is None or result.summary is None:
            return
        end = result.summary_end
        memory.remember(known, result.summary, () if end is None else known.covered_until(end))

    def _run(self, transcript: Transcript) -> PipelineRun:
        job, pipeline = self.job, self.job.pipeline
        if job.keeps_snapshots:
            transcript = _without_companion_lines(transcript)
        meter = pipeline.metering.meter(transcript)
        if job.is_quick:
            quick = replace(meter, counter=meter.counter.bound())
            result = pipeline.run(transcript, meter=quick)
            if not result.overflows:
                return result
        stored = NOTHING_STORED
        if job.memory is not None and self.identity is not None:
            stored = job.memory.recall(self.identity)
        on_event = None
        if job.on_event is not None:
            on_event = partial(job.on_event, self.path, transcript.line)
        services = Services(
            self.keeper,
            job.summarizer,
            stored.summary,
            on_event,
            is_brief=not job.details.shows_changes,
        )
        try:
            result = pipeline.run(transcript, services, meter)
        except ArchiveError as error:
            return _not_archived(pipeline, transcript, meter, error)
        if stored.warning is not None:
            warning = Finding("summary", "warning", stored.warning, transcript.line)
            result = replace(result, findings=(*result.findings, warning))
        if result.overflows and job.on_overflow == "keep":
            result = replace(result, transcript=transcript, count=meter.counter.count(transcript))
        return result


def _as_read(transcript: Transcript, meter: Meter, finding: Finding) -> PipelineRun:
    """The result for a transcript on which no stage runs, with a finding."""
    count = meter.counter.count(transcript)
    return PipelineRun(transcript, meter, count, count.tokens, count.exactness, (), (finding,))


def _not_archived(
    pipeline: StagePipeline, transcript: Transcript, meter: Meter, error: ArchiveError
) -> PipelineRun:
    """The result for an unchanged transcript, because its originals cannot be stored."""
    result = _as_read(transcript, meter, not_archived(error))
    count, available = result.count, meter.budget.available
    if count.tokens <= available or not pipeline.fits_budget:
        return result
    finding = overflow(transcript, count.tokens, available, (), count.exactness)
    return replace(result, findings=(*result.findings, finding))


def _written(
    chunk: Chunk, tasks: list[_Task], results: list[PipelineRun], job: Job
) -> tuple[Bytes | None, list[PipelineRun], list[bool]]:
    """The output of the chunk, the results counted as read back, and what is left out.

    A stage may drop the message that names the model. If the output then names another model and
    does not fit it, the stages run once more for that model.
    """
    retried: set[int] = set()
    while True:
        left_out = [
            not is_handled(result.findings) or (result.overflows and job.on_overflow == "fail")
            for result in results
        ]
        if not job.details.needs_costs:
            for result in results:
                result.meter.counter.forget()
        written = written_chunk(chunk, [result.transcript for result in results], left_out)
        if not (written.read_back or written.linked):
            return written.data, results, left_out
        from ctxtrim.stream.written_results import recounted, with_linked_lines  # for edits only

        counted = [
            recounted(job.pipeline, result, written.read_back.get(index))
            for index, result in enumerate(results)
        ]
        too_large = {index for index, result in enumerate(counted) if result is None}
        if not too_large:
            done = [result for result in counted if result is not None]
            return written.data, with_linked_lines(done, written.linked), left_out
        if not retried.isdisjoint(too_large) or any(task.has_answer for task in tasks):
            raise SelfCheckError(
                "no edit fits the model that the output names; name the model with --model"
            )
        retried |= too_large
        for index in too_large:
            results[index] = tasks[index].run(written.read_back[index].model)


def _converted(
    chunk: Chunk, tasks: list[_Task], results: list[PipelineRun], job: Job
) -> tuple[bytes | None, list[PipelineRun], list[bool]]:
    """A line with a request for each transcript, the results with losses, and what is left out."""
    from ctxtrim.stream.requests import request_lines, requests  # for conversions only

    assert job.convert is not None
    transcripts = [task.transcript for task in tasks]
    made = requests(transcripts, job.convert, job.shows_tracebacks)
    return request_lines(results, made, job.pipeline.metering)


def _without_companion_lines(transcript: Transcript) -> Transcript:
    """The transcript in which dropping a message removes no extra lines."""
    messages = tuple(map(_without_lines, transcript.messages))
    source = replace(transcript.source, messages=messages)
    return replace(transcript, messages=messages, source=source)


def _without_lines(message: Message) -> Message:
    """The message with the companions that are inside a line."""
    if not message.companions:
        return message
    inner = tuple(companion for companion in message.companions if companion.span.path)
    return replace(message, companions=inner)
