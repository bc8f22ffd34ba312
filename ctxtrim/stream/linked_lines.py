"""Lines without a message that a format removes with the message they link to."""

from collections.abc import Sequence

from msgspec.structs import replace

from ctxtrim.pipeline import Measured, PipelineRun
from ctxtrim.stage import Change


def with_linked_lines(results: Sequence[PipelineRun], lines: Sequence[int]) -> list[PipelineRun]:
    """The results of a chunk, and a change for each removed line in the last edit of a result.

    `lines` are line numbers. Lines of abandoned branches belong to no transcript, so the first
    result with an edit has them. A result without changes, as in a brief run, stays the same.
    """
    found = list(results)
    if not lines:
        return found
    removed = tuple(
        Measured(Change(None, "dropped", "linked to dropped messages", line=line), 0, 0)
        for line in lines
    )
    for index, result in enumerate(found):
        steps = list(result.steps)
        for position in reversed(range(len(steps))):
            step = steps[position]
            if step.is_edited and step.changes:
                steps[position] = replace(step, changes=(*step.changes, *removed))
                found[index] = replace(result, steps=tuple(steps))
                return found
    return found
