"""Texts are cut between the characters that a reader sees."""

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from ctxtrim.clipping.clipper import clip
from ctxtrim.clipping.layout import Mode
from ctxtrim.text import graphemes
from ctxtrim.text.graphemes import Cuts, cut_after, cut_before
from ctxtrim.tokenizers import tokenizer
from ctxtrim.tokens.tokenizer import head, tail

PIECES = (
    "a", " ", "\r", "\n", "\r\n", "e\u0301", "\u0301", "\u200d", "👨‍👩‍👧", "👍🏽", "❤️", "🇩🇪", "🇫",
    "क्ष", "कि", "\u094d", "क", "가", "\u1100", "\u1161", "\u11a8", "\u0600", "日", "本", "\ud800",
    "\x00", "ภำ", "©", "\u1021", "\u1cf6", "\u17d2", "\u0903", "각", "\x80", "\u200b",
)  # fmt: skip
odd_texts = st.lists(st.sampled_from(PIECES), max_size=30).map("".join)


def edges(text: str) -> set[int]:
    return {0, len(text)} | {match.end() for match in regex.finditer(r"\X", text)}


@given(odd_texts | st.text(max_size=30))
def test_every_cut_is_at_the_end_of_a_cluster(text: str) -> None:
    known = edges(text)
    for position in range(len(text) + 1):
        assert cut_before(text, position) == max(edge for edge in known if edge <= position)
        assert cut_after(text, position) == min(edge for edge in known if edge >= position)


@given(odd_texts, st.sampled_from(["o200k_base", "chars4"]), st.integers(0, 20))
def test_head_and_tail_keep_clusters_whole_within_the_limit(
    text: str, name: str, limit: int
) -> None:
    engine = tokenizer(name)
    first, last = head(engine, text, limit), tail(engine, text, limit)
    assert len(first) in edges(text)
    assert len(text) - len(last) in edges(text)
    assert max(engine.count(first), engine.count(last)) <= limit


@pytest.mark.parametrize("unit", ["e\u0301", "🇩🇪", "👨‍👩‍👧", "क्ष", "❤️", "日", "가"])
def test_a_cut_in_a_long_text_of_a_single_script_is_found(unit: str) -> None:
    text = unit * 20_000
    for position in (len(text) // 2, len(text) // 2 + 1):
        assert cut_before(text, position) % len(unit) == 0
        assert 0 <= position - cut_before(text, position) < len(unit)


@given(
    st.text(alphabet="a\u0600\u0301\u200d👩\n", max_size=4),
    st.integers(1, 60),
    st.text(alphabet="a\u0600\u0301\u200d👩\n🇫", max_size=4),
)
def test_flags_are_counted_from_the_start_of_their_run(before: str, count: int, after: str) -> None:
    text = before + "🇫" * count + after
    known = edges(text)
    for position in range(len(text) + 1):
        assert cut_before(text, position) == max(edge for edge in known if edge <= position)
        assert cut_after(text, position) == min(edge for edge in known if edge >= position)


def test_cuts_in_a_long_run_of_flags_fall_between_pairs() -> None:
    flags = "🇩🇪" * 100_000
    for first in ("", "a", "🇫 "):
        text = first + flags + "🇫"  # the last flag has no second half
        for position in range(len(first), len(text), len(text) // 50):
            start, end = cut_before(text, position), cut_after(text, position)
            assert (start - len(first)) % 2 == 0 and (end - len(first)) % 2 == 0
            assert start <= position <= end <= start + 2


@pytest.mark.parametrize("mode", ["head", "tail", "head-tail"])
def test_a_long_run_of_flags_is_clipped_between_pairs(mode: Mode) -> None:
    text = "🇩🇪" * 25_000  # 200 kB
    clipped = clip(text, 300, tokenizer("o200k_base"), mode)
    assert tokenizer("o200k_base").count(clipped) <= 300
    for stretch in regex.findall(r"\p{RI}+", clipped):
        assert stretch == "🇩🇪" * (len(stretch) // 2)


@given(odd_texts, st.integers(0, 5), st.lists(st.integers(0, 2500), max_size=5))
def test_the_cuts_of_a_text_are_the_same_after_other_cuts(
    text: str, middle: int, positions: list[int]
) -> None:
    long = "e" + "\u0301" * 1200
    text = text[:middle] + long + text[middle:] + long
    cuts = Cuts(text)
    for position in (middle + 600, middle + 1201, *positions):
        assert cuts.before(position) == cut_before(text, position)
        assert cuts.after(position) == cut_after(text, position)


@pytest.mark.parametrize("unit", ["\u0301", "👩\u200d", "क्", "\u1100"])
@pytest.mark.parametrize("form", ["{}", '["{}", 7]'])
def test_a_long_cluster_is_found_once_for_all_drafts(
    unit: str, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    searches: list[int] = []
    around = graphemes._around

    def counted(text: str, position: int) -> tuple[int, int]:
        searches.append(position)
        return around(text, position)

    monkeypatch.setattr(graphemes, "_around", counted)
    clip(form.format(unit * 20_000 + "."), 300, tokenizer("o200k_base"))
    assert 0 < len(searches) < 6
