"""Run a transcript through stages, measuring each from outside."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from msgspec import Struct

from ctxtrim.conversation import edits
from ctxtrim.conversation.tool_results import result_text, tool_name, trace_id
from ctxtrim.events import Event, OnEvent, announced
from ctxtrim.model import Transcript
from ctxtrim.stage import (
    NOTHING_DONE,
    OVERFLOW,
    Announced,
    Change,
    Dropped,
    Finding,
    Keeper,
    Original,
    Outcome,
    Stage,
    StoredSummary,
    seams_of,
)
from ctxtrim.stages import STAGES
from ctxtrim.stages.reasoning import Thinking, without_invalid_reasoning
from ctxtrim.summaries import Summarizer
from ctxtrim.tokens import Budget, Exactness
from ctxtrim.tokens.counter import Count, Counter


@dataclass(frozen=True)
class Spec:
    """The name of a stage and its settings, complete and validated."""

    name: str
    settings: dict[str, Any]


class Measured(Struct, frozen=True):
    """A change and the tokens of its message before and after.

    `archived` is the name of the stored original.
    """

    change: Change
    tokens_before: int
    tokens_after: int
    archived: str | None = None


class StageRun(Struct, frozen=True):
    """The run of one stage: tokens and messages before and after, changes and findings."""

    stage: str
    tokens_before: int
    tokens_after: int
    messages_before: int
    messages_after: int
    changes: tuple[Measured, ...]
    findings: tuple[Finding, ...]
    smallest_dropped: Dropped | None = None


class PipelineRun(Struct, frozen=True):
    """The result of a pipeline.

    If it overflows, `transcript` holds the messages that cannot be dropped.

    `exactness_read` is the exactness of `tokens_read`; `count` has its own. `summary` is the last
    inserted summary, and `summary_end` the index of the last message that it covers.
    """

    transcript: Transcript
    count: Count
    tokens_read: int
    exactness_read: Exactness
    steps: tuple[StageRun, ...]
    findings: tuple[Finding, ...]
    summary: StoredSummary | None = None
    summary_end: int | None = None

    @property
    def overflows(self) -> bool:
        """Whether the transcript exceeds the budget."""
        return any(finding.code == OVERFLOW for finding in self.findings)


def run(
    transcript: Transcript,
    specs: Sequence[Spec],
    counter: Counter,
    budget: Budget,
    thinking: Thinking = "keep",
    keeper: Keeper | None = None,
    summarizer: Summarizer | None = None,
    stored: StoredSummary | None = None,
    on_event: OnEvent | None = None,
    cause: str | None = None,
) -> PipelineRun:
    """Run all stages in order and return the final transcript. A stage that overflows ends the run.

    `keeper` stores the originals of a stage before its outcome is accepted, or raises an
    `ArchiveError`. `summarizer` writes the summaries; `stored` is the summary of an earlier run.
    `on_event` receives the events of compactions. `cause` is a reason to compact regardless of the
    trigger.
    """
    path_of = keeper.path_of if keeper else None
    services = {"path_of": path_of, "summarizer": summarizer, "stored": stored, "cause": cause}
    tokens_read = tokens = counter.tokens(transcript)
    exactness_read = counter.exactness(transcript)
    steps = []
    findings: list[Finding] = []
    summary: StoredSummary | None = None
    summary_end: int | None = None
    for spec in specs:
        stage = _stage(spec, counter, budget, services)
        start = None if on_event is None else _start_event(stage, transcript, tokens)
        work = partial(_run_stage, stage, spec.name, counter, transcript, thinking, keeper)
        if on_event is not None and start is not None:
            outcome, kept = announced(on_event, start, work, partial(_end_state, counter))
        else:
            outcome, kept = work()
        tokens_after = counter.tokens(outcome.transcript)
        steps.append(
            StageRun(
                stage=spec.name,
                tokens_before=tokens,
                tokens_after=tokens_after,
                messages_before=len(transcript.messages),
                messages_after=len(outcome.transcript.messages),
                changes=_measured(counter, transcript, outcome, kept),
                findings=outcome.findings,
                smallest_dropped=outcome.smallest_dropped,
            )
        )
        if outcome.summary is not None:
            summary = outcome.summary
            dropped = _dropped(transcript, outcome.transcript)
            summary_end = max(dropped) if dropped else summary_end
        for finding in outcome.findings:
            if finding.severity != "info" or finding.code == NOTHING_DONE:
                findings.append(finding)
        transcript, tokens = outcome.transcript, tokens_after
        if any(finding.code == OVERFLOW for finding in outcome.findings) and spec.name != "check":
            break
    count = counter.count(transcript)
    return PipelineRun(
        transcript=transcript,
        count=count,
        tokens_read=tokens_read,
        exactness_read=exactness_read,
        steps=tuple(steps),
        findings=_final_findings(findings, count.tokens <= budget.available),
        summary=summary,
        summary_end=summary_end,
    )


def _start_event(stage: Stage, transcript: Transcript, tokens: int) -> Event | None:
    """The event before a stage runs; None if the stage announces nothing or has no
    reason to run.
    """
    reason = stage.reason_to_run(transcript) if isinstance(stage, Announced) else None
    return None if reason is None else Event("start", reason, tokens, _visible(transcript))


def _stage(spec: Spec, counter: Counter, budget: Budget, services: Mapping[str, Any]) -> Stage:
    """The stage for one transcript, with the services that it needs."""
    stage_class = STAGES[spec.name]
    return stage_class(
        counter, budget, **{name: services[name] for name in seams_of(stage_class)}, **spec.settings
    )


def _run_stage(
    stage: Stage,
    name: str,
    counter: Counter,
    transcript: Transcript,
    thinking: Thinking,
    keeper: Keeper | None,
) -> tuple[Outcome, Mapping[int, str]]:
    """The outcome of a stage, and the names of the stored originals by message index."""
    outcome = without_invalid_reasoning(transcript, stage(transcript), thinking)
    if outcome.transcript is not transcript:
        edits.check(outcome.transcript, name)
    return outcome, keeper.keep(
        _originals(counter, transcript, outcome.changes), name
    ) if keeper else {}


def _end_state(
    counter: Counter, done: tuple[Outcome, Mapping[int, str]]
) -> tuple[int, int, str | None]:
    """Tokens, visible messages and problems after a compaction, for its end event."""
    outcome, _ = done
    problems = [finding.message for finding in outcome.findings if finding.severity != "info"]
    return (
        counter.tokens(outcome.transcript),
        _visible(outcome.transcript),
        "; ".join(problems) or None,
    )


def _dropped(before: Transcript, after: Transcript) -> set[int]:
    """The indices of the messages that a stage dropped or hid."""
    kept = {message.index for message in after.messages if message.agent_visible}
    return {
        message.index
        for message in before.messages
        if message.index is not None and message.agent_visible and message.index not in kept
    }


def _visible(transcript: Transcript) -> int:
    return sum(message.agent_visible for message in transcript.messages)


def _final_findings(findings: Sequence[Finding], fits: bool) -> tuple[Finding, ...]:
    """The findings that apply after the last stage: each once, and the last overflow if the result
    does not fit.
    """
    overflows = [finding for finding in findings if finding.code == OVERFLOW]
    others = dict.fromkeys(finding for finding in findings if finding.code != OVERFLOW)
    return (*(() if fits else overflows[-1:]), *others)


def _measured(
    counter: Counter, before: Transcript, outcome: Outcome, kept: Mapping[int, str]
) -> tuple[Measured, ...]:
    """The changes with their costs.

    Lines that are removed with their messages follow, with 0 tokens.
    """
    if not outcome.changes:
        return ()
    costs, rest = _costs_by_key(counter, before), _costs_by_key(counter, outcome.transcript)
    messages = tuple(
        Measured(
            change,
            sum(costs.get((change.message, change.before), ())),
            sum(rest.get((change.message, change.before), ())),
            None if change.message is None else kept.get(change.message),
        )
        for change in outcome.changes
    )
    return (
        *messages,
        *(Measured(change, 0, 0) for change in _removed_lines(before, outcome.transcript)),
    )


def _removed_lines(before: Transcript, after: Transcript) -> Iterator[Change]:
    """The changes for lines that are removed with their messages."""
    left = {message.index for message in after.messages}
    for message in before.messages:
        if message.companions and message.index not in left:
            for companion in message.companions:
                reason = f"{companion.kind} of message {message.index}"
                yield Change(None, "dropped", reason, line=before.line_at(companion.span))


def _originals(
    counter: Counter, transcript: Transcript, changes: Sequence[Change]
) -> list[Original]:
    """The results that a stage changed or dropped, as they were read.

    A result that moves to a file is stored as the stage saw it, because the stage names that file
    by its hash.
    """
    changed = {
        change.message: change.action
        for change in changes
        if change.action != "kept" and change.message is not None
    }
    if not changed:
        return []
    shape = counter.shape(transcript.messages)
    originals = []
    for position, message in enumerate(transcript.messages):
        result = message.result
        if message.index in changed and message.index is not None and result is not None:
            is_archived = changed[message.index] == "archived"
            text = result_text(
                message if is_archived else transcript.source.messages[message.index]
            )
            name = result.call_id or trace_id(text)
            tool = tool_name(result, shape.call[position])
            originals.append(
                Original(
                    message.index,
                    name,
                    text,
                    tool,
                    transcript.line_of(message),
                    changed[message.index],
                )
            )
    return originals


def _costs_by_key(
    counter: Counter, transcript: Transcript
) -> dict[tuple[int | None, int | None], list[int]]:
    """Costs by the key that changes use for a message.

    Several messages may be inserted before the same one.
    """
    costs_by_key: dict[tuple[int | None, int | None], list[int]] = {}
    following: int | None = None
    costs = counter.costs(transcript.messages)
    for message, cost in zip(reversed(transcript.messages), reversed(costs), strict=True):
        key = (None, following) if message.index is None else (message.index, None)
        costs_by_key.setdefault(key, []).append(cost.total)
        following = following if message.index is None else message.index
    return costs_by_key
