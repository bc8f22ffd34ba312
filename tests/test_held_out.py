"""The check of constants on sources that they were not chosen from."""

from held_out import Check, Use, checks, halves, rows, summary


def use(source: str, over: int, times: int = 1) -> Use:
    return Use(source, 100, 100 + over, times)


def test_all_pairs_of_a_source_are_in_one_half() -> None:
    found = [use("a", 1), use("b", 2), use("a", 3), use("c", 4), use("a", 5), use("b", 6)]
    first, second = halves(found)
    assert sorted(pair.source for pair in first) == ["a", "a", "a", "c"]
    assert [pair.source for pair in second] == ["b", "b"]


def test_counts_are_too_low_with_the_value_that_suffices_for_the_other_half() -> None:
    first, second = [use("a", 0), use("a", 2)], [use("b", 3), use("b", 9, times=3)]
    check = Check("openai.call", 10, first, second, (10, 7))
    assert check.shortfalls() == ([3, 1], [])


def test_a_constant_of_few_pairs_is_not_checked_and_one_of_a_single_source_has_no_other_half() -> None:
    found = {("openai", "call"): [use("a", 2)] * 8, ("openai", "forced"): [use("a", 2)] * 7}
    (check,) = checks(found)
    assert (check.name, check.least, check.sources) == ("openai.call", (8,), 1)
    assert len(list(rows([check]))) == 2
    assert "`openai.call`" in summary([check])
