"""Trajectories of mini-swe-agent's Responses models: whole responses and outputs among messages."""

import json
from typing import Any

from conftest import Run
from harness import read, run
from insertions import format_of, written
from msgspec.structs import replace

from ctxtrim.model import Message, Part, Transcript

LONG = "the tide table of the north quay\n" * 200
BASH = {"type": "function", "name": "bash", "parameters": {"type": "object"}, "strict": True}


def call(name: str, command: str) -> dict[str, Any]:
    arguments = json.dumps({"command": command})
    item = {"type": "function_call", "id": f"fc_{name}", "call_id": name, "name": "bash"}
    return item | {"arguments": arguments, "status": "completed"}


def text(words: str) -> dict[str, Any]:
    block = {"type": "output_text", "text": words, "annotations": []}
    return {"type": "message", "id": "msg_1", "role": "assistant", "content": [block]}


def thought(words: str) -> dict[str, Any]:
    summary = [{"type": "summary_text", "text": words}]
    return {"type": "reasoning", "id": "rs_1", "summary": summary, "content": None}


def response(*output: dict[str, Any]) -> dict[str, Any]:
    """A response as an element, with the actions that mini-swe-agent reads from it."""
    return {
        "id": "resp_1",
        "object": "response",
        "model": "gpt-5-mini",
        "instructions": None,
        "output": list(output),
        "tools": [BASH],
        "usage": {"input_tokens": 400, "output_tokens": 30, "total_tokens": 430},
        "extra": {"actions": [{"command": LONG}], "cost": 0.01},
    }


def output(name: str, words: str) -> dict[str, Any]:
    extra = {"raw_output": LONG, "returncode": 0, "timestamp": 1.5}
    return {"type": "function_call_output", "call_id": name, "output": words, "extra": extra}


def step(number: int, words: str) -> list[dict[str, Any]]:
    name = f"c{number}"
    said = [thought("Look first."), text(f"Step {number}."), call(name, f"cat {number}.txt")]
    return [response(*said), output(name, words)]


SYSTEM = {"role": "system", "content": "You work in a shell."}
TASK = {"role": "user", "content": "Correct the tide table.", "extra": {"timestamp": 1.0}}
EXIT = {"role": "exit", "content": "done", "extra": {"exit_status": "Submitted"}}
REFUSED = {
    "type": "message",
    "role": "user",
    "content": [{"type": "input_text", "text": "Call a tool."}],
    "extra": {"interrupt_type": "FormatError", "response": response(text("Done."))},
}


def trajectory(*elements: dict[str, Any]) -> bytes:
    info = {"config": {"model": {"model_name": "openai/gpt-5-mini"}}}
    shape = {"info": info, "messages": [*elements, EXIT]}
    return json.dumps(shape | {"trajectory_format": "mini-swe-agent-1.1"}, indent=2).encode()


def transcript(data: bytes) -> Transcript:
    ((found,),) = (chunk.transcripts for chunk in read(data))
    return found


def elements(data: bytes | None) -> list[dict[str, Any]]:
    assert data is not None
    found: list[dict[str, Any]] = json.loads(data)["messages"]
    return found


def test_a_response_is_an_answer_and_an_output_its_result() -> None:
    data = trajectory(SYSTEM, TASK, *step(1, "high"), REFUSED, *step(2, "low"))
    assert format_of(data).name == "openai-chat"
    found = transcript(data)
    assert [message.role for message in found.messages] == [
        "system", "user", "assistant", "tool", "user", "assistant", "tool",
    ]  # fmt: skip
    assert [(part.kind, part.text) for part in found.messages[2].parts] == [
        ("reasoning", "Look first."),
        ("text", "Step 1."),
        ("tool_call", '{"command": "cat 1.txt"}'),
    ]
    result = found.messages[3].result
    assert result is not None
    assert (result.text, result.call_id) == ("high", "c1")
    assert (found.uncounted, found.model) == (0, "openai/gpt-5-mini")
    assert [(usage.prompt_tokens, usage.message) for usage in found.usages] == [(400, 2), (400, 5)]
    assert run(data, [("check", {"profile": "openai"})]).findings == ()
    assert run(data).data == data


def test_extra_and_responses_without_output_are_not_counted() -> None:
    counted = [
        run(trajectory(SYSTEM, TASK, *more, *step(1, "high"))).rows[0].tokens_read
        for more in ((), (response(),))
    ]
    assert counted[0] == counted[1] < 80


def test_an_item_of_an_unknown_type_is_reported() -> None:
    odd = {"type": "hologram", "id": "h1"}
    found = transcript(trajectory(SYSTEM, TASK, response(odd, call("c1", "ls")), output("c1", "a")))
    assert (len(found.messages), found.uncounted) == (4, 1)


def test_an_output_is_shortened_and_a_step_is_dropped_with_its_response() -> None:
    steps = [SYSTEM, TASK, *step(1, LONG), *step(2, "low")]
    data = trajectory(*steps)
    left = elements(run(data, [("truncate", {"max_tokens": 50})]).data)
    assert left[:3] + left[4:] == [*steps[:3], *steps[4:], EXIT]
    assert left[3]["output"].startswith("the tide table") and len(left[3]["output"]) < 600
    ran = run(data, [("trim", {})], limit=80)
    assert ran.findings == ()
    assert elements(ran.data) == [SYSTEM, TASK, *step(2, "low"), EXIT]
    assert elements(run(data, [("trim", {})], limit=30).data) == [SYSTEM, TASK, EXIT]


def test_a_trajectory_of_responses_only_is_still_read() -> None:
    assert [message.role for message in transcript(trajectory(*step(1, "a"))).messages] == [
        "assistant", "tool",
    ]  # fmt: skip


def test_new_results_are_outputs_and_new_prompts_plain_messages() -> None:
    data = trajectory(SYSTEM, TASK, response(call("c1", "ls"), call("c2", "pwd")), REFUSED)
    (chunk,) = read(data)
    (found,) = chunk.transcripts
    added = [Message("tool", (Part("tool_result", "lost", name),)) for name in ("c1", "c2")]
    note = Message("user", (Part("text", "Summary."),))
    messages = (*found.messages[:3], *added, note, *found.messages[3:])
    left = elements(written(chunk, format_of(data), replace(found, messages=messages)))
    assert left[3:6] == [
        {"type": "function_call_output", "call_id": "c1", "output": "lost"},
        {"type": "function_call_output", "call_id": "c2", "output": "lost"},
        {"role": "user", "content": "Summary."},
    ]


def test_a_trajectory_is_converted(ctxtrim: Run) -> None:
    data = trajectory(SYSTEM, TASK, *step(1, "high"))
    ran = ctxtrim("convert", "--to", "openai-chat", stdin=data)
    messages = json.loads(ran.out)["messages"]
    assert [message["role"] for message in messages] == ["system", "user", "assistant", "tool"]
    assert messages[2]["tool_calls"][0]["id"] == messages[3]["tool_call_id"] == "c1"
