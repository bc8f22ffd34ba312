"""Texts with long runs of similar characters count the same in windows."""

import random
from collections.abc import Callable, Sequence
from itertools import product

import pytest
from gigatoken import Tokenizer
from hypothesis import given, settings
from hypothesis import strategies as st
from tiktoken.load import load_tiktoken_bpe

from ctxtrim.tokenizers.encodings import (
    PATTERNS,
    VOCABULARIES,
    gigatoken_engine,
    tiktoken_encoder,
    tiktoken_engine,
)
from ctxtrim.tokenizers.long_runs import LONG, token_widths, window_count

NAMES = tuple(PATTERNS)
WINDOW = 4096
# What runs are made of, and what may be next to them: all that the patterns of words distinguish.
RUNS = (
    "-", "=", "-=", "[]", "{}()", "/", "//-", "'", "\\", "_", "!?.,:;", " ", "\t", " \t", "\n",
    "\r\n", "a", "ab", "the", "abcdefghijklmnopqrstuvwxyz", "A", "AB", "THE",
)  # fmt: skip
NEIGHBOURS = (
    "", "a", "Z", "9", " ", "\n", "/", "'s", "'re", "漢", "é", "ß", "\u0301", "ǅ", "ʰ", " \n",
    "\n  ", "-\n", "\x0b", "\u3000", "-", "\x00", "😀", "/-", "\n/", " '", "B", "b",
)  # fmt: skip


def encoder(name: str) -> Callable[[str], Sequence[int]]:
    """gigatoken's function, which encodes a text as a whole."""
    names = {"cl100k_base": "cl100k", "o200k_base": "o200k"}
    path = VOCABULARIES / f"{name}.tiktoken"
    encode = Tokenizer.from_tiktoken(path, names[name], {}).backend.encode
    return lambda text: encode(text.encode())


ENCODERS = {name: encoder(name) for name in NAMES}
WIDTHS = {name: token_widths(VOCABULARIES / f"{name}.tiktoken") for name in NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_widths_are_those_of_the_tokens(name: str) -> None:
    ranks = load_tiktoken_bpe(str(VOCABULARIES / f"{name}.tiktoken"))
    assert {rank: len(token) for token, rank in ranks.items()} == dict(enumerate(WIDTHS[name]))
    assert max(WIDTHS[name]) <= 128


def run(characters: str, size: int, draw: random.Random) -> str:
    """Some characters in a row: repeated, shuffled, or a shuffled part repeated."""
    kind = draw.randrange(3)
    part = characters if kind == 0 else "".join(draw.choices(characters, k=(size, 300)[kind - 1]))
    return (part * (size // len(part) + 1))[:size]


@settings(max_examples=100)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(NEIGHBOURS),
            st.sampled_from(RUNS),
            st.sampled_from((300, 9000, 13_000, 20_000)),
            st.sampled_from(NEIGHBOURS),
        ),
        min_size=1,
        max_size=3,
    ),
    st.integers(0, 1 << 20),
)
def test_windows_give_the_count_of_the_whole(
    parts: list[tuple[str, str, int, str]], seed: int
) -> None:
    draw = random.Random(seed)
    text = "".join(
        before + run(characters, size, draw) + after for before, characters, size, after in parts
    )
    for name in NAMES:
        encode = ENCODERS[name]
        assert window_count(text, encode, WIDTHS[name], WINDOW) == len(encode(text))


@pytest.mark.parametrize("text", [
    "\x00" + "\n" * 20_000 + "/-",
    "-\n" + "/" * 20_000 + "-",
    "\n" + " " * 20_000 + "\n",
    "漢" + "A" * 20_000 + "b",
    "'" + "re" * 10_000,
])  # fmt: skip
@pytest.mark.parametrize("name", NAMES)
def test_words_that_depend_on_both_neighbours_of_a_run(text: str, name: str) -> None:
    encode = ENCODERS[name]
    assert window_count(text, encode, WIDTHS[name], WINDOW) == len(encode(text))


@pytest.mark.parametrize(("characters", "name"), list(product(RUNS, NAMES)))
def test_every_window_is_small(characters: str, name: str) -> None:
    text = f"x{run(characters, 40_000, random.Random(1))}z"
    sizes = []

    def encode(part: str) -> Sequence[int]:
        sizes.append(len(part))
        return ENCODERS[name](part)

    assert window_count(text, encode, WIDTHS[name], WINDOW) == len(ENCODERS[name](text))
    if characters == "//-":  # runs of slashes and dashes are short
        assert sizes == [len(text)]
    else:
        assert max(sizes) <= 2 * WINDOW + 1


def test_a_seam_that_does_not_match_counts_as_a_whole() -> None:
    text = "=" * 40_000
    sizes = []

    def encode(part: str) -> list[int]:  # tokens that depend on the length of a text
        sizes.append(len(part))
        return [len(part)] * (len(part) // 10)

    assert window_count(text, encode, bytes([10]) * 50_000, WINDOW) == 4000
    assert sizes[-1] == 40_000


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("text", ["=" * (LONG + 99), "[" * (LONG + 99), "x\n" + "the" * LONG])
def test_engines_count_long_runs_as_a_whole(text: str, name: str) -> None:
    path = VOCABULARIES / f"{name}.tiktoken"
    expected = len(tiktoken_encoder(name, path)(text))
    assert gigatoken_engine(name, path)(text) == expected
    assert tiktoken_engine(name, path)(text) == expected
