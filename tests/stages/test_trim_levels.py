"""The levels at which an exchange may be kept: those of one result follow from its cost, those of
several are compared with each other.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxtrim.stages.trim.levels import LEVELS, increments

tokens = st.integers(1, 6000)


@given(st.integers(0, 500), st.integers(40, 2000), tokens, st.floats(0.5, 6000) | st.just(0.0))
def test_the_levels_of_one_result_are_those_of_it_with_an_empty_one(
    rest: int, need: int, cost: int, full: float
) -> None:
    one = increments(rest, need, [(cost, full)])
    two = increments(rest, need, [(cost, full), (0, 0.0)])
    assert [level for _, level in one] == [level for _, level in two]
    assert [density for density, _ in one] == pytest.approx([density for density, _ in two])


@given(st.lists(st.tuples(tokens, st.floats(0.5, 6000)), max_size=4))
def test_each_level_is_longer_and_meets_less_need_for_a_token(
    results: list[tuple[int, float]],
) -> None:
    found = increments(20, 100, results)
    places = [LEVELS.index(level) for _, level in found]
    assert places == sorted(places)
    assert places[-1] == len(LEVELS) - 1
    densities = [density for density, _ in found]
    assert densities == sorted(densities, reverse=True)
