"""Spans and events of OpenTelemetry, in every form of their attributes."""

import json
from typing import Any

import pytest
from conftest import Run
from harness import read, run
from hypothesis import given
from strategies import as_json, budgets, conversations
from writers import opentelemetry
from writers.opentelemetry import any_value, attributes, export, flat, printed, span, structured

from ctxtrim.model import Message, Transcript
from ctxtrim.model.request import Usage

LONG = "a long list of boats " * 200
TALK: list[dict[str, Any]] = [
    {"role": "system", "texts": ["You keep the harbour log."]},
    {"role": "user", "texts": ["Which boats are here?"]},
    {
        "role": "assistant",
        "texts": ["I look."],
        "calls": [{"id": "c1", "name": "bash", "input": {"x": "Möwe"}}],
    },
    {"role": "tool", "id": "c1", "texts": [LONG], "error": None, "image": False},
    {"role": "assistant", "texts": ["Nine boats."], "calls": []},
]
WORDS = [
    *("You keep the harbour log.", "Which boats are here?", "I look.", LONG, "Nine boats."),
]

EARLIER: list[dict[str, Any]] = [
    {"role": "user", "texts": ["Good morning. " * 200]},
    {"role": "assistant", "texts": ["Good morning."], "calls": []},
]
SHORT = [
    message | {"texts": ["Möwe"]} if message["role"] == "tool" else message for message in TALK
]
LONGER = [SHORT[0], *EARLIER, *SHORT[1:]]


def line(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode() + b"\n"


def only(data: bytes) -> Transcript:
    (transcript,) = [each for chunk in read(data) for each in chunk.transcripts]
    return transcript


def words(messages: tuple[Message, ...]) -> list[str]:
    """The texts of the messages, without calls."""
    return [
        "".join(part.text for part in message.parts if part.kind != "tool_call")
        for message in messages
    ]


def events(talk: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """An event for each message, as `(name, message)`."""
    found = []
    for number, message in enumerate(talk):
        value: dict[str, Any] = {"content": message["texts"][0]}
        if message.get("calls"):
            function = {"name": "bash", "arguments": "{}"}
            value["tool_calls"] = [{"id": "c1", "type": "function", "function": function}]
        if message["role"] == "tool":
            value["id"] = "c1"
        name = f"gen_ai.{message['role']}.message"
        if number == len(talk) - 1:
            name, value = "gen_ai.choice", {"index": 0, "message": value | {"role": "assistant"}}
        found.append({"name": name, "message": value})
    return found


def in_span(talk: list[dict[str, Any]]) -> Any:
    """The messages as events of a span."""
    value = span({"gen_ai.request.model": "gpt-4o"})
    value["events"] = [
        {
            "name": event["name"],
            "attributes": [
                {
                    "key": "gen_ai.event.content",
                    "value": {"stringValue": json.dumps(event["message"])},
                }
            ],
        }
        for event in events(talk)
    ]
    return export(value)


def in_log(talk: list[dict[str, Any]]) -> Any:
    """The messages as log records."""
    records = [
        {
            "traceId": "t0",
            "spanId": "s0",
            "eventName": event["name"],
            "body": any_value(event["message"]),
        }
        for event in events(talk)
    ]
    return {"resourceLogs": [{"scopeLogs": [{"logRecords": records}]}]}


def in_event(talk: list[dict[str, Any]]) -> Any:
    """The message lists as attributes of an event of the span."""
    value = span({"gen_ai.request.model": "gpt-4o"})
    name = "gen_ai.client.inference.operation.details"
    value["events"] = [{"name": name, "attributes": span(attributes(talk))["attributes"]}]
    return export(value)


FORMS = {
    "JSON in a string": lambda talk: export(span(attributes(talk))),
    "values": structured,
    "values of an SDK": lambda talk: printed(attributes(talk, is_structured=True)),
    "printed": lambda talk: printed(attributes(talk)),
    "an array of spans": lambda talk: [printed(attributes(talk))],
    "Traceloop": flat,
    "Traceloop, printed": lambda talk: flat(talk, 2),
    "OpenInference": lambda talk: flat(talk, 3),
    "OpenInference, printed": lambda talk: flat(talk, 1),
    "an event": in_event,
    "events of a span": in_span,
    "log records": in_log,
}
forms = pytest.mark.parametrize("form", FORMS)


@forms
def test_every_form_has_the_same_messages(form: str) -> None:
    transcript = only(line(FORMS[form](TALK)))
    assert [message.role for message in transcript.messages] == [each["role"] for each in TALK]
    assert words(transcript.messages) == WORDS
    (call,) = transcript.messages[2].calls
    result = transcript.messages[3].result
    assert result is not None
    assert (call.call_id, call.name, result.call_id) == ("c1", "bash", "c1")


@forms
def test_every_form_is_edited_and_other_bytes_stay(form: str) -> None:
    data = line(FORMS[form](TALK))
    out = run(data, [("truncate", {"max_tokens": 60})]).data or b""
    after = only(out)
    assert "truncated" in words(after.messages)[3]
    assert words(after.messages)[:3] == WORDS[:3]
    head = data.index(LONG[:20].encode())
    assert out[:head] == data[:head]
    assert out[-20:] == data[-20:]
    assert run(out, [("truncate", {"max_tokens": 60})]).data == out
    trimmed = run(line(FORMS[form](LONGER)), [("trim", {})], limit=200).data or b""
    assert words(only(trimmed).messages) == [*WORDS[:3], "Möwe", WORDS[4]]
    assert run(trimmed, [("trim", {})], limit=200).data == trimmed


@given(talk=conversations(), budget=budgets)
def test_generated_requests_with_an_attribute_for_each_field(
    talk: list[dict[str, Any]], budget: int
) -> None:
    for number in range(4):
        plain = [message | {"image": False} for message in talk]
        data = as_json(flat(plain, number), {}) + b"\n"
        before = [each for chunk in read(data) for each in chunk.transcripts]
        assert [len(each.messages) for each in before] == ([len(talk)] if talk else [])
        ran = run(data, [("trim", {})], limit=budget)
        assert {finding.code for finding in ran.findings} <= {"not-json"}
        assert all(row.fits or row.overflows for row in ran.rows)
        if ran.data is not None:
            assert run(ran.data, [("trim", {})], limit=budget).data == ran.data


@given(talk=conversations(), budget=budgets)
def test_generated_requests_with_structured_values(talk: list[dict[str, Any]], budget: int) -> None:
    data = as_json(structured(talk), {}) + b"\n"
    ran = run(data, [("truncate", {"max_tokens": 40}), ("trim", {})], limit=budget)
    assert ran.findings == ()
    assert all(row.fits or row.overflows for row in ran.rows)
    if ran.data is not None:
        again = run(ran.data, [("truncate", {"max_tokens": 40}), ("trim", {})], limit=budget)
        assert again.data == ran.data


def test_a_request_without_a_list_takes_no_new_message() -> None:
    talk = [*SHORT[:3], SHORT[1], SHORT[4]]
    for form in ("Traceloop", "log records"):
        ran = run(line(FORMS[form](talk)), [("repair", {"repair": "synthesize"})])
        assert [finding.code for finding in ran.findings] == ["not-editable"]
    ran = run(line(FORMS["printed"](talk)), [("repair", {"repair": "synthesize"})])
    assert [message.role for message in only(ran.data or b"").messages] == [
        *("system", "user", "assistant", "tool", "user", "assistant"),
    ]


def test_a_request_with_an_attribute_for_each_field_loses_no_call_of_several() -> None:
    calls = [{"id": call_id, "name": "bash", "input": {}} for call_id in ("c1", "c2")]
    answer = {"role": "assistant", "texts": [], "calls": calls}
    talk = [*SHORT[:2], answer, SHORT[3] | {"id": "c2"}, SHORT[4]]
    ran = run(line(flat(talk)), [("repair", {})])
    (finding,) = ran.findings
    assert finding.code == "not-editable" and "call c1 of bash has no result" in finding.message


def test_usage_model_and_tools_are_those_of_the_span() -> None:
    found = attributes(TALK) | {
        "gen_ai.response.model": "gpt-4o-2024-08-06",
        "gen_ai.usage.output_tokens": 5,
    }
    transcript = only(line(export(span(found))))
    assert transcript.model == "gpt-4o-2024-08-06"
    assert transcript.usages == (Usage(40, 5, 4, "gpt-4o-2024-08-06"),)
    assert "bash" in (transcript.tools or "")
    assert transcript.id == "t0"


def test_parts_of_every_type_are_read() -> None:
    kinds: list[dict[str, Any]] = [
        {"type": "text", "content": "Look at this."},
        {"type": "reasoning", "content": "Hm."},
        {"type": "uri", "modality": "image", "uri": "https://example.org/a.png"},
        {"type": "blob", "modality": "audio", "content": "UklGRg=="},
        {"type": "file", "modality": "document", "mime_type": "application/pdf", "file_id": "f"},
        {"type": "weather", "wind": 8},
    ]
    lists = {"gen_ai.input.messages": json.dumps([{"role": "user", "parts": kinds}])}
    (message,) = only(line(printed(lists))).messages
    assert [
        (part.kind, part.media.kind if part.media else part.text) for part in message.parts
    ] == [
        ("text", "Look at this."),
        ("reasoning", "Hm."),
        ("attachment", "image"),
        ("attachment", "audio"),
        ("attachment", "pdf"),
        ("text", '{"type":"weather","wind":8}'),
    ]


def test_spans_without_messages_are_no_transcripts() -> None:
    data = line(export(span({"http.method": "GET"})))
    assert [chunk.transcripts for chunk in read(data)] == [()]
    assert run(data).data == data


def test_a_new_message_splits_an_element_with_two_results() -> None:
    calls = [{"id": name, "name": "bash", "input": {}} for name in ("c1", "c2")]
    results = [
        {"role": "tool", "id": name, "texts": ["ok"], "error": None} for name in ("c1", "c3")
    ]
    talk = [TALK[1], {"role": "assistant", "texts": [], "calls": calls}, *results, TALK[1]]
    ran = run(line(opentelemetry.conversation(talk)), [("repair", {})])
    assert ran.findings == () or {finding.severity for finding in ran.findings} <= {"warning"}
    after = only(ran.data or b"")
    assert [message.result.call_id for message in after.messages if message.result] == ["c1"]


def test_a_result_of_text_blocks_is_shortened() -> None:
    blocks = [{"text": LONG}, {"type": "text", "text": "Möwe"}]
    results = [{"type": "tool_call_response", "id": "c1", "response": blocks}]
    lists = {"gen_ai.input.messages": json.dumps([{"role": "tool", "parts": results}])}
    data = line(printed(lists))
    assert words(only(data).messages) == [LONG + "Möwe"]
    out = run(data, [("truncate", {"max_tokens": 60})]).data or b""
    assert "truncated" in words(only(out).messages)[0]
    results[0]["response"] = [{"text": "Möwe", "page": 2}]
    lists = {"gen_ai.input.messages": json.dumps([{"role": "tool", "parts": results}])}
    assert words(only(line(printed(lists))).messages) == ['[{"text":"Möwe","page":2}]']


def test_system_instructions_that_are_a_message_too_count_once() -> None:
    found = attributes(TALK)
    sent = json.loads(found["gen_ai.input.messages"])
    system = {"role": "system", "parts": json.loads(found["gen_ai.system_instructions"])}
    found["gen_ai.input.messages"] = json.dumps([system, *sent])
    assert words(only(line(printed(found))).messages) == WORDS
    more = [*system["parts"], {"type": "text", "content": "Be brief."}]
    found["gen_ai.system_instructions"] = json.dumps(more)
    assert words(only(line(printed(found))).messages) == ["Be brief.", *WORDS]


def test_images_of_openinference_are_attachments() -> None:
    field = "llm.input_messages.0.message.contents"
    found = {
        "llm.input_messages.0.message.role": "user",
        f"{field}.0.message_content.type": "text",
        f"{field}.0.message_content.text": "Which boat is this?",
        f"{field}.1.message_content.image.image.url": "https://example.org/a.png",
    }
    (message,) = only(line(printed(found))).messages
    assert [part.kind for part in message.parts] == ["text", "attachment"]


def sent(*parts: dict[str, Any], **more: Any) -> Transcript:
    """The transcript of a span with one message of the user."""
    messages = [{"role": "user", "parts": list(parts)}]
    fields = {"gen_ai.request.model": "gpt-4o", "gen_ai.input.messages": json.dumps(messages)}
    return only(line(export(span(fields | more))))


def test_a_compaction_is_its_summary_or_sealed() -> None:
    summary = {"type": "compaction", "id": "cmp_1", "content": "We counted nine boats."}
    (message,) = sent(summary).messages
    assert [part.text for part in message.parts] == ["We counted nine boats."]
    (message,) = sent({"type": "compaction", "id": "cmp_1"}).messages
    assert [part.media and part.media.kind for part in message.parts] == ["sealed"]


def test_what_the_provider_ran_makes_the_count_an_estimate(ctxtrim: Run) -> None:
    search = {"type": "server_tool_call", "name": "web", "server_tool_call": {"type": "search"}}
    for parts, sign in (([], ""), ([search], "≈")):
        messages = [{"role": "user", "parts": [{"type": "text", "content": "Look."}, *parts]}]
        fields = {"gen_ai.request.model": "gpt-4o", "gen_ai.input.messages": json.dumps(messages)}
        counted = ctxtrim("count", stdin=line(export(span(fields))))
        assert counted.out.decode().split()[-2].rstrip("0123456789") == sign


def test_system_instructions_may_be_messages() -> None:
    text = {"type": "text", "content": "You keep the harbour log."}
    instructions = json.dumps([{"role": "system", "parts": [text]}])
    transcript = sent(text, **{"gen_ai.system_instructions": instructions})
    assert words(transcript.messages) == ["You keep the harbour log."] * 2
    assert [message.role for message in transcript.messages] == ["system", "user"]
