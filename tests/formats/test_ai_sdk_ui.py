"""Chats of the AI SDK's user interface: a tool part is a call and its result."""

import json
from io import BytesIO
from typing import Any

import pytest
from harness import Ran, read, run
from insertions import SUMMARY, format_of, written
from msgspec.structs import replace
from pictures import URL

from ctxtrim.errors import NotEditableError
from ctxtrim.formats.openai.ai_sdk import DENIED
from ctxtrim.formats.reading import open_reading
from ctxtrim.model import Message, Transcript
from ctxtrim.stages.placement.leads import can_lead

Value = dict[str, Any]
LONG = "a gull flies by " * 200
STEP = {"type": "step-start"}


def text(words: str) -> Value:
    return {"type": "text", "text": words}


def says(role: str, *parts: Value, **more: Any) -> Value:
    return {"id": f"{role}-1", "role": role, "parts": list(parts)} | more


def tool(name: str, state: str = "output-available", **more: Any) -> Value:
    return {"type": "tool-gauge", "toolCallId": name, "state": state, "input": {"pier": 1}} | more


def old_tool(name: str, step: int = 0, **more: Any) -> Value:
    call = {"state": "result", "step": step, "toolCallId": name, "toolName": "gauge", "args": {}}
    return {"type": "tool-invocation", "toolInvocation": call | more}


def line(*values: Any) -> bytes:
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


def format_and_transcript(data: bytes) -> tuple[str | None, Transcript]:
    reading = open_reading(BytesIO(data))
    (found,) = (transcript for chunk in reading.chunks for transcript in chunk.transcripts)
    return reading.format.name if reading.format else None, found


def messages(*talk: Value) -> tuple[Message, ...]:
    return format_and_transcript(line(list(talk)))[1].messages


def kinds(found: tuple[Message, ...]) -> list[tuple[str, list[str]]]:
    return [(message.role, [part.kind for part in message.parts]) for message in found]


TALK = [
    says("user", text("How deep is it?")),
    says(
        "assistant",
        STEP,
        {"type": "reasoning", "text": "I look."},
        tool("a", output=LONG),
        tool("b", "output-error", errorText="no gauge"),
        {"type": "source-url", "sourceId": "s", "url": "https://tides.example"},
        STEP,
        text("Two metres."),
        {"type": "data-chart", "data": {"m": 2}},
        metadata={"model": "gpt-4o"},
    ),
    says("user", text("And tomorrow?")),
]


@pytest.mark.parametrize(
    "data",
    [
        line(TALK),
        line(*TALK),
        line({"id": "chat", "messages": TALK}),
        line([{"id": "chat", "messages": TALK}]),
        line({"messages": json.dumps(TALK)}),
    ],
)
def test_steps_are_answers_with_their_results(data: bytes) -> None:
    form, found = format_and_transcript(data)
    assert (form, found.model, found.uncounted) == ("ai-sdk-ui", "gpt-4o", 0)
    assert kinds(found.messages) == [
        ("user", ["text"]),
        ("assistant", ["reasoning", "tool_call", "tool_call"]),
        ("tool", ["tool_result"]),
        ("tool", ["tool_result"]),
        ("assistant", ["text"]),
        ("user", ["text"]),
    ]
    assert [(call.name, call.call_id, call.text) for call in found.messages[1].calls] == [
        ("gauge", "a", '{"pier":1}'),
        ("gauge", "b", '{"pier":1}'),
    ]
    answers = [message.result for message in found.messages[2:4]]
    assert [(part.call_id, part.text, part.is_error) for part in answers if part] == [
        ("a", LONG, None),
        ("b", "no gauge", True),
    ]


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (tool("a", output="2 m"), [("tool_result", "2 m")]),
        (tool("a", output={"m": 2}), [("tool_result", '{"m":2}')]),
        (
            tool("a", output={"stdout": "2 m", "code": 0}),
            [("tool_result", "2 m"), ("text", '{"stdout":"","code":0}')],
        ),
        (
            tool("a", output={"content": [text("2 m"), text("3 m")], "isError": False}),
            [("tool_result", "2 m"), ("tool_result", "3 m")],
        ),
        (tool("a", output=None), [("tool_result", "")]),
        (tool("a", "output-denied", approval={"id": "p"}), [("tool_result", DENIED)]),
        (
            tool("a", "output-denied", approval={"reason": "too deep"}),
            [("tool_result", "too deep")],
        ),
    ],
)
def test_outputs_are_results(part: Value, expected: list[tuple[str, str]]) -> None:
    call, result = messages(says("assistant", part))
    assert [each.call_id for each in call.calls] == ["a"]
    assert [(each.kind, each.text) for each in result.parts] == expected


def test_calls_without_a_result_and_calls_of_the_provider() -> None:
    waiting = tool("a", "input-available")
    streamed = tool("b", "input-streaming", input={"pi": 1})
    own = tool("c", output="2 m", providerExecuted=True)
    (answer,) = messages(says("assistant", waiting, streamed, own))
    assert [(part.kind, part.call_id) for part in answer.parts] == [
        ("text", None),
        ("tool_call", "a"),
    ]
    assert json.loads(answer.parts[0].text) == own


def test_a_dynamic_tool_has_its_name_next_to_it() -> None:
    call, _ = messages(
        says("assistant", tool("a", output="2") | {"type": "dynamic-tool", "toolName": "depth"})
    )
    assert [each.name for each in call.calls] == ["depth"]


def test_chats_before_version_5_are_read() -> None:
    found = messages(
        says("user", text("How deep?"), content="How deep?"),
        says(
            "assistant",
            text("I look."),
            old_tool("a", result="2 m"),
            old_tool("b", 1, result="3 m"),
            text("Done."),
            content="I look. Done.",
        ),
        {"id": "u2", "role": "user", "content": "And now?"},
    )
    assert kinds(found) == [
        ("user", ["text"]),
        ("assistant", ["text", "tool_call"]),
        ("tool", ["tool_result"]),
        ("assistant", ["tool_call"]),
        ("tool", ["tool_result"]),
        ("assistant", ["text"]),
        ("user", ["text"]),
    ]


def test_files_are_attachments() -> None:
    image = {"type": "file", "mediaType": "image/png", "url": URL}
    (prompt,) = messages(says("user", text("Look."), image))
    assert [part.media and part.media.kind for part in prompt.parts] == [None, "image"]


def test_files_of_reasoning_and_custom_parts_are_sent() -> None:
    image = {"type": "reasoning-file", "mediaType": "image/png", "url": URL}
    custom = {"type": "custom", "kind": "tides.note", "providerMetadata": {"tides": {"m": 2}}}
    form, found = format_and_transcript(line([says("assistant", image, custom)]))
    (answer,) = found.messages
    assert (form, found.uncounted) == ("ai-sdk-ui", 0)
    assert [part.media and part.media.kind for part in answer.parts] == ["image", None]
    assert json.loads(answer.parts[1].text) == custom


def test_parts_of_an_unknown_type_are_reported() -> None:
    unknown = says("assistant", text("A pier."), {"type": "hologram", "url": URL})
    data = {"type": "data-chart", "data": {}}
    _, found = format_and_transcript(line([says("user", text("Look."), data), unknown]))
    assert kinds(found.messages) == [("user", ["text"]), ("assistant", ["text"])]
    assert found.uncounted == 1


IMAGE = {"url": URL, "contentType": "image/png", "name": "pier.png"}
NOTE = {"url": "data:text/plain;base64,cGllciA0", "contentType": "text/plain"}


@pytest.mark.parametrize("more", [{}, {"parts": [text("Look.")]}])
def test_attachments_next_to_the_text_are_read(more: Value) -> None:
    files = [IMAGE, NOTE, {"url": URL}, {"url": "https://tides.example", "contentType": "a/b"}]
    prompt = {"id": "u", "role": "user", "content": "Look.", "experimental_attachments": files}
    found, _ = messages(prompt | more, says("assistant", text("A pier.")))
    assert [(part.kind, part.text, part.media and part.media.kind) for part in found.parts] == [
        ("text", "Look.", None),
        ("attachment", "", "image"),
        ("text", "pier 4", None),
        ("attachment", "", "file"),
    ]


def test_a_chat_with_attachments_alone_is_recognized() -> None:
    prompt = {"id": "u", "role": "user", "content": "Look."}
    form, found = format_and_transcript(line([prompt | {"experimental_attachments": [IMAGE]}]))
    assert (form, kinds(found.messages)) == ("ai-sdk-ui", [("user", ["text", "attachment"])])
    for other in ([], [{"name": "pier.png"}], "pier.png"):
        form, _ = format_and_transcript(line([prompt | {"experimental_attachments": other}]))
        assert form == "openai-chat"


def test_a_line_replaces_an_attachment_next_to_the_text() -> None:
    prompt = {"id": "u", "role": "user", "content": "Look.", "experimental_attachments": [IMAGE]}
    data = line([prompt, says("assistant", text("A pier.")), says("user", text("And?"))])
    out = run(data, [("drop-images", {"max_age": 0, "clock": "turns"})], model="gpt-4o").data
    assert out is not None
    shown = json.loads(out)[0]
    assert shown.keys() == {"id", "role", "content"} and shown["content"].startswith(
        "Look.\n[image"
    )


def test_outputs_are_shortened_inside_their_object() -> None:
    part = tool("a", output={"stdout": LONG, "code": 0})
    talk = [says("user", text("How deep?")), says("assistant", part)]
    out = run(line(talk), [("truncate", {"max_tokens": 50})], model="gpt-4o").data
    assert out is not None
    output = json.loads(out)[1]["parts"][0]["output"]
    assert output["code"] == 0 and len(output["stdout"]) < len(LONG)
    assert out == line(talk).replace(
        json.dumps(LONG).encode(), json.dumps(output["stdout"]).encode()
    )


def test_a_dropped_step_is_removed_with_its_parts() -> None:
    out = run(line(TALK), [("trim", {})], limit=40, model="gpt-4o").data
    assert out is not None
    (last,) = json.loads(out)[-1:]
    assert last == TALK[-1]
    assert b"gull" not in out and b"step-start" not in out.split(b"Two metres")[0][-30:]
    assert run(out, [("trim", {})], limit=40, model="gpt-4o").data == out


def test_a_new_message_between_steps_splits_the_answer() -> None:
    data = line(TALK)
    (chunk,) = read(data)
    found = chunk.transcripts[0]
    meant = replace(found, messages=(*found.messages[:4], SUMMARY, *found.messages[4:]))
    shown = json.loads(written(chunk, format_of(data), meant))
    assert [value["role"] for value in shown] == ["user", "assistant", "user", "assistant", "user"]
    assert [len(value["parts"]) for value in shown] == [1, 5, 1, 3, 1]
    assert len({value["id"] for value in shown if value["role"] == "assistant"}) == 2


def repaired(*calls: Value) -> Ran:
    talk = [says("user", text("How deep?")), says("assistant", *calls), says("user", text("Hm."))]
    return run(line(talk), [("repair", {"repair": "synthesize"})], model="gpt-4o")


@pytest.mark.parametrize(
    "calls",
    [
        [tool("a", output="2 m"), tool("b", "input-available")],
        [tool("a", "input-available"), tool("b", "input-available")],
        [old_tool("a", result="2 m"), old_tool("b", state="call")],
    ],
)
def test_a_missing_result_is_written_into_its_part(calls: list[Value]) -> None:
    found = format_and_transcript(repaired(*calls).data or b"")[1].messages
    assert [message.result.call_id for message in found if message.result] == ["a", "b"]


@pytest.mark.parametrize("names", ["ab", "ba"])
def test_a_missing_result_is_written_into_the_call_next_to_the_text(names: str) -> None:
    calls = {"a": invocation("a", result="2 m"), "b": invocation("b", "call")}
    talk = [OLD[2], old_says("I look.", *(calls[name] for name in names)), OLD[-1]]
    ran = run(line(talk), [("repair", {"repair": "synthesize"})], model="gpt-4o")
    assert ran.data is not None
    made = json.loads(ran.data)[1]["toolInvocations"]
    assert [(call["toolCallId"], call["state"]) for call in made] == [
        ("a", "result"),
        ("b", "result"),
    ]


def test_a_call_moves_with_its_new_result_after_the_others() -> None:
    ran = repaired(tool("a", "input-available"), tool("b", output="2 m"))
    assert ran.findings == () and ran.data is not None
    parts = json.loads(ran.data)[1]["parts"]
    assert [(part["toolCallId"], part["state"]) for part in parts] == [
        ("b", "output-available"),
        ("a", "output-available"),
    ]


def old_says(words: str, *calls: Value) -> Value:
    return {"id": "o1", "role": "assistant", "content": words, "toolInvocations": list(calls)}


def invocation(name: str, state: str = "result", **more: Any) -> Value:
    return {"state": state, "toolCallId": name, "toolName": "gauge", "args": {"pier": 1}} | more


OLD = [
    {"id": "u0", "role": "user", "content": "Hello."},
    {"id": "a0", "role": "assistant", "content": "Hello, what can I do?"},
    {"id": "u1", "role": "user", "content": "How deep is it?"},
    old_says("I look.", invocation("a", result=LONG), invocation("b", result={"m": 2})),
    {"id": "a1", "role": "assistant", "content": "Two metres."},
    {"id": "u2", "role": "user", "content": "And tomorrow?"},
]


@pytest.mark.parametrize("data", [line(OLD), line({"messages": OLD}), line([OLD[2]] * 9 + OLD[2:])])
def test_calls_next_to_the_text_are_read(data: bytes) -> None:
    form, found = format_and_transcript(data)
    assert (form, found.uncounted) == ("ai-sdk-ui", 0)
    assert kinds(found.messages)[-5:] == [
        ("assistant", ["text", "tool_call", "tool_call"]),
        ("tool", ["tool_result"]),
        ("tool", ["tool_result"]),
        ("assistant", ["text"]),
        ("user", ["text"]),
    ]
    answer, *results = found.messages[-5:-2]
    assert [(call.name, call.call_id, call.text) for call in answer.calls] == [
        ("gauge", "a", '{"pier":1}'),
        ("gauge", "b", '{"pier":1}'),
    ]
    assert [(part.call_id, part.text) for each in results if (part := each.result)] == [
        ("a", LONG),
        ("b", '{"m":2}'),
    ]


def test_a_summary_comes_before_calls_without_a_text() -> None:
    data = line([*OLD[:3], old_says("", invocation("a", result="2 m")), *OLD[4:]])
    (chunk,) = read(data)
    found = chunk.transcripts[0]
    answer = found.messages[3]
    led = replace(answer, parts=(replace(answer.parts[0], text="So far."), *answer.parts[1:]))
    meant = replace(found, messages=(*found.messages[:3], led, *found.messages[4:]))
    assert can_lead(answer, found.rules.adds_texts)
    shown = json.loads(written(chunk, format_of(data), meant))[3]
    assert shown == old_says("So far.", invocation("a", result="2 m"))


def test_calls_next_to_the_text_and_in_the_parts_are_read_once() -> None:
    part = {"type": "tool-invocation", "toolInvocation": invocation("a", result="2 m")}
    both = old_says("", invocation("a", result="2 m")) | {"parts": [part]}
    assert kinds(messages(both)) == [("assistant", ["tool_call"]), ("tool", ["tool_result"])]


def test_openai_messages_with_parts_are_no_chat_of_the_user_interface() -> None:
    function = {"name": "gauge", "arguments": "{}"}
    talk = [
        says("user", text("How deep?"), content="How deep?"),
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "a", "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": "a", "content": "2 m"},
    ]
    for data in (line({"messages": talk}), line(*talk)):
        form, found = format_and_transcript(data)
        assert (form, found.uncounted) == ("openai-chat", 0)
        assert kinds(found.messages) == [
            ("user", ["text"]),
            ("assistant", ["tool_call"]),
            ("tool", ["tool_result"]),
        ]


def test_results_next_to_the_text_are_shortened() -> None:
    out = run(line(OLD), [("truncate", {"max_tokens": 50})], model="gpt-4o").data
    assert out is not None
    result = json.loads(out)[3]["toolInvocations"][0]["result"]
    assert len(result) < len(LONG)
    assert out == line(OLD).replace(json.dumps(LONG).encode(), json.dumps(result).encode())


def test_an_answer_is_dropped_with_its_calls_next_to_the_text() -> None:
    out = run(line(OLD), [("trim", {})], limit=40, model="gpt-4o").data
    assert out is not None
    kept = json.loads(out)
    assert kept[-1] == OLD[-1] and OLD[3] not in kept
    assert all(value in OLD for value in kept)


def test_a_call_without_a_result_is_removed_from_next_to_the_text() -> None:
    talk = [OLD[2], old_says("I look.", invocation("a", "call")), OLD[-1]]
    out = run(line(talk), [("repair", {"repair": "drop"})], model="gpt-4o").data
    said = {"id": "o1", "role": "assistant", "content": "I look."}
    assert out is not None and json.loads(out) == [OLD[2], said, OLD[-1]]


def test_a_new_message_follows_the_answer_with_its_calls() -> None:
    data = line(OLD)
    (chunk,) = read(data)
    found = chunk.transcripts[0]
    meant = replace(found, messages=(*found.messages[:6], SUMMARY, *found.messages[6:]))
    shown = json.loads(written(chunk, format_of(data), meant))
    assert (shown[:4], shown[5:]) == (OLD[:4], OLD[4:])
    split = replace(found, messages=(*found.messages[:5], SUMMARY, *found.messages[5:]))
    with pytest.raises(NotEditableError, match="between the results of an answer"):
        written(chunk, format_of(data), split)
