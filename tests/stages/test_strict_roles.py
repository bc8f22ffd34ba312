"""Edits keep the order of roles that strict providers require, and `check` reports a wrong one."""

import json
from typing import Any

import pytest
from builders import says, user
from conftest import Run

LONG = "The tide table of the harbour. " * 60
CALL = {"type": "tool_use", "id": "t1", "name": "look", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "t1", "content": "error: no such buoy"}
STEP = [
    {"role": "assistant", "content": [CALL]},
    {"role": "user", "content": [RESULT]},
]
REST = [user("And the quay?"), says("It is fine."), user("Thanks.")]
TALK = [user("Check the buoys."), *STEP, says(LONG), *REST]
PLAIN = {"model": "claude-sonnet-4-6", "max_tokens": 9}
FOR_BEDROCK = {"max_tokens": 9, "anthropic_version": "bedrock-2023-05-31"}
BEDROCK = {
    "a batch": lambda messages: {"recordId": "1", "modelInput": PLAIN | {"messages": messages}},
    "a log": lambda messages: {
        "modelId": "anthropic.claude-sonnet-4-5",
        "input": {"inputBodyJson": PLAIN | {"messages": messages}},
    },
    "a request": lambda messages: FOR_BEDROCK | {"messages": messages},
}
ADJACENT = [*TALK[:3], *REST]
"""The result and the next prompt are two user elements in a row."""


def line(value: Any) -> bytes:
    return json.dumps(value).encode() + b"\n"


def messages_in(data: bytes) -> list[Any]:
    value = json.loads(data)
    body = value.get("modelInput") or value.get("input", {}).get("inputBodyJson") or value
    found = body["messages"]
    assert isinstance(found, list)
    return found


@pytest.mark.parametrize("kind", BEDROCK)
@pytest.mark.parametrize("command", ["trim", "summarize"])
def test_elements_of_anthropic_alternate_for_bedrock(ctxtrim: Run, kind: str, command: str) -> None:
    options = {
        "trim": ("trim", "-b", "150", "--strategy", "middle", "--pin", "id:t1"),
        "summarize": ("summarize", "--keep-recent-turns", "1", "--pin", "id:t1"),
    }[command]
    ran = ctxtrim(*options, "-m", "claude-sonnet-4-6", stdin=line(BEDROCK[kind](TALK)))
    roles = [message["role"] for message in messages_in(ran.out)]
    assert (ran.code, len(roles) < len(TALK)) == (0, True), ran.err
    assert roles == ["user", "assistant"] * (len(roles) // 2) + ["user"]
    assert ctxtrim("check", stdin=ran.out).code == 0


@pytest.mark.parametrize("kind", BEDROCK)
def test_check_reports_adjacent_elements_for_bedrock(ctxtrim: Run, kind: str) -> None:
    assert ctxtrim("check", stdin=line(BEDROCK[kind](TALK))).code == 0
    ran = ctxtrim("check", stdin=line(BEDROCK[kind](ADJACENT)))
    assert ran.code != 0
    assert "message 3: two elements from user in a row [roles-not-alternating]" in ran.out.decode()


def test_the_api_of_anthropic_accepts_adjacent_elements(ctxtrim: Run) -> None:
    assert ctxtrim("check", stdin=line(PLAIN | {"messages": ADJACENT})).code == 0
