"""Bytes to JSON values: for any line, the joined records equal the line."""

import bz2
import json
import lzma

import pytest
from depth import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxtrim.text.records import BLANK, NOT_JSON, document, dump, split


@pytest.mark.parametrize(
    ("line", "values"),
    [
        (b'{"a": 1}\n', [{"a": 1}]),
        (b'\xef\xbb\xbf{"a": 1}\r\n', [{"a": 1}]),
        (b'{"a": 1}{"b": 2}\n', [{"a": 1}, {"b": 2}]),
        (b'{"a": 1}  [2]  \n', [{"a": 1}, [2]]),
        (b" \t\r\n", [BLANK]),
        (b"\xef\xbb\xbf", [BLANK]),
        (b"\xef\xbb\xbf \n", [BLANK]),
        (b'"\\ud800"', ["\ud800"]),
        (b"42", [42]),
        (b'{"a": 1} {"b"', [{"a": 1}, NOT_JSON]),
        (b'{"a": 1} 5\n', [{"a": 1}, NOT_JSON]),
        (b"2026-11-21 12:00 a log line\n", [NOT_JSON]),
        (b"\xff\xfe{}\n", [NOT_JSON]),
        (b"[" * 100_000, [NOT_JSON]),
        (b'{"a": ' + b"9" * 5000 + b"}", [{"a": float("inf")}]),
    ],
)
def test_a_line_is_split_into_its_values(line: bytes, values: list[object]) -> None:
    records = split(line, 3)
    assert [record.value for record in records] == values
    assert b"".join(record.data for record in records) == line
    assert all(record.number == 3 for record in records)
    assert all((record.problem is not None) == (record.value is NOT_JSON) for record in records)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b'{"a": "b', "the line ends in the middle of a JSON value"),
        (b'{"a": ', "the line ends in the middle of a JSON value"),
        (b'{"a" 1}', "not JSON (expecting ':' delimiter at character 6)"),
        (b'{"a": "\xff"}', "not UTF-8 at byte 8 of the line"),
        (b"[" * 100_000, "nested too deeply to read"),
        (b"\0" * 50 + b"{}", "not JSON (expecting value at character 1)"),
    ],
)
def test_a_problem_has_a_text_and_a_position(line: bytes, problem: str) -> None:
    assert split(line, 1)[0].problem == problem


@pytest.mark.parametrize(
    ("data", "name"),
    [(bz2.compress(b'{"a": "buoy"}\n'), "bzip2 data"), (lzma.compress(b'{"a": 1}\n'), "xz data")],
)
def test_packed_data_is_named(data: bytes, name: str) -> None:
    first = data.splitlines(keepends=True)[0]
    assert split(first, 1)[0].problem == f"{name}: unpack it first"


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-be"])
def test_another_encoding_is_named_with_its_remedy(encoding: str) -> None:
    name = encoding[:6]
    for line in '{"a": "buoy"}\n{"a": "beacon"}\n'.encode(encoding).splitlines(keepends=True)[:2]:
        (record,) = split(line, 1)
        remedy = f"the file is {name.upper()}; convert it with iconv -f {name} -t utf-8"
        assert (record.data, record.problem) == (line, remedy)


LONG = "123456789012345678901"  # more than 64 bits


@pytest.mark.parametrize("spelling", [LONG, f"-{LONG}", f" {LONG}\n"])
def test_a_long_integer_keeps_its_value(spelling: str) -> None:
    line = f'{{"a":{spelling}}}'.encode()
    assert split(line, 1)[0].value == {"a": int(spelling)}
    assert document(line).value == {"a": int(spelling)}  # type: ignore[union-attr]


@pytest.mark.parametrize("digits_before", range(1, len(LONG)))
def test_a_long_integer_keeps_its_value_anywhere_in_a_long_line(digits_before: int) -> None:
    """Lines are searched in pieces of a mebibyte; an integer may lie on both sides of a border."""
    start = '{"a":"'
    middle = '","b":'
    padding = "x" * ((1 << 20) - len(start) - len(middle) - digits_before)
    record = split(f"{start}{padding}{middle}{LONG}}}".encode(), 1)[0]
    assert record.value["b"] == int(LONG)


@given(
    st.lists(
        st.sampled_from(
            [
                b"{",
                b"}",
                b'"',
                b"a",
                b":",
                b"1",
                b" ",
                b"\\",
                b"\xff",
                b"\xc3\xa9",
                b"[]",
                b"{}",
                b"\n",
            ]
        )
    )
)
@settings(max_examples=examples(500))
def test_no_byte_is_lost(pieces: list[bytes]) -> None:
    line = b"".join(pieces)
    assert b"".join(record.data for record in split(line, 1)) == line


def test_a_document_is_a_single_record_without_lines() -> None:
    value = {"messages": [{"role": "user", "content": "x"}]}
    assert document(json.dumps(value, indent=2).encode()).value == value  # type: ignore[union-attr]
    assert document(b'{"a": 1}\n{"a": 2}\n') is None
    assert document(b'{"a": \n{"a": 2}\n') is None


def test_a_truncated_document_reports_its_position() -> None:
    record = document(b'{\n "a": [\n  1,\n  2')
    assert record is not None
    assert (record.number, record.problem) == (4, "the document ends in the middle of a value")


@given(st.text(st.characters(), max_size=20))
def test_json_in_model_text_is_recognized(text: str) -> None:
    assert json.loads(dump({"x": text})) == {"x": text}
