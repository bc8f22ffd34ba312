"""Fill a budget with the units of a transcript, most important first.

1. Keep protected messages; those that may be shortened get more tokens by their rank. Plan units in
   the order of the strategy while they fit. Clips are only planned.
2. Make each planned clip, once.
3. Restore units that did not fit with clipped results if their smallest form fits.
4. Lengthen shortened messages while there is room.

The result is maximal: no unit is dropped if its smallest form fits. Messages are measured once. A
unit without room is skipped without making a clip, so the work grows linearly with the number of
messages.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain

from ctxtrim.model import Message
from ctxtrim.stage import Dropped
from ctxtrim.stages.trim.forms import Form, Forms
from ctxtrim.stages.trim.levels import LEVELS
from ctxtrim.stages.trim.message_units import Unit
from ctxtrim.stages.trim.priority import Allocation, Ranking
from ctxtrim.stages.trim.situation import Situation

# a result of a most important unit gets at most this fraction of the budget at first, and so does
# an answer that is one only if it is short
_FIRST_SHARE = 8
_GAIN = 16  # minimum tokens to gain by making a clip again


@dataclass
class Fit:
    """The messages kept so far: by position their form or planned tokens, and the total tokens.

    `limit` is the budget of the request, `fixed` its cost without messages. Only `candidates` of
    the units may be restored. Those in `misplaced` would break the order of roles.
    """

    ranking: Ranking
    forms: Forms
    fixed: int
    limit: int
    kept: dict[int, Form] = field(default_factory=dict)
    candidates: Sequence[Unit] = ()
    tokens: int = 0
    misplaced: set[int] = field(default_factory=set)
    _planned: dict[int, int] = field(default_factory=dict)
    _turns: set[int | None] = field(default_factory=set)  # whose prompts are kept

    def __post_init__(self) -> None:
        """Keep the protected messages, in their smallest form if they may be shortened."""
        self.tokens = self.fixed
        for position in self.situation.protected:
            is_fixed = self.situation.is_fixed(position)
            form = self.forms.full if is_fixed else self.forms.least
            self._put(position, form(position))

    @property
    def situation(self) -> Situation:
        """The facts about the transcript."""
        return self.ranking.situation

    @property
    def room(self) -> int:
        """The tokens left; negative if the protected messages alone exceed the budget."""
        return self.limit - self.tokens

    @cached_property
    def messages(self) -> tuple[Message, ...]:
        """The kept messages in order; read it after `fill` only."""
        positions = sorted(self.kept.keys() - self.situation.emptied)
        return tuple(self.kept[position].message for position in positions)

    def fill(self) -> None:
        """Keep as many units as fit."""
        if self.room < 0:
            return
        is_contiguous = self.ranking.strategy.is_contiguous
        self.forms.set_only_copies(set())
        self.candidates = self.ranking.units
        for position in sorted(self.situation.shrinkable):
            self._planned[position] = self.kept.pop(position).tokens
        most = self.limit // _FIRST_SHARE
        for unit in self.ranking.first:
            if not unit.must_be_short or self._cost(unit) <= most:
                self._plan(Allocation(unit, most))
        for allocation in self.ranking.allocations:
            is_planned = not self._is_too_large(allocation.unit) and self._plan(allocation)
            if allocation.or_less and not is_planned:
                self._plan_less(allocation)
            if is_contiguous and not is_planned:
                break
        for position, tokens in self._planned.items():
            self.tokens -= tokens
            self._put(position, self.forms.within(position, tokens))
        self._replace_dangling_pointers()
        self._use_room()

    def minimal(self, limit: int) -> "Fit":
        """A fit within another limit, with the protected messages only."""
        return Fit(self.ranking, self.forms, self.fixed, limit)

    def widened(self, limit: int) -> "Fit":
        """The fit with more room: all that is kept, and what fits into a larger limit as well."""
        wider = self.minimal(limit)
        for position, form in self.kept.items():
            wider._put(position, form)
        wider.candidates = self.ranking.units
        wider._turns |= self._turns
        wider._use_room()
        return wider

    def _use_room(self) -> None:
        """Keep units that did not fit, and lengthen shortened messages."""
        is_contiguous = self.ranking.strategy.is_contiguous
        if is_contiguous:  # restore newer messages in full before older ones
            self._widen()
        self._restore(is_contiguous)
        self._widen()
        dropped_prompts = self._separate()
        if dropped_prompts:  # use the tokens that became free
            for unit in self.candidates:
                if dropped_prompts.isdisjoint(unit.positions):
                    self._squeeze(unit)
            self._separate()

    def _replace_dangling_pointers(self) -> None:
        """Give results that point to a dropped one a placeholder, which `_widen` can lengthen."""
        stale = self.situation.stale
        only = {position for position in stale if stale[position].newer not in self.kept}
        self.forms.set_only_copies(only)
        for position in sorted(only & self.kept.keys()):
            form, least = self.kept[position], self.forms.least(position)
            if form.action != "kept" and least.tokens - form.tokens <= self.room:
                self._put(position, least)

    def _restore(self, is_contiguous: bool) -> None:
        """Keep units that did not fit with clipped results.

        If contiguous, stop at the first that does not fit.
        """
        ranking = self.ranking
        for rank, unit in enumerate(ranking.units):
            is_kept = not self._is_too_large(unit) and self._squeeze(unit)
            if is_contiguous and not is_kept and unit not in ranking.first:
                self.candidates = ranking.units[: rank + 1]
                return

    def smallest_dropped(self) -> Dropped | None:
        """The dropped unit that needs the fewest tokens, in its smallest form and with its prompts;
        not one that would break the order of roles.
        """
        smallest: Dropped | None = None
        for unit in self.candidates:
            missing = self._missing(unit)
            if not self.misplaced.isdisjoint(missing):
                continue
            if missing and (smallest is None or self._floor(missing) < smallest.tokens):
                tokens = sum(self.forms.least(position).tokens for position in missing)
                if smallest is None or tokens < smallest.tokens:
                    smallest = Dropped(self.situation.messages[unit.positions[0]].index, tokens)
        return smallest

    def reasons(self) -> dict[int, str]:
        """By position, the rank that a message is kept or dropped for."""
        ranked = [(unit, self.ranking.reason(unit)) for unit in reversed(self.ranking.units)]
        turns = {unit.turn: reason for unit, reason in ranked}
        reasons: dict[int, str] = {}
        for turn, prompts in self.situation.prompts.items():
            if turn in turns:
                reasons.update(dict.fromkeys(prompts, turns[turn]))
        for unit, reason in ranked:
            reasons.update(dict.fromkeys(unit.positions, reason))
        return reasons

    def separators(self) -> set[int]:
        """The positions of answers that are kept only to separate two prompts."""
        messages, answers = self.situation.messages, ("assistant", "tool")
        first = [unit.positions for unit in self.ranking.units if unit.turn is None]
        positions = chain.from_iterable(first)
        return {position for position in positions if messages[position].role in answers}

    def _put(self, position: int, form: Form) -> None:
        before = self.kept.get(position)
        self.tokens += form.tokens - (before.tokens if before else 0)
        self.kept[position] = form

    def _missing(self, unit: Unit) -> list[int]:
        """The positions that must be added to keep a unit: with its prompts, once per turn."""
        positions = unit.positions
        if unit.turn is not None and unit.turn not in self._turns:
            positions = (*self.situation.prompts.get(unit.turn, ()), *positions)
        return [position for position in dict.fromkeys(positions) if position not in self.kept]

    def _cost(self, unit: Unit) -> int:
        """The tokens that a unit needs in full, in addition to those planned."""
        new = (position for position in self._missing(unit) if position not in self._planned)
        return sum(self.situation.costs[position] for position in new)

    def _floor(self, positions: Iterable[int]) -> int:
        """A lower bound of the tokens of some messages, without making any shorter form."""
        return sum(map(self.forms.floors.__getitem__, positions))

    def _is_too_large(self, unit: Unit) -> bool:
        """Whether there is no room for a unit of which nothing is kept or planned.

        Most units of a long transcript are, and this is the fastest way to see it.
        """
        return (
            self.forms.floor(unit.positions) > self.room
            and self._planned.keys().isdisjoint(unit.positions)
            and self.kept.keys().isdisjoint(unit.positions)
        )

    def _plan(self, allocation: Allocation) -> bool:
        """Plan a unit with results of at most `allocation.level` tokens if it fits.

        Return whether the unit is planned.
        """
        planned = self._planned
        missing = self._missing(allocation.unit)
        new = [position for position in missing if position not in planned]
        if not new and (self.room <= 0 or not any(map(self.forms.may_shrink, missing))):
            return True
        if self._floor(new) > self.room:
            return False
        tokens = self._tokens_at(missing, allocation.level)
        if tokens is None:
            return False
        added = self._added(tokens)
        if added > self.room:
            return False
        for position in missing:
            planned[position] = max(tokens[position], planned.get(position, 0))
        self.tokens += added
        self._turns.add(allocation.unit.turn)
        return True

    def _plan_less(self, allocation: Allocation) -> None:
        """Plan a unit at the highest level below that of an allocation at which it fits."""
        if self._is_too_large(allocation.unit):
            return
        level = allocation.level
        for lower in reversed(LEVELS[: LEVELS.index(level)]):
            if self._plan(Allocation(allocation.unit, lower)):
                return

    def _tokens_at(self, positions: Sequence[int], level: int | None) -> dict[int, int] | None:
        """The maximum tokens of some messages at a level, which is None for the messages as read.

        None if they certainly exceed the room; then no smaller form is made.
        """
        if level is None:
            return {position: self.situation.costs[position] for position in positions}
        tokens = {position: self.forms.lean(position).tokens for position in positions}
        clipped = [position for position in positions if tokens[position] > level]
        if not clipped:
            return tokens
        if self._added(tokens | dict.fromkeys(clipped, level)) > self.room:
            return None
        for position in clipped:
            if self.forms.is_clippable(position):
                tokens[position] = max(level, self.forms.least(position).tokens)
        return tokens

    def _added(self, tokens: Mapping[int, int]) -> int:
        """The tokens that some messages need in addition to those planned for them."""
        planned = self._planned
        return sum([max(0, most - planned.get(position, 0)) for position, most in tokens.items()])

    def _squeeze(self, unit: Unit) -> bool:
        """Keep a unit with results clipped to one length, if there is room for its
        smallest form.
        """
        missing = self._missing(unit)
        if not missing:
            self._turns.add(unit.turn)
            return True
        if self._floor(missing) > self.room:
            return False
        least = {position: self.forms.least(position).tokens for position in missing}
        if sum(least.values()) > self.room:
            return False
        lean = {position: self.forms.lean(position).tokens for position in missing}

        def tokens_at(position: int, length: int) -> int:
            return max(least[position], min(lean[position], length))

        low, high = 0, self.room
        while low < high:  # the largest length at which they fit
            length = (low + high + 1) // 2
            if sum(tokens_at(position, length) for position in missing) <= self.room:
                low = length
            else:
                high = length - 1
        for position in missing:
            self._put(position, self.forms.within(position, tokens_at(position, low)))
        self._turns.add(unit.turn)
        return True

    def _widen(self) -> None:
        """Lengthen shortened messages into the free room.

        Results that are repeated later come last.
        """
        kept = self.kept
        ranked = [
            position
            for unit in self.candidates
            for position in reversed(unit.positions)
            if position in kept
        ]
        shortened = [
            position
            for position in dict.fromkeys((*ranked, *kept))
            if kept[position].action != "kept"
        ]
        for position in sorted(shortened, key=self.forms.is_stale):
            tokens = self.kept[position].tokens
            form = self.forms.full(position)
            if form.tokens - tokens > self.room and self.room >= _GAIN:
                form = self.forms.within(position, tokens + self.room)
            if tokens < form.tokens <= tokens + self.room:
                self._put(position, form)

    def _separate(self) -> set[int]:
        """Keep the order of roles; return the positions of messages dropped for it."""
        situation = self.situation
        if situation.roles.is_free:
            return set()
        dropped = set(range(len(situation.messages))) - self.kept.keys()
        costs = list(situation.costs)
        for position, form in self.kept.items():
            costs[position] = form.tokens
        situation.roles.separate(costs, self.room, dropped, situation.protected)
        dropped_prompts = dropped & self.kept.keys()
        self.misplaced |= dropped_prompts
        self._turns.difference_update(situation.turns[position] for position in dropped_prompts)
        for position in dropped_prompts:
            self.tokens -= self.kept.pop(position).tokens
        for position in range(len(situation.messages)):
            if position not in dropped and position not in self.kept:
                self._put(position, self.forms.full(position))
        return dropped_prompts
