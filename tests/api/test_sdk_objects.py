"""Messages as the SDKs of OpenAI and Anthropic return them, and other objects with `model_dump`."""

import copy
import json
from collections.abc import Sequence
from functools import partial
from typing import Any

import anthropic.types
import pytest
from openai.types.chat import ChatCompletionMessage
from pydantic import BaseModel

import ctxtrim
from ctxtrim.errors import InputError

OUTPUT = "lamp reading in candela\n" * 300


def openai_answer() -> ChatCompletionMessage:
    """An answer as the client parses it, with members that the server sends as null."""
    call = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{}"}}
    return ChatCompletionMessage.model_validate(
        {
            "role": "assistant",
            "content": None,
            "refusal": None,
            "annotations": [],
            "tool_calls": [call],
        }
    )


def openai_messages() -> list[Any]:
    return [
        {"role": "user", "content": "Read the lamps."},
        openai_answer(),
        {"role": "tool", "tool_call_id": "c1", "content": OUTPUT},
        ChatCompletionMessage(role="assistant", content="They burn."),
        {"role": "user", "content": "And now?"},
    ]


class ParsedBlock(anthropic.types.TextBlock):
    """A text with its parsed value, which the SDK does not send back."""

    __api_exclude__ = {"parsed_output"}  # noqa: RUF012 - as the SDK writes it
    parsed_output: Any = None


class ParsedAnswer(anthropic.types.Message):
    content: list[ParsedBlock]  # type: ignore[assignment]


def anthropic_answer() -> anthropic.types.Message:
    return anthropic.types.Message.model_validate(
        {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "claude-sonnet-4-5",
            "stop_reason": "tool_use",
            "stop_sequence": None,
            "usage": {"input_tokens": 900, "output_tokens": 20},
            "content": [
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "t1", "name": "read", "input": {"lamp": None}},
            ],
        }
    )


def anthropic_messages(answer: object) -> list[Any]:
    result = {"type": "tool_result", "tool_use_id": "t1", "content": OUTPUT}
    return [
        {"role": "user", "content": "Read the lamps."},
        answer,
        {"role": "user", "content": [result]},
        {"role": "assistant", "content": [anthropic.types.TextBlock(type="text", text="Done.")]},
        {"role": "user", "content": "And now?"},
    ]


LISTS = {
    "openai": openai_messages(),
    "anthropic message": anthropic_messages(anthropic_answer()),
    "anthropic blocks": anthropic_messages(
        {"role": "assistant", "content": anthropic_answer().content}
    ),
}
lists = pytest.mark.parametrize("messages", LISTS.values(), ids=LISTS)


@lists
def test_objects_of_sdks_are_read_as_their_dicts(messages: list[Any]) -> None:
    plain = ctxtrim.trim_conversation(messages, 100_000)
    assert json.loads(json.dumps(plain)) == plain
    assert all(type(message) is dict for message in plain)
    assert ctxtrim.estimate_tokens(messages, "gpt-4o") == ctxtrim.estimate_tokens(plain, "gpt-4o")
    assert ctxtrim.count_steps(messages) == 1
    assert ctxtrim.trim_conversation(plain, 100_000) == plain


@lists
def test_lists_with_objects_are_edited_and_the_objects_are_unchanged(messages: list[Any]) -> None:
    before = copy.deepcopy(messages)
    limit = ctxtrim.estimate_tokens(messages) // 2
    assert ctxtrim.estimate_tokens(ctxtrim.trim_conversation(messages, limit)) <= limit
    cut = ctxtrim.truncate_old_tool_outputs(messages, max_tokens=100, keep_active_files=False)
    assert OUTPUT not in json.dumps(cut).replace("\\n", "\n")
    assert messages == before


def test_answers_come_back_as_a_request_may_contain_them() -> None:
    answer = ctxtrim.trim_conversation(LISTS["anthropic message"], 100_000)[1]
    assert answer == {
        "role": "assistant",
        "content": [
            {"type": "text", "text": "I look."},
            {"type": "tool_use", "id": "t1", "name": "read", "input": {"lamp": None}},
        ],
    }
    call = ctxtrim.trim_conversation(LISTS["openai"], 100_000)[1]
    assert set(call) == {"role", "tool_calls", "annotations"}


def test_the_usage_of_an_answer_of_anthropic_decides_when_to_compact() -> None:
    messages = LISTS["anthropic message"][:2]
    assert ctxtrim.estimate_context_tokens(messages) == 920


class OwnMessage(BaseModel):
    role: str = "user"
    content: str
    note: str | None = None


class OldMessage:
    """An object whose `model_dump` has no options."""

    def model_dump(self) -> dict[str, str]:
        return {"role": "user", "content": "Hello."}


@pytest.mark.parametrize("message", [OwnMessage(content="Hello."), OldMessage()])
def test_any_object_with_model_dump_is_a_message(message: Any) -> None:
    assert ctxtrim.trim_conversation([message], 1000) == [{"role": "user", "content": "Hello."}]


@pytest.mark.parametrize("messages", [["text"], [object()], [OwnMessage]])
def test_other_objects_are_refused_by_position(messages: Sequence[Any]) -> None:
    with pytest.raises(InputError, match="message 0: expected an object with a role"):
        ctxtrim.estimate_tokens(messages)


@pytest.mark.parametrize(
    "messages", [None, 5, "text", b"text", {"role": "user", "content": "Hello."}, openai_answer()]
)
def test_a_value_that_is_not_a_list_is_refused(messages: Any) -> None:
    for call in (ctxtrim.estimate_tokens, ctxtrim.compact, partial(ctxtrim.with_recovery, len)):
        with pytest.raises(InputError, match="expected a list of messages, found "):
            call(messages)


def test_an_iterator_gives_the_result_of_its_list() -> None:
    messages = [{"role": "user", "content": "Read the lamps."}, anthropic_answer()]
    calls: list[Any] = [ctxtrim.truncate_old_tool_outputs, ctxtrim.tag_steps, ctxtrim.compact]
    for call in calls:
        assert call(iter(messages)) == call(messages)
    prompts: list[list[Any]] = []

    def send(prompt: list[Any]) -> None:
        prompts.append(prompt)
        if len(prompts) == 1:
            raise ValueError("prompt is too long: 9000 tokens > 8000 maximum")

    given: Any = iter(openai_messages())
    ctxtrim.with_recovery(send, given)
    assert prompts == [openai_messages(), prompts[1]]
    assert 0 < ctxtrim.estimate_tokens(prompts[1]) < ctxtrim.estimate_tokens(prompts[0])


def test_null_members_inside_a_block_stay() -> None:
    """Anthropic requires `document_title` in citations, and sends null for it."""
    citation = {
        "type": "char_location",
        "cited_text": "The lamp burns.",
        "document_index": 0,
        "document_title": None,
        "start_char_index": 0,
        "end_char_index": 15,
    }
    answer = anthropic.types.Message.model_validate(
        {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "claude-sonnet-4-5",
            "stop_reason": "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": 9, "output_tokens": 2},
            "content": [{"type": "text", "text": "It burns.", "citations": [citation]}],
        }
    )
    messages = [{"role": "user", "content": "Does it burn?"}, answer]
    result = ctxtrim.enforce_context_limit(messages, 9000, model="claude-sonnet-4-5").messages
    assert result[1]["content"] == [{"type": "text", "text": "It burns.", "citations": [citation]}]


def test_parsed_values_do_not_come_back() -> None:
    block = ParsedBlock(type="text", text='{"lamps": 2}', parsed_output={"lamps": 2})
    answer = ParsedAnswer.model_validate({**anthropic_answer().to_dict(), "content": [block]})
    for given in (answer, {"role": "assistant", "content": [block]}):
        messages: list[Any] = [{"role": "user", "content": "How many?"}, given]
        read = ctxtrim.trim_conversation(messages, 1000)
        assert read[1] == {
            "role": "assistant",
            "content": [{"type": "text", "text": '{"lamps": 2}'}],
        }


class Chart(BaseModel):
    """A message of a program, whose content need not be JSON."""

    role: str = "user"
    content: Any


@pytest.mark.parametrize("content", [b"\xff", object()])
def test_an_object_that_is_not_json_is_named(content: Any) -> None:
    with pytest.raises(InputError, match=r"^message 1: cannot be written as JSON: "):
        ctxtrim.estimate_tokens([Chart(content="Which berths?"), Chart(content=content)])
