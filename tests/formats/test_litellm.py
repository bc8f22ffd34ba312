"""Standard logging payloads of LiteLLM."""

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import Run
from harness import read, run
from writers import litellm

from ctxtrim.model import Transcript
from ctxtrim.model.request import Usage
from ctxtrim.tokenizers.claude_ctok import available
from ctxtrim.tokens.tokenizer import MARKS

TALK: list[dict[str, Any]] = [
    {"role": "user", "texts": ["Is the bridge open? " * 50]},
    {"role": "assistant", "texts": ["It is."], "calls": []},
    {"role": "user", "texts": ["And tonight?"]},
    {"role": "assistant", "texts": ["It closes at ten."], "calls": []},
]


def line(value: Any) -> bytes:
    return json.dumps(value).encode() + b"\n"


def only(data: bytes) -> Transcript:
    (transcript,) = [each for chunk in read(data) for each in chunk.transcripts]
    return transcript


def format_of(data: bytes) -> str:
    (chunk,) = read(data)
    return chunk.format.name if chunk.format else ""


def test_a_payload_is_read_with_its_usage_model_and_tools() -> None:
    transcript = only(line(litellm.payload(TALK)))
    assert [message.role for message in transcript.messages] == [each["role"] for each in TALK]
    assert transcript.usages == (Usage(40, 2, 3),)
    assert (transcript.model, transcript.id) == ("gpt-4o", "t0")
    assert "bash" in (transcript.tools or "")


def test_a_payload_inside_the_arguments_of_a_callback_is_read() -> None:
    value = {"kwargs": {"standard_logging_object": litellm.payload(TALK)}}
    assert only(line(value)).pointer == ("kwargs", "standard_logging_object")


def test_a_failed_request_has_no_answer() -> None:
    value = litellm.payload(TALK) | {"status": "failure", "response": {}}
    assert [message.role for message in only(line(value)).messages] == ["user", "assistant", "user"]
    assert only(line(value)).usages == ()


def test_messages_and_response_alone_are_chat_completions() -> None:
    value = litellm.payload(TALK)
    del value["call_type"]
    assert format_of(line(value)) == "openai-chat"


def test_a_row_of_spend_logs_has_its_request_in_the_whole_body() -> None:
    payload = litellm.payload(TALK)
    body = {"messages": payload["messages"], "tools": payload["model_parameters"]["tools"]}
    row = {
        "request_id": "r",
        "session_id": "s",
        "call_type": "acompletion",
        "messages": "{}",
        "response": json.dumps(payload["response"]),
        "proxy_server_request": json.dumps(body),
    }
    found = only(line({"data": [row]}))
    assert [message.role for message in found.messages] == [each["role"] for each in TALK]
    assert (found.id, found.pointer) == ("s", ("data", 0))
    assert "bash" in (found.tools or "")
    out = json.loads(run(line(row), [("trim", {})], limit=60).data or b"")
    assert json.loads(out["proxy_server_request"])["messages"] == body["messages"][2:]
    assert out["response"] == row["response"]


def test_only_the_dropped_messages_change() -> None:
    (payload, *_) = [json.loads(text) for text in _lines("fixtures/litellm.jsonl")]
    payload["messages"] = [*litellm.payload(TALK)["messages"], *payload["messages"]]
    out = run(line(payload), [("trim", {})], limit=220).data or b""
    kept = json.loads(out)
    assert 2 <= len(kept["messages"]) < len(payload["messages"])
    assert kept | {"messages": []} == payload | {"messages": []}


@pytest.mark.parametrize(
    ("key", "prompt"),
    [
        ("instructions", "Answer in verse."),
        ("system", "Answer in verse."),
        ("system", [{"type": "text", "text": "Answer in verse."}]),
    ],
)
def test_the_system_prompt_in_the_parameters_comes_first(
    ctxtrim: Run, key: str, prompt: Any
) -> None:
    payload = litellm.payload(TALK)
    payload["model_parameters"] |= {key: prompt}
    first, *others = only(line(payload)).messages
    assert (first.role, first.parts[0].text) == ("system", "Answer in verse.")
    assert [message.role for message in others] == [each["role"] for each in TALK]
    kept = json.loads(ctxtrim("trim", "-b", "100", stdin=line(payload)).out)
    assert kept == payload | {"messages": payload["messages"][2:]}
    bare = ctxtrim("trim", "-b", "40", "--no-preserve-system-prompt", stdin=line(payload))
    assert (bare.code, key in json.loads(bare.out)["model_parameters"]) == (0, False)
    summarized = ctxtrim("summarize", "--keep-recent-turns", "1", stdin=line(payload))
    assert (summarized.code, payload["model_parameters"]) == (
        0,
        json.loads(summarized.out)["model_parameters"],
    )


def test_a_request_without_its_system_prompt_is_an_estimate(ctxtrim: Run) -> None:
    talk = [{"role": "user", "content": "Is the bridge open?"}]
    answer = {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "text", "text": "It is."}],
    }
    payload = {
        "id": "m1",
        "call_type": "anthropic_messages",
        "model": "claude-sonnet-4-5",
        "messages": talk,
        "response": answer,
    }
    ran = ctxtrim("count", stdin=line(payload)).out.decode()
    assert "the log lacks the system prompt of the request; not counted" in ran
    assert "≈" in ran
    body = {"proxy_server_request": {"messages": talk, "system": "Answer in verse."}}
    whole = ctxtrim("count", stdin=line(payload | body)).out.decode()
    mark = MARKS["reconstructed" if available() else "bounded"]
    assert ("lacks" in whole, mark in whole) == (False, True)
    assert only(line(payload | body)).messages[0].role == "system"


def _lines(name: str) -> list[str]:
    return Path(name).read_text().splitlines()


def test_a_log_whose_messages_are_redacted_is_an_estimate(ctxtrim: Run) -> None:
    redacted = [{"role": "user", "content": "redacted-by-litellm"}]
    ran = ctxtrim("count", "--json", stdin=line(litellm.payload(TALK) | {"messages": redacted}))
    (row,) = json.loads(ran.out)["transcripts"]
    assert row["exactness"] == "estimated"
    assert "the log lacks the messages of the request; not counted" in ran.out.decode()
