"""Positions in a JSON string as written, and in its value."""

import pytest

from ctxtrim.text.json_spans import Leaf


@pytest.mark.parametrize(
    ("spelling", "meant"),
    [
        ("abc", [0, 1, 2, 3]),
        (r"a\nb", [0, 1, 1, 2, 3]),
        (r"\u00e9x", [0, 0, 0, 0, 0, 0, 1, 2]),
        (r"\"\\", [0, 0, 1, 1, 2]),
    ],
)
def test_a_position_inside_an_escape_is_the_start_of_the_escape(
    spelling: str, meant: list[int]
) -> None:
    leaf = Leaf(spelling)
    assert [leaf.meant(position) for position in range(len(spelling) + 1)] == meant
    assert all(leaf.meant(leaf.spelled(position)) == position for position in meant)
