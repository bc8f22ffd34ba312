"""The format of a file: detected from content, shown by an option, and overridden by options."""

import json
from pathlib import Path
from typing import Any

import pytest
from builders import conversation, says, user
from conftest import FIXTURES, Run

TALK = [user("go"), says("so " * 30), user("now")]
DEEP = {"runs": [{"name": "one", "log": TALK}, {"name": "two", "log": TALK[:1]}], "other": 1.10}


def test_explain_format_shows_the_format_and_its_certainty(ctxtrim: Run) -> None:
    err = ctxtrim("count", "--explain-format", FIXTURES / "claude-code.jsonl").err
    assert (
        "read as claude-code (one message or event per line): 31 of 31 values inspected match"
        in err
    )
    err = ctxtrim("count", "--explain-format", stdin=b'{"a": 1}\n').err
    assert (
        "unknown format: no format recognizes any of the 1 values inspected; kept unchanged" in err
    )


def test_a_mixed_file_is_detected_and_loses_nothing(ctxtrim: Run) -> None:
    claude = (FIXTURES / "claude-code.jsonl").read_bytes()
    loose = b"".join(json.dumps(message).encode() + b"\n" for message in TALK)
    ran = ctxtrim("run", stdin=claude + loose)
    assert ran.out == claude + loose
    assert "31 of 34 values inspected match, 3 look like openai-chat" in ran.err
    assert "other values are kept unchanged" in ran.err


@pytest.mark.parametrize(
    "fields", [{"instructions": "Be brief. " * 40}, {"previous_response_id": "resp_1"}, {}]
)
def test_a_responses_request_among_chats_keeps_its_fields(
    ctxtrim: Run, fields: dict[str, str]
) -> None:
    chat = {"model": "gpt-4o-mini", "messages": [{"role": "user", "content": "Hi"}]}
    request = {"model": "gpt-4o", **fields, "input": [{"role": "user", "content": "Hello"}]}

    def rows(*values: object) -> list[Any]:
        data = "".join(f"{json.dumps(value)}\n" for value in values).encode()
        found = json.loads(ctxtrim("count", "--json", stdin=data).out)["transcripts"]
        return [(row["format"], row["tokens"], row["exactness"]) for row in found]

    assert rows(chat, chat, request, chat) == [*rows(chat, chat), *rows(request), *rows(chat)]
    err = ctxtrim("check", stdin=f"{json.dumps(chat)}\n{json.dumps(request)}".encode()).err
    assert "1 look like openai-" in err


def test_samples_with_an_input_are_read_as_the_chats_around_them(ctxtrim: Run) -> None:
    sample = {"input": [{"role": "user", "content": "Hello"}], "ideal": "Hi"}
    data = f"{json.dumps({'messages': TALK})}\n{json.dumps(sample)}\n".encode()
    rows = json.loads(ctxtrim("count", "--json", stdin=data).out)["transcripts"]
    assert [row["format"] for row in rows] == ["openai-chat", "openai-chat"]


def test_messages_at_a_path_are_edited_and_the_rest_is_unchanged(
    ctxtrim: Run, tmp_path: Path
) -> None:
    file = tmp_path / "runs.json"
    file.write_text(json.dumps(DEEP, indent=1))
    rows = json.loads(ctxtrim("count", "--json", "--messages-path", "runs[*].log", file).out)[
        "transcripts"
    ]
    assert [(row["pointer"], row["messages"], row["line"]) for row in rows] == [
        ("runs[0]", 3, 3),
        ("runs[1]", 1, 20),
    ]
    out = ctxtrim("trim", "--budget", "20", "--messages-path", "runs[*].log", file).out.decode()
    assert json.loads(out)["runs"][0]["log"] == TALK[2:]
    assert out.endswith(' "other": 1.1\n}')


@pytest.mark.parametrize("name", ["log", "output", "content"])
def test_a_list_at_a_path_stays_when_it_is_empty(ctxtrim: Run, name: str) -> None:
    orphan = {"role": "tool", "tool_call_id": "c9", "content": "lost"}
    lines = [{"id": 1, name: [orphan]}, {"id": 2, name: TALK}]
    data = "".join(f"{json.dumps(line)}\n" for line in lines).encode()
    ran = ctxtrim("run", "-s", "repair", "--messages-path", name, stdin=data)
    assert [json.loads(line) for line in ran.out.splitlines()] == [{"id": 1, name: []}, lines[1]]


def test_a_configured_path_that_does_not_match_is_named_with_its_file(
    ctxtrim: Run, tmp_path: Path
) -> None:
    (tmp_path / "ctxtrim.toml").write_text('messages-path = "runs[*].nothing"\n')
    ran = ctxtrim("trim", stdin=conversation(TALK), cwd=tmp_path)
    place = "ctxtrim.toml: messages-path runs[*].nothing"
    assert (ran.code, ran.out) == (2, b"")
    assert ran.err == f"ctxtrim: {place}: no message list at this path in <stdin>\n"
    ran = ctxtrim("trim", "--format", "claude-code", stdin=conversation(TALK), cwd=tmp_path)
    assert ran.err.startswith(f"ctxtrim: {place}: claude-code has one event per line")


@pytest.mark.parametrize(
    ("words", "code", "error"),
    [
        (("--messages-path", "runs[*].nothing"), 2, "no message list at this path in <stdin>"),
        (
            ("--messages-path", "runs[*"),
            2,
            "expected keys and brackets at character",
        ),
        (
            ("--messages-path", "x", "--format", "claude-code"),
            2,
            "claude-code has one event per line",
        ),
        (
            ("--messages-path", "a + b[", "--format", "claude-code"),
            2,
            "--messages-path a + b[: expected keys and brackets at character 6, "
            "as in simulations[*].messages",
        ),
        (("--format", "claude-code"), 1, "the format is not claude-code; omit --format"),
        (("--format", "clade-code"), 2, "--format clade-code: expected one of auto, claude-code"),
    ],
)
def test_an_option_that_does_not_match_the_file_is_one_clear_line(
    ctxtrim: Run, words: tuple[str, ...], code: int, error: str
) -> None:
    ran = ctxtrim("trim", *words, stdin=conversation(TALK))
    assert ran.code == code
    assert error in ran.err
    assert code == 1 or ran.out == b""
