"""Make a transcript fit its budget, or say what cannot be dropped.

System messages (unless they may be dropped), the current task, pinned and hidden messages are never dropped. Of all
others `priority` says which are needed most; `fit` keeps as many as fit. An exchange is dropped whole, so no call loses
its result. A turn's user message is dropped with the last exchange of its turn, so what is kept begins with a user
message wherever the input did.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from operator import not_

from ctxtrim.conversation import pins
from ctxtrim.conversation.recency import recent
from ctxtrim.conversation.tool_results import Result, results
from ctxtrim.conversation.turns import Shape, current_task
from ctxtrim.evidence import copies, reread
from ctxtrim.model import Message, Transcript
from ctxtrim.placement import Summing, outcome_of, put_back, summed
from ctxtrim.stage import Action, Change, Finding, Outcome, Written, change_of, describe, overflow, seam, setting
from ctxtrim.stages.keep import Retaining, kept
from ctxtrim.stages.placeholder import PLACEHOLDER, POINTER, Replacement
from ctxtrim.stages.trim.fit import Fit
from ctxtrim.stages.trim.forms import Forms
from ctxtrim.stages.trim.priority import STRATEGIES
from ctxtrim.stages.trim.situation import APART, Situation
from ctxtrim.summaries import REDACT, Summarizer
from ctxtrim.tokens import MARKS, Budget
from ctxtrim.tokens.counter import Counter


def share(text: str) -> None:
    """A `ValueError` where a number is no share."""
    if not re.fullmatch(r"0*(?:\.\d+|1(?:\.0*)?|0\.\d+)", text) or float(text) == 0:
        raise ValueError("expected a share of the budget, above 0 and at most 1")


_BESIDE = "it would stand next to the next prompt"
_HASTE = 32  # each further attempt to fit takes this part of the budget more, so that there are few
_SHARE = 8  # a summary takes at most this part of the budget
_ACTIVE_STEPS = 5  # a file is in use that was read or changed in so many last steps


@dataclass(frozen=True)
class Trim:
    """Never a transcript above its budget: with an `overflow` finding the outcome is what could not go."""

    counter: Counter
    budget: Budget
    summarizer: Summarizer | None = seam()
    stored: Written | None = seam()
    strategy: str = setting("priority", "What goes first.", choices=tuple(STRATEGIES))
    target: float = setting(1.0, "Once over the budget, trim down to this share of it.", check=share)
    keep_recent_turns: int = setting(5, "These last turns stay while anything older is left to go.", least=0)
    keep_recent_messages: int = setting(0, "And these last messages.", least=0)
    keep_recent_tokens: int = setting(0, "And what is in these last tokens.", least=0)
    keep_errors: bool = setting(True, "Results that tell of an error go late.")
    errors: str = setting(
        "strict", "What tells of one: flags, exit codes and first lines, or loose words.", choices=("strict", "loose")
    )
    keep_small: int = setting(0, "Results of fewer tokens than this go late.", least=0)
    keep_quoted: bool = setting(True, "Results that the user quoted later go late.")
    keep_chains: bool = setting(True, "Results that a recent call took its arguments from go late.")
    keep_active_files: bool = setting(True, "Reads of files in use go late.")
    active_steps: int | None = setting(
        None, "A file is in use that was read or changed in so many last steps. [default: 5]", least=0
    )
    keep_tools: tuple[str, ...] = setting(
        (), "Results of these tools go late: a regular expression over names.", check=pins.expression
    )
    preserve_system_prompt: bool = setting(True, "System messages never go; else they go last of all.")
    pin: tuple[str, ...] = setting((), pins.PIN, check=pins.check)
    summarize: bool = setting(False, "Put one summary in the place of all that was dropped.")
    summary_tokens: int = setting(1000, "The most tokens that a summary may have.", least=1)
    redact: bool = setting(True, REDACT, is_restricted=not_)

    def __call__(self, transcript: Transcript) -> Outcome:
        """Drop and shorten messages until the rest fits; changes then name every message."""
        messages = transcript.messages
        costs = [cost.total for cost in self.counter.costs(messages)]
        fixed, available = self.counter.fixed(transcript), self.budget.available
        if fixed + sum(costs) <= available:
            return self._with_stored(Outcome(transcript))
        situation = self._situation(messages, costs)
        forms = Forms(situation)
        fit = self._fit(situation, forms, fixed, available - self._reserve(transcript))
        if self.summarize and fit.room >= 0 and len(fit.kept) < len(messages):
            roomy = self._fit(situation, forms, fixed, available - min(self.summary_tokens, available // _SHARE))
            fit = roomy if roomy.room >= 0 else fit
        outcome = self._outcome(transcript, fit)
        if outcome.findings:  # it does not fit
            return outcome
        if self.summarize and len(fit.kept) < len(messages):
            outcome = self._summed(transcript, fit, outcome)
        else:
            outcome = self._with_stored(outcome)
        cached = tuple(_cached(situation, outcome.transcript.messages))
        return replace(outcome, findings=(*outcome.findings, *cached))

    def _fit(self, situation: Situation, forms: Forms, fixed: int, most: int) -> Fit:
        """What is kept in at most so many tokens: in the target's share of them where protected messages fit there."""
        goal = int(most * self.target)
        if Fit(situation, forms, fixed, goal).room < 0:
            goal = most
        limit = goal
        for attempt in count():
            fit = Fit(situation, forms, fixed, limit).fill(STRATEGIES[self.strategy])
            excess = fixed + self._tokens(fit) - goal
            if excess <= 0 or fit.room < 0:
                break
            limit -= excess + attempt * goal // _HASTE
        return fit

    def _tokens(self, fit: Fit) -> int:
        """The tokens of the messages that are kept. A result without an id costs more as one of parallel results."""
        return sum(cost.total for cost in self.counter.costs(tuple(fit.kept[at].message for at in sorted(fit.kept))))

    def _reserve(self, transcript: Transcript) -> int:
        """Tokens for the summary that was stored, where it is to be put back."""
        if self.stored is None or self.summarize:
            return 0
        found = put_back(self.counter, transcript, self.stored, self.counter.tokens(transcript) + self.budget.available)
        return 0 if found is None else max(0, found.tokens - self.counter.tokens(transcript))

    def _summed(self, transcript: Transcript, fit: Fit, outcome: Outcome) -> Outcome:
        """The outcome with a summary of what was dropped, where there is room for one."""
        summing = Summing(
            self.counter,
            self.summary_tokens,
            self.summarizer,
            self.redact,
            earlier=self.stored,
            most_input=self.budget.available,
        )
        messages = transcript.messages
        forms = tuple(fit.kept[at].message if at in fit.kept else one for at, one in enumerate(messages))
        dropped = {at for at in range(len(messages)) if at not in fit.kept}
        whole = replace(transcript, messages=forms)
        found = summed(summing, messages, whole, dropped, self.budget.available)
        return outcome if found is None else replace(outcome_of(outcome, found), smallest_dropped=None)

    def _with_stored(self, outcome: Outcome) -> Outcome:
        """The outcome with the summary that was stored, where there is room for it."""
        if self.stored is None:
            return outcome
        found = put_back(self.counter, outcome.transcript, self.stored, self.budget.available)
        return outcome if found is None else outcome_of(outcome, found)

    def _outcome(self, transcript: Transcript, fit: Fit) -> Outcome:
        """What is kept, with the reason for each message, and an overflow where it does not fit."""
        messages, available = transcript.messages, self.budget.available
        positions = sorted(fit.kept)
        rest = replace(transcript, messages=tuple(fit.kept[at].message for at in positions))
        changes = tuple(self._changes(messages, fit))
        tokens = fit.fixed + self._tokens(fit)
        if tokens <= available:
            return Outcome(rest, changes, smallest_dropped=fit.smallest_dropped())
        exactness = self.counter.exactness(rest)
        situation = fit.situation
        details = [
            f"{describe(transcript, messages[at], situation.shape.call[at], fit.kept[at].tokens, exactness)}"
            f" ({situation.protected[at]})"
            for at in positions
            if messages[at].agent_visible
        ]
        if fit.fixed:
            details.append(f"tool schemas and the frame of the request: {MARKS[exactness]}{fit.fixed} tokens")
        return Outcome(rest, changes, (overflow(transcript, tokens, available, details, exactness),))

    def _changes(self, messages: Sequence[Message], fit: Fit) -> Iterator[Change]:
        """What was done to each message, and why."""
        ranks, situation = fit.reasons(), fit.situation
        company = fit.company()
        prompts = {at for positions in situation.prompts.values() for at in positions} - situation.special
        for at in range(len(messages)):
            form = fit.kept.get(at)
            action: Action = form.action if form else "dropped"
            if form is None:
                reason = ranks.get(at, _BESIDE)
            elif action != "kept":
                reason = form.reason
            elif at in situation.protected:
                reason = situation.protected[at]
            elif at in prompts:
                reason = f"prompt of turn {situation.shape.turn[at]}"
            elif at in company or at not in ranks:
                reason = APART
            else:
                reason = f"{ranks[at]}, fits"
            yield change_of(messages, at, action, reason)

    def _situation(self, messages: Sequence[Message], costs: Sequence[int]) -> Situation:
        """The facts that decide what is kept."""
        shape = self.counter.shape(tuple(messages))
        last = recent(
            messages, shape, costs, self.keep_recent_turns, self.keep_recent_messages, self.keep_recent_tokens
        )
        found = results(messages, shape, [shape.steps - step for step in shape.step])
        rules = Retaining(
            self.keep_errors,
            self.errors == "loose",
            self.keep_small,
            self.keep_quoted,
            self.keep_chains,
            (_ACTIVE_STEPS if self.active_steps is None else self.active_steps) if self.keep_active_files else None,
            self.keep_tools,
            drops_outdated=True,
        )
        return Situation(
            messages,
            shape,
            costs,
            self.counter,
            self._protected(messages, shape),
            last,
            {result.position: result for result in found},
            kept(rules, self.counter, messages, shape, found, last, shape.steps),
            _stale(messages, shape, {result.position: result for result in found}),
            not self.preserve_system_prompt,
        )

    def _protected(self, messages: Sequence[Message], shape: Shape) -> dict[int, str]:
        """Messages that are never dropped, and why; without a task, the last exchange. Pins keep their prompts."""
        pinned = pins.pinned(messages, shape, self.pin)
        turns = {shape.turn[at] for at in pinned}
        task = current_task(messages)
        if task is None:
            spoken = [at for at, message in enumerate(messages) if message.agent_visible and message.role != "system"]
            task = shape.exchange[spoken[-1]] if spoken else None
        protected: dict[int, str] = {}
        for at, message in enumerate(messages):
            if not message.agent_visible:
                protected[at] = "hidden"
            elif at in pinned:
                protected[at] = pinned[at]
            elif task is not None and shape.exchange[at] == task:
                protected[at] = "current task" if messages[task].role == "user" else "last exchange"
            elif message.role == "system" and self.preserve_system_prompt:
                protected[at] = "system"
            elif message.role == "user" and shape.turn[at] in turns:
                protected[at] = "prompt of what is pinned"
        return protected


def _stale(messages: Sequence[Message], shape: Shape, found: Mapping[int, Result]) -> dict[int, tuple[str, str]]:
    """Results that a later one repeats: the text that replaces each, and the reason."""
    replacement = Replacement("placeholder", PLACEHOLDER, POINTER, 0, assigns=False)
    again = reread(messages, shape)
    same = copies(messages, shape)
    stale: dict[int, tuple[str, str]] = {}
    for at in found:
        if same.get(at) in found:
            stale[at] = replacement.pointing(found[same[at]]), "same as a newer result"
        elif again.get(at) in found:
            stale[at] = replacement.read_again(found[again[at]]), "read again later"
    return stale


def _cached(situation: Situation, left: Sequence[Message]) -> Iterator[Finding]:
    """From where on a provider has to read the prompt again, which it had in its cache."""
    sent = [(place, one) for place, one in enumerate(situation.messages) if one.agent_visible]
    now = [one for one in left if one.agent_visible]
    same = next((at for at, ((_, old), new) in enumerate(zip(sent, now, strict=False)) if old != new), len(now))
    if same < len(sent):
        first, message = sent[same]
        tokens, index = sum(situation.costs[:first]), message.index
        text = f"a prompt cache holds for the messages before message {index}: {tokens} tokens, and what is sent before"
        yield Finding("prompt-cache", "info", text, index=index, tokens=tokens)
