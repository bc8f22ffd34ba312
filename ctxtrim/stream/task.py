"""The work on one transcript: run the stages, and whatever fails, report it."""

from collections.abc import Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from ctxtrim.errors import ArchiveError
from ctxtrim.findings import Finding, overflow
from ctxtrim.loading import lazy_function
from ctxtrim.metering import Meter
from ctxtrim.model import Message, Transcript
from ctxtrim.pipeline import PipelineRun, Services, StagePipeline
from ctxtrim.reports.failures import not_archived, not_handled
from ctxtrim.stage import NOTHING_STORED, Keeper
from ctxtrim.stream.job import Job

if TYPE_CHECKING:
    from ctxtrim.summaries.identity import Identity

# data with preferences only
_is_pair = lazy_function("ctxtrim.formats.preferences:is_pair")
_with_prompt_of = lazy_function("ctxtrim.stream.preference_pairs:with_prompt_of")


class Task(Struct, frozen=True, dict=True):
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
        return bool(messages) and messages[-1].is_training_answer

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
            finding = not_handled(error, transcript.line, shows_traceback=self.job.shows_tracebacks)
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
            keeper=self.keeper,
            summarizer=job.summarizer,
            stored=stored.summary,
            on_event=on_event,
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
    return PipelineRun(
        transcript=transcript,
        meter=meter,
        count=count,
        tokens_read=count.tokens,
        exactness_read=count.exactness,
        steps=(),
        findings=(finding,),
    )


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


def results_of(tasks: Sequence[Task]) -> list[PipelineRun]:
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
