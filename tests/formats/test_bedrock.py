"""Amazon Bedrock: messages of the Converse API, alone, in requests and logs, and of Strands."""

import json
from io import BytesIO
from typing import Any

import pytest
from conftest import Run
from harness import read, run
from insertions import SUMMARY, format_of, written
from msgspec.structs import replace
from pictures import PICTURE

from ctxtrim.errors import NotEditableError
from ctxtrim.formats.reading import open_reading
from ctxtrim.model import Message, Part, Transcript

Value = dict[str, Any]
LONG = "a gull flies by " * 200


def says(role: str, *blocks: Value) -> Value:
    return {"role": role, "content": list(blocks)}


def text(words: str) -> Value:
    return {"text": words}


def use(name: str) -> Value:
    return {"toolUse": {"toolUseId": name, "name": "gauge", "input": {"pier": 1}}}


def result(name: str, *content: Value, **more: Any) -> Value:
    return {"toolResult": {"toolUseId": name, "content": list(content)} | more}


TALK = [
    says("user", text("How deep is it?"), {"cachePoint": {"type": "default"}}),
    says("assistant", text("I look."), use("a"), use("b")),
    says("user", result("a", text(LONG)), result("b", {"json": {"m": 2}}), text("In metres.")),
    says("assistant", text("Two metres.")),
    says("user", text("And tomorrow?")),
]
TOOL = {"name": "gauge", "description": "Depth.", "inputSchema": {"json": {"type": "object"}}}
REQUEST = {
    "modelId": "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
    "system": [text("Answer as the harbour master."), {"cachePoint": {"type": "default"}}],
    "messages": TALK,
    "toolConfig": {"tools": [{"toolSpec": TOOL}], "toolChoice": {"tool": {"name": "gauge"}}},
}


def line(*values: Any) -> bytes:
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


def formats_and_transcripts(data: bytes) -> tuple[str | None, list[Transcript]]:
    reading = open_reading(BytesIO(data))
    found = [transcript for chunk in reading.chunks for transcript in chunk.transcripts]
    return reading.format.name if reading.format else None, found


def messages(*talk: Value) -> tuple[Message, ...]:
    (transcript,) = read(line({"messages": list(talk)}))[0].transcripts
    return transcript.messages


def kinds(found: Transcript) -> list[tuple[str, list[str]]]:
    return [(message.role, [part.kind for part in message.parts]) for message in found.messages]


def test_a_request_is_read_with_its_system_prompt_and_tools() -> None:
    form, (found,) = formats_and_transcripts(line(REQUEST))
    assert (form, found.model) == ("bedrock", REQUEST["modelId"])
    assert kinds(found) == [
        ("system", ["text"]),
        ("user", ["text"]),
        ("assistant", ["text", "tool_call", "tool_call"]),
        ("tool", ["tool_result"]),
        ("tool", ["tool_result"]),
        ("user", ["text"]),
        ("assistant", ["text"]),
        ("user", ["text"]),
    ]
    assert [call.call_id for call in found.messages[2].calls] == ["a", "b"]
    answers = [message.result for message in found.messages[3:5]]
    assert [(part.call_id, part.text) for part in answers if part] == [
        ("a", LONG),
        ("b", '{"m":2}'),
    ]
    assert json.loads(found.tools or "") == [
        {"name": "gauge", "description": "Depth.", "input_schema": {"type": "object"}}
    ]
    assert (found.tool_choice, found.options.api) == ("gauge", "anthropic")


@pytest.mark.parametrize(
    "value",
    [
        {"messages": TALK},
        {"messages": TALK[:1], "schemaVersion": "bedrock-conversation-2024"},
        [{"messages": TALK}],
        TALK,
        {"request": {"messages": TALK}},
        {"recordId": "r", "modelInput": {"messages": TALK}},
        {"messages": json.dumps(TALK)},
        {"output": {"message": TALK[3]}, "stopReason": "end_turn"},
    ],
)
def test_messages_are_detected_by_blocks_without_a_type(value: Any) -> None:
    form, (found,) = formats_and_transcripts(line(value))
    assert (form, found.uncounted) == ("bedrock", 0)


@pytest.mark.parametrize(
    ("talk", "name"),
    [
        ([says("system", text("Answer.")), says("user", text("How deep?"))], "openai-chat"),
        ([says("user", {"image": "pier.png"}, text("How deep?"))], "openai-chat"),
        ([says("user", {"type": "text", "text": "How deep?"})], "openai-chat"),
    ],
)
def test_messages_of_other_apis_are_not_taken(talk: list[Value], name: str) -> None:
    assert formats_and_transcripts(line({"messages": talk}))[0] == name


RULE = says("system", text("Answer in metres."))
FIELDS = {"inferenceConfig": {"maxTokens": 90}}
CHANGE = {"toolAddition": {"tool": {"name": "gauge"}}}


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ({"messages": [TALK[0], RULE, *TALK[1:]]}, "bedrock"),
        ({"messages": [TALK[4], RULE]} | FIELDS, "bedrock"),
        ({"messages": [TALK[4], RULE], "modelId": "amazon.nova-pro-v1:0"}, "bedrock"),
        ({"messages": [TALK[4], says("system", CHANGE)]}, "bedrock"),
        ({"messages": [TALK[4], RULE]}, "openai-chat"),
        ({"messages": [RULE, TALK[4]]} | FIELDS, "openai-chat"),
    ],
)
def test_a_system_message_is_read_in_the_middle(value: Value, name: str) -> None:
    assert formats_and_transcripts(line(value))[0] == name


def test_a_system_message_is_dropped_with_the_messages_that_it_follows(ctxtrim: Run) -> None:
    talk = [*TALK[:3], RULE, *TALK[3:]]
    found = messages(*talk)
    assert [message.role for message in found][-4:] == ["user", "system", "assistant", "user"]
    assert [message.continues for message in found][-3] is True
    data = line({"messages": talk})
    kept = set()
    for budget in range(10, 500, 10):
        ran = ctxtrim("trim", "--budget", budget, stdin=data)
        if ran.code == 0:
            assert ctxtrim("check", stdin=ran.out).code == 0
            rest = json.loads(ran.out)["messages"]
            kept.add(RULE in rest)
            assert RULE not in rest or rest[rest.index(RULE) - 1]["role"] == "user"
    assert kept == {True, False}
    assert run(data).data == data


def test_a_log_is_the_request_with_its_answer() -> None:
    body = {key: value for key, value in REQUEST.items() if key != "modelId"}
    usage = {"inputTokens": 900, "cacheReadInputTokens": 100, "outputTokens": 5}
    answer = {"output": {"message": says("assistant", text("Three."))}, "usage": usage}
    record = {
        "schemaType": "ModelInvocationLog",
        "requestId": "r1",
        "modelId": REQUEST["modelId"],
        "input": {"inputBodyJson": body},
        "output": {"outputBodyJson": answer},
    }
    form, (found, other) = formats_and_transcripts(line(record, record | {"output": {}}))
    assert (form, found.id, found.model) == ("bedrock", "r1", REQUEST["modelId"])
    assert found.messages[-1].parts[0].text == "Three."
    assert other.messages[-1].parts[0].text == "And tomorrow?"
    assert [(usage.prompt_tokens, usage.completion_tokens) for usage in found.usages] == [(1000, 5)]
    out = run(line(record), [("trim", {})], limit=90, model="gpt-4o").data
    assert out is not None
    rest = [says("user", text("In metres.")), *TALK[3:]]
    assert json.loads(out)["input"]["inputBodyJson"]["messages"] == rest
    assert json.loads(out)["output"] == record["output"]


REPLY = {"output": {"message": says("assistant", text("Three."))}, "stopReason": "end_turn"}


@pytest.mark.parametrize(
    "record",
    [
        {"request_body": {"messages": TALK}, "response_body": REPLY},
        {"kwargs": {"messages": TALK}, "response": REPLY},
        {"input": TALK, "output": REPLY["output"]},
        {"input": TALK, "output": REPLY},
    ],
)
def test_logs_of_clients_keep_calls_with_their_results(record: Value) -> None:
    form, (found,) = formats_and_transcripts(line(record))
    assert (form, found.messages[-1].parts[0].text) == ("bedrock", "Three.")
    assert found.uncounted == 0
    out = run(line(record), [("trim", {})], limit=90, model="gpt-4o").data
    rest = [says("user", text("In metres.")), *TALK[3:]]
    assert out == line(record).replace(json.dumps(TALK).encode(), json.dumps(rest).encode())


@pytest.mark.parametrize(
    "value",
    [
        {"messages": [says("system", text("Answer.")), *TALK]},
        {"chat": {"messages": TALK}},
        {"prompt": TALK},
        {"items": TALK},
    ],
)
def test_calls_are_not_read_as_text_by_other_formats(value: Value) -> None:
    assert formats_and_transcripts(line(value)) == (None, [])


def test_an_input_of_texts_is_one_of_responses() -> None:
    value = {"model": "m", "instructions": "Answer.", "input": [says("user", text("How deep?"))]}
    assert formats_and_transcripts(line(value))[0] == "openai-responses"


def test_a_log_with_a_body_of_anthropic_is_anthropic() -> None:
    body = {"anthropic_version": "bedrock-2023-05-31", "messages": [says("user", text("How?"))]}
    body["messages"] = [{"role": "user", "content": "How deep?"}]
    answer = {"role": "assistant", "content": [{"type": "text", "text": "Two metres."}]}
    record = {
        "requestId": "r1",
        "modelId": "anthropic.claude-3-haiku-20240307-v1:0",
        "input": {"inputBodyJson": body},
        "output": {"outputBodyJson": answer},
    }
    form, (found,) = formats_and_transcripts(line(record))
    assert (form, found.id, found.model) == ("anthropic", "r1", record["modelId"])
    assert [message.role for message in found.messages] == ["user", "assistant"]
    streamed = {"outputBodyJson": [{"type": "message_start", "message": {}}, {"type": "ping"}]}
    _, (found,) = formats_and_transcripts(line(record | {"output": streamed}))
    assert ([message.role for message in found.messages], found.uncounted) == (["user"], 1)


def test_all_blocks_are_counted() -> None:
    sealed = {"__bytes_encoded__": True, "data": "x" * 40}
    found = messages(
        says(
            "user",
            text("Look."),
            {"image": {"format": "png", "source": {"bytes": PICTURE}}},
            {"document": {"format": "pdf", "name": "map", "source": {"bytes": "JVBERi0="}}},
            {"document": {"format": "txt", "name": "log", "source": {"text": "high water"}}},
            {"guardContent": {"text": {"text": "a rule", "qualifiers": ["query"]}}},
            {"searchResult": {"content": [{"text": "a hit"}]}},
        ),
        says(
            "assistant",
            {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "s" * 9}}},
            {"reasoningContent": {"redactedContent": sealed}},
            use("a"),
        ),
        says("user", result("a", {"image": {"format": "png", "source": {}}}, status="error")),
    )
    assert [(part.kind, part.text, part.media and part.media.kind) for part in found[0].parts] == [
        ("text", "Look.", None),
        ("attachment", "", "image"),
        ("attachment", "", "pdf"),
        (
            "attachment",
            '{"document":{"format":"txt","name":"log","source":{"text":"high water"}}}',
            None,
        ),
        ("text", "a rule", None),
        ("text", '{"searchResult":{"content":[{"text":"a hit"}]}}', None),
    ]
    assert [(part.kind, part.text, part.sealed) for part in found[1].parts[:2]] == [
        ("reasoning", "Hm.", 0),
        ("reasoning", "", 40),
    ]
    answer = found[2].result
    assert answer is not None and (answer.text, answer.is_error) == ("", True)
    assert found[2].parts[1].media is not None


def test_a_call_of_the_user_is_a_text() -> None:
    (message,) = messages(says("user", text("Look."), use("a")))
    assert [part.kind for part in message.parts] == ["text", "text"]


def test_a_cache_point_among_tools_is_no_tool() -> None:
    tools = [{"toolSpec": TOOL}, {"cachePoint": {"type": "default"}}]
    cached = REQUEST | {"toolConfig": {"tools": tools}}
    _, (found,) = formats_and_transcripts(line(cached))
    assert [tool["name"] for tool in json.loads(found.tools or "")] == ["gauge"]


def counted(ctxtrim: Run, **fields: Any) -> Value:
    """The row of a request with more fields."""
    ran = ctxtrim("count", "--json", stdin=line(REQUEST | fields))
    (row,) = json.loads(ran.out)["transcripts"]
    return dict(row)


def test_the_schema_of_the_answer_counts_as_in_requests_to_anthropic(ctxtrim: Run) -> None:
    schema = {"type": "object", "properties": {"depth": {"type": "number"}}}
    named = {"name": "depth", "schema": json.dumps(schema)}
    format_ = {"type": "json_schema", "structure": {"jsonSchema": named}}
    output = counted(ctxtrim, outputConfig={"textFormat": format_, "effort": "low"})
    own = counted(ctxtrim, additionalModelRequestFields={"output_format": {"schema": schema}})
    plain = counted(ctxtrim, outputConfig={"effort": "low"})
    assert plain["tokens"] + 20 < output["tokens"] == own["tokens"]


def test_tools_of_anthropic_count_next_to_those_of_converse(ctxtrim: Run) -> None:
    screen = {"type": "computer_20250124", "name": "computer", "display_width_px": 800}
    fields = {"tools": [screen], "anthropic_beta": ["computer-use-2025-01-24"]}
    (found,) = formats_and_transcripts(line(REQUEST | {"additionalModelRequestFields": fields}))[1]
    assert [tool["name"] for tool in json.loads(found.tools or "")] == ["gauge", "computer"]
    tokens = counted(ctxtrim, additionalModelRequestFields=fields)["tokens"]
    assert tokens > counted(ctxtrim)["tokens"] + 20


def test_a_prompt_that_bedrock_stores_is_reported(ctxtrim: Run) -> None:
    model = "arn:aws:bedrock:eu-west-1:123456789012:prompt/HARBOUR123:1"
    row = counted(ctxtrim, modelId=model, promptVariables={"pier": {"text": "north"}})
    notes = [note["message"] for note in row["findings"] if note["code"] == "not-counted"]
    assert notes == [
        "`modelId`: the provider adds text that the file does not contain; not counted"
    ]


def test_both_names_of_the_thinking_of_a_request_count(ctxtrim: Run) -> None:
    def tokens(**fields: Any) -> int:
        data = line(REQUEST | {"additionalModelRequestFields": fields})
        return int(json.loads(ctxtrim("count", "--json", stdin=data).out)["totals"]["tokens"])

    thinking = {"type": "enabled", "budget_tokens": 2048}
    assert tokens() < tokens(thinking=thinking) == tokens(reasoning_config=thinking)


def test_a_guarded_image_costs_the_same_as_an_image() -> None:
    image = {"image": {"format": "png", "source": {"bytes": PICTURE}}}
    plain, guarded = (
        messages(says("user", text("Look."), block, result("a", block)))
        for block in (image, {"guardContent": image})
    )
    assert [[part.media for part in message.parts] for message in guarded] == [
        [part.media for part in message.parts] for message in plain
    ]
    assert guarded[0].parts[1].media is not None
    request = {"system": [text("Look."), {"guardContent": image}], "messages": TALK}
    system = formats_and_transcripts(line(request))[1][0].messages[0]
    assert system.parts[1].media == plain[0].parts[1].media


def test_results_are_shortened_and_other_bytes_stay() -> None:
    data = line(REQUEST)
    out = run(data, [("truncate", {"max_tokens": 50})], model="gpt-4o").data
    assert out is not None
    shown = json.loads(out)["messages"]
    short = shown[2]["content"][0]["toolResult"]["content"][0]["text"]
    assert len(short) < len(LONG) and short.startswith("a gull")
    assert out == data.replace(json.dumps(LONG).encode(), json.dumps(short).encode())


def test_a_call_is_dropped_with_its_results() -> None:
    out = run(line(REQUEST), [("trim", {})], limit=90, model="gpt-4o").data
    rest = [says("user", text("In metres.")), *TALK[3:]]
    assert out == line(REQUEST | {"messages": rest})


def test_new_messages_are_blocks_without_a_type() -> None:
    data = line({"messages": TALK})
    (chunk,) = read(data)
    (transcript,) = chunk.transcripts
    answer = Message("tool", (Part("tool_result", "3 m", "b", is_error=True),))
    kept = transcript.messages
    meant = replace(transcript, messages=(SUMMARY, kept[1], kept[2], answer, *kept[5:]))
    shown = json.loads(written(chunk, format_of(data), meant))["messages"]
    assert shown[0] == says("user", text(SUMMARY.parts[0].text))
    made = result("b", text("3 m"), status="error")
    assert shown[2] == says("user", TALK[2]["content"][0], made)


def test_sessions_of_strands_agents_send_redacted_messages() -> None:
    rows = [
        {"message": message, "message_id": number, "redact_message": None, "created_at": "now"}
        for number, message in enumerate(TALK)
    ]
    rows[4]["redact_message"] = says("user", text("[redacted]"))
    data = line(*rows)
    form, (found,) = formats_and_transcripts(data)
    assert form == "bedrock"
    assert [message.role for message in found.messages] == [
        *("user", "assistant", "tool", "tool", "user", "assistant", "user"),
    ]
    assert found.messages[-1].parts[0].text == "[redacted]"
    (chunk,) = read(data)
    meant = replace(found, messages=(SUMMARY, found.messages[-1]))
    new = says("user", text(SUMMARY.parts[0].text))
    first, last = written(chunk, format_of(data), meant).splitlines()
    assert json.loads(first) == {"message": new, "message_id": None, "created_at": "now"}
    assert json.loads(last) == rows[4]


def test_no_message_is_inserted_after_an_answer() -> None:
    data = line({"output": {"message": TALK[3]}})
    (chunk,) = read(data)
    meant = replace(chunk.transcripts[0], messages=(*chunk.transcripts[0].messages, SUMMARY))
    with pytest.raises(NotEditableError, match="after its answer"):
        written(chunk, format_of(data), meant)


@pytest.mark.parametrize(
    "around",
    [
        {},
        {"system": [text("Answer.")]},
        {"inferenceConfig": {"maxTokens": 3}},
    ],
)
def test_a_message_without_content_is_read_and_dropped_as_one(around: Value) -> None:
    talk = [says("user", text("How deep?")), says("assistant"), says("user", text("And now?"))]
    data = line({"modelId": "amazon.nova-pro-v1:0", **around, "messages": talk})
    form, (found,) = formats_and_transcripts(data)
    roles = [message.role for message in found.messages if message.role != "system"]
    assert (form, roles, found.uncounted) == ("bedrock", ["user", "assistant", "user"], 0)
    (row,) = run(data, [("check", {})]).rows
    assert [finding.code for finding in row.findings] == ["empty-content"]
    last = replace(found, messages=(found.messages[-1],))
    assert json.loads(written(read(data)[0], format_of(data), last))["messages"] == talk[2:]


def test_a_message_without_content_does_not_hide_calls() -> None:
    form, (found,) = formats_and_transcripts(line({"messages": [*TALK, says("assistant")]}))
    assert (form, found.uncounted, len(found.messages)) == ("bedrock", 0, 8)


def log(request: Value, answer: Value) -> bytes:
    around = {"schemaType": "ModelInvocationLog", "modelId": "amazon.nova-pro-v1:0"}
    return line(around | {"requestId": "r1", "input": request, "output": answer})


SENT = {"inputBodyJson": {"messages": TALK}}
ANSWERED = {
    "outputBodyJson": {
        "output": {"message": says("assistant", text("Three."))},
        "usage": {"inputTokens": 900, "outputTokens": 5},
    }
}


@pytest.mark.parametrize(
    ("request_body", "answer_body", "part"),
    [
        ({"inputBodyS3Path": "s3://b/in"}, ANSWERED, "request is in another file, s3://b/in"),
        (SENT, {"outputBodyS3Path": "s3://b/out"}, "answer is in another file, s3://b/out"),
    ],
)
def test_a_body_in_another_file_is_reported(
    request_body: Value, answer_body: Value, part: str
) -> None:
    (row,) = run(log(request_body, answer_body)).rows
    (finding,) = row.findings
    assert (finding.code, finding.message) == ("not-counted", f"the {part}; not counted")


def test_a_body_of_anthropic_in_another_file_is_reported() -> None:
    prompt = {"role": "user", "content": "How deep?"}
    body = {"anthropic_version": "bedrock-2023-05-31", "messages": [prompt]}
    data = log({"inputBodyJson": body}, {"outputBodyS3Path": "s3://b/out"})
    assert formats_and_transcripts(data)[0] == "anthropic"
    assert [finding.code for finding in run(data).rows[0].findings] == ["not-counted"]


@pytest.mark.parametrize(
    ("request_body", "answer_body", "usage"),
    [
        (SENT, ANSWERED, (900, 5)),
        (SENT, {"outputBodyJson": json.dumps(ANSWERED["outputBodyJson"])}, (900, 5)),
        (
            SENT | {"inputTokenCount": 30, "cacheReadInputTokenCount": 600},
            {"outputBodyJson": {}, "outputTokenCount": 7},
            (630, 7),
        ),
    ],
)
def test_the_usage_of_a_log_is_that_of_its_answer_or_next_to_the_bodies(
    request_body: Value, answer_body: Value, usage: tuple[int, int]
) -> None:
    _, (found,) = formats_and_transcripts(log(request_body, answer_body))
    assert [(own.prompt_tokens, own.completion_tokens) for own in found.usages] == [usage]


def test_a_streamed_answer_is_reported_and_its_usage_is_read() -> None:
    events = [
        {"messageStart": {"role": "assistant"}},
        {"contentBlockDelta": {"delta": {"text": "Three."}, "contentBlockIndex": 0}},
        {"messageStop": {"stopReason": "end_turn"}},
        {"metadata": {"usage": {"inputTokens": 900, "outputTokens": 5}}},
    ]
    for body in (events, json.dumps(events)):
        data = log(SENT, {"outputBodyJson": body})
        form, (found,) = formats_and_transcripts(data)
        assert (form, len(found.messages), found.uncounted) == ("bedrock", 7, 0)
        assert [(own.prompt_tokens, own.completion_tokens) for own in found.usages] == [(900, 5)]
        (finding,) = run(data).rows[0].findings
        text = "the answer is a stream of events, which is not read; not counted"
        assert (finding.code, finding.message) == ("not-counted", text)


def test_logs_in_an_array_are_reported_like_logs_on_lines() -> None:
    stored = {"outputBodyS3Path": "s3://b/out", "inputTokenCount": 900, "outputTokenCount": 5}
    records = [json.loads(log(SENT, ANSWERED)), json.loads(log(SENT, stored))]
    for data in (line(*records), line(records)):
        _, found = formats_and_transcripts(data)
        assert [(own.model, own.id) for own in found] == [("amazon.nova-pro-v1:0", "r1")] * 2
        counted = [
            (use.prompt_tokens, use.completion_tokens) for own in found for use in own.usages
        ]
        assert counted == [(900, 5), (900, 5)]
        codes = [[finding.code for finding in row.findings] for row in run(data).rows]
        assert codes == [[], ["not-counted"]]


@pytest.mark.parametrize("body", ["", "_body"])
def test_the_usage_of_a_request_with_its_response_is_read(body: str) -> None:
    answer = {"message": says("assistant", text("Three."))}
    usage = {"inputTokens": 40, "cacheReadInputTokens": 860, "outputTokens": 5}
    request = {"modelId": "m", "messages": [says("user", text("How deep?"))]}
    response = {"output": answer, "stopReason": "end_turn", "usage": usage}
    _, (found,) = formats_and_transcripts(
        line({f"request{body}": request, f"response{body}": response})
    )
    assert [part.text for message in found.messages for part in message.parts] == [
        "How deep?",
        "Three.",
    ]
    assert [(own.prompt_tokens, own.completion_tokens) for own in found.usages] == [(900, 5)]


def test_the_usage_of_a_batch_is_that_of_its_answer() -> None:
    answer = {"message": says("assistant", text("Three."))}
    usage = {"inputTokens": 40, "cacheReadInputTokens": 860, "outputTokens": 5}
    batch = {
        "recordId": "a1",
        "modelInput": {"messages": TALK},
        "modelOutput": {"output": answer, "stopReason": "end_turn", "usage": usage},
    }
    for data in (line(batch), line([batch])):
        form, (found,) = formats_and_transcripts(data)
        assert (form, found.id, len(found.messages)) == ("bedrock", "a1", 8)
        assert [(own.prompt_tokens, own.completion_tokens) for own in found.usages] == [(900, 5)]


def snapshot(**data: Any) -> bytes:
    """A snapshot of an agent, as the TypeScript SDK of Strands Agents writes it."""
    value = {"scope": "agent", "schemaVersion": "1.0", "data": data, "appData": {}}
    return json.dumps(value, indent=2).encode()


@pytest.mark.parametrize(
    ("key", "prompt"),
    [
        ("systemPrompt", "Measure in metres."),
        ("systemPrompt", [text("Measure in metres."), {"cachePoint": {"type": "default"}}]),
        ("system_prompt", "Measure in metres."),
    ],
)
def test_snapshots_of_strands_have_messages_and_a_prompt(key: str, prompt: object) -> None:
    messages = [says("user", text("How deep is it?")), says("assistant", text("Two metres."))]
    name, (transcript,) = formats_and_transcripts(snapshot(messages=messages, **{key: prompt}))
    assert name == "bedrock"
    assert [(message.role, message.parts[0].text) for message in transcript.messages] == [
        ("system", "Measure in metres."),
        ("user", "How deep is it?"),
        ("assistant", "Two metres."),
    ]


def test_reasoning_of_the_typescript_sdk_counts_without_its_signature() -> None:
    thought = {"reasoning": {"text": "Tides matter.", "signature": "c2lnbmVk"}}
    hidden = {"reasoning": {"redactedContent": "c2VjcmV0"}}
    answer = says("assistant", thought, hidden, text("Two metres."))
    messages = [says("user", text("How deep is it?")), answer]
    _, (transcript,) = formats_and_transcripts(snapshot(messages=messages))
    parts = transcript.messages[1].parts
    assert [(part.kind, part.text, part.sealed) for part in parts] == [
        ("reasoning", "Tides matter.", 0),
        ("reasoning", "", 8),
        ("text", "Two metres.", 0),
    ]


def test_a_trimmed_snapshot_keeps_its_other_members() -> None:
    data = snapshot(messages=TALK, systemPrompt="Measure in metres.", state={"pier": 4})
    value = json.loads(run(data, [("trim", {})], limit=90, model="gpt-4o").data or b"")
    assert 0 < len(value["data"]["messages"]) < len(TALK)
    assert value["data"]["systemPrompt"] == "Measure in metres."
    assert value["data"]["state"] == {"pier": 4}


@pytest.mark.parametrize("key", ["systemPrompt", "system_prompt"])
def test_a_summary_follows_the_prompt_of_a_snapshot(key: str) -> None:
    data = snapshot(messages=TALK, **{key: "Measure in metres."})
    (chunk,) = read(data)
    prompt, *_, last = chunk.transcripts[0].messages
    meant = replace(chunk.transcripts[0], messages=(prompt, SUMMARY, last))
    shown = json.loads(written(chunk, format_of(data), meant))["data"]
    assert shown[key] == "Measure in metres."
    assert shown["messages"] == [says("user", text(SUMMARY.parts[0].text)), TALK[-1]]
