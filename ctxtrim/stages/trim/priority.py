"""The order in which exchanges get tokens of the budget, most important first.

::

    priority    recent turns and the first tokens of results worth keeping, then older turns and
                more of those results, then demonstrations and what the client adds without an
                answer; within each group by need per token
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

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from ctxtrim.conversation.tool_results import ToolResult
from ctxtrim.stages.trim.levels import Increment, increments
from ctxtrim.stages.trim.message_units import Unit, first_units, place_in_turn
from ctxtrim.stages.trim.situation import Situation

# need of an exchange relative to the newest: (1 + age / 5) ** -0.7; age in exchanges
_FADE, _SLOWNESS = 5, 0.7
_LONG, _GROWTH = 1000, 0.6  # need grows with this power of the length above a thousand tokens
_OWN = 0.5  # for a token that the assistant wrote
_FILES = 1.5  # for reads and edits of files
# for results that 0, 1, 2 to 3, or more later calls took an argument from
_USES = (1, 1.6, 2.2, 2.8)
_WORTH_KEEPING = 1.5  # for errors, quotations, files in use, ...
_EVENT = 40  # tokens: the need for the fact that an exchange happened, at any level
_CHANGES = frozenset(("edit", "write", "delete"))


class Allocation(Struct, frozen=True, gc=False):
    """Spend tokens on a unit: its results may have `level` tokens each, None for no limit.

    `or_less`: if there is no room for that, they may have fewer.
    """

    unit: Unit
    level: int | None = None
    or_less: bool = False


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
        # before a long tool loop, the answer would be no part of a contiguous tail
        with_answer = not self.strategy.is_contiguous
        return tuple(first_units(self.situation, with_answer=with_answer))

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
    """An allocation and its place in the order: smaller values first, newer exchanges first.

    `is_last`: of a demonstration, or of what the client adds without an answer.
    """

    is_last: bool
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
    for age, unit in enumerate(reversed(_units(situation))):
        exchange = unit.exchange
        is_unanswered = situation.is_unanswered(unit.positions)
        is_last = is_unanswered or situation.messages[exchange].is_demo
        is_recent = situation.is_recent[exchange]
        is_old = not (is_recent or exchange in situation.worth_keeping)
        fade = (1 + age / _FADE) ** -_SLOWNESS
        for order, (density, level) in enumerate(_increments(situation, unit)):
            need = -density * fade
            ranked.append(_Ranked(is_last, is_old, need, -exchange, order, Allocation(unit, level)))
            is_old = not is_recent  # what lengthens an older result waits for other exchanges
    ranked = _with_edits(situation, ranked)
    ranked.sort()  # no two entries have the same exchange and order
    return [entry.allocation for entry in ranked]


def _with_edits(situation: Situation, ranked: list[_Ranked]) -> list[_Ranked]:
    """The entries, with first levels of edits ranked no lower than older reads of their files.

    A long edit without room gets a lower level, before an outdated read gets the room.
    """
    if _CHANGES.isdisjoint(situation.tool_kinds.values()):
        return ranked  # as in most conversations; the accesses take longer
    shown: dict[int, _Rank] = {}  # by exchange, its first rank with content
    for entry in ranked:
        if entry.allocation.level != 0:
            shown.setdefault(entry.allocation.unit.exchange, entry.rank)
    reads: dict[str, _Rank] = {}
    edits: dict[int, _Rank] = {}
    for access in situation.evidence.accesses:
        exchange, path = situation.shape.exchange[access.position], access.path
        if access.is_read and exchange in shown:
            reads[path] = min(shown[exchange], reads.get(path, shown[exchange]))
        elif access.kind != "read" and path in reads:
            edits[exchange] = min(reads[path], edits.get(exchange, reads[path]))
    raised = []
    for entry in ranked:
        rank = edits.get(entry.allocation.unit.exchange)
        if entry.order == 0 and rank is not None:
            is_last, is_old, need = min(rank, entry.rank)
            allocation = replace(entry.allocation, or_less=True)
            entry = entry._replace(is_last=is_last, is_old=is_old, need=need, allocation=allocation)
        raised.append(entry)
    return raised


def _increments(situation: Situation, unit: Unit) -> list[Increment]:
    """The levels of a unit worth taking, each with its additional need per token, in falling
    order.
    """
    costs, results = situation.costs, situation.results
    rest, need = _prompt_share(situation, unit.exchange), float(_EVENT)
    needs: list[tuple[int, float]] = []  # the cost of each result and the need for it
    for position in unit.positions:
        if position in results:
            needs.append((costs[position], _need_of_result(situation, results[position])))
        else:
            rest += costs[position]
            need += _need_of_text(situation, position)
    return increments(rest, need, needs)


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
    if situation.tool_kinds[result.position] in ("read", "edit"):
        need *= _FILES
    return need * _WORTH_KEEPING if kept.reason is not None and not kept.is_used else need


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
    return [Allocation(unit) for unit in reversed(_units(situation))]


def _middle(situation: Situation) -> list[Allocation]:
    units = _units(situation)
    middle = (len(units) - 1) / 2
    order = sorted(range(len(units)), key=lambda number: (-abs(number - middle), -number))
    return [Allocation(units[number]) for number in order]


def _age(situation: Situation) -> list[Allocation]:
    whole = _oldest(situation)
    return [*(replace(allocation, level=0) for allocation in whole), *whole]


def _units(situation: Situation) -> list[Unit]:
    """All exchanges, and the prompts of turns without exchanges, in order."""
    positions = dict(situation.exchanges)  # by the first message
    for turn, prompts in situation.prompts.items():
        plain = tuple(position for position in prompts if position not in situation.special)
        if plain and turn not in situation.exchanges_of_turn:
            positions[plain[0]] = plain
    return [
        Unit(own, turn=situation.turns[first], exchange=first)
        for first, own in sorted(positions.items())
    ]


_OLDEST_FIRST = partial(place_in_turn, "oldest first: exchange")
_MIDDLE_FIRST = partial(place_in_turn, "middle first: exchange")
STRATEGIES: dict[str, Strategy] = {
    "priority": Strategy(_by_priority, _reason),
    "oldest": Strategy(_oldest, _OLDEST_FIRST, is_contiguous=True),
    "middle": Strategy(_middle, _MIDDLE_FIRST),
    "age": Strategy(_age, _OLDEST_FIRST),
}
