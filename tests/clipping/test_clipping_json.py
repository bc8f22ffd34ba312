"""Clips of JSON are JSON: strings and arrays are shortened, with true counts; all other notation is
unchanged.
"""

import json
import re
from typing import Any

import pytest
from clipping_texts import JSON, json_texts, unmarked
from hypothesis import given
from hypothesis import strategies as st

from ctxtrim.clipping.clipper import MODES, clip
from ctxtrim.clipping.layout import Mode
from ctxtrim.text.graphemes import cut_before
from ctxtrim.text.json_spans import Leaf, document
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
def test_a_long_string_is_shortened_with_a_marker_of_the_amount(mode: Mode, expected: str) -> None:
    text = '{"a":1.10,"s":"' + "x" * 400 + '","b":[1e5, 2]}'
    unmarked(json.loads(expected), json.loads(text))
    item = clip(text, 20, CHARS4, mode)
    assert CHARS4.count(item) <= 20
    assert item.startswith('{"a":1.10,"s":"')
    assert item.endswith('","b":[1e5, 2]}')
    unmarked(json.loads(item), json.loads(text))


def test_a_long_array_is_shortened_with_a_marker_of_the_amount() -> None:
    ids = json.loads(clip(json.dumps({"ids": list(range(5000))}), 100, O200K, "head"))["ids"]
    assert ids[:-1] == list(range(len(ids) - 1))
    assert ids[-1] == f"[{5000 - len(ids) + 1} more items truncated]"
    both = json.loads(clip(json.dumps({"ids": list(range(5000))}), 100, O200K))["ids"]
    assert (both[0], both[-1]) == (0, 4999)


def test_pretty_printed_json_stays_pretty_printed() -> None:
    text = clip(JSON, 500, O200K)
    assert text.startswith('{\n  "rows": [\n    {\n      "id": 0,\n      "price": 1.1,\n')
    assert text.endswith('  ],\n  "total": 200\n}')
    unmarked(json.loads(text), json.loads(JSON))


def test_members_of_a_large_object_are_removed_as_a_last_resort() -> None:
    text = json.dumps({f"key {number}": number for number in range(3000)})
    item = clip(text, 100, O200K)
    assert O200K.count(item) <= 100
    unmarked(json.loads(item), json.loads(text))


def test_the_markers_of_an_object_have_different_names() -> None:
    was = {f"key {number}": number for number in range(80)}
    text = json.dumps(was)
    position = text.index('"key 40"')
    item = clip(text, 60, CHARS4, keep=[(position, position + 8)])
    assert [key for key in json.loads(item) if "…" in key] == ["…", "… 2"]
    unmarked(json.loads(item), was)
    unmarked(json.loads(clip(item, 45, CHARS4)), was)

    more = {f"more {number}": number for number in range(60)}
    text = f"{item[:-1]}, {json.dumps(more)[1:]}"
    position = text.index('"key 40"')
    for limit in range(40, 121, 10):  # from 100 on, the clip keeps both markers and has a third
        item = clip(text, limit, CHARS4, keep=[(position, position + 8)])
        assert CHARS4.count(item) <= limit
        unmarked(json.loads(item), was | more)
    assert [key for key in json.loads(item) if "…" in key] == ["…", "… 2", "… 3"]


def test_a_text_with_few_characters_per_token_stays_json() -> None:
    text = json.dumps(
        {"codes": [[n * 7919 % 1000, n * 104729 % 1000] for n in range(60)], "ok": True}
    )
    limit = O200K.count(text) - 60
    assert len(text) < 4 * limit
    unmarked(json.loads(clip(text, limit, O200K)), json.loads(text))


def test_number_and_string_notation_is_kept() -> None:
    text = (
        '{ "n" : 1.10, "e":1e5 ,"u":"caf\\u00e9", "u":"twice", '
        '"big":123456789012345678901234567890, "s":"%s"}' % ("y" * 999)
    )
    item = clip(text, 70, O200K)
    assert item.startswith(
        '{ "n" : 1.10, "e":1e5 ,"u":"caf\\u00e9", "u":"twice", '
        '"big":123456789012345678901234567890, '
    )
    json.loads(item)


@pytest.mark.parametrize("text", ["[" * 3000 + "]" * 3000, '{"a": ' * 900 + "1" + "}" * 900])
def test_json_nested_too_deeply_is_clipped_as_plain_text(text: str) -> None:
    item = clip(text, 60, O200K)
    assert 0 < O200K.count(item) <= 60


def test_json_that_cannot_fit_is_clipped_as_plain_text() -> None:
    text = json.dumps({"a" * 400: 1, "b" * 400: 2})
    item = clip(text, 30, O200K)
    assert "... [truncated " in item
    assert O200K.count(item) <= 30


@given(json_texts, st.sampled_from([0, 1, 5, 31, 60, 100, 300]), st.sampled_from(MODES))
def test_properties_of_clips_of_any_json(text: str, limit: int, mode: Mode) -> None:
    item = clip(text, limit, CHARS4, mode)
    assert CHARS4.count(item) <= limit
    if CHARS4.count(text) <= limit:
        assert item is text
    elif "… [" in item or re.search(r" more (?:item|member)s? truncated\]", item):
        unmarked(json.loads(item), json.loads(text))
    again = clip(item, limit // 2, CHARS4, mode)
    assert CHARS4.count(again) <= limit // 2
    assert "truncated] …… [" not in again


@given(st.text(max_size=40) | st.text('a\ud83d\ude00\u0301\n"\\😀', max_size=20))
def test_every_position_of_a_string_is_found_in_its_notation(value: str) -> None:
    leaf = Leaf(json.dumps(value)[1:-1])
    for position in range(len(leaf.value) + 1):
        assert leaf.meant(leaf.spelled(position)) == position
        part = leaf.spelling[: leaf.spelled(position)]
        if cut_before(leaf.value, position) == position:
            assert json.loads(f'"{part}"') == leaf.value[:position]


def test_many_kept_ranges_in_many_items_take_linear_time() -> None:
    text = json.dumps([f"item {number}" for number in range(30_000)])
    wanted = [f"item {number}" for number in range(25_000, 5_000, -50)]  # the most important first
    places = [
        (text.index(f'"{item}"') + 1, text.index(f'"{item}"') + 1 + len(item)) for item in wanted
    ]
    clipped = clip(text, 6_000, CHARS4, "head", places)
    items = json.loads(clipped)
    assert {"item 0", wanted[0]} <= set(items)
    assert sum("truncated" in item for item in items) == 2
    assert CHARS4.count(clipped) <= 6_000


def test_records_of_a_list_stay_whole() -> None:
    rows = [
        {
            "id": number,
            "name": f"row {number}",
            "state": "open",
            "size": {"width": number, "height": 9},
            "price": 12.5,
        }
        for number in range(90)
    ]
    pairs = [rows[number : number + 2] for number in range(0, 90, 2)]
    shown = json.loads(clip(json.dumps(pairs), 120, O200K))
    values = [row for pair in shown if isinstance(pair, list) for row in pair]
    assert len(values) >= 2
    assert all(row in rows for row in values)


def test_a_small_object_among_others_keeps_all_its_members() -> None:
    cards = {
        f"card {number}": {"kind": "credit card", "last four": 1000 + number} for number in range(9)
    }
    shown = json.loads(clip(json.dumps({"name": "Ada", "cards": cards}), 150, O200K))
    assert shown["name"] == "Ada"
    assert all(card == cards[name] for name, card in shown["cards"].items() if name != "…")
    assert shown["cards"]["…"] == f"[{len(cards) + 1 - len(shown['cards'])} more members truncated]"


def test_a_string_with_many_kept_ranges_has_at_most_two_gaps() -> None:
    lines = "".join(f"line {number} of the output\n" for number in range(400))
    text = json.dumps({"code": 0, "output": lines})
    places = [text.index(f"line {number} of") for number in (200, 90, 310, 150)]
    output = json.loads(
        clip(text, 300, O200K, keep=[(position, position + 8) for position in places])
    )["output"]
    assert "line 200 of the output\n" in output
    parts = re.split(r"… \[\d+ characters truncated\] …", output)
    assert 2 <= len(parts) <= 3
    assert all(part.startswith("line ") and part.endswith("\n") for part in parts)


@given(json_texts, st.data())
def test_json_is_recognized_like_by_the_decoder(text: str, data: st.DataObject) -> None:
    position = data.draw(st.integers(0, len(text)))
    text = (
        text[:position]
        + data.draw(st.sampled_from(["", "0", ",", '"', "\\", "}", "\t"]))
        + text[position + 1 :]
    )
    try:
        is_valid = isinstance(json.loads(text), list | dict)
    except ValueError:
        is_valid = False
    parsed = document(text)
    assert (parsed is not None) == is_valid
    for begin, value, end in parsed[0] if parsed else ():
        if value > begin:
            json.loads(f"{{{text[begin:end]}}}")
        else:
            json.loads(text[begin:end])


@pytest.mark.parametrize(
    ("value", "one"),
    [
        (["a" * 90, "b" * 90, "c" * 90], "[1 more item truncated]"),
        ({"a": "a" * 90, "b": "b" * 90, "c": "c" * 90}, "[1 more member truncated]"),
    ],
)
def test_a_marker_of_one_value_is_singular(value: Any, one: str) -> None:
    text = json.dumps(value)
    clips = [clip(text, limit, CHARS4) for limit in range(10, CHARS4.count(text))]
    assert any(f'"{one}"' in item for item in clips)
    assert not any("[1 more items" in item or "[1 more members" in item for item in clips)


@pytest.mark.parametrize("noun", ["item", "items"])
def test_a_marker_of_one_item_is_merged_in_the_plural_of_earlier_versions_too(noun: str) -> None:
    mark = f"[1 more {noun} truncated]"
    values = [*("a" * 40 for _ in range(15)), mark, *("b" * 40 for _ in range(15))]
    shown = json.loads(clip(json.dumps(values), 60, CHARS4))
    (merged,) = [item for item in shown if item.endswith(" truncated]")]
    assert merged == f"[{31 - len(shown) + 1} more items truncated]"


@pytest.mark.parametrize("noun", ["member", "members"])
def test_a_marker_of_one_member_is_merged_in_the_plural_of_earlier_versions_too(noun: str) -> None:
    mark = {"…": f"[1 more {noun} truncated]"}
    before, after = ({f"{name}{at}": "x" * 40 for at in range(15)} for name in "ab")
    shown = json.loads(clip(json.dumps(before | mark | after), 60, CHARS4))
    assert shown["…"] == f"[{31 - len(shown) + 1} more members truncated]"
