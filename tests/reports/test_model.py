"""The totals of a report."""

import pytest
from builders import conversation, user
from bytecodes import bytecodes
from harness import run
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from ctxtrim.findings import Subject
from ctxtrim.reports.report import Overview, Report
from ctxtrim.tokens.tokenizer import Exactness


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        ("exact", "exact", "exact"),
        ("exact", "reconstructed", "reconstructed"),
        ("exact", "bounded", "bounded"),
        ("bounded", "estimated", "estimated"),
        ("reconstructed", "bounded", "estimated"),  # a bound plus a number that may be too low
    ],
)
def test_a_sum_is_as_exact_as_its_worst_addend(
    one: Exactness, other: Exactness, both: Exactness
) -> None:
    (row,) = run(conversation([user("go")])).rows
    for first, second in ((one, other), (other, one)):
        report = Report(())
        report.add(replace(row, exactness_read=exactness) for exactness in (first, second))
        assert report.sums.exactness_read == report.counted.exactness_read == both


@given(st.lists(st.lists(st.lists(st.integers(1, 9), max_size=4), max_size=4)), st.integers(0, 5))
def test_the_largest_messages_of_a_run_are_among_those_of_its_pieces(
    pieces: list[list[list[int]]], most: int
) -> None:
    """Rows that other processes send have only the largest messages of their piece."""
    (row,) = run(conversation([user("go")])).rows
    whole, parts = Overview(), Overview()
    messages = []
    for place, piece in enumerate(pieces):
        sent = Overview()
        for line, sizes in enumerate(piece):
            large = tuple(Subject(0, f"{place}", None, line, n, "exact") for n in sizes)
            messages += [(subject.tokens, line, subject) for subject in large]
            sized = replace(row, line=line, large=large)
            whole.add(sized, most)
            parts.add(replace(sized, large=sent.note_largest(sized, most)), most)
    shown = [
        [
            (tokens, row.line, message)
            for tokens, _, row, message in sorted(found.large, reverse=True)
        ]
        for found in (whole, parts)
    ]
    assert shown[0] == shown[1]
    assert shown[0] == sorted(messages, key=lambda item: -item[0])[:most]


def test_many_largest_messages_take_no_quadratic_time() -> None:
    (row,) = run(conversation([user("go")])).rows

    def work(number: int) -> int:
        sizes = [n * 7919 % number for n in range(number)]
        large = tuple(Subject(0, "user", None, 1, n, "exact") for n in sizes)
        found, kept = Overview(), number * 2 // 3
        done = bytecodes(lambda: found.add(replace(row, large=large), kept))
        shown = [tokens for tokens, *_ in sorted(found.large, reverse=True)]
        assert shown == sorted(sizes, reverse=True)[:kept]
        return done

    assert work(12_000) < 5 * work(3_000)
