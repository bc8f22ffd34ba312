"""Fill a budget with the units of a transcript, the most needed first.

1. Protected messages and, step by step, what the strategy asks for, as long as it fits. Clips are only planned.
2. Each planned clip is made, once.
3. Units that did not fit return with clipped results, where their smallest form fits.
4. Shortened messages get longer while there is room.

So the result is maximal: no unit is dropped whose smallest form fits. Messages are measured once, and a unit that has
no room is passed over without making a clip, so that the work grows with the number of messages.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ctxtrim.conversation.alternation import set_apart
from ctxtrim.stage import Dropped
from ctxtrim.stages.trim.forms import Form, Forms
from ctxtrim.stages.trim.priority import Step, Strategy
from ctxtrim.stages.trim.situation import Situation, Unit, firsts

_FIRST_SHARE = 8  # a result of a unit that comes before all others may take this part of the budget at first
_GAIN = 16  # tokens by which a clip has to grow to be made anew


@dataclass
class Fit:
    """What is kept of a transcript so far: by position its form, or the tokens planned for it, and the tokens in all.

    `most` are the tokens that the request may have, `fixed` those that it has without messages. `units`: all that may
    be kept, the most needed first; of these only `candidates` may return.
    """

    situation: Situation
    forms: Forms
    fixed: int
    most: int
    kept: dict[int, Form] = field(default_factory=dict)
    units: Sequence[Unit] = ()
    candidates: Sequence[Unit] = ()
    tokens: int = 0
    _planned: dict[int, int] = field(default_factory=dict)
    _turns: set[int | None] = field(default_factory=set)  # whose prompts are kept

    def __post_init__(self) -> None:
        """Keep what is protected."""
        self.tokens = self.fixed
        for position in self.situation.protected:
            self._put(position, self.forms.full(position))

    @property
    def room(self) -> int:
        """The tokens that are left; negative where the protected messages alone have too many."""
        return self.most - self.tokens

    def fill(self, strategy: Strategy) -> "Fit":
        """Keep what fits, and return itself."""
        first = list(firsts(self.situation))
        steps = strategy.steps(self.situation)
        self.units = self.candidates = tuple(dict.fromkeys((*first, *(step.unit for step in steps))))
        if self.room < 0:
            return self
        for unit in first:
            self._plan(Step(unit, self.most // _FIRST_SHARE))
        for step in steps:
            if not self._plan(step) and strategy.is_contiguous:
                break
        for position, tokens in self._planned.items():
            self.tokens -= tokens
            self._put(position, self.forms.within(position, tokens))
        if strategy.is_contiguous:  # newer messages are read in full before older ones return
            self._widen()
        for number, unit in enumerate(self.units):
            if not self._squeeze(unit) and strategy.is_contiguous and unit not in first:
                self.candidates = self.units[: number + 1]
                break
        self._widen()
        lost = self._set_apart()
        if lost:  # their tokens are free again
            for unit in self.candidates:
                if lost.isdisjoint(unit.positions):
                    self._squeeze(unit)
            self._set_apart()
        return self

    def smallest_dropped(self) -> Dropped | None:
        """The dropped unit that needs the fewest tokens, in its smallest form and with its prompts."""
        found: Dropped | None = None
        for unit in self.candidates:
            missing = self._missing(unit)
            if missing and (found is None or self._floor(missing) < found.tokens):
                tokens = sum(self.forms.least(at).tokens for at in missing)
                if found is None or tokens < found.tokens:
                    found = Dropped(self.situation.messages[unit.positions[0]].index, tokens)
        return found

    def reasons(self) -> dict[int, str]:
        """The rank of each message, which drops it or keeps it, by position."""
        prompts = self.situation.prompts
        turns = {unit.turn: unit.reason for unit in reversed(self.units) if unit.turn is not None}
        found = {at: reason for turn, reason in turns.items() for at in prompts.get(turn, ())}
        return found | {at: unit.reason for unit in reversed(self.units) for at in unit.positions}

    def company(self) -> set[int]:
        """The answers that are kept with a prompt only because roles alternate, by position."""
        answers = ("assistant", "tool")
        return {
            position
            for unit in self.units
            if unit.turn is None
            for position in unit.positions
            if self.situation.messages[position].role in answers
        }

    def _put(self, position: int, form: Form) -> None:
        before = self.kept.get(position)
        self.tokens += form.tokens - (before.tokens if before else 0)
        self.kept[position] = form

    def _prompts(self, unit: Unit) -> tuple[int, ...]:
        return () if unit.turn is None or unit.turn in self._turns else self.situation.prompts.get(unit.turn, ())

    def _missing(self, unit: Unit) -> list[int]:
        """The messages that have to be put so that a unit is kept."""
        return [at for at in dict.fromkeys((*self._prompts(unit), *unit.positions)) if at not in self.kept]

    def _floor(self, positions: Iterable[int]) -> int:
        """Tokens that some messages have at least, found without making any shorter form."""
        return sum(self.situation.costs[at] for at in positions if not self.forms.may_shrink(at))

    def _plan(self, step: Step) -> bool:
        """Plan a unit with results of at most so many tokens, where it fits; more than was planned before."""
        planned = self._planned
        wanted = self._missing(step.unit)
        new = [at for at in wanted if at not in planned]
        if not new and (self.room <= 0 or not any(self.forms.may_shrink(at) for at in wanted)):
            return not new
        if self._floor(new) > self.room:
            return False
        tokens = {at: self._tokens_at(at, step.level) for at in wanted}
        added = sum(max(0, tokens[at] - planned.get(at, 0)) for at in wanted)
        if added > self.room:
            return False
        for at in wanted:
            planned[at] = max(tokens[at], planned.get(at, 0))
        self.tokens += added
        self._turns.add(step.unit.turn)
        return True

    def _tokens_at(self, position: int, level: int | None) -> int:
        """The most tokens that a message has at a level; without one it is as it was read."""
        if level is None:
            return self.situation.costs[position]
        lean = self.forms.lean(position).tokens
        if lean <= level or not self.forms.is_clippable(position):
            return lean
        return max(level, self.forms.least(position).tokens)

    def _squeeze(self, unit: Unit) -> bool:
        """Keep a unit with results that are clipped to one length, where there is room for the smallest."""
        missing = self._missing(unit)
        if self._floor(missing) > self.room:
            return not missing
        least = {at: self.forms.least(at).tokens for at in missing}
        if sum(least.values()) > self.room:
            return not missing
        lean = {at: self.forms.lean(at).tokens for at in missing}
        low, high = 0, self.room
        while low < high:  # the largest length at which they fit
            length = (low + high + 1) // 2
            if sum(max(least[at], min(lean[at], length)) for at in missing) <= self.room:
                low = length
            else:
                high = length - 1
        for at in missing:
            self._put(at, self.forms.within(at, max(least[at], min(lean[at], low))))
        self._turns.add(unit.turn)
        return True

    def _widen(self) -> None:
        """Give the room that is left to messages that were shortened; to those that were repeated later at the end."""
        short = [at for unit in self.candidates for at in reversed(unit.positions)]
        short = [at for at in dict.fromkeys((*short, *self.kept)) if at in self.kept and self.kept[at].action != "kept"]
        for at in sorted(short, key=lambda at: at in self.situation.stale):
            tokens = self.kept[at].tokens
            form = self.forms.full(at)
            if form.tokens - tokens > self.room and self.room >= _GAIN:
                form = self.forms.within(at, tokens + self.room)
            if tokens < form.tokens <= tokens + self.room:
                self._put(at, form)

    def _set_apart(self) -> set[int]:
        """Let no two prompts stand side by side where roles alternate, and return the messages dropped for it."""
        situation = self.situation
        if not situation.is_alternating:
            return set()
        dropped = {at for at in range(len(situation.messages)) if at not in self.kept}
        costs = [self.kept[at].tokens if at in self.kept else cost for at, cost in enumerate(situation.costs)]
        set_apart(situation.messages, situation.shape, costs, self.room, dropped, situation.protected)
        lost = dropped & self.kept.keys()
        self._turns.difference_update(situation.turns[at] for at in lost)
        for at in range(len(situation.messages)):
            if at in lost:
                self.tokens -= self.kept.pop(at).tokens
            elif at not in dropped and at not in self.kept:
                self._put(at, self.forms.full(at))
        return lost
