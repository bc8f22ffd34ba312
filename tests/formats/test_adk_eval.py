"""Evaluation sets of the Agent Development Kit: the invocations of a case are a conversation."""

import json
from pathlib import Path
from typing import Any

import pytest
from harness import read, run, unpaired
from insertions import SUMMARY, written
from msgspec.structs import replace

from ctxtrim.errors import NotEditableError

FIXTURE = Path("fixtures/adk-eval.json")
LONG = "a tide comes in " * 200


def said(text: str, role: str = "model") -> dict[str, Any]:
    return {"parts": [{"text": text}], "role": role}


def invocation(text: str, final: str | None = "Done.", **data: Any) -> dict[str, Any]:
    answer = said(final) if final is not None else None
    value = {"invocation_id": "e", "user_content": said(text, "user"), "final_response": answer}
    return value | ({"intermediate_data": data} if data else {})


def looked(number: int, text: str) -> dict[str, Any]:
    """The lists of an invocation with a call and its result."""
    call = {"id": f"c{number}", "name": "look", "args": {}}
    result = {"id": f"c{number}", "name": "look", "response": {"result": text}}
    return {"tool_uses": [call], "tool_responses": [result], "intermediate_responses": []}


def case(*invocations: dict[str, Any]) -> dict[str, Any]:
    return {"eval_cases": [{"eval_id": "tides", "conversation": list(invocations)}]}


def invocations(data: bytes | None) -> list[dict[str, Any]]:
    return json.loads(data or b"")["eval_cases"][0]["conversation"]


def test_each_case_of_the_fixture_is_a_conversation() -> None:
    data = FIXTURE.read_bytes()
    chunk = read(data)[0]
    assert chunk.format is not None
    assert chunk.format.name == "adk-eval"
    berths, tides = chunk.transcripts
    assert (berths.id, tides.id) == ("berths", "tides")
    roles = ["user", "assistant", "tool", "assistant"]
    assert [message.role for message in berths.messages] == [*roles, "user", "assistant"]
    assert [message.role for message in tides.messages] == roles
    assert not unpaired(berths)
    assert not unpaired(tides)
    texts = [part.text for part in berths.messages[3].parts]
    assert texts == ["The pilot agrees.", "Berths 2 and 4."]
    assert run(data).data == data


def test_calls_without_any_response_are_texts_of_the_answer() -> None:
    value = case(invocation("Look.", tool_uses=[{"name": "look", "args": {"x": 1}}]))
    (transcript,) = read(json.dumps(value).encode())[0].transcripts
    answer = transcript.messages[1]
    assert [part.kind for part in answer.parts] == ["text", "text"]
    assert json.loads(answer.parts[1].text) == {"name": "look", "args": {"x": 1}}


def test_an_invocation_is_dropped_as_a_whole() -> None:
    new = invocation("And now?", "Low.")
    value = case(invocation(LONG, LONG, **looked(1, LONG)), new)
    assert invocations(run(json.dumps(value).encode(), [("trim", {})], limit=300).data) == [new]


def test_a_result_is_shortened_and_keeps_its_id() -> None:
    value = case(invocation("Look.", **looked(1, LONG)))
    ran = run(json.dumps(value).encode(), [("truncate", {"max_tokens": 60})])
    (result,) = invocations(ran.data)[0]["intermediate_data"]["tool_responses"]
    assert "truncated" in result["response"]["result"]
    assert (result["id"], result["name"]) == ("c1", "look")


def test_a_call_without_its_result_gets_one() -> None:
    data = looked(1, "high")
    data["tool_uses"].append({"id": "c2", "name": "look", "args": {}})
    value = case(invocation("Look.", **data), invocation("And now?"))
    new = run(json.dumps(value).encode(), [("repair", {"repair": "synthesize"})]).data
    results = invocations(new)[0]["intermediate_data"]["tool_responses"]
    assert [result["id"] for result in results] == ["c1", "c2"]
    assert not unpaired(read(new or b"")[0].transcripts[0])


def event(role: str, part: dict[str, Any]) -> dict[str, Any]:
    return {"author": "keeper", "content": {"role": role, "parts": [part]}}


def test_an_event_is_removed_with_its_only_part() -> None:
    call, lost = ({"id": name, "name": "look", "args": {}} for name in ("c1", "c2"))
    result = {"id": "c1", "name": "look", "response": {"result": "high"}}
    events = [
        event("model", {"functionCall": call}),
        event("user", {"functionResponse": result}),
        event("model", {"functionCall": lost}),
    ]
    value = case(invocation("Look.", invocation_events=events), invocation("And now?"))
    new = run(json.dumps(value).encode(), [("repair", {})]).data
    assert invocations(new)[0]["intermediate_data"]["invocation_events"] == events[:2]


def test_a_digest_of_old_steps_joins_the_answer() -> None:
    value = case(invocation("Look.", "It is low.", **looked(1, LONG)))
    settings = {"tool_cutoff": 0, "tool_summary": "heuristic"}
    ran = run(json.dumps(value).encode(), [("cutoff", settings)])
    (new,) = invocations(ran.data)
    (answer,) = new["final_response"]["parts"]
    assert answer["text"].startswith("[Tool summary]")
    assert answer["text"].endswith("It is low.")
    assert new["intermediate_data"]["tool_uses"] == []


def test_a_prompt_before_a_lone_result_joins_the_prompt_before_it() -> None:
    value = case(invocation("Look.", **(looked(1, "low") | {"tool_uses": []})))
    chunk = read(json.dumps(value).encode())[0]
    assert chunk.format is not None
    (transcript,) = chunk.transcripts
    prompt, *others = transcript.messages
    assert [message.role for message in others] == ["tool", "assistant"]
    out = written(chunk, chunk.format, replace(transcript, messages=(prompt, SUMMARY, *others)))
    assert invocations(out)[0]["user_content"]["parts"] == [
        {"text": "Look."},
        {"text": SUMMARY.parts[0].text},
    ]


def test_a_prompt_between_a_lone_result_and_the_answer_has_no_place() -> None:
    value = case(invocation("Look.", **(looked(1, "low") | {"tool_uses": []})))
    chunk = read(json.dumps(value).encode())[0]
    assert chunk.format is not None
    (transcript,) = chunk.transcripts
    *others, answer = transcript.messages
    with pytest.raises(NotEditableError, match="no place for a prompt"):
        written(chunk, chunk.format, replace(transcript, messages=(*others, SUMMARY, answer)))
