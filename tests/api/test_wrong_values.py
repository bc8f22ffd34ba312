"""Values of a wrong type are one clear line, whatever public function gets them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import ctxtrim
from ctxtrim import tokenizers
from ctxtrim.errors import InputError, UsageError

HI: Any = [{"role": "user", "content": "Which berths are free?"}]
RESULT: Any = {"role": "tool", "tool_call_id": "c1", "content": "two"}
AGENT = Path(__file__).parents[2] / "fixtures" / "agent.jsonl"
PIPELINE = ctxtrim.Pipeline("trim", model="gpt-4o")
POLICY = ctxtrim.ToolResultRetentionPolicy()
TEXTS: dict[str, tuple[Callable[..., Any], str]] = {
    "find_model": (ctxtrim.find_model, "find_model: name"),
    "tokenizer": (ctxtrim.tokenizer, "tokenizer: name"),
    "of_model": (tokenizers.of_model, "family_of: model"),
    "count": (tokenizers.count, "count: text"),
    "name of count": (lambda value: tokenizers.count("x", value), "tokenizer: name"),
    "encode": (tokenizers.encode, "encode: text"),
    "name of encode": (lambda value: tokenizers.encode("x", value), "tokenizer: name"),
    "truncate_text": (ctxtrim.truncate_text, "truncate_text: text"),
    "extract_key_info": (
        lambda value: ctxtrim.extract_key_info(value, "bash"),
        "extract_key_info: content",
    ),
    "tool of extract_key_info": (
        lambda value: ctxtrim.extract_key_info("x", value),
        "extract_key_info: tool_name",
    ),
    "tool of summarize_tool_output": (
        lambda value: ctxtrim.summarize_tool_output(RESULT, value),
        "summarize_tool_output: tool_name",
    ),
    "conversation_summary": (
        lambda value: ctxtrim.build_final_prompt(HI, conversation_summary=value),
        "build_final_prompt: conversation_summary",
    ),
}


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("value", [5, True, b"x", ["x"], {}, object])
def test_a_value_that_is_not_a_text_is_wrong_usage(name: str, value: object) -> None:
    call, place = TEXTS[name]
    with pytest.raises(UsageError) as caught:
        call(value)
    assert str(caught.value) == f"{place}: expected a text, found {value!r}"


@pytest.mark.parametrize(
    ("call", "place"),
    [
        (ctxtrim.find_model, "find_model: name"),
        (ctxtrim.tokenizer, "tokenizer: name"),
        (tokenizers.count, "count: text"),
        (ctxtrim.truncate_text, "truncate_text: text"),
        (lambda value: ctxtrim.extract_key_info(value, "bash"), "extract_key_info: content"),
    ],
)
def test_none_is_no_text(call: Callable[..., Any], place: str) -> None:
    with pytest.raises(UsageError, match=f"^{place}: expected a text, found None$"):
        call(None)


OTHERS: dict[str, tuple[Callable[[], Any], str]] = {
    "send": (
        lambda: ctxtrim.with_recovery(None, HI),  # type: ignore[arg-type]
        "with_recovery: send: expected a function, found None",
    ),
    "on_usage": (
        lambda: ctxtrim.build_final_prompt(HI, on_usage=5),  # type: ignore[arg-type]
        "build_final_prompt: on_usage: expected a function, found 5",
    ),
    "on_event": (
        lambda: ctxtrim.compact(HI, on_event="x"),  # type: ignore[arg-type]
        "compact: on_event: expected a function, found 'x'",
    ),
    "on_event of with_recovery": (
        lambda: ctxtrim.with_recovery(len, HI, on_event="x"),  # type: ignore[arg-type]
        "with_recovery: on_event: expected a function, found 'x'",
    ),
    "active_steps": (
        lambda: ctxtrim.active_files(HI, "5"),  # type: ignore[arg-type]
        "active_files: active_steps: expected a whole number, found '5'",
    ),
    "negative active_steps": (
        lambda: ctxtrim.active_files(HI, -1),
        "active_files: active_steps: expected at least 0, found -1",
    ),
    "current_step": (
        lambda: ctxtrim.active_files(HI, 5, True),
        "active_files: current_step: expected a whole number, found True",
    ),
    "arguments": (
        lambda: ctxtrim.extract_key_info("x", "bash", {}),  # type: ignore[arg-type]
        "extract_key_info: arguments: expected a text, found {}",
    ),
    "turn of a window": (
        lambda: ctxtrim.ContextWindow.of([], "3"),  # type: ignore[arg-type]
        "ContextWindow.of: current_turn: expected a whole number, found '3'",
    ),
    "turn of apply": (
        lambda: POLICY.apply(ctxtrim.ContextWindow.of([]), "3"),  # type: ignore[arg-type]
        "apply: current_turn: expected a whole number, found '3'",
    ),
    "lines of a policy": (
        lambda: ctxtrim.ToolResultRetentionPolicy(head_lines=1.5),  # type: ignore[arg-type]
        "ToolResultRetentionPolicy: head_lines: expected a whole number, found 1.5",
    ),
    "negative lines of a policy": (
        lambda: ctxtrim.ToolResultRetentionPolicy(head_lines=-1),
        "ToolResultRetentionPolicy: head_lines: expected at least 0, found -1",
    ),
    "negative turns of a policy": (
        lambda: ctxtrim.ToolResultRetentionPolicy(full_turns=-1),
        "ToolResultRetentionPolicy: full_turns: expected at least 0, found -1",
    ),
    "a window of records": (
        lambda: POLICY.apply([]),  # type: ignore[arg-type]
        "apply: expected a ContextWindow, found []; ContextWindow.of makes one of records",
    ),
    "a result of no window": (
        lambda: POLICY.truncate("x"),  # type: ignore[arg-type]
        "truncate: expected a ToolResultMessage, found 'x'",
    ),
    "a result as an error": (
        lambda: POLICY.truncate(ctxtrim.UserMessage("u1", "Hello.", 1)),  # type: ignore[arg-type]
        "truncate: expected a ToolResultMessage, found "
        "UserMessage(id='u1', content='Hello.', turn=1)",
    ),
    "content of a message": (
        lambda: ctxtrim.AssistantMessage("a1", None, 1),  # type: ignore[arg-type]
        "AssistantMessage: content: expected a text, found None",
    ),
    "turn of a result": (
        lambda: ctxtrim.ToolResultMessage("r1", "two", "1", "t1"),  # type: ignore[arg-type]
        "ToolResultMessage: turn: expected a whole number, found '1'",
    ),
    "messages as lines": (
        lambda: list(PIPELINE.run_lines(HI)),
        f"run_lines: expected lines as bytes, found {HI[0]!r}; pass messages to run",
    ),
    "bytes as lines": (
        lambda: list(PIPELINE.run_lines(b"{}\n")),  # type: ignore[arg-type]
        "run_lines: expected lines as bytes, found b'{}\\n'; pass messages to run",
    ),
    "no lines": (
        lambda: PIPELINE.run_lines(None),  # type: ignore[arg-type]
        "run_lines: expected lines as bytes, found None; pass messages to run",
    ),
    "a limit next to a budget": (
        lambda: ctxtrim.enforce_context_limit(HI, 50, budget=5),  # type: ignore[call-arg]
        "enforce_context_limit: budget: not an option here; the limit is max_input_tokens",
    ),
    "a limit next to a reserve": (
        lambda: ctxtrim.trim_conversation(HI, 50, reserve=7),  # type: ignore[call-arg]
        "trim_conversation: reserve: not an option here; the limit is target_tokens",
    ),
    "a limit next to a window": (
        lambda: ctxtrim.trim_conversation(HI, 50, context_window=9),  # type: ignore[call-arg]
        "trim_conversation: context_window: not an option here; the limit is target_tokens",
    ),
    "a set of patterns": (
        lambda: ctxtrim.Pipeline("trim", pin={"berth"}),  # type: ignore[arg-type]
        "Pipeline: pin: expected a string or a list of strings, found {'berth'}",
    ),
    "half a character": (
        lambda: ctxtrim.enforce_context_limit(HI, "\ud800"),  # type: ignore[arg-type]
        "enforce_context_limit: max_input_tokens: expected a whole number, found '\\ud800'",
    ),
}


@pytest.mark.parametrize("name", OTHERS)
def test_another_value_is_wrong_usage(name: str) -> None:
    call, text = OTHERS[name]
    with pytest.raises(UsageError) as caught:
        call()
    assert str(caught.value) == text


class Writer:
    """A summarizer."""

    name = "writer"

    def summarize(self, prompt: str, max_tokens: int) -> str:
        return "Berths 2 and 4 are free."


SUMMARIZERS: dict[str, Callable[[Any], Any]] = {
    "build_final_prompt": lambda value: ctxtrim.build_final_prompt(HI, summarizer=value),
    "summarize_context": lambda value: ctxtrim.summarize_context(HI, summarizer=value),
    "compact": lambda value: ctxtrim.compact(HI, summarizer=value),
    "with_recovery": lambda value: ctxtrim.with_recovery(len, HI, summarizer=value),
    "Pipeline": lambda value: ctxtrim.Pipeline("trim", summarizer=value),
}


@pytest.mark.parametrize("name", SUMMARIZERS)
def test_a_value_that_cannot_summarize_is_wrong_usage(name: str) -> None:
    call = SUMMARIZERS[name]
    assert call(Writer()) is not None
    for value in (len, Writer, "gpt-4o"):
        with pytest.raises(UsageError) as caught:
            call(value)
        assert str(caught.value) == (
            f"{name}: summarizer: expected an object with a method `summarize`, found {value!r}"
        )


def test_no_records_are_no_window() -> None:
    with pytest.raises(InputError, match=r"^expected a list of records, found None$"):
        ctxtrim.ContextWindow.of(None)  # type: ignore[arg-type]


CONVERSE: Any = [
    {"role": "user", "content": [{"type": "text", "text": "Which berths are free?"}]},
    {"role": "assistant", "content": [{"toolUse": {"toolUseId": "t1", "name": "berths"}}]},
    {"role": "user", "content": [{"toolResult": {"toolUseId": "t1", "content": []}}]},
]
RESPONSES: Any = [*HI, {"type": "function_call", "call_id": "c1", "name": "berths"}]
GEMINI: Any = [*HI, {"role": "model", "parts": [{"text": "Berths 2 and 4."}]}]
LISTS: dict[str, Callable[[Any], Any]] = {
    "estimate_tokens": ctxtrim.estimate_tokens,
    "trim_conversation": lambda messages: ctxtrim.trim_conversation(messages, 100),
    "fits": ctxtrim.fits,
    "count_steps": ctxtrim.count_steps,
    "tag_steps": ctxtrim.tag_steps,
    "active_files": ctxtrim.active_files,
    "estimate_context_tokens": ctxtrim.estimate_context_tokens,
    "should_compact": ctxtrim.should_compact,
    "compact": ctxtrim.compact,
    "truncate_old_tool_outputs": ctxtrim.truncate_old_tool_outputs,
}


@pytest.mark.parametrize("name", LISTS)
def test_a_list_of_another_api_is_not_read(name: str) -> None:
    with pytest.raises(InputError, match=r"^message 1: a block without a type, \{'toolUse': "):
        LISTS[name](CONVERSE)
    with pytest.raises(InputError, match=r"^message 1: it has parts instead of content; "):
        LISTS[name](GEMINI)
    with pytest.raises(InputError, match=r"^message 1: an item of type 'function_call' without "):
        LISTS[name](RESPONSES)


@pytest.mark.parametrize("messages", [CONVERSE, GEMINI, RESPONSES, [*HI, "Hello."]])
def test_with_recovery_sends_no_list_of_another_api(messages: Any) -> None:
    sent: list[Any] = []
    with pytest.raises(InputError, match=r"^message 1: "):
        ctxtrim.with_recovery(sent.append, messages)
    assert sent == []


def test_an_object_that_cannot_be_read_after_a_refusal_has_the_refusal_as_its_cause() -> None:
    refusal = ValueError("prompt is too long: 9000 tokens > 8000 maximum")

    def send(messages: list[Any]) -> None:
        raise refusal

    with pytest.raises(InputError, match=r"^message 1: a message of LangChain; ") as caught:
        ctxtrim.with_recovery(send, [*HI, LangChainMessage()])
    assert caught.value.__cause__ is refusal


class LangChainMessage:
    """A message as LangChain makes it: its role is the `type`."""

    def model_dump(self) -> dict[str, Any]:
        return {"type": "human", "content": "Which berths are free?", "id": None}


@pytest.mark.parametrize(
    "message",
    [
        LangChainMessage(),
        {"type": "ai", "content": "Two.", "tool_calls": []},
        {"type": "AIMessageChunk", "content": "Two."},
        {"type": "human", "data": {"type": "human", "content": "Hello"}},
    ],
)
def test_a_message_of_langchain_is_named_with_the_remedy(message: Any) -> None:
    with pytest.raises(InputError) as caught:
        ctxtrim.trim_conversation([*HI, message], 100)
    assert str(caught.value) == (
        "message 1: a message of LangChain; pass the dicts of "
        "langchain_core.messages.convert_to_openai_messages(messages)"
    )


PATHS: dict[str, Callable[[Any], Any]] = {
    "read: path": lambda path: list(ctxtrim.read(path)),
    "stream_file: path": lambda path: list(PIPELINE.stream_file(path)),
    "run_file: path": PIPELINE.run_file,
    "run_file: output": lambda path: PIPELINE.run_file(AGENT, path),
}


@pytest.mark.parametrize("name", PATHS)
@pytest.mark.parametrize("value", [5, b"x", [], {}, "a\0b.jsonl", "\ud800"])
def test_a_value_that_is_no_path_is_wrong_usage(name: str, value: object) -> None:
    with pytest.raises(UsageError) as caught:
        PATHS[name](value)
    assert str(caught.value) == f"{name}: expected a path, found {value!r}"


@pytest.mark.parametrize("value", ["a\0b.jsonl", "\ud800", "How deep is it? " * 500, "é" * 256])
def test_fits_takes_a_path_or_messages(value: str) -> None:
    with pytest.raises(UsageError, match=r"^fits: source: expected a path, found ") as caught:
        ctxtrim.fits(value)
    assert len(str(caught.value)) <= 120


@pytest.mark.parametrize("name", ["e" * 255, "深" * 100, "deep/" * 100])
def test_a_path_as_long_as_a_file_may_have_is_one(name: str) -> None:
    """On Linux, a name has 255 bytes; on macOS and Windows, 255 characters."""
    with pytest.raises(InputError, match=r"(?i)(no such file or directory|file name too long)$"):
        list(ctxtrim.read(name))


def test_malformed_messages_that_cannot_be_edited_are_named() -> None:
    use = {"type": "tool_use", "id": "t1", "name": "bash", "input": {"command": "ls"}}
    thinking = {"type": "thinking", "thinking": "hm", "signature": "s"}
    rows = [{"type": "tool_result", "tool_use_id": "t1", "content": "rows " * 300}]
    talk: Any = [
        {"role": "user", "content": "Mend."},
        {"role": "assistant", "content": [thinking, {"type": "text", "text": "I look."}, use]},
        {"role": "user", "content": [*rows, {"type": "text", "text": "also"}]},
        {"role": "assistant", "content": [{"type": "text", "text": "Done."}]},
        {"role": "user", "content": {"type": None}},
    ]

    def send(messages: list[Any]) -> list[Any]:
        if messages == talk:
            raise ValueError("context_length_exceeded: maximum context length is 128 tokens")
        return messages

    schema = {"type": "object", "properties": True}
    bash = {"name": "bash", "description": "Run", "parameters": schema}
    tools = [{"type": "", "function": bash}]
    with pytest.raises(InputError) as caught:
        ctxtrim.with_recovery(send, talk, model="gpt-4o", tools=tools)
    assert str(caught.value) == (
        "malformed messages cannot be edited: `messages[4].content` is an object, not a text "
        "or an array; fix this value"
    )


def test_a_value_that_is_no_exception_is_no_context_length_error() -> None:
    value: Any
    for value in (None, "prompt is too long", 400, {"code": "context_length_exceeded"}):
        assert not ctxtrim.is_context_length_exceeded(value)
