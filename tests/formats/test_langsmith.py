"""Runs of LangSmith: messages of LangChain in every form, and those of providers."""

import json
from typing import Any

import pytest
from harness import read, run
from writers import langsmith
from writers.openai_chat import openai_message

from ctxtrim.model import Transcript
from ctxtrim.model.request import Usage

LONG = "22:10 fog signal on\n" * 200
CALL = {"id": "c1", "name": "bash", "input": {"x": "1 May"}}
TALK: list[dict[str, Any]] = [
    {"role": "system", "texts": ["You keep the log."]},
    {"role": "user", "texts": ["When was there fog?"]},
    {"role": "assistant", "texts": ["I look."], "calls": [CALL]},
    {"role": "tool", "id": "c1", "texts": [LONG], "error": True, "image": False},
    {"role": "assistant", "texts": ["At ten."], "calls": []},
]


def line(value: Any) -> bytes:
    return json.dumps(value).encode() + b"\n"


def only(data: bytes) -> Transcript:
    (transcript,) = [each for chunk in read(data) for each in chunk.transcripts]
    return transcript


@pytest.mark.parametrize("number", range(4))
def test_every_form_of_a_message_is_read_and_edited(number: int) -> None:
    data = line(langsmith.run(TALK, number))
    transcript = only(data)
    assert [message.role for message in transcript.messages] == [each["role"] for each in TALK]
    assert [(call.call_id, call.name) for call in transcript.messages[2].calls] == [("c1", "bash")]
    result = transcript.messages[3].result
    assert result is not None
    assert (result.call_id, result.text) == ("c1", LONG)
    assert result.is_error is (None if number == 3 else True)
    out = run(data, [("truncate", {"max_tokens": 60})]).data or b""
    assert b"truncated" in out
    assert out[:200] == data[:200]
    assert run(out, [("truncate", {"max_tokens": 60})]).data == out


@pytest.mark.parametrize("number", range(4))
def test_a_new_message_has_the_form_of_its_neighbours(number: int) -> None:
    talk = [TALK[1], TALK[2], TALK[1], TALK[4]]
    data = line(langsmith.run(talk, number))
    out = run(data, [("repair", {"repair": "synthesize"})]).data or b""
    assert [message.role for message in only(out).messages] == [
        *("user", "assistant", "tool", "user", "assistant"),
    ]
    sent = json.loads(out)["inputs"]["messages"]
    messages = sent[0] if isinstance(sent[0], list) else sent
    assert messages[2].keys() - {"tool_call_id", "name"} <= messages[3].keys() | {"content"}


def test_a_call_without_a_result_is_removed_and_its_copy_does_not_count() -> None:
    talk = [TALK[1], TALK[2], TALK[1], TALK[4]]
    value = langsmith.run(talk, 0)
    kwargs = value["inputs"]["messages"][0][1]["kwargs"]
    copy = {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": "{}"}}
    kwargs["additional_kwargs"] = {"tool_calls": [copy]}
    assert len(list(only(line(value)).messages[1].calls)) == 1
    out = run(line(value), [("repair", {})]).data or b""
    assert list(only(out).messages[1].calls) == []
    del kwargs["tool_calls"]
    assert [call.name for call in only(line(value)).messages[1].calls] == ["bash"]


def test_usage_is_that_of_the_answer_or_of_the_run() -> None:
    value = langsmith.run(TALK, 0)
    assert only(line(value)).usages == (Usage(40, 2, 4),)
    del value["prompt_tokens"]
    answer = value["outputs"]["generations"][0][0]["message"]
    answer["kwargs"]["usage_metadata"] = {"input_tokens": 41, "output_tokens": 3}
    assert only(line(value)).usages == (Usage(41, 3, 4),)
    value["outputs"]["llm_output"] = {"token_usage": {"prompt_tokens": 42, "completion_tokens": 4}}
    assert only(line(value)).usages == (Usage(42, 4, 4),)


def test_a_prompt_of_a_completion_is_a_message() -> None:
    value = langsmith.run(TALK, 0) | {
        "inputs": {"prompts": ["When was there fog?"]},
        "outputs": {"generations": [[{"text": "At ten.", "generation_info": None}]]},
    }
    messages = only(line(value)).messages
    assert [(each.role, each.parts[0].text) for each in messages] == [
        ("user", "When was there fog?"),
        ("assistant", "At ten."),
    ]
    assert run(line(value)).data == line(value)


def test_child_runs_are_read_and_other_runs_are_not() -> None:
    value = langsmith.nested(TALK, 0)
    transcript = only(line(value))
    assert transcript.pointer == ("child_runs", 0)
    assert len(transcript.messages) == 5
    value["child_runs"][0]["run_type"] = "chain"
    assert [chunk.transcripts for chunk in read(line(value))] == [()]


def test_the_answer_of_a_wrapped_sdk_is_its_first_choice() -> None:
    value = langsmith.run(TALK, 3)
    other = {"index": 1, "message": openai_message(TALK[4] | {"texts": ["At two."]})}
    value["outputs"]["choices"].append(other)
    assert [message.parts[0].text for message in only(line(value)).messages[-1:]] == ["At ten."]


HUMAN = {"type": "human", "content": "When was there fog?", "id": "m1"}
LOOK = {
    "type": "ai",
    "content": "I look.",
    "tool_calls": [{"name": "bash", "args": {"x": "1 May"}, "id": "c1"}],
    "usage_metadata": {"input_tokens": 41, "output_tokens": 3},
}
FOG = {"type": "tool", "content": LONG, "tool_call_id": "c1", "status": "success"}
TEN = {"type": "ai", "content": "At ten.", "usage_metadata": {"input_tokens": 60}}


def chain(sent: Any, received: Any, parent: str | None = None) -> dict[str, Any]:
    """A run of LangGraph, with the messages before and after it."""
    return {
        "id": f"child of {parent}" if parent else "root",
        "run_type": "chain",
        "trace_id": "T",
        "parent_run_id": parent,
        "inputs": {"messages": sent},
        "outputs": {"messages": received},
    }


def test_the_state_of_a_root_counts_once_and_is_not_edited() -> None:
    asked = {"role": "user", "content": "When was there fog?"}
    root = chain([asked], [HUMAN, LOOK, FOG, TEN])
    data = line(root) + line(chain([HUMAN], [LOOK], "root"))
    transcript = only(data)
    assert [message.role for message in transcript.messages] == [
        *("user", "assistant", "tool", "assistant"),
    ]
    assert [call.text for call in transcript.messages[1].calls] == ['{"x":"1 May"}']
    assert [usage.prompt_tokens for usage in transcript.usages] == [41, 60]
    ran = run(data, [("truncate", {"max_tokens": 60})])
    assert [finding.code for finding in ran.findings] == ["not-editable"]
    assert run(data).data == data


def test_a_root_whose_output_has_only_new_messages_has_both_sides() -> None:
    transcript = only(line(chain([HUMAN, LOOK, FOG], [TEN])))
    assert [message.role for message in transcript.messages] == [
        *("user", "assistant", "tool", "assistant"),
    ]
    assert only(line(chain([["user", "Fog?"]], [HUMAN, TEN]))).messages[0].role == "user"


def test_a_root_with_requests_inside_or_without_messages_does_not_count() -> None:
    root = chain([HUMAN], [HUMAN, TEN])
    request = langsmith.run(TALK, 0, "T")
    assert len(only(line(root) + line(request)).messages) == 5
    (finding,) = run(line(root) + line(request), [("truncate", {"max_tokens": 60})]).findings
    assert "trace T has 2 records, which repeat their messages" in finding.message
    root["child_runs"] = [request | {"parent_run_id": "root"}]
    assert len(only(line(root)).messages) == 5
    text = chain([], []) | {"inputs": {"input": "Fog?"}, "outputs": {"output": "At ten."}}
    others = [{"speaker": "me", "type": "line"}]
    child = chain([HUMAN], [TEN]) | {"dotted_order": "20260102T100000Z1.20260102T100001Z2"}
    for value in (text, chain(others, others), chain([HUMAN], [TEN], "root"), child):
        assert [chunk.transcripts for chunk in read(line(value))] == [()]
