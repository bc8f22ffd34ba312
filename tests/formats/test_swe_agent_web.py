"""Trajectories of SWE-agent's web page: thoughts, actions and their outputs."""

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import Run
from harness import read, run, unpaired
from insertions import SUMMARY, written
from msgspec.structs import replace

from ctxtrim.errors import NotEditableError
from ctxtrim.formats import FORMATS

FIXTURE = Path("fixtures/swe-agent-web.json")
LONG = "a tide comes in " * 200


def step(number: int) -> list[dict[str, Any]]:
    return [
        {"type": "thought", "thought": f"Step {number}."},
        {"type": "action", "action": f"cat {number}"},
        {"type": "output", "output_terminal": LONG},
    ]


def test_the_fixture_is_one_conversation() -> None:
    data = FIXTURE.read_bytes()
    chunk = read(data)[0]
    assert chunk.format is not None
    (transcript,) = chunk.transcripts
    assert (chunk.format.name, transcript.model) == ("swe-agent-web", "gpt-4")
    roles = ["user", *("assistant",) * 3, "tool", "assistant", "tool", "assistant"]
    assert [message.role for message in transcript.messages] == roles
    kinds = [message.parts[0].kind for message in transcript.messages[2:5]]
    assert kinds == ["text", "tool_call", "tool_result"]
    assert not unpaired(transcript)
    assert run(data).data == data


def test_a_result_is_shortened_and_the_other_steps_stay() -> None:
    value = {"issue_text": "It blinks.", "history": step(1)}
    ran = run(json.dumps(value).encode(), [("truncate", {"max_tokens": 60})])
    new = json.loads(ran.data or b"")
    assert new["history"][:2] == value["history"][:2]
    assert "truncated" in new["history"][2]["output_terminal"]


def test_an_action_without_an_output_is_removed() -> None:
    lost = {"type": "action", "action": "ls"}
    value = {"issue_text": "It blinks.", "history": [*step(1), lost, *step(2)]}
    new = json.loads(run(json.dumps(value).encode(), [("repair", {})]).data or b"")
    assert new["history"] == [*step(1), *step(2)]


def test_no_message_can_come_before_the_prompt_or_into_an_empty_history() -> None:
    steps = [{"type": "thought", "thought": "I look."}]
    for history, position in ((steps, 0), ([], 0), ([], 1)):
        task = {"instance_id": "harbour-1", "issue_text": "Count the lamps.", "history": history}
        (chunk,) = read(json.dumps(task).encode())
        messages = chunk.transcripts[0].messages
        new = (*messages[:position], SUMMARY, *messages[position:])
        with pytest.raises(NotEditableError, match="before or after a step of the history"):
            written(chunk, FORMATS["swe-agent-web"], replace(chunk.transcripts[0], messages=new))


def test_steps_on_lines_of_their_own_can_become_digests(ctxtrim: Run) -> None:
    lines = [json.dumps(line) for number in range(4) for line in step(number)]
    data = "\n".join(lines).encode()
    ran = ctxtrim("run", "-s", "cutoff:tool-cutoff=1", stdin=data)
    digests = [line for line in ran.out.decode().splitlines() if line not in lines]
    assert (ran.code, len(digests)) == (0, 3)
    assert all("[Tool summary]" in digest for digest in digests)
