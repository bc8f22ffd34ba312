"""From a list of messages to one that fits: read, run, write, as with the transcripts of files."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ctxtrim.api.messages import Conversation, PlainMessages, System, Tools, conversation, place_of
from ctxtrim.api.options import Settings
from ctxtrim.errors import ContextOverflowError, InputError, Irreducible
from ctxtrim.events import OnEvent
from ctxtrim.metering import Bound
from ctxtrim.pipeline import PipelineRun, Spec, run
from ctxtrim.stage import StoredSummary
from ctxtrim.stages.reasoning import thinking_of
from ctxtrim.summaries import Summarizer, markers, sections


@dataclass(frozen=True)
class PromptUsage:
    """What one prompt took: tokens before and after, and how many were allowed; whether anything was cut or dropped.

    `dropped` is how many messages went.
    """

    original_tokens: int
    final_tokens: int
    max_tokens: int
    trimmed: bool
    dropped: int

    @property
    def utilization(self) -> float:
        """The share of the budget that is filled."""
        return self.final_tokens / self.max_tokens if self.max_tokens > 0 else 1.0


OnUsage = Callable[[PromptUsage], object]


@dataclass(frozen=True)
class Beside:
    """What stages need from outside: who writes summaries, the text of one that was kept, who is told of compactions.

    `cause` is why a session is to be compacted whatever the trigger says.
    """

    summarizer: Summarizer | None = None
    stored: str | None = None
    on_event: OnEvent | None = None
    cause: str | None = None


NOTHING = Beside()


@dataclass(frozen=True)
class Fitted:
    """A new list, what it took, and the summary that was put into it."""

    messages: list[dict[str, Any]]
    usage: PromptUsage
    summary: StoredSummary | None


def understood(messages: PlainMessages, system: System = None, tools: Tools = None) -> Conversation:
    """A conversation of which all messages can be counted; an `InputError` names one that cannot."""
    read = conversation(messages, system, tools)
    known = {place_of(message) for message in read.transcript.messages}
    if read.transcript.uncounted or (messages and not known):
        place = next((place for place in range(len(messages)) if place not in known), 0)
        role = messages[place]["role"]
        raise InputError(f"message {place}: role {role!r} cannot be counted; expected a message of OpenAI or Anthropic")
    return read


def fitted(
    messages: PlainMessages, asked: Settings, system: System = None, tools: Tools = None, beside: Beside = NOTHING
) -> Fitted:
    """A list that the stages have made fit, or a `ContextOverflowError`."""
    read = understood(messages, system, tools)
    bound = asked.binding.bind(read.transcript)
    result = ran(read, asked, bound, asked.stages, beside)
    must_fit(result, bound)
    before, after = read.transcript.messages, result.transcript.messages
    dropped = len(before) - len({message.index for message in after if message.index is not None})
    usage = PromptUsage(result.tokens_read, result.count.tokens, bound.budget.available, after != before, dropped)
    return Fitted(read.with_messages(result.transcript), usage, result.summary)


def ran(read: Conversation, asked: Settings, bound: Bound, stages: Sequence[Spec], beside: Beside) -> PipelineRun:
    """What some stages make of a conversation.

    None has leave to drop a system prompt that stands beside the messages: who sends it would not know.
    """
    first = next(iter(read.transcript.messages), None)
    has_system = first is not None and first.role == "system" and place_of(first) is None
    return run(
        read.transcript,
        _keeping(stages) if has_system else stages,
        bound.counter,
        bound.budget,
        asked.thinking or thinking_of(bound.model),
        summarizer=beside.summarizer,
        stored=None if beside.stored is None else _kept(beside.stored, bound),
        on_event=beside.on_event,
        cause=beside.cause,
    )


def _kept(text: str, bound: Bound) -> StoredSummary:
    """A summary that was kept as a text, which says for how many messages it stands, or counts as one."""
    return StoredSummary(text, bound.counter.text(text), sections.read(markers.untitled(text)).messages)


def must_fit(result: PipelineRun, bound: Bound) -> None:
    """A `ContextOverflowError` that names what could not go, and why, where something is above the budget."""
    if result.count.tokens <= bound.budget.available:
        return
    left = result.transcript
    why = {one.change.message: one.change.reason for step in result.steps for one in step.changes}
    costs = bound.counter.costs(left.messages)
    rows = [
        Irreducible(place_of(message), message.role, cost.total, why.get(message.index, "cannot go"))
        for message, cost in zip(left.messages, costs, strict=True)
        if message.agent_visible
    ]
    if fixed := bound.counter.fixed(left):
        rows.append(Irreducible(None, "request", fixed, "tool schemas and the frame of the request"))
    raise ContextOverflowError(result.count.tokens, bound.budget.available, rows)


def _keeping(stages: Sequence[Spec]) -> list[Spec]:
    """The stages without leave to drop a system prompt."""
    name = "preserve_system_prompt"
    return [replace(one, settings=one.settings | {name: True}) if name in one.settings else one for one in stages]
