"""The results of a chunk as it was written: the count as it reads back, and the lines removed."""

from collections.abc import Sequence

from msgspec.structs import replace

from ctxtrim.errors import BUG, SelfCheckError
from ctxtrim.findings import Finding
from ctxtrim.model import Transcript
from ctxtrim.pipeline import PipelineRun, StagePipeline
from ctxtrim.stage import Change, Measured


def recounted(
    pipeline: StagePipeline, result: PipelineRun, read_back: Transcript | None
) -> PipelineRun | None:
    """A result counted as it reads back; None if it names another model and does not fit it.

    Neighbors may have become one message. Raises `SelfCheckError` if the result then exceeds a
    budget that it is to fit.
    """
    if read_back is None:
        return result
    meter = result.meter
    if pipeline.metering.model is None and read_back.model != meter.model:
        return _renamed(pipeline, result, read_back)
    if not _is_regrouped(result.transcript, read_back):
        return result
    count = meter.counter.fresh().count(read_back)
    most = max(result.count.tokens, meter.budget.available)
    if _is_to_fit(pipeline, result) and count.tokens > most:
        raise SelfCheckError(
            f"the edited transcript has {count.tokens:,} tokens instead of "
            f"{result.count.tokens:,}; {BUG}"
        )
    return replace(result, transcript=read_back, count=count, edited=result.transcript)


def _renamed(
    pipeline: StagePipeline, result: PipelineRun, read_back: Transcript
) -> PipelineRun | None:
    """A result counted for the model that the output names; None if it should fit and does not."""
    meter, named = result.meter, pipeline.metering.meter(read_back)
    count = named.counter.count(read_back)
    if _is_to_fit(pipeline, result) and count.tokens > named.budget.available:
        return None
    if not named.counter.counts_like(meter.counter):  # another name may mean the same numbers
        text = (
            f"stages counted for {meter.model or 'no model'}; the output names "
            f"{read_back.model or 'none'} and is counted so"
        )
        note = Finding("other-model", "info", text, result.transcript.line)
        named = replace(named, notes=(*named.notes, note))
    whole = read_back if _is_regrouped(result.transcript, read_back) else result.transcript
    return replace(
        result,
        transcript=whole,
        meter=named,
        count=count,
        edited=result.transcript,
        first_meter=meter,
    )


def _is_to_fit(pipeline: StagePipeline, result: PipelineRun) -> bool:
    """Whether a stage made the result fit its budget."""
    return pipeline.fits_budget and not result.overflows


def _is_regrouped(intended: Transcript, read_back: Transcript) -> bool:
    """Whether messages may have merged with their neighbors, which needs a new count."""
    return len(intended.messages) != len(read_back.messages) or any(
        message.index is None for message in intended.messages
    )


def with_linked_lines(results: Sequence[PipelineRun], lines: Sequence[int]) -> list[PipelineRun]:
    """The results of a chunk, and a change for each removed line in the last edit of a result.

    `lines` are line numbers. Lines of abandoned branches belong to no transcript, so the first
    result with an edit has them. A result without changes, as in a brief run, stays the same.
    """
    runs = list(results)
    if not lines:
        return runs
    removed = tuple(
        Measured(Change(None, "dropped", "linked to dropped messages", line=line), 0, 0)
        for line in lines
    )
    for index, result in enumerate(runs):
        steps = list(result.steps)
        for position in reversed(range(len(steps))):
            step = steps[position]
            if step.is_edited and step.changes:
                steps[position] = replace(step, changes=(*step.changes, *removed))
                runs[index] = replace(result, steps=tuple(steps))
                return runs
    return runs
