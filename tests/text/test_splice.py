"""Splicing: unedited bytes are unchanged, and edited values read back as intended."""

import json
from typing import Any

import pytest
from depth import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxtrim.text.json_paths import Path
from ctxtrim.text.splice import ValueEdits, locate, splice

RAW = (
    ' {"a" : 1.10, "b":[1e5 ,"\\u00e9", {"k":[ ]}],\n\t"a":{"x" : "é", '
    '"big":123456789012345678901234567890} } \n'
)


def test_without_edits_nothing_changes() -> None:
    assert splice(RAW, ValueEdits()) == RAW


@pytest.mark.parametrize(
    ("replace", "remove", "add", "expected"),
    [
        ({("a", "x"): '"y"'}, [], {}, RAW.replace('"é"', '"y"')),
        ({("b", 1): "null"}, [], {}, RAW.replace('"\\u00e9"', "null")),
        ({}, [("b", 0)], {}, RAW.replace('1e5 ,"', '"')),
        ({}, [("b", 1)], {}, RAW.replace(' ,"\\u00e9"', "")),
        ({}, [("b", 2)], {}, RAW.replace(', {"k":[ ]}', "")),
        ({}, [("b", 0), ("b", 1), ("b", 2)], {}, RAW.replace('1e5 ,"\\u00e9", {"k":[ ]}', "")),
        ({}, [("a", "x")], {}, RAW.replace('"x" : "é", ', "")),
        ({}, [], {("a",): [("n", "1")]}, RAW.replace("567890} }", '567890, "n":1} }')),
        ({}, [], {("b", 2): [("n", "1"), ("m", "2")]}, RAW.replace("[ ]}", '[ ], "n":1, "m":2}')),
    ],
)
def test_only_the_selected_value_changes(
    replace: dict[Any, str], remove: list[Any], add: dict[Any, Any], expected: str
) -> None:
    assert splice(RAW, ValueEdits(replace, remove, add)) == expected


def test_a_member_is_added_to_an_empty_object() -> None:
    assert splice('{"a": { }}', ValueEdits(add={("a",): [("n", "1")]})) == '{"a": {"n": 1 }}'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[]", "[2]"),
        ("[1]", "[1,2]"),
        ("[ 1 ]", "[ 1, 2 ]"),
        ("[\n  1\n]", "[\n  1,\n  2\n]"),
        ("[1 , 3]", "[1 , 2 , 3]"),
    ],
)
def test_an_inserted_element_is_separated_like_the_others(text: str, expected: str) -> None:
    assert splice(text, ValueEdits(insert={(): [(1, "2")]})) == expected


def test_a_byte_order_mark_is_kept() -> None:
    assert splice('\ufeff{"a": 1}', ValueEdits({("a",): "2"})) == '\ufeff{"a": 2}'


@pytest.mark.parametrize("removed", [[], [("a", 1)], [("a", 0)], [("a", 1), ("a", 3)]])
def test_an_array_is_cut_between_two_kept_elements(removed: list[Any]) -> None:
    cut = {("a",): [(2, "], 7, [")]}
    kept = [position for position in range(4) if ("a", position) not in removed]
    wanted = [
        [position for position in kept if position < 2],
        7,
        [position for position in kept if position >= 2],
    ]
    out = splice('{"a": [0 , 1,2,\n3], "b": 1.10}', ValueEdits(remove=removed, cut=cut))
    assert json.loads(out.replace('{"a": [', '{"a": [[').replace(', "b"', '], "b"')) == {
        "a": wanted,
        "b": 1.1,
    }
    assert out.endswith(', "b": 1.10}')


@pytest.mark.parametrize("path", [("c",), ("a", "x", "y"), ("b", 7), ("b", "0")])
def test_an_unknown_path_is_an_error(path: Any) -> None:
    with pytest.raises(KeyError):
        splice(RAW, ValueEdits({path: "1"}))


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4)
    ),
    max_leaves=20,
)
styles = st.sampled_from(
    [
        {},
        {"indent": 2},
        {"separators": (",", ":")},
        {"ensure_ascii": False},
        {"separators": (" , ", " :")},
    ]
)


def _paths(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    paths = [at]
    inside = (
        enumerate(value)
        if isinstance(value, list)
        else value.items()
        if isinstance(value, dict)
        else ()
    )
    for key, inner in inside:
        paths += _paths(inner, (*at, key))
    return paths


@given(values, styles, st.data())
@settings(max_examples=examples(500))
def test_any_edited_document_reads_as_the_edited_value(
    value: Any, style: Any, data: st.DataObject
) -> None:
    text = json.dumps(value, **style)
    path = data.draw(st.sampled_from(_paths(value)))
    assert json.loads(splice(text, ValueEdits({path: '"new"'}))) == _replaced(value, path)
    if path:
        removed = splice(text, ValueEdits(remove=[path]))
        assert json.loads(removed) == _removed(value, path)
        assert len(removed) < len(text)


def _replaced(value: Any, path: tuple[Any, ...]) -> Any:
    if not path:
        return "new"
    copy = json.loads(json.dumps(value))
    _home(copy, path)[path[-1]] = "new"
    return copy


def _removed(value: Any, path: tuple[Any, ...]) -> Any:
    copy = json.loads(json.dumps(value))
    del _home(copy, path)[path[-1]]
    return copy


def _home(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path[:-1]:
        value = value[key]
    return value


def test_a_path_continues_inside_a_string_with_json() -> None:
    inner = '[{"text": "caf\\u00e9 \\"x\\""}, {"text": "b"}, {"text": "c"}]'
    text = '{"a": ' + json.dumps(inner) + ', "b": "\\u0041"}'
    paths: list[Path] = [("a", 0, "text"), ("a", 1)]
    edits = ValueEdits({paths[0]: '"new \\"y\\""'}, [paths[1]], insert={("a",): [(3, '{"d": 1}')]})
    out = splice(text, edits)
    assert out.endswith(', "b": "\\u0041"}')
    assert json.loads(json.loads(out)["a"]) == [{"text": 'new "y"'}, {"text": "c"}, {"d": 1}]
    assert "caf" not in out
    only = splice(text, ValueEdits(remove=[("a", 1)]))
    assert only == text.replace(', {\\"text\\": \\"b\\"}', "")


def test_json_in_a_string_may_contain_strings_with_json() -> None:
    deep = json.dumps({"x": json.dumps({"y": ["é", "z"]}, ensure_ascii=False)}, ensure_ascii=False)
    text = json.dumps([deep], ensure_ascii=False)
    out = splice(text, ValueEdits({(0, "x", "y", 1): '"ü\\n"'}))
    assert json.loads(json.loads(json.loads(out)[0])["x"]) == {"y": ["é", "ü\n"]}
    assert out == text.replace("z", "ü" + "\\" * 4 + "n")


def test_several_values_in_a_string_keep_the_characters_between_them() -> None:
    inner = json.dumps([{"t": "ä"}, {"t": "漢"}, {"t": "x"}, "ü"], ensure_ascii=False)
    text = json.dumps({"é": inner}, ensure_ascii=False)
    replace: dict[Path, str] = {("é", 0, "t"): '"ß"', ("é", 2, "t"): '"y"'}
    out = splice(text, ValueEdits(replace, [("é", 1)], is_ascii=False))
    assert out == text.replace("ä", "ß").replace(', {\\"t\\": \\"漢\\"}', "").replace("x", "y")


@pytest.mark.parametrize("text", ['["no json"]', '["[1"]', '[""]', "[3]"])
def test_a_path_into_a_string_without_json_does_not_exist(text: str) -> None:
    with pytest.raises(KeyError):
        splice(text, ValueEdits({(0, 1): "2"}))


def test_a_value_inside_a_string_has_the_position_of_the_string() -> None:
    text = '{"a": 1, "b": "[{}]"}'
    assert locate(text, [("b", 0), ("a",)]) == {("b", 0): 14, ("a",): 6}
