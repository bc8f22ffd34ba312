"""Errors: the signs of an error, and texts that are not errors."""

import json
from typing import Any

import pytest
from builders_evidence import result
from conftest import Run

from ctxtrim.evidence.errors import error_line, exit_code, is_error
from ctxtrim.evidence.key_info import extract_key_info

FAILURES = [
    "Fatal error: Uncaught TypeError in /app/index.php:3",
    "PHP Fatal error:  Allowed memory size exhausted",
    "npm ERR! code ENOENT",
    "npm error code E404",
    "error TS2304: Cannot find name 'total'.",
    "src/cart (old).ts(12,5): error TS7006: Parameter 'x' implicitly has an 'any' type.",
    "src/cart.ts:12:5 - error TS2551: Property 'sun' does not exist.",
    'Exception in thread "main" java.lang.IllegalStateException',
    "Failed to connect to localhost port 8080",
    "curl: (7) Failed to connect to localhost port 8080 after 0 ms",
]
WORDS = ["error", "Exception", "FAILED", "fatal", "cannot", "Unable to"]


@pytest.mark.parametrize("line", FAILURES)
def test_s0_11_the_failures_that_common_tools_print_are_errors(line: str) -> None:
    text = f"\n> build\n{line}\nmore"
    start, end = error_line(text) or (0, 0)
    assert text[start:end] == line
    assert extract_key_info(line, "bash").error == line
    assert not is_error(result(f"{line}\nexit code: 0"))


@pytest.mark.parametrize(
    "text",
    [
        "0 errors", "12 passed, 0 failed", "exit code: 0\nError: shown, but handled", "fine", "",
        "npm errors explained", "the log says error TS2304: fixed",
        "it no longer Failed to connect", "we print npm ERR! then",
    ],
)  # fmt: skip
def test_s0_11_successful_results_are_not_errors(text: str) -> None:
    assert not is_error(result(text))
    assert error_line(text) is None


@pytest.mark.parametrize("is_loose", [False, True])
def test_s0_11_flag_and_exit_code_take_precedence_over_words(is_loose: bool) -> None:
    assert not is_error(result("Error: boom", is_error=False), is_loose)
    assert is_error(result("all is well", is_error=True), is_loose)
    assert not is_error(result("Exit code: 0\nError: boom"), is_loose)
    assert is_error(result("all is well\nexit code: 3"), is_loose)


@pytest.mark.parametrize("word", WORDS)
def test_s0_11_loose_finds_error_words_anywhere(word: str) -> None:
    text = "head\n" * 50 + f"  the job {word} here \nrest\n" * 2
    assert error_line(text) is None
    start, end = error_line(text, is_loose=True) or (0, 0)
    assert text[start:end] == f"the job {word} here"
    assert is_error(result(text), is_loose=True)


def test_s0_11_loose_treats_no_errors_as_an_error() -> None:
    assert is_error(result("0 errors"), is_loose=True)
    assert not is_error(result("all 12 passed"), is_loose=True)


@pytest.mark.parametrize("name", ["exit_code", "exitCode", "returncode", "exit_status"])
@pytest.mark.parametrize("place", [(), ("metadata",)])
@pytest.mark.parametrize("indent", [None, 2])
def test_s0_11_the_exit_code_of_a_json_object_decides(
    name: str, place: tuple[str, ...], indent: int | None
) -> None:
    for code in (0, 3, -9):
        value: dict[str, Any] = {"stdout": "Error: boom\n" * 80, "stderr": 'say "exit_code": 7'}
        members = value
        for key in place:
            members = members.setdefault(key, {"seconds": 0.1})
        members[name] = code
        text = json.dumps(value | {"more": "rest"}, indent=indent)
        assert is_error(result(text)) == bool(code)
        assert (exit_code(text), extract_key_info(text, "bash").exit_code) == (code, code)
        start, end = error_line(text) or (0, 0)
        assert text[start:end] == (f'"{name}": {code}' if code else "")


@pytest.mark.parametrize(
    "value",
    [
        {"jobs": [{"name": "build", "exit_code": 1}]},
        {"jobs": {"build": {"exit_code": 1}}},
        {"passed": True, "exit_code": True},
        {"text": 'the file has "exit_code": 1'},
    ],
)
def test_s0_11_other_numbers_in_json_are_no_exit_codes(value: dict[str, Any]) -> None:
    assert not is_error(result(json.dumps(value)))


def test_s0_11_one_output_is_the_same_error_in_each_format(ctxtrim: Run) -> None:
    """Codex reads the text in the JSON, Chat Completions has a string."""
    output = json.dumps({"output": "warped\n" * 80, "metadata": {"exit_code": 1}})
    call = {"name": "bash", "arguments": "{}"}
    chat: list[dict[str, Any]] = []
    items: list[dict[str, Any]] = []
    for number in range(8):
        ids = {"call_id": f"c{number}"}
        chat.append(
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": f"c{number}", "type": "function", "function": call}],
            }
        )
        chat.append({"role": "tool", "tool_call_id": f"c{number}", "content": output})
        items.append({"type": "function_call"} | ids | call)
        items.append({"type": "function_call_output"} | ids | {"output": output})
    for request in ({"messages": chat}, {"model": "gpt-5", "input": items}):
        data = json.dumps(request).encode()
        assert ctxtrim("truncate", stdin=data).out == data


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Exit code 2\nboom", 2),
        ("boom\nProcess exited with code 0", 0),
        ('{\n  "exit_code": -1,\n', -1),
        ("boom", None),
        ("", None),
        ("line\n" * 9 + "exit code 1\n" + "line\n" * 9, None),
    ],
)
def test_s0_11_exit_codes_are_in_the_first_or_last_lines(text: str, code: int | None) -> None:
    assert exit_code(text) == code


def test_a_number_too_long_for_an_exit_code_is_ignored() -> None:
    assert exit_code("exit code: " + "1" * 5000) is None
