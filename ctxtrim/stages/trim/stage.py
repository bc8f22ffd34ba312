"""Drop and shorten messages until a transcript fits its budget, or report which messages cannot be
dropped.

System messages (by default), the current task, and pinned and hidden messages are never dropped.
`priority` ranks the others; `fit` keeps as many as fit. An exchange is dropped as a whole, so calls
and results stay together. The user message of a turn is dropped with the last exchange of its turn,
so the result begins with a user message if the input did.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from dataclasses import replace as with_fields
from functools import partial
from itertools import chain, count
from typing import Any

from msgspec.structs import replace

from ctxtrim.conversation.protection import CURRENT_TASK, LAST_EXCHANGE, not_dropped, required
from ctxtrim.conversation.recency import recent
from ctxtrim.conversation.roles import RoleOrder
from ctxtrim.conversation.turns import visible
from ctxtrim.findings import FEWER_TOOLS, SPLIT, has_overflow, overflow, subject_of
from ctxtrim.model import Message, Transcript
from ctxtrim.stage import (
    KEEP,
    SUMMARIES,
    Action,
    Change,
    FitsBudget,
    Outcome,
    StoredSummary,
    change_of,
    run_field,
    setting,
)
from ctxtrim.stages import common_settings
from ctxtrim.stages.keep_rules import KeepRules
from ctxtrim.stages.placement.leads import is_led_by_summary
from ctxtrim.stages.placement.summary import NoSummary, restore_summary, with_stored, with_summary
from ctxtrim.stages.placement.summary_writer import SummaryWriter
from ctxtrim.stages.trim.fit import Fit
from ctxtrim.stages.trim.forms import Forms
from ctxtrim.stages.trim.message_units import SEPARATOR
from ctxtrim.stages.trim.priority import STRATEGIES, Ranking
from ctxtrim.stages.trim.prompt_cache import prompt_cache
from ctxtrim.stages.trim.shared_budget import SharedBudget
from ctxtrim.stages.trim.situation import Situation
from ctxtrim.summaries.summarizer import Summarizer
from ctxtrim.text.numbers import fraction
from ctxtrim.tokens.tokenizer import MARKS, Exactness

_STEP = 32  # each attempt lowers the limit by a further 1/32 of the budget, so that few are needed


def _check_target(text: str) -> None:
    """Raise `ValueError` unless the text is a share above 0."""
    with suppress(ValueError):
        if fraction(text) > 0:
            return
    raise ValueError("expected a share of the budget, above 0 and at most 1, such as 70% or 0.7")


def _drop_reason(rank: str | None, is_misplaced: bool) -> str:
    """Why a message is dropped: its rank, if it has one, and what prevents that it is kept."""
    obstacle = "would break the order of roles" if is_misplaced else "does not fit"
    return f"{rank}, {obstacle}" if rank else obstacle


def _may_shorten(message: Message, reason: str) -> bool:
    """Whether a message that is never dropped for a reason may be shortened."""
    if reason == CURRENT_TASK:
        return is_led_by_summary(message)
    return reason == LAST_EXCHANGE


def _protected_messages(transcript: Transcript, fit: Fit, exactness: Exactness) -> Iterator[str]:
    """A line for each message that the model reads and that cannot be dropped, with the reason."""
    situation = fit.situation
    for position in sorted(fit.kept):
        message = transcript.messages[position]
        if message.agent_visible:
            call, cost = situation.shape.call[position], fit.kept[position].tokens
            named = subject_of(message, transcript.line_of(message), call, cost, exactness)
            yield f"{named.text} ({situation.protected[position]})"


@dataclass(frozen=True)
class _Order(FitsBudget):
    """The settings before the keep rules: what is dropped first, and how much.

    `replacements`: by position, messages without the reasoning that the edits make invalid.
    """

    summarizer: Summarizer | None = run_field()
    stored: StoredSummary | None = run_field()
    is_brief: bool | None = run_field()
    replacements: Mapping[int, Message] = field(default_factory=dict, compare=False)
    strategy: str = setting(
        "priority",
        "Choose the order in which messages are dropped; priority: the least important first, "
        "oldest: the oldest first, middle: the middle of the conversation first, age: the oldest "
        "first, after all old results are placeholders.",
        choices=tuple(STRATEGIES),
    )
    target: float = setting(
        1.0,
        "When over budget, trim to this share of it, as in 70% or 0.7.",
        check=_check_target,
        units={"%": 0.01},
    )
    keep_recent_turns: int = setting(
        5, "Keep the last N turns while older messages can still be dropped.", least=0, panel=KEEP
    )
    keep_recent_messages: int = common_settings.keep_recent_messages()
    keep_recent_tokens: int = setting(
        0, "Keep the messages in the last N tokens too.", least=0, panel=KEEP
    )


@dataclass(frozen=True)
class Trim(KeepRules, _Order):
    """Drop the least important messages until the transcript fits the budget.

    The result never exceeds the budget: an `overflow` finding lists the messages that cannot be
    dropped.

    The order of the base classes is the order of the settings, last base first.
    """

    drops_outdated = True
    counts_uses = True

    preserve_system_prompt: bool = setting(
        True, "Never drop system messages; if off, drop them last of all.", panel=KEEP
    )
    keep_answer: bool = setting(
        False, "Never drop or shorten the last answer: all after the last prompt.", panel=KEEP
    )
    pin: tuple[str, ...] = common_settings.pin()
    summarize: bool = setting(
        False, "Replace all dropped messages by one summary.", panel=SUMMARIES
    )
    summary_tokens: int = common_settings.summary_tokens()
    redact: bool = common_settings.redact()

    @staticmethod
    def idle(settings: Mapping[str, Any]) -> str:
        """Why nothing changes."""
        return "already fits"

    @staticmethod
    def unused(settings: Mapping[str, Any]) -> Mapping[str, str]:
        """The fields for summaries, if there is none."""
        fields = ("summarizer", "summary_tokens", "redact")
        return {} if settings["summarize"] else dict.fromkeys(fields, "without --summarize")

    def __call__(self, transcript: Transcript) -> Outcome:
        """Drop and shorten messages until the rest fits. Changes then name every message."""
        available = self.budget.available
        fit = self._needed_fit(transcript)
        if fit is None:
            return with_stored(self.counter, Outcome(transcript), self.stored, available)
        outcome = self._outcome(transcript, fit)
        if has_overflow(outcome.findings):
            return outcome
        if self.summarize and len(fit.kept) < len(transcript.messages):
            outcome = self._summarized(transcript, fit, outcome)
        else:
            outcome = with_stored(self.counter, outcome, self.stored, available)
        cache = tuple(prompt_cache(self.counter, outcome.transcript))
        return replace(outcome, findings=(*outcome.findings, *cache))

    def without_reasoning(self, replacements: Mapping[int, Message]) -> "Trim":
        """The stage for a transcript of which these messages lose their reasoning."""
        return with_fields(self, replacements=replacements)

    def first_edit(self, transcript: Transcript) -> int | None:
        """The position of the first message that is dropped or shortened, without a summary."""
        fit = self._needed_fit(transcript)
        if fit is None:
            return None
        for position in visible(transcript.messages):
            form = fit.kept.get(position)
            if form is None or form.action != "kept":
                return position
        return None

    def _needed_fit(self, transcript: Transcript) -> Fit | None:
        """The messages to keep; None if all of them fit."""
        if not self.exceeds(transcript):
            return None
        situation, fixed = self._situation(transcript), self.counter.fixed(transcript)
        fit, citations = self._fit(transcript, situation, fixed), self._citations(transcript)
        if citations and not self._citations(replace(transcript, messages=fit.messages)):
            # no source is kept, so the others get the room of the prompt for citations
            fit = self._fit(transcript, situation.with_citations(citations), fixed - citations)
        return fit

    def _citations(self, transcript: Transcript) -> int:
        return self.counter.overhead(transcript).get("citations", 0)

    def _fit(self, transcript: Transcript, situation: Situation, fixed: int) -> Fit:
        """The messages kept within the target; within the budget if the protected messages alone
        exceed the target. `fixed`: the cost of the request without messages.
        """
        available = self.budget.available - self._reserve(transcript)
        ranking = Ranking(situation, STRATEGIES[self.strategy])
        fit = Fit(ranking, Forms(situation), fixed, int(available * self.target))
        if fit.room < 0:
            fit = fit.minimal(available)
        return self._filled(transcript, fit)

    def _filled(self, transcript: Transcript, fit: Fit) -> Fit:
        """The messages kept within the limit of a fit."""
        goal = fit.limit
        for attempt in count():
            fit.fill()
            # a result without an id costs more if it is one of parallel results
            excess = self.counter.tokens(replace(transcript, messages=fit.messages)) - goal
            if excess <= 0 or fit.room < 0:
                break
            limit = fit.limit - excess - attempt * goal // _STEP
            fit = fit.minimal(limit)
        return fit

    def _reserve(self, transcript: Transcript) -> int:
        """The tokens to reserve for the stored summary if it will be restored."""
        if self.stored is None or self.summarize:
            return 0
        tokens = self.counter.tokens(transcript)
        placed = restore_summary(
            self.counter, transcript, self.stored, tokens + self.budget.available
        )
        return 0 if placed is None else max(0, placed.tokens - tokens)

    def _summarized(self, transcript: Transcript, fit: Fit, outcome: Outcome) -> Outcome:
        """The outcome with a summary of the dropped messages, if any are dropped and there is room.

        `fit` and `outcome` are those without a summary.
        """
        writer = SummaryWriter(
            self.counter,
            self.summary_tokens,
            self.summarizer,
            redacts=self.redact,
            earlier=self.stored,
            max_prompt=self.budget.available,
        )
        available = int(self.budget.available * self.target)
        if fit.limit > available:  # the target cannot be reached
            available = self.budget.available
        filled = partial(self._filled, transcript)
        shared = SharedBudget(writer, transcript, available, filled).shared(fit)
        if isinstance(shared, NoSummary):
            return replace(outcome, findings=(*outcome.findings, *shared.findings))
        if isinstance(shared, Fit):
            return with_stored(
                self.counter, self._outcome(transcript, shared), self.stored, available
            )
        changes = tuple(self._changes(transcript.messages, shared.fit))
        return with_summary(Outcome(shared.shortened, changes), shared.placed)

    def _outcome(self, transcript: Transcript, fit: Fit) -> Outcome:
        """The kept messages with reasons, and an overflow if they exceed the budget."""
        available = self.budget.available
        rest = replace(transcript, messages=fit.messages)
        changes = tuple(self._changes(transcript.messages, fit))
        tokens = self.counter.tokens(rest)
        if tokens <= available:
            smallest = None if self.is_brief else fit.smallest_dropped()
            return Outcome(rest, changes, smallest_dropped=smallest)
        exactness = self.counter.exactness(rest)
        details = list(_protected_messages(transcript, fit, exactness))
        fixed = self.counter.fixed(rest)
        if fixed:
            details.append(f"tool schemas and request overhead: {MARKS[exactness]}{fixed:,} tokens")
        advice = FEWER_TOOLS if rest.tools and fixed > available else SPLIT
        excess = overflow(transcript, tokens, available, details, exactness, advice)
        return Outcome(rest, changes, (excess,))

    def _changes(self, messages: Sequence[Message], fit: Fit) -> Iterator[Change]:
        """The change of each message, with its reason; a brief run needs the edits alone."""
        if self.is_brief:
            for position in range(len(messages)):
                form = fit.kept.get(position)
                if form is None or form.action != "kept":
                    yield change_of(messages, position, form.action if form else "dropped", "")
            return
        ranks, situation = fit.reasons(), fit.situation
        separators = fit.separators()
        prompts = set(chain.from_iterable(situation.prompts.values())) - situation.special
        for position in range(len(messages)):
            form = fit.kept.get(position)
            action: Action = form.action if form else "dropped"
            if form is None:
                reason = _drop_reason(ranks.get(position), position in fit.misplaced)
            elif action != "kept":
                reason = form.reason
            elif position in situation.protected:
                reason = situation.protected[position]
            elif position in prompts:
                reason = f"prompt of turn {situation.shape.turn[position]}"
            elif position in separators or position not in ranks:
                reason = SEPARATOR
            else:
                reason = f"{ranks[position]}, fits"
            yield change_of(messages, position, action, reason)

    def _situation(self, transcript: Transcript) -> Situation:
        """The facts that decide what is kept."""
        as_read, replacements = transcript.messages, self.replacements
        messages = as_read
        if replacements:
            messages = tuple(
                replacements.get(position, message) for position, message in enumerate(as_read)
            )
        shape = self.counter.shape(messages)
        costs = [cost.total for cost in self.counter.costs(messages)]
        emptied = {position for position, message in replacements.items() if not message.parts}
        for position in emptied:
            costs[position] = 0
        turns, count = self.keep_recent_turns, self.keep_recent_messages
        is_recent = recent(shape, costs, turns=turns, count=count, tokens=self.keep_recent_tokens)
        # pins match the messages as read, with their reasoning
        shape_as_read = self.counter.shape(as_read)
        own = not_dropped(
            shape_as_read,
            self.pin,
            keeps_system=self.preserve_system_prompt,
            keeps_answer=self.keep_answer,
        )
        roles = RoleOrder(shape, transcript.strict_roles)
        protected = roles.with_separators(costs, required(transcript, shape) | own)
        fixed = {at for at, reason in own.items() if not _may_shorten(messages[at], reason)}
        return Situation(
            shape=shape,
            costs=costs,
            counter=self.counter,
            protected=protected,
            shrinkable=protected.keys() - fixed,
            emptied=emptied,
            is_recent=is_recent,
            keep_rules=self,
            roles=roles,
        )
