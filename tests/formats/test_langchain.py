"""Histories of LangChain and states of LangGraph."""

import json
from typing import Any

import pytest
from conftest import Run
from harness import read, run
from writers import langchain

from ctxtrim.model import Transcript
from ctxtrim.model.request import Usage

TALK: list[dict[str, Any]] = [
    {"role": "user", "texts": ["How deep is it? " * 40]},
    {
        "role": "assistant",
        "texts": [],
        "calls": [{"id": "c", "name": "gauge", "input": {"pier": 1}}],
    },
    {"role": "tool", "id": "c", "texts": ["2 m"], "error": False},
    {"role": "assistant", "texts": ["Two."], "calls": []},
    {"role": "user", "texts": ["And now?"]},
]


def only(value: Any) -> Transcript:
    chunks = read(json.dumps(value).encode() + b"\n")
    assert [chunk.format.name for chunk in chunks if chunk.format] == ["langchain"] * len(chunks)
    (transcript,) = [found for chunk in chunks for found in chunk.transcripts]
    return transcript


@pytest.mark.parametrize("number", [1, 2, 3])
@pytest.mark.parametrize("form", ["values", "history", "messages", "list"])
def test_every_form_and_place_is_read(number: int, form: str) -> None:
    messages = langchain.messages(TALK, number)
    values = {"values": {"messages": messages}, "next": []}
    value: Any = {
        "values": values,
        "history": [values],
        "messages": {"messages": messages},
        "list": messages,
    }[form]
    found = only(value)
    assert [message.role for message in found.messages] == [plain["role"] for plain in TALK]
    assert [(call.name, call.text) for call in found.messages[1].calls] == [("gauge", '{"pier":1}')]
    answer = found.messages[2].result
    assert answer is not None and (answer.call_id, answer.text) == ("c", "2 m")


@pytest.mark.parametrize("number", [1, 2, 3])
def test_dropped_messages_leave_the_others_as_they_were(number: int) -> None:
    messages = langchain.messages(TALK, number)
    data = json.dumps({"messages": messages}).encode() + b"\n"
    out = json.loads(run(data, [("trim", {})], limit=40).data or b"")
    assert out["messages"] == messages[-1:]


def test_objects_with_the_types_of_other_messages_are_not_langchain() -> None:
    rows = [{"type": "system", "content": "start"}, {"type": "tool", "content": "done"}]
    data = b"".join(json.dumps(row).encode() + b"\n" for row in rows)
    assert [chunk.format for chunk in read(data) if chunk.format] == []


@pytest.mark.parametrize("other", [{}, {"additional_kwargs": {"tool_calls": [{"id": "c"}]}}])
def test_an_invalid_call_is_a_call(ctxtrim: Run, other: dict[str, Any]) -> None:
    invalid = {"name": "gauge", "args": "{pier " * 40, "id": "c", "error": "no JSON"}
    answer = {"type": "ai", "content": "", "tool_calls": [], "invalid_tool_calls": [invalid]}
    talk = [
        {"type": "human", "content": "How deep?"},
        answer | other,
        {"type": "tool", "content": "The arguments are no JSON.", "tool_call_id": "c"},
        {"type": "ai", "content": "Sorry."},
        {"type": "human", "content": "And now?"},
    ]
    (call,) = only({"messages": talk}).messages[1].calls
    assert (call.name, call.call_id, call.text) == ("gauge", "c", invalid["args"])
    data = json.dumps({"messages": talk}).encode()
    assert ctxtrim("check", stdin=data).code == 0
    ran = ctxtrim("trim", "-b", "60", stdin=data)
    assert json.loads(ran.out)["messages"] == [talk[0], *talk[3:]]


@pytest.mark.parametrize("key", ["model_name", "model"])
def test_the_model_is_that_of_the_last_answer(ctxtrim: Run, key: str) -> None:
    def counted(*names: str) -> dict[str, Any]:
        question = {"type": "human", "content": "How deep is the water at the pier? " * 30}
        answers = [
            {"type": "ai", "content": "Two.", "response_metadata": {key: name}} for name in names
        ]
        talk = [message for answer in answers for message in (question, answer)]
        (row,) = json.loads(ctxtrim("count", "--json", stdin=json.dumps(talk).encode()).out)[
            "transcripts"
        ]
        return row

    row, other = counted("gpt-4o", "claude-sonnet-4-5"), counted("", "")
    assert (row["model"], row["budget"]["context_window"]) == ("claude-sonnet-4-5", 200_000)
    assert (other["model"], row["tokenizer"] != other["tokenizer"]) == (None, True)


def test_the_usage_of_an_answer_is_that_of_its_model() -> None:
    answer = {
        "type": "ai",
        "content": "Two.",
        "usage_metadata": {"input_tokens": 9, "output_tokens": 2, "total_tokens": 11},
        "response_metadata": {"model_name": "gpt-4o"},
    }
    assert only([{"type": "human", "content": "How deep?"}, answer]).usages == (
        Usage(9, 2, 1, "gpt-4o"),
    )


@pytest.mark.parametrize("more", [{}, {"tool_calls": [], "invalid_tool_calls": []}])
def test_a_single_call_of_older_versions_is_a_call(ctxtrim: Run, more: dict[str, Any]) -> None:
    single = {"function_call": {"name": "gauge", "arguments": '{"pier": 1}'}}
    talk: list[dict[str, Any]] = [
        {"type": "human", "content": "How deep?"},
        {"type": "ai", "content": "", "additional_kwargs": single} | more,
        {"type": "function", "content": "2 m " * 40, "name": "gauge"},
        {"type": "ai", "content": "Two."},
        {"type": "human", "content": "And now?"},
    ]
    (call,) = only({"messages": talk}).messages[1].calls
    assert (call.name, call.call_id, call.text) == ("gauge", None, '{"pier": 1}')
    assert ctxtrim("check", stdin=json.dumps(talk).encode()).code == 0
    ran = ctxtrim("trim", "-b", "40", stdin=json.dumps(talk).encode())
    left = json.loads(ran.out)
    assert (talk[1] in left) == (talk[2] in left)
    unanswered = json.dumps([*talk[:2], *talk[3:]]).encode()
    assert json.loads(ctxtrim("run", "-s", "repair", stdin=unanswered).out) == [talk[0], *talk[3:]]


ENCRYPTED = "gAAA" * 40
ITEM = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [{"type": "summary_text", "text": "I look at the list of berths."}],
    "encrypted_content": ENCRYPTED,
}
EXPLODED = {
    "type": "reasoning",
    "id": "rs_1",
    "reasoning": "I look at the list of berths.",
    "extras": {"encrypted_content": ENCRYPTED},
}
FREE = {"type": "text", "text": "Berth 4 is free.", "id": "msg_1"}


@pytest.mark.parametrize(
    "answer",
    [
        {"content": [ITEM, FREE]},
        {"content": [EXPLODED, FREE]},
        {"content": [FREE], "additional_kwargs": {"reasoning": ITEM}},
    ],
    ids=["responses/v1", "v1", "v0"],
)
def test_reasoning_of_the_responses_api_is_read_and_converted(
    ctxtrim: Run, answer: dict[str, Any]
) -> None:
    asks, thanks = ({"type": "human", "content": text} for text in ("Which berth?", "Thanks."))
    about = {"type": "ai", "response_metadata": {"model_name": "gpt-5"}}
    history = {"messages": [asks, about | answer, thanks]}
    parts = only(history).messages[1].parts
    assert [(part.kind, part.text) for part in parts] == [
        ("reasoning", "I look at the list of berths."),
        ("reasoning", ""),
        ("text", "Berth 4 is free."),
    ]
    assert parts[1].media is not None
    assert all(part.block is None for part in parts[:2]), "the API refuses msg_1 without rs_1"
    ran = ctxtrim("convert", "--to", "openai-responses", stdin=json.dumps(history).encode())
    kept = {key: ITEM[key] for key in ("type", "summary", "encrypted_content")}
    assert (ran.code, json.loads(ran.out)["input"][1]) == (0, kept)
    assert "lost" not in ran.err


def test_reasoning_without_an_id_can_be_removed_alone() -> None:
    block = {"type": "reasoning", "reasoning": "I look."}
    answer = {"type": "ai", "content": [block, FREE]}
    transcript = only([{"type": "human", "content": "Hi"}, answer])
    first, _ = transcript.messages[1].parts
    assert (first.kind, first.text, first.stored) == ("reasoning", "I look.", False)
    assert first.block is not None and first.block.path[-2:] == ("content", 0)
