"""Stored sessions of Cursor: calls without ids, mostly without results."""

import json
from typing import Any

import pytest
from conftest import Run

NOTE = "the file lacks the results of all calls; not counted"


def line(role: str, *blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": role, "message": {"content": list(blocks)}}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def call(**more: Any) -> dict[str, Any]:
    return {"type": "tool_use", "name": "Sound", "input": {"bay": "north"}} | more


RESULT = {"type": "tool_result", "tool_use_id": "t1", "content": "nine fathoms"}
TALK = [
    line("user", text("Sound the bay.")),
    line("assistant", text("I sound it."), call(), call()),
    line("assistant", text("Once more."), call()),
    line("assistant", text("Nine fathoms.")),
]


def lines(*values: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


@pytest.mark.parametrize("talk", [TALK, TALK[:3]], ids=["complete", "last"])
def test_a_session_without_results_is_an_estimate_and_valid(
    ctxtrim: Run, talk: list[dict[str, Any]]
) -> None:
    checked = ctxtrim("check", "-m", "gpt-4o", "--json", stdin=lines(*talk))
    row = json.loads(checked.out)["transcripts"][0]
    assert checked.code == 0
    assert [finding["message"] for finding in row["findings"]] == [NOTE]
    assert [finding["code"] for finding in row["findings"]] == ["not-counted"]
    assert row["exactness"] == "estimated"
    fixed = ctxtrim("check", "--fix", "-m", "gpt-4o", stdin=lines(*talk))
    assert (fixed.code, fixed.out) == (0, lines(*talk))


def test_a_session_without_results_reports_its_reasoning_too(ctxtrim: Run) -> None:
    answer = line("assistant", call())
    answer["message"]["thinking"] = True
    checked = ctxtrim("check", "-m", "gpt-4o", "--json", stdin=lines(TALK[0], answer))
    row = json.loads(checked.out)["transcripts"][0]
    notes = ["`thinking` in an unknown form; not counted", NOTE]
    assert [finding["message"] for finding in row["findings"]] == notes


def test_a_request_needs_the_results(ctxtrim: Run) -> None:
    checked = ctxtrim("check", "--as", "request", "-m", "gpt-4o", stdin=lines(*TALK))
    assert checked.code != 0
    assert checked.out.count(b"[call-without-result]") == 2


@pytest.mark.parametrize(
    "talk",
    [
        [*TALK[:2], line("user", RESULT), *TALK[2:]],
        [TALK[0], line("assistant", call(id="t2")), *TALK[2:]],
        [{"role": each["role"], "content": each["message"]["content"]} for each in TALK],
    ],
    ids=["a result", "an id", "no session of Cursor"],
)
def test_other_calls_without_a_result_are_errors(ctxtrim: Run, talk: list[dict[str, Any]]) -> None:
    checked = ctxtrim("check", "-m", "gpt-4o", stdin=lines(*talk))
    assert checked.code != 0
    assert b"[call-without-result]" in checked.out
    assert NOTE.encode() not in checked.out


def test_an_edited_session_is_still_valid(ctxtrim: Run) -> None:
    talk = [line("user", text("Sound it. " * 200)), *TALK[1:], *TALK]
    trimmed = ctxtrim("trim", "--summarize", "-b", "160", "-m", "gpt-4o", stdin=lines(*talk))
    assert trimmed.code == 0
    assert 0 < len(trimmed.out.splitlines()) < len(talk)
    assert ctxtrim("check", "-m", "gpt-4o", stdin=trimmed.out).code == 0
