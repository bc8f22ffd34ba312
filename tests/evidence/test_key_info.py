"""Key facts of results, and their summary line."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxtrim.evidence.key_info import KeyInfo, extract_key_info
from ctxtrim.evidence.one_line import (
    SummaryFields,
    is_summary_line,
    parse_summary_line,
    summary_line,
)


def line(content: str, name: str, is_error: bool | None = None, **given: object) -> str:
    return summary_line(extract_key_info(content, name, json.dumps(given), is_error), name)


@pytest.mark.parametrize(
    ("content", "lines"), [("", 0), ("a", 1), ("a\n", 1), ("a\nb", 2), ("a\n\n", 2)]
)
def test_s2_5_a_trailing_newline_is_not_a_line(content: str, lines: int) -> None:
    assert extract_key_info(content, "bash").lines == lines


@pytest.mark.parametrize(
    ("content", "matches", "paths"),
    [
        ("", 0, ()),
        ("No matches found", 0, ()),
        ("Found 0 files", 0, ()),
        ("a.py:1: x\na.py:9: x\nb.py:3: x\n", 3, ("a.py", "b.py")),
        ("a.py-1-before\na.py:2: x\n--\nb.py:3: x", 2, ("a.py", "b.py")),
        ("Found 3 files\na.py\nb.py\nc.py\n", 3, ()),
        ("a.py\nb.py\n(Results are truncated)", 2, ()),
        ('["a.py", "b.py", "c.py"]', 3, ()),
        ('{"matches": [{"path": "a.py"}]}', 1, ()),
        ("12: x\n15: x", 2, ()),
    ],
)
def test_s2_5_only_hits_are_counted(content: str, matches: int, paths: tuple[str, ...]) -> None:
    info = extract_key_info(content, "Grep", '{"pattern": "x"}')
    assert (info.matches, info.paths, info.command, info.kind) == (matches, paths, "x", "search")


def test_s2_5_only_searches_have_matches() -> None:
    assert extract_key_info("a.py:1: x", "bash", '{"command": "grep x a.py"}').matches is None


def test_s2_5_the_facts_of_a_failed_command() -> None:
    content = "Exit code 1\nrunning\n  TypeError: x is not a function\n    at y\n"
    assert extract_key_info(content, "Bash", '{"command": "npm test"}') == KeyInfo(
        "error", "bash", (), "TypeError: x is not a function", 1, 4, None, "npm test"
    )


def test_s2_5_an_error_without_an_error_line_uses_its_first_line() -> None:
    assert (
        extract_key_info("\nno such thing\nhere", "Read", "{}", is_error=True).error
        == "no such thing"
    )
    assert extract_key_info("", "Read", "{}", is_error=True).error is None
    assert extract_key_info("a\nexit code 3", "bash").error == "exit code 3"


@pytest.mark.parametrize(
    "content", ["0 errors", "Error: handled\nexit code 0", "see [x] and f(truncated) here"]
)
def test_s2_5_a_success_is_recognized(content: str) -> None:
    assert extract_key_info(content, "bash").status == "success"


@pytest.mark.parametrize(
    "content",
    ["a\n... [truncated 12 characters] ...\nb", "a\n(Results are truncated)", "[3 lines omitted]"],
)
def test_s2_5_partial_results_are_recognized_by_their_text(content: str) -> None:
    assert extract_key_info(content, "Read", '{"path": "a.py"}').status == "partial"


@pytest.mark.parametrize("name", ["Read", "Write", "Edit"])
def test_s2_5_paths_come_from_the_call(name: str) -> None:
    assert extract_key_info("x", name, '{"file_path": "/app/a.py"}').paths == ("/app/a.py",)


def test_s2_4_a_summary_line_holds_status_call_and_result() -> None:
    passed = "ok\n" * 213 + "exit code: 0\n"
    assert line(passed, "bash", command="npm test") == "[✓ bash: npm test | exit 0 | 214 lines]"
    failed = "Error: boom\nexit code 1"
    assert (
        line(failed, "bash", command="npm test")
        == "[❌ bash: npm test | exit 1 | Error: boom | 2 lines]"
    )
    assert line("x\ny\n", "Read", file_path="/app/a.py") == "[✓ Read: /app/a.py | 2 lines]"
    assert line("a.py:1: x", "Grep", pattern="x") == "[✓ Grep: x | 1 match | 1 line]"
    assert line("a\n[9 lines omitted]", "Read", path="a") == "[✓ Read: a | partial | 2 lines]"
    assert (
        line("x", "read_many_files", paths=["a.py", "b.py", "c.py"])
        == "[✓ read_many_files: a.py +2 | 1 line]"
    )


@pytest.mark.parametrize(
    "text",
    [
        "[✓ passed]",
        "[❌ 3 lines",
        "✓ bash | 3 lines",
        "[✓ bash | 3 lines]\n",
        "[x bash | 3 lines]",
        "",
    ],
)
def test_s2_4_other_texts_are_not_summary_lines(text: str) -> None:
    assert not is_summary_line(text)


@given(
    st.text(max_size=300),
    st.one_of(
        st.none(),
        st.sampled_from(["bash", "Read", "Grep", "read_many_files"]),
        st.text(max_size=60),
    ),
    st.one_of(st.none(), st.text(max_size=300), st.fixed_dictionaries({}, optional={
        "command": st.text(max_size=300), "path": st.text(max_size=300),
        "pattern": st.text(max_size=300), "paths": st.lists(st.text(max_size=300)),
    }).map(json.dumps)),
    st.sampled_from([None, True, False]),
)  # fmt: skip
def test_s2_4_a_summary_line_has_at_most_200_characters_and_is_recognized(
    content: str, name: str | None, arguments: str | None, is_error: bool | None
) -> None:
    summary = summary_line(extract_key_info(content, name, arguments, is_error), name)
    assert len(summary) <= 200
    assert len(summary.splitlines()) == 1
    assert is_summary_line(summary)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "[✓ bash: npm test | exit 0 | 214 lines]",
            SummaryFields("bash", "npm test", False, 0, ""),
        ),
        ("[✓ bash: ls | wc -l | 1 line]", SummaryFields("bash", "ls | wc -l", False, None, "")),
        (
            "[❌ bash: make | exit 2 | no rule to make target | partial | 9 lines]",
            SummaryFields("bash", "make", True, 2, "no rule to make target"),
        ),
        (
            "[❌ Read: /a.py | file not found | 1 line]",
            SummaryFields("Read", "/a.py", True, None, "file not found"),
        ),
        ("[✓ Grep: tide | 3 matches | 4 lines]", SummaryFields("Grep", "tide", False, None, "")),
        ("[✓ bash | 1 line]", SummaryFields("bash", "", False, None, "")),
        ("no such line", None),
    ],
)
def test_s2_4_a_summary_line_is_parsed(line: str, expected: SummaryFields | None) -> None:
    assert parse_summary_line(line) == expected


@pytest.mark.parametrize(
    "line",
    [
        "--- FAIL: TestLamp (0.02s)",
        "FAIL\texample.org/lamp\t0.4s",
        "FAILED tests/test_lamp.py::test_wick - assert 1 == 2",
        "===== 2 failed, 14 passed in 3.1s =====",
        "Tests:       1 failed, 7 passed, 8 total",
        "test result: FAILED. 3 passed; 1 failed",
        "not ok 4 - the lamp burns",
    ],
)
@pytest.mark.parametrize("flag", [None, False])
def test_failed_tests_are_an_error_although_the_last_command_succeeded(
    line: str, flag: bool | None
) -> None:
    output = f"ok 1\nrunning the lamp\n{line}\ndone\n"
    arguments = '{"command": "make test 2>&1 | tail -30"}'
    info = extract_key_info(output, "bash", arguments, flag)
    assert (info.status, info.error) == ("error", line)
    other = extract_key_info(output, "bash", '{"command": "cat log"}', False)
    assert other.status == "success"
