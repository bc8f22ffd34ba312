"""Run a transcript through stages, measuring each from outside."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

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
    Written,
    seams_of,
)
from ctxtrim.stages import STAGES
from ctxtrim.stages.reasoning import Thinking, settled
from ctxtrim.summaries import Summarizer
from ctxtrim.tokens import Budget, Exactness
from ctxtrim.tokens.counter import Count, Counter


@dataclass(frozen=True)
class Spec:
    """A stage by name and its settings, complete and checked."""

    name: str
    settings: dict[str, Any]


@dataclass(frozen=True)
class Measured:
    """A change and what the message costs before and after it, in tokens; `archived` names its original."""

    change: Change
    tokens_before: int
    tokens_after: int
    archived: str | None = None


@dataclass(frozen=True)
class Step:
    """What one stage did: tokens and messages before and after, its changes and findings."""

    stage: str
    tokens_before: int
    tokens_after: int
    messages_before: int
    messages_after: int
    changes: tuple[Measured, ...]
    findings: tuple[Finding, ...]
    smallest_dropped: Dropped | None = None


@dataclass(frozen=True)
class Result:
    """What the pipeline made of a transcript. Where it overflows, `transcript` and `count` are what could not go.

    `exactness_read` says how far `tokens_read` can be trusted, as `count` does for itself. `summary` is the last that
    was put in, and `summary_end` the index of the last message that it covers.
    """

    transcript: Transcript
    count: Count
    tokens_read: int
    exactness_read: Exactness
    steps: tuple[Step, ...]
    findings: tuple[Finding, ...]
    summary: Written | None = None
    summary_end: int | None = None

    @property
    def overflows(self) -> bool:
        """Whether it does not fit."""
        return any(finding.code == OVERFLOW for finding in self.findings)


def run(
    transcript: Transcript,
    specs: Sequence[Spec],
    counter: Counter,
    budget: Budget,
    thinking: Thinking = "keep",
    keeper: Keeper | None = None,
    summarizer: Summarizer | None = None,
    stored: Written | None = None,
    on_event: OnEvent | None = None,
    cause: str | None = None,
) -> Result:
    """All stages in order. After a stage that overflows the others do not run: there is nothing to pass on.

    A keeper stores the originals of a stage before its outcome is accepted, or raises an `ArchiveError`. A summarizer
    writes the summaries that stages ask for; `stored` is one of an earlier run. `on_event` is told of compactions;
    `cause` is why a session is to be compacted whatever the trigger says.
    """
    path_of = keeper.path_of if keeper else None
    beside = {"path_of": path_of, "summarizer": summarizer, "stored": stored, "cause": cause}
    tokens_read = tokens = counter.tokens(transcript)
    exactness_read = counter.exactness(transcript)
    steps = []
    found: list[Finding] = []
    summary: Written | None = None
    summary_end: int | None = None
    for spec in specs:
        stage = _stage(spec, counter, budget, beside)
        work = partial(_done, stage, spec.name, counter, transcript, thinking, keeper)
        reason = stage.reason_to_run(transcript) if on_event is not None and isinstance(stage, Announced) else None
        if on_event is not None and reason is not None:
            start = Event("start", reason, tokens, _visible(transcript))
            outcome, kept = announced(on_event, start, work, partial(_ended, counter))
        else:
            outcome, kept = work()
        after = counter.tokens(outcome.transcript)
        steps.append(
            Step(
                spec.name,
                tokens,
                after,
                len(transcript.messages),
                len(outcome.transcript.messages),
                _measured(counter, transcript, outcome, kept),
                outcome.findings,
                outcome.smallest_dropped,
            )
        )
        if outcome.summary is not None:
            summary = outcome.summary
            dropped = _dropped(transcript, outcome.transcript)
            summary_end = max(dropped) if dropped else summary_end
        found += (one for one in outcome.findings if one.severity != "info" or one.code == NOTHING_DONE)
        transcript, tokens = outcome.transcript, after
        if any(finding.code == OVERFLOW for finding in outcome.findings) and spec.name != "check":
            break
    count = counter.count(transcript)
    standing = _standing(found, count.tokens <= budget.available)
    return Result(transcript, count, tokens_read, exactness_read, tuple(steps), standing, summary, summary_end)


def _stage(spec: Spec, counter: Counter, budget: Budget, beside: Mapping[str, Any]) -> Stage:
    """A stage for one transcript, with what it needs from outside."""
    made = STAGES[spec.name]
    return made(counter, budget, **{name: beside[name] for name in seams_of(made)}, **spec.settings)


def _done(
    stage: Stage, name: str, counter: Counter, transcript: Transcript, thinking: Thinking, keeper: Keeper | None
) -> tuple[Outcome, Mapping[int, str]]:
    """What a stage made of a transcript, and the names of the originals that were stored."""
    outcome = settled(transcript, stage(transcript), thinking)
    if outcome.transcript is not transcript:
        edits.check(outcome.transcript, name)
    return outcome, keeper.keep(_originals(counter, transcript, outcome.changes), name) if keeper else {}


def _ended(counter: Counter, done: tuple[Outcome, Mapping[int, str]]) -> tuple[int, int, str | None]:
    """What is told at the end of a compaction."""
    outcome, _ = done
    troubles = [one.message for one in outcome.findings if one.severity != "info"]
    return counter.tokens(outcome.transcript), _visible(outcome.transcript), "; ".join(troubles) or None


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


def _standing(found: Sequence[Finding], fits: bool) -> tuple[Finding, ...]:
    """The findings that hold after the last stage: each once, and of overflows the last if it was not mended."""
    overflows = [one for one in found if one.code == OVERFLOW]
    others = dict.fromkeys(one for one in found if one.code != OVERFLOW)
    return (*(() if fits else overflows[-1:]), *others)


def _measured(counter: Counter, before: Transcript, outcome: Outcome, kept: Mapping[int, str]) -> tuple[Measured, ...]:
    """The changes with what they cost. Lines that are removed with their messages follow, without tokens."""
    if not outcome.changes:
        return ()
    costs, rest = _by_place(counter, before), _by_place(counter, outcome.transcript)
    messages = tuple(
        Measured(
            change,
            sum(costs.get((change.message, change.before), ())),
            sum(rest.get((change.message, change.before), ())),
            None if change.message is None else kept.get(change.message),
        )
        for change in outcome.changes
    )
    return (*messages, *(Measured(change, 0, 0) for change in _removed_lines(before, outcome.transcript)))


def _removed_lines(before: Transcript, after: Transcript) -> Iterator[Change]:
    """The lines that are removed with their messages."""
    left = {message.index for message in after.messages}
    for message in before.messages:
        if message.companions and message.index not in left:
            for companion in message.companions:
                reason = f"{companion.kind} of message {message.index}"
                yield Change(None, "dropped", reason, line=before.line_at(companion.span))


def _originals(counter: Counter, transcript: Transcript, changes: Sequence[Change]) -> list[Original]:
    """The results that a stage has changed or dropped, as they were read.

    A result that goes to a file of its own is stored as the stage has found it: so the stage names that file.
    """
    changed = {one.message: one.action for one in changes if one.action != "kept" and one.message is not None}
    if not changed:
        return []
    where = counter.shape(transcript.messages)
    found = []
    for position, message in enumerate(transcript.messages):
        result = message.result
        if message.index in changed and message.index is not None and result is not None:
            is_archived = changed[message.index] == "archived"
            text = result_text(message if is_archived else transcript.source.messages[message.index])
            name = result.call_id or trace_id(text)
            tool = tool_name(result, where.call[position])
            found.append(Original(message.index, name, text, tool, transcript.line_of(message), changed[message.index]))
    return found


def _by_place(counter: Counter, transcript: Transcript) -> dict[tuple[int | None, int | None], list[int]]:
    """What messages cost, by what their changes name them by; several may be inserted before the same one."""
    found: dict[tuple[int | None, int | None], list[int]] = {}
    following: int | None = None
    costs = counter.costs(transcript.messages)
    for message, cost in zip(reversed(transcript.messages), reversed(costs), strict=True):
        place = (None, following) if message.index is None else (message.index, None)
        found.setdefault(place, []).append(cost.total)
        following = following if message.index is None else message.index
    return found
