"""The levels at which an exchange may be kept: how long its results may be, and how much of the
need for the exchange each level meets for its tokens.
"""

from bisect import bisect_left
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

LEVELS = (0, 64, 150, 300, 600, 1200, 2500, None)
"""Maximum tokens of the results of an exchange, tried in this order; None for no limit."""

_LIMITS = [level for level in LEVELS if level is not None]

_PART = 0.85  # need met by a clip: its share of the tokens to this power
_PLACEHOLDER = 16  # approximate tokens of a replaced result

_Level = tuple[int | None, float, float]
"""A level of an exchange, its cost in tokens and the need that it meets."""

Increment = tuple[float, int | None]
"""The additional need for each additional token that a level meets, and the level."""


def increments(rest: float, need: float, results: Sequence[tuple[int, float]]) -> list[Increment]:
    """The levels of an exchange worth taking, in falling order of need for a token.

    `rest` are the tokens of the exchange without its results, `need` is the need for them.
    `results`: the cost of each result in tokens, and the need for it.
    """
    if not results:
        return [(need / max(1, rest), None)]
    if len(results) == 1:  # as in most exchanges
        return _of_result(rest, need, *results[0])
    return _hull(_levels(rest, need, results))


def _of_result(rest: float, need: float, cost: int, full: float) -> list[Increment]:
    """The increments of an exchange with one result, as `_hull` finds them.

    The need that a clip meets grows slower than its length, so only the first levels may have to
    be taken together.
    """
    steps = _steps(cost)
    first = steps[0]
    if not full:  # repeated later
        return [(need / max(1, rest + first.kept), first.level), (0.0, None)]
    for step in steps:
        density = (need + full * step.part) / max(1, rest + step.kept)
        if not step.later or density > full * step.later[0][0]:
            break
    return [(density, step.level)] + [(full * gain, level) for gain, level in step.later]


class _Step(NamedTuple):
    """A level of one result: the tokens of the clip, and the fraction of the need that it meets.

    `later`: the levels after it, each with what it adds to that fraction per additional token.
    """

    level: int | None
    kept: int
    part: float
    later: list[Increment]


@lru_cache(maxsize=4096)
def _steps(cost: int) -> list[_Step]:
    """The levels of one result."""
    limits = _LIMITS[: bisect_left(_LIMITS, cost)]
    clips = zip(limits, _clips(cost), strict=False)
    levels = [*((limit, kept, part) for limit, (kept, part) in clips), (None, cost, 1.0)]
    gains = [
        ((part - part_before) / max(1, kept - kept_before), level)
        for (_, kept_before, part_before), (level, kept, part) in pairwise(levels)
    ]
    return [_Step(*level, gains[number:]) for number, level in enumerate(levels)]


def _hull(levels: Sequence[_Level]) -> list[Increment]:
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
    return [(density, level) for density, (level, _, _) in zip(densities, hull[1:], strict=True)]


def _density(level: _Level, before: _Level) -> float:
    """The additional need met per additional token, compared to a smaller level."""
    (_, cost, need), (_, cost_before, need_before) = level, before
    tokens = cost - cost_before
    return (need - need_before) / (tokens if tokens > 1 else 1)


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
