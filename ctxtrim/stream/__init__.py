"""Read, run, write: from the chunks of a file to bytes and report rows.

::

     lines ──▶ Chunk ──▶ Transcript ──▶ stage ──▶ stage ──▶ Transcript ──▶ lines
                                          └─────────┴── StageRun ──▶ Row
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain

from msgspec.structs import replace

from ctxtrim.errors import SelfCheckError
from ctxtrim.findings import Finding, is_handled
from ctxtrim.formats.chunks import Chunk
from ctxtrim.formats.lines import Bytes
from ctxtrim.formats.self_check import written_chunk
from ctxtrim.io.spool import Spool
from ctxtrim.pipeline import PipelineRun
from ctxtrim.reports.failures import not_handled, not_written
from ctxtrim.reports.model import Row
from ctxtrim.reports.rows import Origin, row
from ctxtrim.stage import Keeper
from ctxtrim.stream.job import Done, Job
from ctxtrim.stream.task import Task, results_of


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
        return _unread(chunk, chunk.error, job)
    begin = chunk.element.index if chunk.element is not None else 0
    tasks = [
        Task(path, index, transcript, job, keeper)
        for index, transcript in enumerate(chunk.transcripts, begin)
    ]
    results = results_of(tasks)
    try:
        write = _written if job.convert is None else _converted
        data, results, left_out = write(chunk, tasks, results, job)
    except Exception as error:  # noqa: BLE001 - after an unexpected error, nothing of these lines is written
        data, left_out = None, [True] * len(tasks)
        for index, result in enumerate(results):
            line = tasks[index].transcript.line
            finding = not_written(error, chunk, line, shows_traceback=job.shows_tracebacks)
            results[index] = replace(result, findings=(*result.findings, finding))
    rows = []
    for task, result, is_left_out in zip(tasks, results, left_out, strict=True):
        is_written = data is not None and not is_left_out
        if is_written and job.memory is not None:
            if after_writing is None:
                task.remember(result)
            else:
                after_writing.append(partial(task.remember, result))
        rows.append(_row(chunk, task, result, is_written=is_written))
    return Done(
        read=chunk.data,
        output=data,
        rows=tuple(rows),
        findings=_findings(chunk, job),
        is_changed=data != chunk.data,
        is_lossy=any(left_out),
        is_open=chunk.is_open,
    )


def _unread(chunk: Chunk, error: Exception, job: Job) -> Done:
    """The result of a chunk that the format failed to read: a finding, and no output."""
    line = chunk.lines[0].number
    finding = not_handled(error, line, shows_traceback=job.shows_tracebacks)
    return Done(
        read=chunk.data,
        output=None,
        rows=(),
        findings=(finding,),
        is_changed=True,
        is_lossy=True,
        is_open=chunk.is_open,
    )


def _findings(chunk: Chunk, job: Job) -> tuple[Finding, ...]:
    """The findings about the lines of a chunk, which a conversion does not keep."""
    if job.convert is None:
        return chunk.findings
    from ctxtrim.stream.requests import lost_lines  # for conversions only

    return lost_lines(chunk.findings)


def _row(chunk: Chunk, task: Task, result: PipelineRun, *, is_written: bool) -> Row:
    details = task.job.details
    if details.explained and not is_handled(result.findings):
        details = replace(details, explained=False)
    format_name = chunk.format.name if chunk.format else ""
    lines = len(chunk.lines) if len(chunk.transcripts) == 1 else 0
    origin = Origin(task.path, format_name, task.index, lines)
    return row(origin, task.transcript, result, is_written=is_written, details=details)


def _written(
    chunk: Chunk, tasks: list[Task], results: list[PipelineRun], job: Job
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
    chunk: Chunk, tasks: list[Task], results: list[PipelineRun], job: Job
) -> tuple[bytes | None, list[PipelineRun], list[bool]]:
    """A line with a request for each transcript, the results with losses, and what is left out."""
    from ctxtrim.stream.requests import request_lines, requests  # for conversions only

    assert job.convert is not None
    transcripts = [task.transcript for task in tasks]
    conversions = requests(transcripts, job.convert, shows_tracebacks=job.shows_tracebacks)
    return request_lines(results, conversions, job.pipeline.metering)
