"""The totals of a report."""

import pytest
from builders import conversation, user
from harness import run
from msgspec.structs import replace

from ctxtrim.reports.model import Report
from ctxtrim.tokens import Exactness


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
        assert report.exactness_read == both
