"""The forms of a message in a trimmed transcript: in full, clipped, or replaced by a placeholder.

Each form is measured once. Only tool results are shortened, and summaries that lead a prompt; old
turns lose their reasoning.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from ctxtrim.clipping.clipper import Clipper
from ctxtrim.conversation.tool_results import ToolResult
from ctxtrim.model import Message
from ctxtrim.stage import Action
from ctxtrim.stages.placeholder import PLACEHOLDER, POINTER, Replacement
from ctxtrim.stages.placement.leads import leads, with_leads
from ctxtrim.stages.placement.summary_writer import with_shorter_summary
from ctxtrim.stages.trim.situation import Situation
from ctxtrim.summaries import markers

_SHORTEST = 32  # tokens of a clip; a shorter one is no better than a placeholder
_TRIES = 3  # a clip may cost more inside its message because of JSON escapes
_WORTH = 3  # a pointer saves at least this fraction of a result
_NO_ROOM = "no room for the summary before it"
_REPLACEMENT = Replacement("placeholder", PLACEHOLDER, POINTER, 0, assigns=False)


class Form(Struct, frozen=True, gc=False):
    """A message, its cost in tokens, and the action with its reason."""

    message: Message
    tokens: int
    action: Action = "kept"
    reason: str = ""


@dataclass(frozen=True)
class Forms:
    """The forms of the messages of a transcript, by position."""

    situation: Situation
    _lean: dict[int, Form] = field(default_factory=dict)
    _least: dict[int, Form] = field(default_factory=dict)
    _floors: dict[tuple[int, ...], int] = field(default_factory=dict)
    _clippers: dict[int, Clipper] = field(default_factory=dict)
    _results: dict[int, ToolResult | None] = field(default_factory=dict)  # that may be shortened
    _only_copies: set[int] = field(default_factory=set)  # stale results that must not point

    def is_stale(self, position: int) -> bool:
        """Whether a result may point to a later one that repeats it."""
        return position in self.situation.stale and position not in self._only_copies

    def set_only_copies(self, positions: set[int]) -> None:
        """Set the stale results that point to no newer one, because it is dropped."""
        for position in positions ^ self._only_copies:
            self._lean.pop(position, None)
            self._least.pop(position, None)
        self._only_copies.clear()
        self._only_copies.update(positions)

    def full(self, position: int) -> Form:
        """The message as it was read."""
        return Form(self.situation.messages[position], self.situation.costs[position])

    def lean(self, position: int) -> Form:
        """The message without content that is cheap to lose: a result repeated later, or reasoning
        of an old turn.
        """
        if position not in self._lean:
            is_stale = self.is_stale(position)
            form = self._pointer(position) if is_stale else self._without_reasoning(position)
            self._lean[position] = self._shorter(form, position)
        return self._lean[position]

    def least(self, position: int) -> Form:
        """The smallest form; a result becomes a placeholder, and a prompt loses its summary."""
        if position not in self._least:
            form = self.lean(position)
            if position in self.situation.led:
                form = self._without_summary(position)
            result = self._shortenable(position)
            if result is not None and form.action == "kept":
                step = self.situation.shape.step[position]
                reason = f"{self._rank(position)}result of step {step}"
                placeholder = self._with_text(result, _REPLACEMENT.of(result), reason)
                form = self._shorter(placeholder, position)
            self._least[position] = form
        return self._least[position]

    def within(self, position: int, tokens: int) -> Form:
        """The longest form of at most `tokens` tokens that a clip can make, else
        the smallest form.
        """
        if tokens >= self.situation.costs[position]:
            return self.full(position)
        if position in self.situation.led:
            return self._with_shorter_summary(position, tokens)
        lean = self.lean(position)
        result = self._shortenable(position)
        if lean.tokens <= tokens or lean.action != "kept" or result is None:
            return lean if lean.tokens <= tokens else self.least(position)
        clipper = self._clipper(result)
        limit = _even(tokens - self._overhead(position))
        for _ in range(_TRIES):
            if limit < _SHORTEST:
                break
            text = clipper.within(limit)
            form = self._with_text(result, text, f"long result: at most {tokens:,} tokens")
            if form.tokens <= tokens:
                return form if form.tokens < lean.tokens else lean
            limit = _even(limit * tokens * 9 // (form.tokens * 10))
        return self.least(position)

    def is_clippable(self, position: int) -> bool:
        """Whether a message is a result that can be clipped, or led by a summary."""
        if position in self.situation.led:
            return True
        return self.lean(position).action == "kept" and self._shortenable(position) is not None

    def may_shrink(self, position: int) -> bool:
        """Whether a message may have a smaller form, without making it."""
        if position in self.situation.results or position in self.situation.led:
            return True
        return self.situation.is_old(position) and any(
            part.kind == "reasoning" for part in self.situation.messages[position].parts
        )

    @cached_property
    def floors(self) -> Sequence[int]:
        """A lower bound of the tokens of each message, without making any shorter form."""
        return [
            0 if self.may_shrink(position) else cost
            for position, cost in enumerate(self.situation.costs)
        ]

    def floor(self, positions: tuple[int, ...]) -> int:
        """A lower bound of the tokens of some messages together."""
        floor = self._floors.get(positions)
        if floor is None:
            floor = self._floors[positions] = sum(map(self.floors.__getitem__, positions))
        return floor

    def _shortenable(self, position: int) -> ToolResult | None:
        """The result at a position, if it may be shortened and was not replaced before."""
        if position not in self._results:
            result = self.situation.results.get(position)
            if result is not None and not self._may_shorten(result):
                result = None
            self._results[position] = result
        return self._results[position]

    def _may_shorten(self, result: ToolResult) -> bool:
        is_fixed = self.situation.is_fixed(result.position)
        return not is_fixed and result.is_rewritable and not _REPLACEMENT.is_done(result.text)

    def _clipper(self, result: ToolResult) -> Clipper:
        """The clipper of a result, which is kept because most clips are lengthened later."""
        position = result.position
        if position not in self._clippers:
            ranges = self.situation.keep_reasons[position].ranges
            tokenizer = self.situation.counter.tokenizer
            self._clippers[position] = Clipper(result.text, tokenizer, keep=ranges)
        return self._clippers[position]

    def _overhead(self, position: int) -> int:
        """The cost of a result without its text."""
        situation = self.situation
        cost = situation.counter.cost(situation.messages[position], situation.shape.fan[position])
        kinds = (part.kind for part in situation.messages[position].parts)
        return cost.total - sum(
            tokens for kind, tokens in zip(kinds, cost.parts, strict=True) if kind == "tool_result"
        )

    def _shorter(self, form: Form, position: int) -> Form:
        """The form, or the full message if that costs no more."""
        return form if form.tokens < self.situation.costs[position] else self.full(position)

    def _pointer(self, position: int) -> Form:
        """A stale result that points to the newer one that repeats it; in full if it is so short
        that the pointer saves little.
        """
        result = self._shortenable(position)
        if result is None:
            return self.full(position)
        stale = self.situation.stale[position]
        form = self._with_text(result, stale.text, stale.reason)
        saved = self.situation.costs[position] - form.tokens
        return form if saved * _WORTH >= self.situation.costs[position] else self.full(position)

    def _without_reasoning(self, position: int) -> Form:
        """The message without the reasoning of an old turn.

        Some providers require reasoning next to tool calls.
        """
        situation, message = self.situation, self.situation.messages[position]
        if not situation.is_old(position) or situation.is_fixed(position):
            return self.full(position)
        has_calls = any(message.calls)
        parts = []
        for part in message.parts:
            is_needed = part.block is None or (has_calls and part.span is not None)
            if part.kind != "reasoning" or is_needed:
                parts.append(part)
        if len(parts) == len(message.parts) or all(part.kind == "reasoning" for part in parts):
            return self.full(position)
        shorter = replace(message, parts=tuple(parts))
        turn = situation.shape.turn[position]
        return self._priced(shorter, position, "stripped", f"reasoning of turn {turn}")

    def _without_summary(self, position: int) -> Form:
        """A prompt without the summary that leads it; with a line for it if nothing else is left,
        because providers reject empty messages.
        """
        message = self.situation.messages[position]
        digests = leads(message).digests
        shorter = with_leads(message, digests=digests)
        if all(part.kind == "text" and not part.text.strip() for part in shorter.parts):
            shorter = with_leads(message, markers.OMITTED, digests)
        form = self._priced(shorter, position, "truncated", _NO_ROOM)
        return self._shorter(form, position)

    def _with_shorter_summary(self, position: int, tokens: int) -> Form:
        """A prompt with a summary before it in at most `tokens` tokens, or without a summary."""
        counter, message = self.situation.counter, self.situation.messages[position]
        least = self.least(position)
        limit = tokens - least.tokens - counter.text(markers.END)
        for _ in range(_TRIES):
            if limit <= 0:
                break
            shorter = with_shorter_summary(message, counter, limit)
            reason = f"summary before it: at most {limit:,} tokens"
            if leads(shorter).summary == markers.OMITTED:
                reason = _NO_ROOM
            form = self._priced(shorter, position, "truncated", reason)
            if form.tokens <= tokens:
                return self._shorter(form, position)
            limit = limit * tokens * 9 // (form.tokens * 10)
        return least

    def _with_text(self, result: ToolResult, text: str, reason: str) -> Form:
        return self._priced(result.with_text(text), result.position, "truncated", reason)

    def _priced(self, message: Message, position: int, action: Action, reason: str) -> Form:
        tokens = self.situation.counter.cost(message, self.situation.shape.fan[position]).total
        return Form(message, tokens, action, reason)

    def _rank(self, position: int) -> str:
        situation = self.situation
        if situation.shape.exchange[position] == situation.newest:
            return "newest exchange: "
        if situation.shape.exchange[position] in situation.worth_keeping:
            return "worth keeping: "
        return ""


def _even(limit: int) -> int:
    """A limit rounded down by at most an eighth, so that formats with slightly different overhead
    get the same clip.
    """
    return limit - limit % (1 << min(6, max(0, limit.bit_length() - 4))) if limit > 0 else limit
