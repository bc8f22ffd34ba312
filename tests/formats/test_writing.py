"""New text is written like the line around it: line ends and escapes."""

import json

import pytest
from builders import call, step, user
from harness import run

NEW = {"max_age": 0, "keep_small": 0, "placeholder": "gekürzt"}


@pytest.mark.parametrize(("prompt", "is_ascii"), [("go", True), ("für dich", False)])
def test_new_text_is_escaped_like_the_rest_of_the_line(prompt: str, is_ascii: bool) -> None:
    messages = [user(prompt), *step("a", "long " * 100), *step("b", "short")]
    line = json.dumps({"messages": messages}, ensure_ascii=False).encode() + b"\n"
    data = run(line, [("truncate", NEW)]).data or b""
    assert json.loads(data)["messages"][2]["content"] == "gekürzt"
    assert data.isascii() == is_ascii
    assert ("gekürzt".encode() in data) != is_ascii


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_a_new_line_ends_like_the_others(end: bytes) -> None:
    messages = [user("go"), call("a"), user("and?")]
    data = end.join(json.dumps(message).encode() for message in messages) + end
    lines = (run(data, [("repair", {"repair": "synthesize"})]).data or b"").split(end)
    assert [json.loads(line)["role"] for line in lines[:-1]] == [
        "user",
        "assistant",
        "tool",
        "user",
    ]
    assert lines[-1] == b""
    assert all(line == line.strip() for line in lines)
