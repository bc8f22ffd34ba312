"""Malformed message lists: they are edited as meant, or left out with the line and the value that
is malformed.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import Run
from harness import run

from ctxtrim.formats.defects import malformed
from ctxtrim.model import Line

LONG = "some words of a long text " * 60
TRIM = ("trim", "--budget", "150", "--tokenizer", "chars4")


def text(role: str, words: Any, key: str = "text") -> dict[str, Any]:
    """A message with a single block."""
    return {"role": role, "content": [{"type": "text", key: words}]}


def entry(number: int, message: Any, parent: str | None) -> dict[str, Any]:
    """An entry of a pi session."""
    links = {"id": f"e{number}", "parentId": parent, "timestamp": "2031-05-06T07:08:09.000Z"}
    return {"type": "message"} | links | {"message": message | {"timestamp": 1}}


def content(role: str, *parts: Any) -> dict[str, Any]:
    """A message of Gemini."""
    return {"role": role, "parts": list(parts)}


SAID = {"type": "output_text", "text": LONG}
ANSWER = {"type": "message", "role": "assistant", "content": [SAID]}
CALL = {
    "type": "function_call",
    "call_id": "c1",
    "name": "look",
    "arguments": json.dumps({"at": LONG}),
}
ASK = text("user", "Go on.")
PI = {
    "role": "assistant",
    "content": [{"type": "text", "text": LONG}],
    "api": "x",
    "provider": "y",
    "stopReason": "stop",
}
EVENT = {"id": "v1", "source": "user", "timestamp": "t", "kind": "MessageEvent"}

# malformed input, and the reported line
NAMED: dict[str, tuple[list[Any], int, str]] = {
    "llamafactory, an array as a block": (
        [{"messages": [{"role": "user", "content": [{"type": "text", "value": "Go."}, [1, None]]},
                       text("assistant", LONG, "value")]}],
        1, "`messages[0].content[1]` is an array",
    ),
    "openai-chat, an object as content": (
        [{"role": "user", "content": {"a": 1}}, {"role": "assistant", "content": LONG}],
        1, "`content` is an object",
    ),
    "openai-chat, no content": (
        [{"messages": [{"role": "user"}, {"role": "assistant", "content": LONG}]}],
        1, "`messages[0]` has the role 'user' and no content",
    ),
    "gemini, nothing left but an empty content": (
        [{"contents": [content("model", {"text": LONG}), content("user")]}],
        1, "`contents[1].parts` is an empty array",
    ),
    "openai-responses, a result of Chat Completions": (
        [{"input": [{"role": "user", "content": LONG}, {"role": "tool", "content": LONG},
                    {"role": "assistant", "content": [SAID]}, {"role": "user", "content": "Go."},
                    CALL, {"type": "function_call_output", "call_id": "c1", "output": "fine"}],
          "tools": [{"name": "look"}]}],
        1, "`input[1]` has the role of a result",
    ),
    "gemini, an array as a part": (
        [{"contents": [content("user", ["Go on."]), content("model", {"text": LONG})]}],
        1, "`contents[0].parts[0]` is an array",
    ),
}  # fmt: skip
# odd input that can be edited nevertheless
EDITED: dict[str, list[Any]] = {
    "openai-responses, an empty list before a two-line answer": [{"output": []}, ANSWER, CALL],
    "openai-responses, an empty list inside an answer": [ANSWER, {"output": []}, CALL],
    "pi, nothing left but plain text": [
        {"messages": [{"role": "user", "content": "Look.", "timestamp": 1}, PI,
                      {"role": "user", "content": "Go."}]}
    ],
    "pi, a number as an entry": [entry(1, ASK, None), entry(2, PI, "e1"), 7.5, entry(3, ASK, "e2")],
    "openhands, an array as a role": [EVENT | {"llm_message": {"role": [], "content": []}},
                                      EVENT | {"llm_message": text("user", "Go.")}],
}  # fmt: skip


def json_lines(values: list[Any]) -> bytes:
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


@pytest.mark.parametrize("name", NAMED)
def test_a_malformed_transcript_is_reported_with_its_line_and_left_out(
    name: str, tmp_path: Path, ctxtrim: Run
) -> None:
    values, line, reason = NAMED[name]
    (tmp_path / "a.jsonl").write_bytes(json_lines(values))
    ran = ctxtrim(*TRIM, "a.jsonl", "-o", "out.jsonl", "--report", "report.json", cwd=tmp_path)
    assert ran.code == 1
    (error,) = [line for line in ran.err.splitlines() if ": error: " in line]
    assert error.startswith(f"a.jsonl:{line}: ")
    assert reason in error
    assert "bug" not in ran.err
    assert not (tmp_path / "out.jsonl").exists() or (tmp_path / "out.jsonl").read_bytes() == b""
    (row,) = json.loads((tmp_path / "report.json").read_text())["transcripts"]
    assert [finding["code"] for finding in row["findings"]] == ["not-editable"]
    assert row["written"] is False


@pytest.mark.parametrize("name", EDITED)
def test_an_odd_transcript_is_edited_or_overflows(name: str, tmp_path: Path, ctxtrim: Run) -> None:
    (tmp_path / "a.jsonl").write_bytes(json_lines(EDITED[name]))
    ran = ctxtrim(*TRIM, "a.jsonl", "-o", "out.jsonl", cwd=tmp_path)
    assert "bug" not in ran.err, ran.err
    assert ran.code in (0, 3), ran.err


LINKS: dict[str, tuple[list[Any], int, str]] = {
    "a repeated id": (
        [{"uuid": "a", "parentUuid": None}, {"uuid": "b", "parentUuid": "a"},
         {"uuid": "b", "parentUuid": "b"}],
        3, "the id 'b' belongs to another line",
    ),
    "an id of an earlier line": (
        [{"uuid": "a", "parentUuid": None}, {"uuid": "b", "parentUuid": "a"},
         {"uuid": "a", "parentUuid": None}],
        3, "the id 'a' is that of line 1, as in a file joined to itself",
    ),
    "a missing parent": (
        [{"id": "a", "parentId": None}, {"id": "c", "parentId": "b"}],
        2, "`parentId` is 'b', but no line before it has that id",
    ),
    "an array among events": (
        [{"id": "a"}, [{"id": "b"}]],
        2, "the line is an array, but other lines are objects",
    ),
    "an invalid id": ([{"id": "a"}, {"tool_call_id": ["a"]}], 2, "`tool_call_id` is an "
"array, not "
"an id"),
    "an invalid role": ([{"message": {"role": 7}}], 1, "`message.role` is a number, not "
"a string"),
}  # fmt: skip


@pytest.mark.parametrize("name", LINKS)
def test_broken_links_are_reported(name: str) -> None:
    values, line, reason = LINKS[name]
    lines = [Line(json_lines([value]), number) for number, value in enumerate(values, 1)]
    assert malformed(lines) == (line, reason)


def test_well_formed_transcripts_have_no_problems() -> None:
    parts = [
        {"uuid": "b", "parentUuid": "a", "content": [{"text": "x"}]}
    ] * 2  # an answer on two lines
    lines = [{"uuid": "a", "parentUuid": None, "role": "user", "content": "hi"}, *parts]
    assert (
        malformed([Line(json_lines([value]), number) for number, value in enumerate(lines, 1)])
        is None
    )


def test_a_result_that_changes_its_call_after_an_edit_fits_the_budget() -> None:
    values = [{"name": "look", "arguments": {"at": "/" * size}} for size in (8, 1200)]
    calls = [{"type": "tool_call", "value": json.dumps(value)} for value in values]
    accented = "naïve café" * 50  # in parallel results such letters may be sent as escapes
    messages = [
        text("user", "some words " * 75, "value"),
        {"role": "assistant", "content": calls},
        text("tool", "\u2028" * 45, "value"),
        text("assistant", "fine\n" * 120, "value"),
        text("tool", accented, "value"),
        text("user", accented, "value"),
    ]
    whole = run(json_lines(messages)).rows[0].count.tokens
    for budget in range(whole - 200, whole):
        (row,) = run(json_lines(messages), [("trim", {})], limit=budget).rows
        assert not row.overflows
        assert row.count.tokens <= budget


def test_a_tool_message_of_the_ai_sdk_with_a_text_next_to_a_result_is_reported(
    ctxtrim: Run,
) -> None:
    blocks = [{"type": "text", "text": "x"}, {"type": "tool-result", "toolCallId": "c1"}]
    messages = [{"role": "tool", "content": blocks}, {"role": "user", "content": "Go."}]
    ran = ctxtrim("run", "-s", "repair", stdin=json_lines([{"messages": messages}]))
    assert (ran.code, ran.out) == (1, b"")
    assert "`messages[0].content[0]` is not a result" in ran.err


def test_an_action_without_an_observation_is_reported_if_a_prompt_would_become_it(
    ctxtrim: Run,
) -> None:
    action = {"role": "assistant", "content": "I look.", "thought": "I look.", "action": "ls"}
    history = [
        action,
        action,
        {"role": "user", "content": LONG},
        {"role": "user", "content": "Go."},
    ]
    cutoff = ("run", "-s", "cutoff:tool-cutoff=0,summary-place=append", "--tokenizer", "chars4")
    ran = ctxtrim(*cutoff, stdin=json_lines([{"history": history}]))
    assert (ran.code, ran.out) == (1, b"")
    assert "the call in message 0 has no result" in ran.err


def test_one_placeholder_for_all_ids_is_the_reason_before_any_odd_value() -> None:
    events = [
        {"type": "attachment", "uuid": "a1", "parentUuid": None, "attachment": {"content": {}}},
        {"type": "user", "uuid": "[removed]", "parentUuid": "a1"},
        {"type": "assistant", "uuid": "[removed]", "parentUuid": "[removed]"},
    ]
    lines = [Line(json.dumps(event).encode(), number) for number, event in enumerate(events, 1)]
    assert malformed(lines) == (3, "the id '[removed]' belongs to another line")


def test_counters_and_scores_are_no_texts() -> None:
    usage = {
        "usageDetails": {"input": 9, "output": 5},
        "costDetails": {"input": 0.1, "output": 2.0},
    }
    value = usage | {"tokens": {"input": 9, "output": 5}, "scores": [{"name": "x", "value": 0.9}]}
    assert malformed([Line(json.dumps(value).encode(), 1)]) is None
    found = malformed([Line(b'{"output": 5}', 1)])
    assert found is not None
    assert found.reason == "`output` is a number, not a text"
