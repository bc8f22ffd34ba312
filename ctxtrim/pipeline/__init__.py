"""Run a transcript through stages, measuring each from outside."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from ctxtrim.errors import BUG, CtxtrimError, UsageError, bug_in_stage
from ctxtrim.findings import IDLE, Finding, Subject, has_overflow
from ctxtrim.metering import USAGE, Meter, Metering
from ctxtrim.model import Transcript
from ctxtrim.stage import (
    Dropped,
    FitsBudget,
    Keeper,
    Measured,
    Original,
    Outcome,
    Stage,
    StoredSummary,
)
from ctxtrim.stages import STAGES
from ctxtrim.stages.events import OnEvent, State, announced, state
from ctxtrim.stages.reasoning import ReasoningMode, mode_for, run_stage
from ctxtrim.tokens.counter import Count, Counter
from ctxtrim.tokens.tokenizer import Exactness

if TYPE_CHECKING:
    from ctxtrim.summaries.summarizer import Summarizer


class Spec(Struct, frozen=True):
    """The name of a stage and its settings, complete and validated."""

    name: str
    settings: dict[str, Any]

    @property
    def stage(self) -> type[Stage]:
        """The class of the stage."""
        return STAGES[self.name]

    @property
    def bug(self) -> str:
        """The end of the message of an error of the stage, which may be one of a program."""
        is_ours = self.stage.__module__.startswith("ctxtrim.")
        return BUG if is_ours else bug_in_stage(self.name)


class StageRun(Struct, frozen=True):
    """The run of one stage: tokens and messages before and after, changes and findings.

    `is_edited`: it changed the transcript. A brief run has no `changes`.
    """

    stage: str
    tokens_before: int
    tokens_after: int
    messages_before: int
    messages_after: int
    changes: tuple[Measured, ...]
    findings: tuple[Finding, ...]
    smallest_dropped: Dropped | None
    is_edited: bool
    large: tuple[Subject, ...]


class PipelineRun(Struct, frozen=True):
    """The result of a pipeline.

    If it overflows, `transcript` holds the messages that cannot be dropped.

    `exactness_read` is the exactness of `tokens_read`; `count` has its own. `summary` is the last
    inserted summary, and `summary_end` the index of the last message that it covers. `edited` is
    the transcript before it was read back, if that changed the messages or their indices.
    `first_meter` is the meter of the transcript as read, if the output names another model.
    """

    transcript: Transcript
    meter: Meter
    count: Count
    tokens_read: int
    exactness_read: Exactness
    steps: tuple[StageRun, ...]
    findings: tuple[Finding, ...]
    summary: StoredSummary | None = None
    summary_end: int | None = None
    edited: Transcript | None = None
    first_meter: Meter | None = None

    @property
    def meter_read(self) -> Meter:
        """The meter of the transcript as read."""
        return self.first_meter or self.meter

    @property
    def overflows(self) -> bool:
        """Whether the transcript exceeds the budget."""
        return has_overflow(self.findings)

    def dropped(self, number: int) -> int:
        """How many of the `number` messages as read are not in it any more: dropped, summarized or
        merged.
        """
        after = self.edited or self.transcript  # indices are those of the messages as read
        if after.messages is after.source.messages:
            return 0
        return number - len({message.index for message in after.messages} - {None})


class Services(Struct, frozen=True):
    """Services that a run may use.

    `keeper` stores the originals of a stage before its outcome is accepted. `summarizer` writes the
    summaries; `stored` is the summary of an earlier run. `on_event` receives the events of
    compactions. `cause` is a reason to compact regardless of the trigger. `is_brief`: the
    report shows no changes, so they are not measured, and stages need not find their reasons.
    """

    keeper: Keeper | None = None
    summarizer: "Summarizer | None" = None
    stored: StoredSummary | None = None
    on_event: OnEvent | None = None
    cause: str | None = None
    is_brief: bool = False

    @property
    def path_of(self) -> Callable[[str], str] | None:
        """The function from the name of an original to the path of its file, if it is kept."""
        return self.keeper.path_of if self.keeper is not None else None


NO_SERVICES = Services()


class StagePipeline(Struct, frozen=True):
    """Stages with their settings, and how transcripts are counted. It can be pickled.

    `thinking`: what to do with reasoning in edited transcripts, None for the default of the model.
    """

    stages: tuple[Spec, ...]
    metering: Metering
    thinking: ReasoningMode | None = None

    def __post_init__(self) -> None:
        """Raise `UsageError` if stages would edit by recorded usage."""
        editing = [spec.name for spec in self.stages if not spec.stage.is_verdict]
        if editing and self.metering.tokenizer == USAGE:
            raise UsageError(
                f"--tokenizer {USAGE}: recorded usage cannot be used for {editing[0]}, because "
                "dropping messages does not lower it; use it with count and check, or use "
                "--calibrate"
            )

    @property
    def fits_budget(self) -> bool:
        """Whether a stage makes transcripts fit."""
        return any(issubclass(spec.stage, FitsBudget) for spec in self.stages)

    @property
    def accepts_bounds(self) -> bool:
        """Whether an upper bound of the tokens is enough for a transcript that fits it."""
        return (
            [spec.stage.accepts_bounds(spec.settings) for spec in self.stages] == [True]
            and not self.metering.calibrates
            and self.metering.tokenizer != USAGE
        )

    def run(
        self, transcript: Transcript, services: Services = NO_SERVICES, meter: Meter | None = None
    ) -> PipelineRun:
        """Run all stages in order and return the final transcript.

        An editing stage that overflows ends the run. `meter` is used instead of the one that
        `metering` makes. Raises `ArchiveError` if originals cannot be stored.
        """
        meter = meter or self.metering.meter(transcript)
        counter = meter.counter
        tokens_read = counter.tokens(transcript)
        exactness_read = counter.exactness(transcript)
        steps: list[StageRun] = []
        summary: StoredSummary | None = None
        summary_end: int | None = None
        for spec in self.stages:
            tokens = steps[-1].tokens_after if steps else tokens_read
            outcome, step = self._step(spec, transcript, tokens, services, meter)
            steps.append(step)
            if outcome.summary is not None:
                summary = outcome.summary
                covered = summary.indices | _dropped(transcript, outcome.transcript)
                summary_end = max(covered) if covered else summary_end
            transcript = outcome.transcript
            if has_overflow(outcome.findings) and not spec.stage.is_verdict:
                break
        count = counter.count(transcript)
        return PipelineRun(
            transcript=transcript,
            meter=meter,
            count=count,
            tokens_read=tokens_read,
            exactness_read=exactness_read,
            steps=tuple(steps),
            findings=_final_findings(steps, count.tokens <= meter.budget.available),
            summary=summary,
            summary_end=summary_end,
        )

    def _step(
        self, spec: Spec, transcript: Transcript, tokens: int, services: Services, meter: Meter
    ) -> tuple[Outcome, StageRun]:
        """The outcome of a stage, measured and with its originals stored."""
        counter, keeper = meter.counter, services.keeper
        from_run = {name: getattr(services, name) for name in spec.stage.run_fields()}
        stage = spec.stage(counter, meter.budget, **from_run, **spec.settings)
        mode = self.thinking or mode_for(meter.model)

        def work() -> tuple[Outcome, Mapping[int, str]]:
            """The outcome, and the names of the stored originals by message index."""
            outcome = _outcome(spec, stage, transcript, mode)
            if keeper is None:
                return outcome, {}
            return outcome, keeper.keep(_originals(counter, transcript, outcome), spec.name)

        def state_after(done: tuple[Outcome, Mapping[int, str]]) -> State:
            outcome, _ = done
            tokens_after = counter.tokens(outcome.transcript)
            return state(outcome.transcript, tokens_after, outcome.findings)

        on_event = services.on_event
        trigger = None if on_event is None else stage.reason_to_run(transcript)
        outcome, kept = announced(on_event, trigger, transcript, tokens, work, state_after)
        tokens_after = tokens
        if outcome.transcript is not transcript:
            tokens_after = counter.tokens(outcome.transcript)
        return outcome, StageRun(
            stage=spec.name,
            tokens_before=tokens,
            tokens_after=tokens_after,
            messages_before=len(transcript.messages),
            messages_after=len(outcome.transcript.messages),
            changes=() if services.is_brief else _measured(counter, transcript, outcome, kept),
            findings=outcome.findings,
            smallest_dropped=outcome.smallest_dropped,
            is_edited=any(change.action != "kept" for change in outcome.changes),
            large=outcome.large,
        )


def _outcome(spec: Spec, stage: Stage, transcript: Transcript, mode: ReasoningMode) -> Outcome:
    """The outcome of a stage, whose edits are possible. Unexpected errors name the stage."""
    try:
        outcome = run_stage(stage, transcript, mode)
    except CtxtrimError:  # says itself what is wrong
        raise
    except Exception as error:
        if spec.bug != BUG:
            error.add_note(spec.bug)
        raise
    if outcome.transcript is not transcript:
        from ctxtrim.conversation import edits  # for edited transcripts only

        edits.check(outcome.transcript, spec.name, spec.bug)
    return outcome


def _dropped(before: Transcript, after: Transcript) -> set[int]:
    """The indices of the messages that a stage dropped or hid."""
    kept = {message.index for message in after.messages if message.agent_visible}
    return {
        message.index
        for message in before.messages
        if message.index is not None and message.agent_visible and message.index not in kept
    }


def _final_findings(steps: Sequence[StageRun], fits: bool) -> tuple[Finding, ...]:
    """The findings after the last stage, each once; the last overflow only if it does not fit."""
    findings = [
        finding
        for step in steps
        for finding in step.findings
        if finding.severity != "info" or finding.code in IDLE
    ]
    if not findings:
        return ()
    overflows = [finding for finding in findings if finding.code == "overflow"]
    others = dict.fromkeys(finding for finding in findings if finding.code != "overflow")
    return (*(() if fits else overflows[-1:]), *others)


def _measured(
    counter: Counter, before: Transcript, outcome: Outcome, archived: Mapping[int, str]
) -> tuple[Measured, ...]:
    """The changes of a stage with their costs. `archived`: the names of stored originals."""
    if not outcome.changes:
        return ()
    from ctxtrim.pipeline.changes import measured  # for stages that edit

    return measured(counter, before, outcome, archived)


def _originals(counter: Counter, before: Transcript, outcome: Outcome) -> list[Original]:
    """The results that a stage changed or dropped."""
    if not outcome.changes:
        return []
    from ctxtrim.pipeline.changes import originals  # for stages that edit

    return originals(counter, before, outcome.changes)
