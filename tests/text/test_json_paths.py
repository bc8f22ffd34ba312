"""A table leaves out only paths that match nothing."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ctxtrim.text.json_paths import PathTable, conversations, patterns

PATHS = (
    "",
    "a",
    "a.b",
    "[*]",
    "[*].a",
    "[+].b.a",
    "[0].a",
    "[*][0]",
    "b[*].a",
    "a + b",
    "[*].a + [*].b",
)
names = st.sampled_from("abc")
texts = st.sampled_from(['{"a": []}', '[{"b": []}]', "no JSON", "[]"])
values: st.SearchStrategy[Any] = st.recursive(
    texts | st.integers(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=8,
)


@given(values)
def test_the_paths_of_a_value_find_all_its_lists(value: Any) -> None:
    found = [conversations(value, paths) for paths in PathTable(PATHS).paths_in(value)]
    # an object itself is an event, not a list
    paths = [text for text in PATHS if text or not isinstance(value, dict)]
    expected = [conversations(value, patterns(text)) for text in paths]
    assert [lists for lists in found if lists] == [lists for lists in expected if lists]
