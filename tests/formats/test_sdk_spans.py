"""Spans of single SDKs: the messages of a request count once, whatever is around it."""

import json
from typing import Any

import pytest
from bytecodes import bytecodes
from harness import read, run
from writers.requests import growing
from writers.sdk_spans import SDKS, adk, ai_sdk, exported, strands, strands_chat

from ctxtrim.formats import FORMATS
from ctxtrim.formats.message_lists import Envelope
from ctxtrim.formats.reading import open_reading
from ctxtrim.formats.traces.grouping import with_contexts
from ctxtrim.formats.traces.requests import LoggedRequest
from ctxtrim.model import Message, Part, Span, Transcript

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
WORDS = ["".join(message["texts"]) for message in TALK]
ROLES = [message["role"] for message in TALK]
WITH_TOOLS = ("AI SDK", "Agent Development Kit", "Pydantic AI, version 1", "Logfire")
sdks = pytest.mark.parametrize("sdk", SDKS)


def found(data: bytes) -> list[Transcript]:
    return [transcript for chunk in read(data) for transcript in chunk.transcripts]


def each_request(data: bytes) -> list[Transcript]:
    form = FORMATS["opentelemetry"].each_request
    assert form is not None
    reading = open_reading(data.splitlines(keepends=True), (form,))
    return [transcript for chunk in reading.chunks for transcript in chunk.transcripts]


def words(messages: tuple[Message, ...]) -> list[str]:
    """The texts of the messages, without calls."""
    return [
        "".join(part.text for part in message.parts if part.kind != "tool_call")
        for message in messages
    ]


@sdks
@pytest.mark.parametrize("is_otlp", [True, False])
def test_a_request_and_the_spans_around_it_are_one_transcript(sdk: str, is_otlp: bool) -> None:
    (transcript,) = found(exported(SDKS[sdk](TALK), is_otlp))
    assert [message.role for message in transcript.messages] == ROLES
    assert words(transcript.messages) == WORDS
    (call,) = transcript.messages[2].calls
    result = transcript.messages[3].result
    assert result is not None
    assert (call.call_id, call.name, json.loads(call.text)) == ("c1", "bash", {"x": "Möwe"})
    assert (result.call_id, transcript.model) == ("c1", "gpt-4o")
    assert [(usage.prompt_tokens, usage.message) for usage in transcript.usages] == [(40, 4)]
    assert ("bash" in (transcript.tools or "")) is (sdk in WITH_TOOLS or "version 2" in sdk)


@sdks
def test_the_requests_of_a_run_are_one_transcript(sdk: str) -> None:
    spans = [span for talk in growing(TALK) for span in SDKS[sdk](talk)]
    (transcript,) = found(exported(spans))
    assert words(transcript.messages) == WORDS
    assert [usage.message for usage in transcript.usages] == [2, 4]


@sdks
def test_each_request_is_edited_and_reads_back(sdk: str) -> None:
    data = exported(SDKS[sdk](TALK)[:2] if sdk.startswith("Strands") else SDKS[sdk](TALK)[:1])
    (before,) = found(data)
    assert before.locked == ""
    out = run(data, [("truncate", {"max_tokens": 60})]).data or b""
    (after,) = found(out)
    start = len(before.messages) - 5
    assert "truncated" in words(after.messages)[3 + start]
    kept = [text for text in words(before.messages) if text != LONG]
    assert [text for text in words(after.messages) if "truncated" not in text] == kept
    assert len(out) < len(data)
    assert run(out, [("truncate", {"max_tokens": 60})]).data == out


@sdks
def test_messages_are_dropped_with_their_attributes_or_events(sdk: str) -> None:
    earlier = [
        {"role": "user", "texts": ["Good morning. " * 200]},
        {"role": "assistant", "texts": ["Good morning."], "calls": []},
    ]
    short = [
        message | {"texts": ["Möwe"]} if message["role"] == "tool" else message for message in TALK
    ]
    talk = [short[0], *earlier, *short[1:]]
    spans = SDKS[sdk](talk)
    data = exported([spans[1] if sdk.startswith("Strands") else spans[0]])
    out = run(data, [("trim", {})], limit=200).data or b""
    (after,) = found(out)
    expected = ["Which boats are here?", "I look.", "Möwe", "Nine boats."]
    assert words(after.messages)[-4:] == expected
    assert "Good morning" not in "".join(words(after.messages))
    assert run(out, [("trim", {})], limit=200).data == out


@sdks
def test_a_trace_with_spans_around_its_request_is_not_edited(sdk: str) -> None:
    data = exported(SDKS[sdk](TALK))
    ran = run(data, [("truncate", {"max_tokens": 60})])
    if sdk in ("Agent Development Kit", "Logfire"):  # nothing around it has messages
        assert ran.findings == ()
        return
    assert [finding.code for finding in ran.findings] == ["not-editable"]
    assert len(each_request(data)) == 2
    assert run(data).data == data


@pytest.mark.parametrize("sdk", [sdk for sdk in SDKS if sdk != "Logfire"])
def test_a_run_without_its_requests_counts(sdk: str) -> None:
    spans = SDKS[sdk](TALK)
    around = spans[-1] if sdk != "Agent Development Kit" else spans[0]
    (transcript,) = found(exported([around]))
    assert words(transcript.messages)[:2] == WORDS[:2]
    assert words(transcript.messages)[-1] == WORDS[-1]
    assert len(transcript.usages) == (sdk == "Agent Development Kit")  # a run has the sum


def test_a_system_prompt_of_a_run_belongs_to_the_requests_that_begin_like_it() -> None:
    other = [{"role": "user", "texts": ["Name this talk."]}, TALK[4] | {"texts": ["Boats"]}]
    data = exported([strands_chat(other), *strands(TALK)])
    assert [words(each.messages)[0] for each in found(data)] == ["Name this talk.", WORDS[0]]
    renamed = [TALK[0] | {"texts": ["You write titles."]}, *TALK[1:]]
    data = exported([*strands(TALK), strands(renamed)[-1]])  # two agents that begin alike
    assert [words(each.messages)[0] for each in found(data)] == [WORDS[1]]


def test_the_prompt_of_strands_has_the_cached_tokens_of_the_total() -> None:
    span = strands_chat(TALK[1:])
    span["attributes"] |= {"gen_ai.usage.total_tokens": 145, "gen_ai.system": "strands-agents"}
    (usage,) = found(exported([span]))[0].usages
    assert (usage.prompt_tokens, usage.completion_tokens) == (140, 5)
    span["attributes"]["gen_ai.usage.total_tokens"] = 45
    assert found(exported([span]))[0].usages[0].prompt_tokens == 40
    span["attributes"] |= {"gen_ai.usage.total_tokens": 145, "gen_ai.system": "openai"}
    assert found(exported([span]))[0].usages[0].prompt_tokens == 40


def test_many_runs_of_a_trace_take_no_cubic_time() -> None:
    def work(number: int) -> int:
        messages = tuple(Message("user", (Part("text", str(at)),)) for at in range(number))
        records = [
            LoggedRequest(Span(at), "t", messages[at % 2 : at], at - at % 2, Envelope(tools="[]"))
            for at in range(2, len(messages))
        ]
        found: list[LoggedRequest] = []
        done = bytecodes(lambda: found.extend(with_contexts(records[1::2], records[::2])))
        assert found == records[1::2]
        return done

    assert work(200) < 6 * work(100)


def test_an_event_with_two_results_is_two_messages() -> None:
    calls = [{"id": name, "name": "bash", "input": {}} for name in ("c1", "c2")]
    results = [
        {"role": "tool", "id": name, "texts": [LONG], "error": None} for name in ("c1", "c2")
    ]
    talk = [TALK[1], {"role": "assistant", "texts": [], "calls": calls}, results[0], TALK[4]]
    span = strands_chat(talk)
    blocks = span["events"][2]["attributes"]
    second = json.loads(blocks["content"])[0]["toolResult"] | {"toolUseId": "c2"}
    blocks["content"] = json.dumps([*json.loads(blocks["content"]), {"toolResult": second}])
    for is_otlp in (True, False):
        data = exported([span], is_otlp)
        (transcript,) = found(data)
        assert [each.result.call_id for each in transcript.messages if each.result] == ["c1", "c2"]
        out = run(data, [("truncate", {"max_tokens": 60})]).data or b""
        assert [("truncated" in text) for text in words(found(out)[0].messages)][2:4] == [True] * 2


def test_requests_of_another_instrumentation_count_instead_of_those_of_adk() -> None:
    parts = [{"type": "text", "content": "Which boats are here?"}]
    chat = {
        "gen_ai.operation.name": "generate_content",
        "gen_ai.input.messages": json.dumps([{"role": "user", "parts": parts}]),
        "gen_ai.output.messages": json.dumps(
            [{"role": "assistant", "parts": [{"type": "text", "content": "Nine boats."}]}]
        ),
    }
    inner = {"name": "generate_content", "attributes": chat, "events": []}
    (transcript,) = found(exported([*adk([TALK[0], TALK[1], TALK[4]]), inner]))
    assert words(transcript.messages) == WORDS[:2] + WORDS[4:]


def test_the_answer_of_the_ai_sdk_has_reasoning_calls_and_objects() -> None:
    (step, *_) = ai_sdk(TALK[:3])
    step["attributes"]["ai.response.reasoning"] = "Hm."
    (transcript,) = found(exported([step]))
    assert [part.kind for part in transcript.messages[-1].parts] == [
        *("reasoning", "text", "tool_call"),
    ]
    (step, *_) = ai_sdk([*TALK[:2], TALK[4] | {"texts": []}])
    step["attributes"] |= {"ai.response.object": '{"boats": 9}'}
    assert words(found(exported([step]))[0].messages)[-1] == '{"boats": 9}'


def test_blocks_of_pydantic_ai_are_texts_reasoning_and_images() -> None:
    content = [
        {"kind": "thinking", "text": "Hm."},
        {"kind": "text", "text": "Look."},
        {"kind": "image-url", "url": "https://example.org/a.png"},
        {"kind": "binary", "media_type": "image/png", "binary_content": "iVBORw0="},
    ]
    events = [
        {"role": "user", "content": content, "event.name": "gen_ai.user.message"},
        {"event.name": "gen_ai.choice", "index": 0, "message": {"role": "assistant"}},
        {"event.name": "harbour.tide", "content": "high"},
    ]
    span = {"name": "chat", "attributes": {"events": json.dumps(events)}, "events": []}
    (transcript,) = found(exported([span]))
    kinds = [part.kind for part in transcript.messages[0].parts]
    assert kinds == ["reasoning", "text", "attachment", "attachment"]
    assert [message.role for message in transcript.messages] == ["user", "assistant"]


def test_attributes_with_the_same_names_but_no_messages_are_no_requests() -> None:
    attributes = {
        "events": json.dumps([{"name": "tide"}]),
        "request_data": json.dumps({"messages": [{"role": "user", "content": "Hello."}]}),
        "ai.response.text": "Hello.",
    }
    span = {"name": "GET /", "attributes": attributes, "events": []}
    assert found(exported([span])) == []
