"""The order in which exchanges get tokens of the budget, most important first.

::

    priority    recent turns and results worth keeping, then older turns, then demonstrations;
                within each group by need per token
    oldest      the newest exchange first, until one does not fit
    middle      the exchanges at both ends first
    age         all exchanges without their results, newest first; then the results, newest first

`priority` weighs the cost of a step against the likelihood that it is needed again. The weights
were fitted on recorded sessions (`benchmarks/kept.py`): need falls with age, grows slower than
length above a thousand tokens, is half as large for text of the assistant, and larger for files and
for results that later calls used. That an exchange happened is worth some tokens, so the first ones
of an exchange count more than the rest. An edit ranks no lower than an older read of its file,
because a read without the edits after it shows a file that no longer exists
(`benchmarks/edits.py`).
"""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from typing import NamedTuple

from ctxtrim.conversation.tool_results import ToolResult
from ctxtrim.evidence import kind_of_tool
from ctxtrim.evidence.tool_kinds import ToolKind
from ctxtrim.stages.trim.situation import Situation, Unit, first_units, place_in_turn

LEVELS = (0, 64, 150, 300, 600, 1200, 2500, None)
"""Maximum tokens of the results of an exchange, tried in this order; None for no limit."""

_LIMITS = [level for level in LEVELS if level is not None]

# need of an exchange relative to the newest: (1 + age / 5) ** -0.7; age in exchanges
_FADE, _SLOWNESS = 5, 0.7
_LONG, _GROWTH = 1000, 0.6  # need grows with this power of the length above a thousand tokens
_PART = 0.85  # need met by a clip: its share of the tokens to this power
_OWN = 0.5  # for a token that the assistant wrote
_FILES = 1.5  # for reads and edits of files
# for results that 0, 1, 2 to 3, or more later calls took an argument from
_USES = (1, 1.6, 2.2, 2.8)
_WORTH_KEEPING = 1.5  # for errors, quotations, files in use, ...
_EVENT = 40  # tokens: the need for the fact that an exchange happened, at any level
_CHANGES = ("edit", "write", "delete")
_PLACEHOLDER = 16  # approximate tokens of a replaced result


class Allocation(NamedTuple):
    """Spend tokens on a unit: its results may have `level` tokens each, None for no limit."""

    unit: Unit
    level: int | None = None


@dataclass(frozen=True)
class Strategy:
    """How a budget is filled: allocations in order.

    `reason` is that of an exchange, by its first message. `is_contiguous`: stop at the first that
    does not fit.
    """

    allocations: Callable[[Situation], list[Allocation]]
    reason: Callable[[Situation, int], str]
    is_contiguous: bool = False


@dataclass(frozen=True)
class Ranking:
    """The units of a transcript in the order of a strategy, found when they are first needed."""

    situation: Situation
    strategy: Strategy

    @cached_property
    def first(self) -> tuple[Unit, ...]:
        """The units that are kept before all others."""
        return tuple(first_units(self.situation))

    @cached_property
    def allocations(self) -> list[Allocation]:
        """How the rest of the budget is filled."""
        return self.strategy.allocations(self.situation)

    @cached_property
    def units(self) -> tuple[Unit, ...]:
        """All units that may be kept, each once, most important first."""
        units = {}
        for allocation in self.allocations:  # a unit has several
            units[id(allocation.unit)] = allocation.unit
        return tuple(dict.fromkeys((*self.first, *units.values())))

    def reason(self, unit: Unit) -> str:
        """Why a unit has its place in the order."""
        return unit.reason or self.strategy.reason(self.situation, unit.exchange)


_Rank = tuple[bool, bool, float]
"""The place of an allocation in the order, except for its exchange: smaller values first."""


class _Ranked(NamedTuple):
    """An allocation and its place in the order: smaller values first, newer exchanges first."""

    is_demo: bool
    is_old: bool
    need: float  # per token, negative
    newness: int
    order: int
    allocation: Allocation

    @property
    def rank(self) -> _Rank:
        """The place in the order, except for the exchange."""
        return self[:3]


def _by_priority(situation: Situation) -> list[Allocation]:
    ranked: list[_Ranked] = []
    for age, (exchange, positions) in enumerate(reversed(_units(situation).items())):
        is_demo = situation.messages[exchange].is_demo
        is_old = not (exchange in situation.worth_keeping or situation.is_recent[exchange])
        unit = Unit(positions, turn=situation.turns[exchange], exchange=exchange)
        fade = (1 + age / _FADE) ** -_SLOWNESS
        for order, (density, level) in enumerate(_increments(situation, exchange, positions)):
            need = -density * fade
            ranked.append(_Ranked(is_demo, is_old, need, -exchange, order, Allocation(unit, level)))
    ranked = _with_edits(situation, ranked)
    ranked.sort()  # no two entries have the same exchange and order
    return [entry.allocation for entry in ranked]


def _with_edits(situation: Situation, ranked: list[_Ranked]) -> list[_Ranked]:
    """The entries, with first levels of edits ranked no lower than older reads of their files."""
    if not any(_kind(result) in _CHANGES for result in situation.results.values()):
        return ranked  # as in most conversations; the accesses take longer
    shown: dict[int, _Rank] = {}  # by exchange, its first rank with content
    for entry in ranked:
        if entry.allocation.level != 0:
            shown.setdefault(entry.allocation.unit.exchange, entry.rank)
    reads: dict[str, _Rank] = {}
    edits: dict[int, _Rank] = {}
    for access in situation.accesses:
        exchange, path = situation.shape.exchange[access.position], access.path
        if access.is_read and exchange in shown:
            reads[path] = min(shown[exchange], reads.get(path, shown[exchange]))
        elif access.kind != "read" and path in reads:
            edits[exchange] = min(reads[path], edits.get(exchange, reads[path]))
    raised = []
    for entry in ranked:
        rank = edits.get(entry.allocation.unit.exchange)
        if entry.order == 0 and rank is not None:
            is_demo, is_old, need = min(rank, entry.rank)
            entry = entry._replace(is_demo=is_demo, is_old=is_old, need=need)
        raised.append(entry)
    return raised


_Level = tuple[int | None, float, float]
"""A level of an exchange, its cost in tokens and the need that it meets."""


def _increments(
    situation: Situation, exchange: int, positions: Sequence[int]
) -> list[tuple[float, int | None]]:
    """The levels of an exchange worth taking, each with its additional need per token, in falling
    order.
    """
    costs, results = situation.costs, situation.results
    rest, need = _prompt_share(situation, exchange), float(_EVENT)
    needs: list[tuple[int, float]] = []  # the cost of each result and the need for it
    for position in positions:
        if position in results:
            needs.append((costs[position], _need_of_result(situation, results[position])))
        else:
            rest += costs[position]
            need += _need_of_text(situation, position)
    if not needs:
        return [(need / max(1, rest), None)]
    if len(needs) == 1:  # as in most exchanges
        return _of_result(rest, need, *needs[0])
    return _hull(_levels(rest, need, needs))


def _of_result(rest: float, need: float, cost: int, full: float) -> list[tuple[float, int | None]]:
    """The increments of an exchange with one result, as `_hull` finds them.

    The need that a clip meets grows slower than its length, so only the first levels may have to
    be taken together.
    """
    steps = _steps(cost)
    if not full:  # repeated later
        return [(need / max(1, rest + steps[0][1]), steps[0][0]), (0.0, None)]
    for number, (level, kept, part, _) in enumerate(steps):
        density = (need + full * part) / max(1, rest + kept)
        later = steps[number + 1 :]
        if not later or density > full * later[0][3]:
            return [(density, level), *((full * gain, level) for level, _, _, gain in later)]
    raise AssertionError("no level")


@lru_cache(maxsize=4096)
def _steps(cost: int) -> list[tuple[int | None, int, float, float]]:
    """The levels of one result: each with the tokens of the clip, the fraction of the need that it
    meets, and what it adds to that for each token more than the level before.
    """
    limits = _LIMITS[: bisect_left(_LIMITS, cost)]
    levels = [(limit, *clip) for limit, clip in zip(limits, _clips(cost), strict=False)]
    steps: list[tuple[int | None, int, float, float]] = []
    kept_before, part_before = 0, 0.0
    for level, kept, part in (*levels, (None, cost, 1.0)):
        gain = (part - part_before) / max(1, kept - kept_before)
        steps.append((level, kept, part, gain))
        kept_before, part_before = kept, part
    return steps


def _hull(levels: Sequence[_Level]) -> list[tuple[float, int | None]]:
    """The levels on the upper hull, each with its additional need per token."""
    hull: list[_Level] = [(None, 0, 0)]
    densities: list[float] = []  # of each level of the hull, compared to the one before it
    for level in levels:
        density = _density(level, hull[-1])
        while densities and density >= densities[-1]:
            hull.pop()
            densities.pop()
            density = _density(level, hull[-1])
        hull.append(level)
        densities.append(density)
    return [(density, level[0]) for density, level in zip(densities, hull[1:], strict=True)]


def _density(level: _Level, before: _Level) -> float:
    """The additional need met per additional token, compared to a smaller level."""
    tokens = level[1] - before[1]
    return (level[2] - before[2]) / (tokens if tokens > 1 else 1)


def _levels(rest: float, need: float, needs: Sequence[tuple[int, float]]) -> list[_Level]:
    """The levels of an exchange with several results, each with its cost and the need for it."""
    limits = _LIMITS[: bisect_left(_LIMITS, max([cost for cost, _ in needs]))]
    clips = [(_clips(cost), full) for cost, full in needs]
    levels: list[_Level] = []
    for number, limit in enumerate(limits):
        tokens = sum([clip[number][0] for clip, _ in clips])
        met = sum([full * clip[number][1] for clip, full in clips])
        levels.append((limit, rest + tokens, need + met))
    whole = sum([cost for cost, _ in needs])
    levels.append((None, rest + whole, need + sum([full for _, full in needs])))
    return levels


@lru_cache(maxsize=4096)
def _clips(cost: int) -> list[tuple[int, float]]:
    """By level, the tokens of a clip of a result, and the fraction of the need that it meets."""
    kept = [min(cost, max(level, _PLACEHOLDER)) for level in _LIMITS]
    return [(tokens, _part(tokens, cost)) for tokens in kept]


def _part(kept: int, cost: int) -> float:
    """The fraction of the need for a result that a clip meets."""
    if kept >= cost:
        return 1.0
    return float((max(0, kept - _PLACEHOLDER) / max(1, cost - _PLACEHOLDER)) ** _PART)


def _need_of_text(situation: Situation, position: int) -> float:
    own = _OWN if situation.messages[position].role == "assistant" else 1.0
    return own * _length(situation.costs[position])


def _need_of_result(situation: Situation, result: ToolResult) -> float:
    """The need for a result; 0 if it is repeated later."""
    if result.position in situation.stale:
        return 0
    kept = situation.keep_reasons[result.position]
    need = (
        _length(situation.costs[result.position])
        * _USES[min(len(_USES) - 1, kept.uses.bit_length())]
    )
    if _kind(result) in ("read", "edit"):
        need *= _FILES
    return need * _WORTH_KEEPING if kept.reason is not None and not kept.is_used else need


def _kind(result: ToolResult) -> ToolKind:
    return kind_of_tool(result.tool, result.call.text if result.call else "")


def _length(tokens: int) -> float:
    return tokens if tokens <= _LONG else _LONG * float((tokens / _LONG) ** _GROWTH)


def _prompt_share(situation: Situation, exchange: int) -> float:
    """The share of the prompts of its turn that an exchange pays for."""
    turn = situation.turns[exchange]
    exchanges = situation.exchanges_of_turn.get(turn, ())
    return situation.prompt_costs.get(turn, 0) / len(exchanges) if exchanges else 0


def _reason(situation: Situation, exchange: int) -> str:
    """The exchange by turn and step, and what determines its place in the order.

    Recent is what the settings keep-recent-… say. That can be many steps ago.
    """
    place = place_in_turn("exchange", situation, exchange)
    if situation.messages[exchange].is_demo:
        return f"demonstration: {place}"
    if exchange in situation.worth_keeping:
        return f"worth keeping ({situation.worth_keeping[exchange]}): {place}"
    return f"{place} (keep-recent)" if situation.is_recent[exchange] else place


def _oldest(situation: Situation) -> list[Allocation]:
    units = _units(situation)
    return [_whole(situation, exchange, units[exchange]) for exchange in reversed(units)]


def _middle(situation: Situation) -> list[Allocation]:
    units = _units(situation)
    exchanges, middle = list(units), (len(units) - 1) / 2
    order = sorted(range(len(exchanges)), key=lambda position: (-abs(position - middle), -position))
    return [
        _whole(situation, exchanges[position], units[exchanges[position]]) for position in order
    ]


def _age(situation: Situation) -> list[Allocation]:
    whole = _oldest(situation)
    return [*(allocation._replace(level=0) for allocation in whole), *whole]


def _units(situation: Situation) -> dict[int, tuple[int, ...]]:
    """All exchanges, and the prompts of turns without exchanges, by their first message and in
    order.
    """
    units = dict(situation.exchanges)
    for turn, prompts in situation.prompts.items():
        plain = tuple(position for position in prompts if position not in situation.special)
        if plain and turn not in situation.exchanges_of_turn:
            units[plain[0]] = plain
    return dict(sorted(units.items()))


def _whole(situation: Situation, exchange: int, positions: tuple[int, ...]) -> Allocation:
    return Allocation(Unit(positions, turn=situation.turns[exchange], exchange=exchange))


_OLDEST_FIRST = partial(place_in_turn, "oldest first: exchange")
_MIDDLE_FIRST = partial(place_in_turn, "middle first: exchange")
_PRIORITY = Strategy(_by_priority, _reason)
STRATEGIES: dict[str, Strategy] = {
    "priority": _PRIORITY,
    "priority-based": _PRIORITY,
    "oldest": Strategy(_oldest, _OLDEST_FIRST, is_contiguous=True),
    "middle": Strategy(_middle, _MIDDLE_FIRST),
    "age": Strategy(_age, _OLDEST_FIRST),
}
