"""Records that CloudWatch Logs stores as JSON in the messages of its events."""

import json
from io import BytesIO
from typing import Any

import pytest
from harness import read, run
from insertions import SUMMARY, format_of, written
from msgspec.structs import replace

from ctxtrim.formats.reading import open_reading
from ctxtrim.model import Transcript

LONG = 'a naïve «tern» dives "deep" \\ 🚀\n' * 100


def message(role: str, *blocks: Any) -> dict[str, Any]:
    return {"role": role, "content": list(blocks)}


def invocation(body: dict[str, Any], answer: dict[str, Any], model: str) -> dict[str, Any]:
    """A model invocation log of Bedrock."""
    sides = {"input": {"inputBodyJson": body}, "output": {"outputBodyJson": answer}}
    return {"schemaType": "ModelInvocationLog", "modelId": model, "requestId": "r1"} | sides


ANTHROPIC = invocation(
    {
        "messages": [
            message("user", {"type": "text", "text": "How deep does it dive?"}),
            message("assistant", {"type": "tool_use", "id": "t", "name": "gauge", "input": {}}),
            message("user", {"type": "tool_result", "tool_use_id": "t", "content": LONG}),
            message("assistant", {"type": "text", "text": "Two metres."}),
            message("user", {"type": "text", "text": "And today?"}),
        ]
    },
    message("assistant", {"type": "text", "text": "One."})
    | {"usage": {"input_tokens": 500, "output_tokens": 3}},
    "anthropic.claude-3-haiku",
)
CONVERSE = invocation(
    {"messages": [message("user", {"text": "Hello"})], "inferenceConfig": {}},
    {"output": {"message": message("assistant", {"text": "Hi"})}},
    "amazon.nova-lite-v1:0",
)
SAID = [{"role": "user", "parts": [{"type": "text", "content": "How deep?"}]}]
SPAN = {
    "traceId": "a1",
    "spanId": "b1",
    "name": "chat",
    "attributes": {
        "gen_ai.input.messages": json.dumps(SAID),
        "gen_ai.output.messages": json.dumps([SAID[0] | {"role": "assistant"}]),
    },
}
CHAT = {"model": "gpt-4o", "messages": [{"role": "user", "content": "How deep?"}]}
OTHER = {"level": "INFO", "text": "a request"}


def event(record: Any, **style: Any) -> dict[str, Any]:
    text = record if isinstance(record, str) else json.dumps(record, **style)
    return {"timestamp": 1766204176981, "message": text, "ingestionTime": 1766204177000}


def line(value: Any, **style: Any) -> bytes:
    return json.dumps(value, **style).encode() + b"\n"


def found(data: bytes) -> tuple[str | None, list[Transcript]]:
    reading = open_reading(BytesIO(data))
    transcripts = [each for chunk in reading.chunks for each in chunk.transcripts]
    return reading.format.name if reading.format else None, transcripts


@pytest.mark.parametrize(
    ("record", "name", "roles"),
    [
        (ANTHROPIC, "anthropic", ["user", "assistant", "tool", "assistant", "user", "assistant"]),
        (CONVERSE, "bedrock", ["user", "assistant"]),
        (SPAN, "opentelemetry", ["user", "assistant"]),
        (CHAT, "openai-chat", ["user"]),
    ],
)
def test_a_record_in_a_message_is_read(record: Any, name: str, roles: list[str]) -> None:
    notes = [event("START RequestId: 7"), event(OTHER)]
    filtered = {"events": [*notes, event(record)], "searchedLogStreams": []}
    subscription = {"messageType": "DATA_MESSAGE", "logEvents": [event(record) | {"id": "9"}]}
    for value in (event(record), filtered, subscription, [*notes, event(record)]):
        form, (transcript,) = found(line(value))
        assert (form, [each.role for each in transcript.messages]) == (name, roles)
        assert transcript.pointer[-1] == "message"
        assert run(line(value)).data == line(value)


def test_each_event_has_its_own_model_id_and_usage() -> None:
    data = line({"events": [event(ANTHROPIC), event(OTHER), event(ANTHROPIC)]}, indent=2)
    _, transcripts = found(data)
    facts = [(each.model, each.id, each.pointer) for each in transcripts]
    assert facts == [("anthropic.claude-3-haiku", "r1", ("events", at, "message")) for at in (0, 2)]
    assert [each.usage.prompt_tokens for each in transcripts if each.usage] == [500, 500]


@pytest.mark.parametrize("style", [{}, {"ensure_ascii": False}, {"indent": 2}])
def test_an_edit_changes_only_the_text_inside_the_message(style: dict[str, Any]) -> None:
    data = line({"events": [event("START"), event(ANTHROPIC, **style)]}, **style)
    out = run(data, [("truncate", {"max_tokens": 50})], model="gpt-4o").data
    assert out is not None and len(out) < len(data) - 2000
    (old, new) = (json.loads(each)["events"][1]["message"] for each in (data, out))
    start = old.index("a na")
    assert new[:start] == old[:start]
    assert new.endswith(old[old.index("Two metres") :])
    assert run(out, [("truncate", {"max_tokens": 50})], model="gpt-4o").data == out


def test_messages_are_dropped_and_inserted_inside_the_message() -> None:
    data = line({"events": [event(ANTHROPIC)]})
    out = run(data, [("trim", {})], limit=25, model="gpt-4o").data
    assert out is not None
    body = json.loads(json.loads(out)["events"][0]["message"])["input"]["inputBodyJson"]
    assert body["messages"] == ANTHROPIC["input"]["inputBodyJson"]["messages"][4:]
    (chunk,) = read(data)
    (transcript,) = chunk.transcripts
    meant = replace(transcript, messages=(SUMMARY, *transcript.messages[4:]))
    value = json.loads(written(chunk, format_of(data), meant))
    body = json.loads(value["events"][0]["message"])["input"]["inputBodyJson"]
    assert body["messages"][0]["content"] == SUMMARY.parts[0].text


def test_events_of_another_format_are_reported() -> None:
    _, (counted, other) = found(line({"events": [event(CONVERSE), event(ANTHROPIC)]}))
    assert (len(counted.messages), counted.uncounted) == (2, 0)
    assert (len(other.messages), other.uncounted) == (0, 5)


@pytest.mark.parametrize(
    "value",
    [
        event("START RequestId: 7"),
        event(OTHER),
        {"message": json.dumps(CHAT)},
        event(CHAT) | {"type": "user", "sessionId": "s"},
        {"events": [event(CHAT) | {"author": "user"}]},
    ],
)
def test_other_values_are_not_read(value: Any) -> None:
    assert found(line(value)) == (None, [])
