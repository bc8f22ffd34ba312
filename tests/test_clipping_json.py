"""Clips of JSON are JSON: strings and arrays shortened, with true counts; everything else as it was spelled."""

import json

import pytest
from clipping_texts import JSON, json_texts, unmarked
from hypothesis import given
from hypothesis import strategies as st

from ctxtrim.clipping import MODES, Mode, clip
from ctxtrim.clipping.json_spans import Leaf
from ctxtrim.text.graphemes import cut_before
from ctxtrim.tokenizers import tokenizer

O200K, CHARS4 = tokenizer("o200k_base"), tokenizer("chars4")


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("head", '{"a":1.10,"s":"xxxxxxxx… [392 characters truncated]","b":[1e5, 2]}'),
        ("tail", '{"a":1.10,"s":"… [392 characters truncated] …xxxxxxxx","b":[1e5, 2]}'),
        ("head-tail", '{"a":1.10,"s":"xxxx… [392 characters truncated] …xxxx","b":[1e5, 2]}'),
    ],
)
def test_a_long_string_is_shortened_and_says_by_how_much(mode: Mode, expected: str) -> None:
    text = '{"a":1.10,"s":"' + "x" * 400 + '","b":[1e5, 2]}'
    unmarked(json.loads(expected), json.loads(text))
    one = clip(text, 20, CHARS4, mode)
    assert CHARS4.count(one) <= 20
    assert one.startswith('{"a":1.10,"s":"')
    assert one.endswith('","b":[1e5, 2]}')
    unmarked(json.loads(one), json.loads(text))


def test_a_long_array_is_shortened_and_says_by_how_much() -> None:
    one = json.loads(clip(json.dumps({"ids": list(range(5000))}), 100, O200K, "head"))["ids"]
    assert one[:-1] == list(range(len(one) - 1))
    assert one[-1] == f"[{5000 - len(one) + 1} more items truncated]"
    both = json.loads(clip(json.dumps({"ids": list(range(5000))}), 100, O200K))["ids"]
    assert (both[0], both[-1]) == (0, 4999)


def test_pretty_printed_json_stays_so() -> None:
    one = clip(JSON, 500, O200K)
    assert one.startswith('{\n  "rows": [\n    {\n      "id": 0,\n      "price": 1.1,\n')
    assert one.endswith('  ],\n  "total": 200\n}')
    unmarked(json.loads(one), json.loads(JSON))


def test_an_object_of_too_many_members_loses_some_as_the_last_resort() -> None:
    text = json.dumps({f"key {number}": number for number in range(3000)})
    one = clip(text, 100, O200K)
    assert O200K.count(one) <= 100
    unmarked(json.loads(one), json.loads(text))


def test_a_text_of_few_characters_a_token_stays_json_too() -> None:
    text = json.dumps({"codes": [[n * 7919 % 1000, n * 104729 % 1000] for n in range(60)], "ok": True})
    limit = O200K.count(text) - 60
    assert len(text) < 4 * limit
    unmarked(json.loads(clip(text, limit, O200K)), json.loads(text))


def test_spellings_stay() -> None:
    text = '{ "n" : 1.10, "e":1e5 ,"u":"caf\\u00e9", "u":"twice", "big":123456789012345678901234567890, "s":"%s"}' % (
        "y" * 999
    )
    one = clip(text, 70, O200K)
    assert one.startswith(
        '{ "n" : 1.10, "e":1e5 ,"u":"caf\\u00e9", "u":"twice", "big":123456789012345678901234567890, '
    )
    json.loads(one)


@pytest.mark.parametrize("text", ["[" * 3000 + "]" * 3000, '{"a": ' * 900 + "1" + "}" * 900])
def test_json_that_nests_too_deeply_is_cut_as_plain_text(text: str) -> None:
    one = clip(text, 60, O200K)
    assert 0 < O200K.count(one) <= 60


def test_what_cannot_fit_as_json_is_cut_as_plain_text() -> None:
    text = json.dumps({"a" * 400: 1, "b" * 400: 2})
    one = clip(text, 30, O200K)
    assert "... [truncated " in one
    assert O200K.count(one) <= 30


@given(json_texts, st.sampled_from([0, 1, 5, 31, 60, 100, 300]), st.sampled_from(MODES))
def test_clips_of_any_json(text: str, limit: int, mode: Mode) -> None:
    one = clip(text, limit, CHARS4, mode)
    assert CHARS4.count(one) <= limit
    if CHARS4.count(text) <= limit:
        assert one is text
    elif "… [" in one or " more items truncated]" in one or " more members truncated]" in one:
        unmarked(json.loads(one), json.loads(text))
    again = clip(one, limit // 2, CHARS4, mode)
    assert CHARS4.count(again) <= limit // 2
    assert "truncated] …… [" not in again


@given(st.text(max_size=40) | st.text('a\ud83d\ude00\u0301\n"\\😀', max_size=20))
def test_every_place_of_a_string_is_found_in_its_spelling(value: str) -> None:
    leaf = Leaf(json.dumps(value)[1:-1])
    for place in range(len(leaf.value) + 1):
        assert leaf.meant(leaf.spelled(place)) == place
        part = leaf.spelling[: leaf.spelled(place)]
        if cut_before(leaf.value, place) == place:
            assert json.loads(f'"{part}"') == leaf.value[:place]


def test_many_kept_ranges_in_many_items_cost_no_look_at_each_pair() -> None:
    text = json.dumps([f"item {number}" for number in range(30_000)])
    wanted = [f"item {number}" for number in range(25_000, 5_000, -50)]  # the most important first
    places = [(text.index(f'"{item}"') + 1, text.index(f'"{item}"') + 1 + len(item)) for item in wanted]
    clipped = clip(text, 6_000, tokenizer("chars4"), "head", places)
    items = json.loads(clipped)
    assert set(wanted) <= set(items)
    assert tokenizer("chars4").count(clipped) <= 6_000
