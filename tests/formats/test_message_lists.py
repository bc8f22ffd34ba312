"""The fields around the lists of one conversation."""

import json
from typing import Any

import pytest
from builders import says, user
from harness import read

from ctxtrim.formats.message_lists import Envelope
from ctxtrim.model.request import Usage


def test_of_two_objects_the_first_tools_and_the_later_model_id_and_usage_win() -> None:
    request = Envelope(tools="[1]", tool_choice="auto", model="a", id="r", usage=Usage(1, 1))
    response = Envelope(tools="[2]", tool_choice="none", model="b", id="s", usage=Usage(2, 2))
    both = request | response
    assert (both.tools, both.tool_choice) == ("[1]", "auto")
    assert (both.model, both.id, both.usage) == ("b", "s", Usage(2, 2))
    assert request | Envelope() == Envelope() | request == request


TALK = [user("go"), says("on")]
CLAUDE = [user("go"), {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm"}]}]
ROWS: dict[str, dict[str, Any]] = {
    "openai-chat": {"messages": TALK},
    "anthropic": {"messages": CLAUDE},
    "openai-responses": {"input": [{"type": "message", **user("go")}], "model": "gpt-5"},
    "gemini": {"contents": [{"role": "user", "parts": [{"text": "go"}]}]},
    "sharegpt": {"conversations": [{"from": "human", "value": "go"}]},
    "llamafactory": {"messages": [{"role": "user", "content": [{"type": "text", "value": "go"}]}]},
    "openhands": {"history": [{"id": 1, "source": "user", "action": "message", "args": {}}]},
}


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize(
    ("value", "expected"), [("a7", "a7"), (7, "7"), (0, "0"), (True, None), (1.5, None), ({}, None)]
)
def test_the_number_of_a_row_is_its_id(name: str, value: object, expected: str | None) -> None:
    (chunk,) = read(json.dumps(ROWS[name] | {"id": value}).encode())
    (transcript,) = chunk.transcripts
    assert chunk.format is not None
    assert (chunk.format.name, transcript.id) == (name, expected)
