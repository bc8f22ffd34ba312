"""Positions in a JSON string as written, and in its value."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxtrim.text.json_spans import Leaf, members, members_within


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


@pytest.mark.parametrize(
    "text",
    [
        '{"a" : [1, {"b": "x"}] ,\n "é": "ü", "": {"c": []}, "n": [NUMBERS]}',
        '[[NUMBERS] , {"a": "]"},"\\\\\\"",\ttrue ,null, -1.5e3, "é𝒜"]',
        '{"a": [NUMBERS], "b": 1, "a": 2}',
        '{"a": 1, "b": [NUMBERS], "a": "1, \\"b\\": 2"}',
        '{"a": "\\ud800", "b": [NUMBERS]}',
        '{"\\u00e9é": [NUMBERS], "é": "x"}',
        '["x", "y", "ä", "z", [NUMBERS]]',
        "[NaN, [NUMBERS], Infinity]",
        '[1,2, 3,  4 ,5,"a  ", [NUMBERS],6,"  " ]',
        '{"a":1,"b": 2, "c":[NUMBERS],"d":" ,  "}',
        "[ ]",
    ],
)
def test_members_are_found_alike_with_and_without_making_values(text: str) -> None:
    text = text.replace("NUMBERS", ", ".join(map(str, range(2000))))
    for before, after in (("", ""), ("  ", ", 1]")):
        start, end = len(before), len(before) + len(text)
        found = members_within(f"{before}{text}{after}", start, end)
        meant = members(f"{before}{text}{after}", start)
        assert (list(found.spans), found.end) == (list(meant.spans), meant.end)
        assert list(found.keys) == list(meant.keys)
        data = f"{before}{text}{after}".encode()
        latin, last = data.decode("latin-1"), len(data) - len(after)
        found = members_within(latin, start, last, data)
        assert [tuple(data[:place].decode() for place in span) for span in found.spans] == [
            tuple(f"{before}{text}{after}"[:place] for place in span) for span in meant.spans
        ]
        assert list(found.keys) == list(meant.keys)


space = st.sampled_from(["", " ", "  ", "\n "])
element = st.sampled_from(
    ["1", '" "', '"é  "', "[ ]", '{"a": " ,"}', "[1 , 2]", '"' + "x" * 900 + '"']
)
NUMBERS = f"[{','.join(map(str, range(2000)))}]"


@given(st.lists(st.tuples(space, element, space), min_size=1), st.booleans())
def test_members_are_found_whatever_the_space_between_them(
    elements: list[tuple[str, str, str]], is_object: bool
) -> None:
    every = [*elements, ("", NUMBERS, " ")]
    pieces = [f"{before}{text}{after}" for before, text, after in every]
    if is_object:
        pieces = [f'"{number}":{text}' for number, text in enumerate(pieces)]
    text = ("{%s}" if is_object else "[%s]") % ",".join(pieces)
    found, meant = members_within(text, 0, len(text)), members(text, 0)
    assert (list(found.spans), found.end) == (list(meant.spans), meant.end)
    data = text.encode()
    latin = data.decode("latin-1")
    found, meant = members_within(latin, 0, len(data), data), members(latin, 0)
    assert (list(found.spans), found.end) == (list(meant.spans), meant.end)
