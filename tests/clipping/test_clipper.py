"""A text is prepared once for all limits, and a clip needs few counts: the work is linear in the
size of the text, whatever the limit.
"""

import json
from collections.abc import Callable

import pytest
from clipping_texts import DIFF, LISTING, OF_A_KIND, TEST_RUN
from hypothesis import example, given
from hypothesis import strategies as st

from ctxtrim.clipping.clipper import MODES, Clipper, clip
from ctxtrim.clipping.layout import Mode
from ctxtrim.clipping.weight import Weight
from ctxtrim.clipping.wrapper import output_range
from ctxtrim.text.json_spans import members
from ctxtrim.tokenizers import tokenizer
from ctxtrim.tokens.tokenizer import Exactness

O200K = tokenizer("o200k_base")

LARGE: dict[str, Callable[[int], str]] = {
    "nested JSON": lambda size: json.dumps(
        [{"id": 7, "tags": ["a", "b"], "sub": {"note": "word " * 9, "rows": [{}, []]}}]
        * (size // 120)
    ),
    "brackets": lambda size: "[" + ",".join(["[[[[[]]]]]"] * (size // 11)) + "]",
    "empty arrays": lambda size: "[" + ",".join(["[]"] * (size // 3)) + "]",
    "deep brackets": lambda size: "[" * (size // 2) + "]" * (size // 2),
    "an object": lambda size: json.dumps({f"key {n}": n for n in range(size // 16)}),
    "a string": lambda size: json.dumps({"output": 'a "line" of text\n' * (size // 20)}),
    "a line": lambda size: "word and more " * (size // 14),
    "a word": lambda size: "abcdefgh01" * (size // 10),
    "a log": lambda size: TEST_RUN * (size // len(TEST_RUN) + 1),
    "a diff": lambda size: DIFF * (size // len(DIFF) + 1),
    "a listing": lambda size: LISTING * (size // len(LISTING) + 1),
}


class Recorded:
    """A tokenizer that records the lengths of the texts it counts."""

    name = "recorded"
    exactness: Exactness = "exact"

    def __init__(self) -> None:
        self.lengths: list[int] = []

    def count(self, text: str) -> int:
        """The count of o200k_base."""
        self.lengths.append(len(text))
        return O200K.count(text)

    def ceiling(self, text: str) -> int:
        """The ceiling of o200k_base."""
        return O200K.ceiling(text)


@pytest.mark.parametrize("name", LARGE)
def test_a_clip_counts_as_little_of_a_longer_text(name: str) -> None:
    given_characters = []
    for size in (100_000, 400_000):
        recorded = Recorded()
        text = LARGE[name](size)
        shorter = clip(text, 300, recorded)
        assert 150 <= O200K.count(shorter) <= 300
        assert len(recorded.lengths) <= 60
        given_characters.append(sum(recorded.lengths))
    assert given_characters[1] <= 2 * given_characters[0] + 10_000


@pytest.mark.parametrize("limit", [20, 100, 1000])
@pytest.mark.parametrize("name", OF_A_KIND)
def test_a_clip_is_corrected_a_few_times(name: str, limit: int) -> None:
    recorded = Recorded()
    clip(OF_A_KIND[name], limit, recorded)
    longer = [length for length in recorded.lengths if length > 2 * limit]
    assert len(longer) <= 24


@given(
    st.sampled_from(sorted(OF_A_KIND)),
    st.lists(st.integers(0, 1500), min_size=2, max_size=4),
    st.sampled_from(MODES),
)
@example("json", [187, 164], "tail")  # more of the text is counted for the first limit
def test_a_prepared_text_has_the_same_clips_in_any_order(
    name: str, limits: list[int], mode: Mode
) -> None:
    prepared = Clipper(OF_A_KIND[name], O200K, mode)
    for limit in limits:
        text = prepared.within(limit)
        assert O200K.count(text) <= limit
        assert text == Clipper(OF_A_KIND[name], O200K, mode).within(limit)


def test_a_prepared_text_is_weighed_once() -> None:
    recorded = Recorded()
    prepared = Clipper(OF_A_KIND["json"], recorded)
    prepared.within(2000)
    recorded.lengths.clear()
    prepared.within(1900)
    assert max(recorded.lengths) < len(OF_A_KIND["json"]) // 2


@pytest.mark.parametrize("limit", [1, 10, 99, 100, 101, 5000])
def test_a_weight_says_what_fits(limit: int) -> None:
    text = "word " * 100
    assert Weight(text, O200K).fits(limit) == (O200K.count(text) <= limit)


value = st.recursive(
    st.sampled_from([0, -1.5e-7, 12.0, True, None, "a", 'q"\\', "\n", "[1,2]"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=20,
)


@given(st.lists(value) | st.dictionaries(st.text(max_size=4), value), st.booleans())
def test_members_are_found_in_runs_and_one_by_one(tree: object, is_wide: bool) -> None:
    text = json.dumps(tree, separators=(" , ", " : ") if is_wide else None)
    found = members(text, 0)
    values = list(tree.values()) if isinstance(tree, dict) else tree
    assert [json.loads(text[start:end]) for _, start, end in found.spans] == values
    assert list(found.keys) == (list(tree) if isinstance(tree, dict) else list(range(len(tree))))
    assert found.end == len(text)


@pytest.mark.parametrize("before", ["", "Output: ", "<output>", "x\n", "Output: x\n"])
@pytest.mark.parametrize("blank", [" ", "\t", "\u3000"])
def test_a_wrapper_is_found_next_to_a_million_blanks(before: str, blank: str) -> None:
    blanks = blank * 1_000_000
    start = len("Output: x\n") if before.endswith("x\n") and len(before) > 2 else 0
    assert output_range(before + blanks) == (start, len(before) + 1_000_000)
