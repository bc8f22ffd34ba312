"""Spans of Traceloop and OpenInference, with an attribute for each field of a message."""

import json
from typing import Any

import pytest
from conftest import Run
from harness import read, run
from hypothesis import given
from strategies import budgets, conversations
from writers.opentelemetry import export, printed, span

from ctxtrim.model import Transcript

LONG = "a long list of boats " * 200
CALL: dict[str, Any] = {"x": "harbour " * 20}
TEXT = "Which boats are here?"


def line(attributes: dict[str, Any]) -> bytes:
    return json.dumps(printed(attributes)).encode() + b"\n"


def only(data: bytes) -> Transcript:
    (transcript,) = [each for chunk in read(data) for each in chunk.transcripts]
    return transcript


def shape(transcript: Transcript) -> list[tuple[str, list[tuple[str, str]]]]:
    """The role of each message, and the kind and text of its parts."""
    return [
        (message.role, [(part.kind, part.text) for part in message.parts])
        for message in transcript.messages
    ]


def anthropic_blocks(count: int = 1, after: str = "") -> dict[str, Any]:
    """A request with some calls, as Traceloop writes Anthropic's API."""
    names = [f"t{number}" for number in range(count)]
    uses = [{"type": "tool_use", "id": name, "name": "ls", "input": CALL} for name in names]
    results: list[dict[str, Any]] = [
        {"type": "tool_result", "tool_use_id": name, "content": LONG} for name in names
    ]
    if after:
        results.append({"type": "text", "text": after})
    found: dict[str, Any] = {
        "gen_ai.request.model": "gpt-4o",
        "gen_ai.prompt.0.role": "user",
        "gen_ai.prompt.0.content": TEXT,
        "gen_ai.prompt.1.role": "assistant",
        "gen_ai.prompt.1.content": json.dumps([{"type": "text", "text": "I look."}, *uses]),
        "gen_ai.prompt.2.role": "user",
        "gen_ai.prompt.2.content": json.dumps(results),
        "gen_ai.completion.0.role": "assistant",
        "gen_ai.completion.0.content": "Nine boats.",
    }
    for number, name in enumerate(names):
        field = f"gen_ai.prompt.1.tool_calls.{number}"
        found |= {f"{field}.id": name, f"{field}.name": "ls"}
        found[f"{field}.arguments"] = json.dumps(CALL)
    return found


def converse_blocks() -> dict[str, Any]:
    """A request with a call, as Traceloop writes Converse."""
    use = {"toolUse": {"toolUseId": "t0", "name": "ls", "input": CALL}}
    result = {"toolResult": {"toolUseId": "t0", "content": [{"text": LONG}]}}
    return {
        "gen_ai.request.model": "amazon.nova-pro-v1:0",
        "gen_ai.prompt.0.role": "user",
        "gen_ai.prompt.0.content": json.dumps([{"text": TEXT}]),
        "gen_ai.prompt.1.role": "assistant",
        "gen_ai.prompt.1.content": json.dumps([{"text": "I look."}, use]),
        "gen_ai.prompt.2.role": "user",
        "gen_ai.prompt.2.content": json.dumps([result]),
        "gen_ai.completion.0.role": "assistant",
        "gen_ai.completion.0.content": "Nine boats.",
    }


def traceloop(talk: list[dict[str, Any]]) -> dict[str, Any]:
    """A generated conversation as Traceloop writes it for Anthropic: adjacent results share a
    message.
    """
    messages: list[tuple[str, list[dict[str, Any]]]] = []
    for message in talk:
        blocks: list[dict[str, Any]] = [{"type": "text", "text": text} for text in message["texts"]]
        for use in message.get("calls", ()):
            blocks.append({"type": "tool_use"} | use)
        role = message["role"]
        if role == "tool":
            blocks = [{"type": "tool_result", "tool_use_id": message["id"], "content": blocks}]
            role = "user"
            if messages and messages[-1][1][0]["type"] == "tool_result":
                messages[-1][1].extend(blocks)
                continue
        messages.append((role, blocks))
    found: dict[str, Any] = {"gen_ai.request.model": "gpt-4o"}
    for number, (role, blocks) in enumerate(messages):
        field = f"gen_ai.prompt.{number}"
        found |= {f"{field}.role": role, f"{field}.content": json.dumps(blocks)}
        for at, use in enumerate(block for block in blocks if block["type"] == "tool_use"):
            found |= {f"{field}.tool_calls.{at}.{key}": use[key] for key in ("id", "name")}
            found[f"{field}.tool_calls.{at}.arguments"] = json.dumps(use["input"])
    return found


def openinference() -> dict[str, Any]:
    """A request with a call of Anthropic's API, as OpenInference writes it."""
    sent = "llm.input_messages"
    call = f"{sent}.1.message.tool_calls.0.tool_call"
    return {
        "llm.model_name": "gpt-4o",
        f"{sent}.0.message.role": "user",
        f"{sent}.0.message.content": TEXT,
        f"{sent}.1.message.role": "assistant",
        f"{sent}.1.message.content": "I look.",
        f"{call}.id": "t0",
        f"{call}.function.name": "ls",
        f"{call}.function.arguments": json.dumps(CALL, separators=(",", ":")),
        f"{sent}.2.message.role": "user",
        f"{sent}.2.message.tool_call_id": "t0",
        f"{sent}.2.message.content": LONG,
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.content": "Nine boats.",
    }


FORMS = {
    "Anthropic's blocks": anthropic_blocks(),
    "Converse's blocks": converse_blocks(),
    "OpenInference": openinference(),
}
forms = pytest.mark.parametrize("form", FORMS)


@forms
def test_a_result_in_a_user_message_answers_its_call(form: str, ctxtrim: Run) -> None:
    data = line(FORMS[form])
    transcript = only(data)
    assert [message.role for message in transcript.messages] == [
        *("user", "assistant", "tool", "assistant"),
    ]
    (call,) = transcript.messages[1].calls
    result = transcript.messages[2].result
    assert result is not None
    assert (call.call_id, call.name, result.call_id, result.text) == ("t0", "ls", "t0", LONG)
    assert json.loads(call.text) == CALL
    assert ctxtrim("check", "--budget", "20000", stdin=data).code == 0
    trimmed = ctxtrim("trim", "--budget", "40", stdin=data)
    assert trimmed.code == 0
    assert [message.role for message in only(trimmed.out).messages] == ["user", "assistant"]
    assert (
        "[no result recorded]" not in ctxtrim("convert", "--to", "gemini", stdin=data).out.decode()
    )


@forms
def test_a_result_in_a_user_message_is_shortened(form: str) -> None:
    data = line(FORMS[form])
    out = run(data, [("truncate", {"max_tokens": 60})]).data or b""
    result = only(out).messages[2].result
    assert result is not None and "truncated" in result.text
    assert run(out, [("truncate", {"max_tokens": 60})]).data == out


@pytest.mark.parametrize("is_otlp", [False, True])
def test_several_results_in_one_content_are_removed_with_their_calls(is_otlp: bool) -> None:
    attributes = anthropic_blocks(count=2)
    value = export(span(attributes)) if is_otlp else printed(attributes)
    data = json.dumps(value).encode() + b"\n"
    roles = [message.role for message in only(data).messages]
    assert roles == ["user", "assistant", "tool", "tool", "assistant"]
    trimmed = run(data, [("trim", {})], limit=100).data or b""
    assert [message.role for message in only(trimmed).messages] == ["user", "assistant"]
    assert run(trimmed, [("trim", {})], limit=100).data == trimmed


@given(talk=conversations(), budget=budgets)
def test_generated_requests_with_blocks(talk: list[dict[str, Any]], budget: int) -> None:
    for stages in ([("trim", {})], [("truncate", {"max_tokens": 40}), ("trim", {})]):
        data = line(traceloop(talk))
        before = [each for chunk in read(data) for each in chunk.transcripts]
        assert [len(each.messages) for each in before] == ([len(talk)] if talk else [])
        ran = run(data, stages, limit=budget)
        assert {finding.code for finding in ran.findings} <= {"not-json"}
        assert all(row.fits or row.overflows for row in ran.rows)
        if ran.data is not None:
            assert run(ran.data, stages, limit=budget).data == ran.data


def test_a_prompt_after_a_result_is_a_message() -> None:
    messages = only(line(anthropic_blocks(after="Only sailing boats."))).messages
    assert [message.role for message in messages][2:4] == ["tool", "user"]
    field = "llm.input_messages.2.message.contents.0.message_content"
    found = openinference() | {f"{field}.type": "text", f"{field}.text": "Only sailing boats."}
    data = line(found)
    assert shape(only(data))[2:4] == [
        ("tool", [("tool_result", LONG)]),
        ("user", [("text", "Only sailing boats.")]),
    ]


def test_a_call_in_blocks_and_in_attributes_counts_once() -> None:
    (call,) = only(line(anthropic_blocks())).messages[1].calls
    assert json.loads(call.text) == CALL
    attributes = anthropic_blocks()
    del attributes["gen_ai.prompt.1.tool_calls.0.id"]
    assert len(only(line(attributes)).messages[1].calls) == 2


def test_thinking_is_the_reasoning_of_the_completion_after_it() -> None:
    found = {
        "gen_ai.prompt.0.role": "user",
        "gen_ai.prompt.0.content": TEXT,
        "gen_ai.completion.0.role": "thinking",
        "gen_ai.completion.0.finish_reason": "end_turn",
        "gen_ai.completion.0.content": "Hm.",
        "gen_ai.completion.1.role": "assistant",
        "gen_ai.completion.1.content": "Nine boats.",
    }
    answer = ("assistant", [("reasoning", "Hm."), ("text", "Nine boats.")])
    assert shape(only(line(found)))[1:] == [answer]


def test_of_several_choices_only_the_first_is_read() -> None:
    found = {"gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": TEXT}
    for number, text in enumerate(("Nine boats. " * 9, "Ten boats.")):
        field = f"gen_ai.completion.{number}"
        found |= {f"{field}.role": "assistant", f"{field}.finish_reason": "stop"}
        found[f"{field}.content"] = text
    data = line(found)
    assert shape(only(data))[1:] == [("assistant", [("text", "Nine boats. " * 9)])]
    trimmed = run(data, [("trim", {})], limit=20).data or b""
    assert shape(only(trimmed)) == [("user", [("text", TEXT)])]
    assert b"Ten boats." not in trimmed


def test_blocks_and_items_of_an_answer_are_no_choices() -> None:
    prompt = {"gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": TEXT}
    blocks = {
        "gen_ai.completion.0.role": "assistant",
        "gen_ai.completion.0.content": "Nine boats.",
        "gen_ai.completion.1.content": "Two of them sail.",
    }
    answers = [("text", "Nine boats."), ("text", "Two of them sail.")]
    found = shape(only(line(prompt | blocks)))[1:]
    assert [part for _, parts in found for part in parts] == answers
    items = {
        "gen_ai.completion.0.role": "assistant",
        "gen_ai.completion.0.content": "I look.",
        "gen_ai.completion.1.role": "assistant",
        "gen_ai.completion.1.finish_reason": "tool_calls",
        "gen_ai.completion.1.tool_calls.0.id": "t0",
        "gen_ai.completion.1.tool_calls.0.name": "ls",
        "gen_ai.completion.1.tool_calls.0.arguments": "{}",
    }
    found = shape(only(line(prompt | items)))[1:]
    assert [part for _, parts in found for part in parts] == [
        ("text", "I look."), ("tool_call", "{}"),
    ]  # fmt: skip


def test_blocks_of_openinference_are_read_by_their_type() -> None:
    sent = "llm.input_messages.0.message"
    field = f"{sent}.contents"
    found = {
        f"{sent}.role": "assistant",
        f"{field}.0.message_content.type": "reasoning",
        f"{field}.0.message_content.text": "Hm.",
        f"{field}.0.message_content.signature": "s" * 900,
        f"{field}.1.message_content.type": "reasoning",
        f"{field}.1.message_content.data": "d" * 1000,
        f"{field}.2.message_content.type": "reasoning",
        f"{field}.2.message_content.encrypted_content": "e" * 400,
        f"{field}.3.message_content.type": "text",
        f"{field}.3.message_content.text": "I look.",
        f"{field}.4.message_content.type": "tool_use",
        f"{field}.4.tool_call.id": "t0",
        f"{field}.4.tool_call.function.name": "ls",
        f"{field}.4.tool_call.function.arguments": "{}",
        f"{field}.5.message_content.audio.audio.url": "data:audio/wav;base64,UklGRi==",
    }
    (message,) = only(line(found)).messages
    assert [(part.kind, part.text, part.sealed) for part in message.parts] == [
        ("reasoning", "Hm.", 0),
        ("reasoning", "", 1000),
        ("reasoning", "", 0),
        ("text", "I look.", 0),
        ("tool_call", "{}", 0),
        ("attachment", "", 0),
    ]
    kinds = [part.media.kind for part in message.parts if part.media is not None]
    assert kinds == ["sealed", "audio"]
    copy = f"{sent}.tool_calls.0.tool_call"
    more = {f"{copy}.id": "t0", f"{copy}.function.name": "ls"}
    more[f"{copy}.function.arguments"] = "{}"
    assert len(only(line(found | more)).messages[0].calls) == 1


def test_the_text_of_an_answer_in_its_content_and_in_a_block_counts_once() -> None:
    answer = "llm.output_messages.0.message"
    block = {
        f"{answer}.contents.0.message_content.type": "text",
        f"{answer}.contents.0.message_content.text": "Nine boats.",
    }
    asked = {
        "llm.input_messages.0.message.role": "user",
        "llm.input_messages.0.message.content": TEXT,
        f"{answer}.role": "assistant",
    }
    data = line(asked | block | {f"{answer}.content": "Nine boats."})
    assert shape(only(data))[1:] == [("assistant", [("text", "Nine boats.")])]
    other = line(asked | block | {f"{answer}.content": "Ten boats."})
    assert len(only(other).messages[1].parts) == 2
    trimmed = run(data, [("trim", {})], limit=16).data or b""
    assert shape(only(trimmed)) == [("user", [("text", TEXT)])]
    assert b"Nine boats." not in trimmed


def test_a_block_of_an_unknown_kind_is_reported(ctxtrim: Run) -> None:
    data = line(openinference() | {
        "llm.input_messages.3.message.role": "user",
        "llm.input_messages.3.message.contents.0.message_content.video.video.url": "https://v",
    })  # fmt: skip
    assert only(data).uncounted == 1
    assert b"not counted" in ctxtrim("check", "--budget", "20000", stdin=data).out


def test_a_function_call_of_openinference_is_answered_by_its_name(ctxtrim: Run) -> None:
    sent = "llm.input_messages"
    data = line({
        "llm.model_name": "gpt-4o",
        f"{sent}.0.message.role": "user",
        f"{sent}.0.message.content": TEXT,
        f"{sent}.1.message.role": "assistant",
        f"{sent}.1.message.function_call_name": "ls",
        f"{sent}.1.message.function_call_arguments_json": json.dumps(CALL),
        f"{sent}.2.message.role": "function",
        f"{sent}.2.message.name": "ls",
        f"{sent}.2.message.content": "nine",
    })  # fmt: skip
    messages = only(data).messages
    assert [message.role for message in messages] == ["user", "assistant", "tool"]
    assert json.loads(messages[1].calls[0].text) == CALL
    assert ctxtrim("check", "--budget", "20000", stdin=data).code == 0
