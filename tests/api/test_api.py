"""The prompt API: message lists in; new lists within the budget, or an error that names the cause,
out.
"""

import copy
import gc
import json
import pickle
import re
import warnings
from typing import Any

import pytest
from depth import examples
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sessions import (
    ANTHROPIC_TOOLS,
    OPENAI_TOOLS,
    SYSTEM,
    Messages,
    anthropic_session,
    openai_session,
    openai_turn,
    results,
)
from strategies import budgets, conversations, trims
from writers import anthropic, openai_chat

import ctxtrim
from ctxtrim import (
    ContextOverflowError,
    CtxtrimError,
    Irreducible,
    PromptUsage,
    build_final_prompt,
    compute_max_input_tokens,
    enforce_context_limit,
    estimate_tokens,
    summarize_context,
    tokenizers,
    trim_conversation,
)
from ctxtrim.errors import InputError, TokenizerError, UsageError
from ctxtrim.summaries.summarizer import Reply
from ctxtrim.tokenizers.program_tokenizers import OWN

SHAPES: dict[str, dict[str, Any]] = {
    "openai": {"messages": openai_session(8), "tools": OPENAI_TOOLS},
    "anthropic": {"messages": anthropic_session(8), "tools": ANTHROPIC_TOOLS, "system": SYSTEM},
}
CHARS = {"tokenizer": "chars4"}
shapes = pytest.mark.parametrize("shape", SHAPES)


def error_text(error: type[CtxtrimError], *args: Any, call: Any, **more: Any) -> str:
    with pytest.raises(error) as caught:
        call(*args, **more)
    return str(caught.value)


@shapes
def test_s1_1_every_part_of_a_request_is_counted(shape: str) -> None:
    request = SHAPES[shape]
    whole = estimate_tokens(**request, **CHARS)
    text = json.dumps(request["messages"])
    outputs = sum(len(value) for value in re.findall(r"lamp \d+\.\d+ reading .*? candela", text))
    assert outputs / 4 < whole < len(text) / 4 + 500
    # tools and the separate system prompt
    assert estimate_tokens(request["messages"], **CHARS) < whole
    without = [message for message in request["messages"] if message["role"] == "user"]
    assert estimate_tokens(without, **CHARS) < whole


def test_s1_1_arguments_of_calls_count_as_texts_and_as_objects() -> None:
    text = openai_turn(0)
    objects = copy.deepcopy(text)
    for message in objects:
        for call in message.get("tool_calls", ()):
            call["function"]["arguments"] = json.loads(call["function"]["arguments"])
    assert abs(estimate_tokens(text, "gpt-4o") - estimate_tokens(objects, "gpt-4o")) <= 4
    assert trim_conversation(objects, 200)[-1] == objects[-1]


def test_s1_2_tokenizers_are_available_by_family() -> None:
    assert tokenizers.tokenizer("gpt").count("lighthouse keepers") == len(
        tokenizers.encode("lighthouse keepers", "gpt")
    )
    assert tokenizers.of_model("gpt-4").name == "cl100k_base"
    assert tokenizers.of_model("claude-opus-4-5").name.startswith("claude-v3")
    text = "x" * 401
    assert tokenizers.count(text, "chars4") == 101
    for unknown in ("llama", "meta-llama/Llama-3.1-8B", "never-heard-of-it"):
        assert tokenizers.count(text, unknown) == max(101, tokenizers.count(text, "o200k_base"))


@pytest.mark.parametrize("name", ["o200k_base", "cl100k_base"])
def test_s1_2_encode_returns_as_many_tokens_as_count(name: str) -> None:
    for text in (
        "",
        "naïve 日本語 🚀",
        "<|endoftext|>",
        "a\ud800b",
        " " * 120_000 + "x",
        "word " * 300_000,
    ):
        assert len(tokenizers.encode(text, name)) == tokenizers.count(text, name)


def test_s1_2_a_tokenizer_that_cannot_encode_raises_an_error() -> None:
    error = error_text(TokenizerError, "x", "llama", call=tokenizers.encode)
    assert error == (
        "tokenizer max(o200k_base, chars4) can count tokens but not encode them; "
        "use gpt, o200k_base, cl100k_base or a tokenizer file"
    )


class Letters:
    """A tokenizer of a program's own."""

    def count(self, text: str) -> int:
        return len(text)


class Words:
    """A tokenizer with `encode` alone."""

    def encode(self, text: str) -> list[int]:
        return [len(word) for word in text.split()]


def test_s1_2_a_custom_tokenizer_counts_for_its_family(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("ctxtrim.tokenizers.program_tokenizers.OWN", OWN)
    messages = [{"role": "user", "content": "y" * 1000}]
    before = estimate_tokens(messages, "meta-llama/Llama-3.1-8B")
    try:
        tokenizers.add("llama", Letters())
        tokenizers.add("words", Words())
        assert tokenizers.count("abc", "llama3:8b") == tokenizers.count("abc", "LLAMA") == 3
        assert tokenizers.encode("one three", "words") == [3, 5]
        assert tokenizers.of_model("codellama").name != "llama"
        assert estimate_tokens(messages, "meta-llama/Llama-3.1-8B") >= 1000 > before
        assert estimate_tokens(messages, tokenizer="words") < 20
    finally:
        OWN.clear()
    assert estimate_tokens(messages, "meta-llama/Llama-3.1-8B") == before


class Encoding:
    """A result of `encode` that has the token ids as a member."""

    def __init__(self, ids: list[int]) -> None:
        self.ids = ids

    def __len__(self) -> int:
        return len(self.ids)


class EncodingWords(Words):
    def encode(self, text: str) -> Any:
        return Encoding(super().encode(text))


def test_s1_2_token_ids_may_be_a_member_of_an_encoding() -> None:
    try:
        tokenizers.add("words", EncodingWords())
        assert tokenizers.count("one three", "words") == 2
        assert tokenizers.encode("one three", "words") == [3, 5]
    finally:
        OWN.clear()


def test_s1_2_counts_of_a_registered_tokenizer_are_estimates() -> None:
    try:
        tokenizers.add("llama", tokenizers.tokenizer("o200k_base"))
        row = ctxtrim.Pipeline(model="llama-3").run([{"role": "user", "content": "Hello."}]).row
        assert (row.tokenizer, row.count.exactness) == ("llama", "estimated")
        assert tokenizers.encode("Hello.", "llama") == tokenizers.encode("Hello.", "o200k_base")
    finally:
        OWN.clear()


@pytest.mark.parametrize("own", [object(), "o200k_base", ["a"], Words])
def test_s1_2_an_invalid_tokenizer_is_refused(own: object) -> None:
    error = error_text(UsageError, "mine", own, call=tokenizers.add)
    expected = "tokenizer mine: expected a name, and an object with count or encode, found "
    assert error == f"{expected}{own!r}"
    assert "mine" not in OWN


@pytest.mark.parametrize(
    ("config", "tokens"),
    [
        (None, 123_904),
        ({}, 123_904),
        ({"maxContextTokens": 200_000, "reservedOutputTokens": 8_192}, 191_808),
        ({"context_window": 8192, "reserve": 1000}, 7192),
        ({"model": "gpt-5", "maxContextTokens": 400_000}, 272_000),
        ({"model": "gpt-4"}, 4096),
        ({"model": "gpt-4.1"}, 123_904),
        ({"contextManagement": {"maxContextTokens": 10_000}}, 5904),
    ],
)
def test_s1_3_the_most_tokens_of_a_prompt(config: Any, tokens: int) -> None:
    assert compute_max_input_tokens(config) == tokens


def test_s1_3_a_window_or_a_reserve_replaces_the_budget_of_a_config() -> None:
    assert compute_max_input_tokens({"budget": 5000}) == 5000
    assert compute_max_input_tokens({"budget": 5000}, context_window=9000) == 4904
    assert compute_max_input_tokens({"budget": 5000}, reserve=8000) == 120_000
    assert compute_max_input_tokens({"context_window": 9000}, budget=5000) == 5000


def test_s1_3_a_reserve_that_leaves_nothing_is_an_error() -> None:
    error = error_text(
        UsageError,
        {"maxContextTokens": 4096, "reservedOutputTokens": 4096},
        call=compute_max_input_tokens,
    )
    assert error.startswith("a reserve of 4,096 tokens leaves no room in a context window of 4,096")


def test_s1_3_a_prompt_fits_up_to_the_budget() -> None:
    messages = openai_session(2)
    tokens = estimate_tokens(messages, "gpt-4o")
    assert not enforce_context_limit(messages, tokens, model="gpt-4o").truncated
    assert enforce_context_limit(messages, tokens - 1, model="gpt-4o").truncated


@shapes
def test_s1_4_the_strategies_are_available_by_name(shape: str) -> None:
    request = SHAPES[shape]
    most = {"reserve": 1000, **CHARS}
    kept = {
        strategy: build_final_prompt(
            config={"maxContextTokens": 3500, "trimStrategy": strategy, **most}, **request
        )
        for strategy in (
            "priority",
            "priority-based",
            "oldest",
            "oldest-first",
            "middle",
            "age",
            "age-based",
        )
    }
    assert kept["priority"] == kept["priority-based"]
    assert kept["oldest"] == kept["oldest-first"]
    assert kept["age"] == kept["age-based"]
    assert kept["oldest"].messages != kept["middle"].messages != kept["priority"].messages


@shapes
def test_s1_5_recent_turns_are_kept_while_older_messages_remain(shape: str) -> None:
    request = SHAPES[shape]
    config = {"budget": 2000, "preserveRecentTurns": 2, **CHARS}
    prompt = build_final_prompt(config=config, **request)
    assert prompt.messages[-12:] == request["messages"][-12:]  # two turns of six messages
    assert prompt.usage.dropped > 0


def test_s1_5_the_system_prompt_is_dropped_only_by_setting() -> None:
    messages = openai_session(3)
    assert trim_conversation(messages, 60, **CHARS)[0] == messages[0]
    without = trim_conversation(messages, 22, preserve_system_prompt=False, **CHARS)
    assert [message["role"] for message in without] == ["user"]


def test_s1_5_a_separate_system_prompt_is_kept_and_counted() -> None:
    request = SHAPES["anthropic"]
    config = {"preserveSystemPrompt": False, "budget": 1500, **CHARS}
    kept = build_final_prompt(config=config, **request)
    assert (
        estimate_tokens(kept.messages, system=SYSTEM, tools=request["tools"], **CHARS)
        == kept.token_count
        <= 1500
    )
    least = estimate_tokens(request["messages"][-6:-5], tools=request["tools"], **CHARS)
    with pytest.raises(ContextOverflowError) as caught:
        build_final_prompt(config=config | {"budget": least}, **request)
    assert caught.value.irreducible[0].reason == "system"


@shapes
def test_s1_6_one_summary_replaces_dropped_messages(shape: str) -> None:
    request = SHAPES[shape]
    config = {"budget": 2000, "summarizeOnTruncate": True, **CHARS}
    prompt = build_final_prompt(config=config, **request)
    assert prompt.summary is not None
    assert prompt.token_count <= 2000
    events = [
        message
        for message in prompt.messages
        if prompt.summary in json.dumps(message, ensure_ascii=False).replace("\\n", "\n")
    ]
    assert len(events) == 1
    assert "lamp --check 0 --pass 0" in prompt.summary
    silent = build_final_prompt(config=config | {"summarizeOnTruncate": False}, **request)
    assert silent.summary is None


class Writer:
    """A summarizer that always returns the same text."""

    name = "writer"

    def __init__(self) -> None:
        self.prompts: list[str] = []

    def summarize(self, prompt: str, max_tokens: int) -> Reply:
        self.prompts.append(prompt)
        return Reply("The lamps were looked after.")


def test_s1_6_a_summarizer_writes_and_facts_are_the_fallback() -> None:
    writer = Writer()
    messages = openai_session(8)
    prompt = build_final_prompt(
        messages, {"budget": 2000, "summarize": True, **CHARS}, summarizer=writer
    )
    assert prompt.summary == "[Previous conversation summary]\nThe lamps were looked after."
    assert len(writer.prompts) == 1
    context_summary = summarize_context(messages, summarizer=writer, **CHARS)
    assert (context_summary.by, context_summary.trouble) == ("writer", None)
    assert context_summary.summary.endswith("The lamps were looked after.")
    short = summarize_context(messages[:2], summarizer=writer, summary_tokens=3, **CHARS)
    assert short.by == "facts"


def test_messages_get_the_room_that_the_summary_of_a_model_leaves() -> None:
    messages = [
        {"role": "user", "content": "Mend the lamp."},
        {"role": "assistant", "content": "The lamp is old. " * 400},
        {"role": "user", "content": "How is it now?"},
        {"role": "assistant", "content": "It burns. " * 300},
        {"role": "user", "content": "And tomorrow?"},
    ]
    writer, budget = Writer(), estimate_tokens(messages[2:], **CHARS) + 40
    prompt = build_final_prompt(
        messages, {"budget": budget, "summarize": True, **CHARS}, summarizer=writer
    )
    assert prompt.summary == "[Previous conversation summary]\nThe lamps were looked after."
    assert prompt.messages[1:] == messages[3:]
    assert estimate_tokens(prompt.messages, **CHARS) <= budget
    assert len(writer.prompts) == 1


def test_s1_6_a_summary_fits_its_limit_and_names_its_source() -> None:
    messages = openai_session(8)
    context_summary = summarize_context(messages, summary_tokens=200, **CHARS)
    assert context_summary.original_tokens == estimate_tokens(messages, **CHARS)
    assert 0 < tokenizers.count(context_summary.summary, "chars4") <= 200
    assert "Look after lamp 0, and keep the north light burning." in context_summary.summary
    assert summarize_context([], **CHARS).summary == ""


def test_s1_7_a_stored_summary_is_inserted_once_and_continued() -> None:
    messages = openai_session(8)
    config = {"budget": 2000, "summarize": True, **CHARS}
    first = build_final_prompt(messages, config)
    again = [*first.messages[:1], *openai_turn(9)]
    back = build_final_prompt(again, config, conversation_summary=first.summary)
    assert json.dumps(back.messages).count(json.dumps(first.summary)[1:-1]) == 1
    assert back.messages[0] == messages[0]
    assert back.messages[1]["content"].startswith(f"{first.summary}\n")
    assert (
        build_final_prompt(back.messages, config, conversation_summary=first.summary).messages
        == back.messages
    )
    tight = config | {"budget": estimate_tokens(again, **CHARS) + 5}
    assert build_final_prompt(again, tight, conversation_summary=first.summary).messages == again


def test_s1_7_the_summary_for_the_next_prompt_is_the_new_one_or_the_stored_one() -> None:
    messages = openai_session(8)
    config = {"budget": 2000, "summarize": True, **CHARS}
    first = build_final_prompt(messages, config)
    assert first.summary
    assert first.usage.trimmed
    short = messages[:2]
    options = {
        "inserted": config,
        "no room": config | {"budget": estimate_tokens(short, **CHARS) + 5},
        "off": config | {"enabled": False},
    }
    for name, chosen in options.items():
        second = build_final_prompt(short, chosen, conversation_summary=first.summary)
        assert second.summary == first.summary, name
        assert (second.usage.trimmed, second.usage.dropped) == (False, 0), name
    alternating = anthropic_session(2)
    second = build_final_prompt(alternating, config, conversation_summary=first.summary)
    assert second.messages != alternating
    assert (second.summary, second.usage.trimmed) == (first.summary, False)
    third = build_final_prompt(openai_session(12), config, conversation_summary=first.summary)
    assert third.summary != first.summary
    assert third.usage.trimmed


def test_s1_7_a_summary_counts_messages_that_the_program_dropped() -> None:
    """Later messages repeat a command of the summary, but they are not the messages that it has."""
    go = {"role": "user", "content": "watch the job"}
    talk = [go, *(message for number in range(40) for message in _status(number))]
    first = build_final_prompt(talk, model="gpt-4o", budget=900, summarize=True)
    answers = [{"role": "assistant", "content": f"well {number} " * 99} for number in range(3)]
    rest = [go, *answers, *(message for number in range(4) for message in _status(number))]
    second = build_final_prompt(
        rest, model="gpt-4o", budget=500, summarize=True, conversation_summary=first.summary
    )
    assert first.summary is not None and second.summary is not None
    total = first.usage.dropped + second.usage.dropped
    assert f"[Summary of {total} earlier messages]" in second.summary


def _status(number: int) -> list[dict[str, Any]]:
    """A call that checks the state of a job, and its result."""
    function = {"name": "bash", "arguments": '{"command": "make status"}'}
    call = {"id": f"c{number}", "type": "function", "function": function}
    result = {
        "role": "tool",
        "tool_call_id": f"c{number}",
        "content": f"state {number} " + "x " * 30,
    }
    return [{"role": "assistant", "content": None, "tool_calls": [call]}, result]


def test_s1_7_a_summary_of_a_whole_history_counts_each_message_once() -> None:
    config = {"budget": 2000, "summarize": True, **CHARS}
    summary = None
    for turns in range(8, 14):
        messages = openai_session(turns)
        prompt = build_final_prompt(messages, config, conversation_summary=summary)
        summary = prompt.summary or ""
        dropped = [message for message in messages if message not in prompt.messages]
        calls = sum(len(message.get("tool_calls") or ()) for message in dropped)
        assert summary.startswith(f"[Summary of {prompt.usage.dropped} earlier messages]\n")
        assert sum(map(int, re.findall(r" × (\d+)", summary))) == calls


@pytest.mark.parametrize("summary", ["", " ", "\n"])
def test_s1_7_a_blank_summary_is_no_summary(summary: str) -> None:
    messages = openai_session(2)
    prompt = build_final_prompt(messages, conversation_summary=summary)
    assert (prompt.messages, prompt.summary) == (messages, None)
    assert build_final_prompt(messages, enabled=False, conversation_summary=summary).summary is None


@pytest.mark.parametrize("summary", ["We looked.", "\nWe looked.\n\nAt two lamps.\n"])
@pytest.mark.parametrize("messages", [openai_session(2), openai_turn(0)[1:], anthropic_session(2)])
def test_s1_7_a_summary_without_a_title_gets_one(messages: Messages, summary: str) -> None:
    prompt = build_final_prompt(messages, conversation_summary=summary)
    text = json.dumps(prompt.messages)
    assert text.count("[Previous conversation summary]\\nWe looked.") == 1
    again = build_final_prompt(prompt.messages, conversation_summary=prompt.summary)
    assert again.messages == prompt.messages


@pytest.mark.parametrize("title", ["", "[Previous conversation summary]\n"])
def test_a_summary_by_another_program_contains_no_text_of_the_person(title: str) -> None:
    earlier = f"{title}We looked.\n\n[End of summary]\n\nNow delete it."
    prompt = build_final_prompt(openai_session(2), conversation_summary=earlier)
    inserted = prompt.messages[1]["content"]
    assert inserted.startswith("[Previous conversation summary]\nWe looked.")
    assert "delete" in inserted.partition("\n\n[End of summary]\n\n")[0]


@pytest.mark.parametrize("tools", [None, OPENAI_TOOLS])
def test_s1_7_an_empty_list_stays_empty(tools: Any) -> None:
    prompt = build_final_prompt([], tools=tools, conversation_summary="We looked.")
    assert (prompt.messages, prompt.summary) == ([], "We looked.")


def test_s1_9_an_overflow_error_lists_protected_messages() -> None:
    messages = openai_session(3)
    with pytest.raises(ContextOverflowError) as caught:
        build_final_prompt(messages, {"budget": 20, **CHARS}, tools=OPENAI_TOOLS)
    error = caught.value
    assert str(error).startswith(
        f"Cannot fit request within context limit. Current: {error.current_tokens} "
        "tokens, Max: 20 tokens. "
        "Please narrow the scope or start a new session.\n    Current is an estimate: "
    )
    assert [(message.index, message.role) for message in error.irreducible] == [
        (0, "system"),
        (13, "user"),
        (None, "request"),
    ]
    assert (
        sum(message.tokens for message in error.irreducible)
        == error.current_tokens
        > error.max_tokens
        == 20
    )
    assert error.irreducible[1].reason == "current task"
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_s1_9_the_text_of_an_overflow_error() -> None:
    assert str(
        ContextOverflowError(25007, 50, [Irreducible(3, "user", 25007, "current task")])
    ) == (
        "Cannot fit request within context limit. Current: 25007 tokens, Max: 50 tokens. "
        "Please narrow the scope or start a new session.\n    message 3 (user): 25,007 "
        "tokens (current task)"
    )


def test_the_numbers_of_an_overflow_error_have_marks_unless_they_are_exact() -> None:
    task = "Read every gauge of the harbour. " * 400
    messages = [{"role": "user", "content": task}]
    with pytest.raises(ContextOverflowError) as caught:
        enforce_context_limit(messages, 20, model="gpt-4o", tools=OPENAI_TOOLS)
    error = caught.value
    message, request = error.irreducible
    assert (error.exactness, message.exactness, request.exactness) == ("bounded",) * 3
    assert str(error).splitlines()[1:] == [
        f"    Current is an upper bound: ≤{error.current_tokens:,} tokens",
        f"    message 0 (user): ≤{message.tokens:,} tokens (current task)",
        f"    outside the message list (request): ≤{request.tokens:,} tokens "
        "(tool schemas and the frame of the request)",
    ]
    copied = pickle.loads(pickle.dumps(error))
    assert (str(copied), copied.exactness) == (str(error), "bounded")
    with pytest.raises(ContextOverflowError) as caught:
        enforce_context_limit(messages, 20, model="gpt-4o")
    assert caught.value.exactness == "exact"
    assert "≤" not in str(caught.value)


@shapes
def test_s1_10_a_prompt_that_fits_is_unchanged(shape: str) -> None:
    request = SHAPES[shape]
    prompt = build_final_prompt(**request)
    assert prompt.within_budget
    assert prompt.messages == request["messages"]
    assert prompt.messages is not request["messages"]
    assert prompt.messages[0] is not request["messages"][0]
    assert (prompt.usage.trimmed, prompt.usage.dropped) == (False, 0)
    kept = enforce_context_limit(max_input_tokens=100_000, **request)
    assert (kept.messages, kept.truncated, kept.dropped_count) == (request["messages"], False, 0)


def test_s1_11_both_message_shapes_give_the_same_decisions() -> None:
    config = {"budget": 3000, "model": "gpt-4o", "tokenizer": "chars4"}
    openai = build_final_prompt(config=config, **SHAPES["openai"])
    anthropic = build_final_prompt(config=config, **SHAPES["anthropic"])
    assert results(openai.messages) == results(anthropic.messages)
    assert abs(openai.token_count - anthropic.token_count) < 200


def test_s1_12_the_config_block_of_other_programs_is_accepted() -> None:
    block = {
        "enabled": True,
        "maxContextTokens": 6000,
        "reservedOutputTokens": 2000,
        "trimStrategy": "priority-based",
        "preserveSystemPrompt": True,
        "preserveRecentTurns": 5,
        "summarizeOnTruncate": False,
        "tokenEstimator": "auto",
    }
    messages = openai_session(20)
    prompt = build_final_prompt(messages, block)
    assert prompt.usage.max_tokens == 4000 >= prompt.token_count
    off = build_final_prompt(messages, block | {"enabled": False})
    assert (off.messages, off.within_budget, off.usage.trimmed) == (messages, False, False)
    assert off.token_count > 4000


def test_s1_13_the_report_holds_the_usage_of_a_prompt() -> None:
    prompt_usages: list[PromptUsage] = []
    messages = openai_session(8)
    for budget in (2000, 100_000):
        build_final_prompt(messages, {"budget": budget, **CHARS}, on_usage=prompt_usages.append)
    trimmed, whole = prompt_usages
    assert (trimmed.trimmed, whole.trimmed) == (True, False)
    assert (
        trimmed.original_tokens
        == whole.original_tokens
        == whole.final_tokens
        == estimate_tokens(messages, **CHARS)
    )
    assert 0.5 < trimmed.utilization <= 1 and trimmed.max_tokens == 2000
    assert trimmed.dropped > whole.dropped == 0


@pytest.mark.parametrize(
    ("config", "error"),
    [
        ({"maxContextToken": 5}, "maxContextToken: unknown key (did you mean maxContextTokens?)"),
        (
            {"maxContextTokens": "128000"},
            "maxContextTokens: expected a whole number, found '128000'",
        ),
        ({"maxContextTokens": 0}, "maxContextTokens 0: expected at least 1"),
        (
            {"trimStrategy": "best"},
            "trimStrategy best: expected one of priority, oldest, middle, age "
            "(did you mean oldest?)",
        ),
        (
            {"tokenizer": "usage"},
            "tokenizer usage: recorded usage cannot be used to trim; name another tokenizer",
        ),
    ],
)
def test_an_invalid_config_is_one_clear_line(config: dict[str, Any], error: str) -> None:
    assert (
        error_text(UsageError, [], config, call=build_final_prompt)
        == f"build_final_prompt: {error}"
    )


@pytest.mark.parametrize(
    ("messages", "error"),
    [
        (["hello"], "message 0: expected an object with a role, found hello"),
        (
            [{"role": "user", "content": "x"}, {"role": "banana", "content": "x"}],
            "message 1: role 'banana' cannot be counted; expected a message in the shape "
            "of Chat Completions or Anthropic",
        ),
        (
            [{"role": "user"}],
            "message 0: it has no content; expected a message in the shape of Chat Completions or "
            "Anthropic",
        ),
        (
            [{"role": "user", "content": {"text": "x"}}],
            "message 0: its content is an object, {'text': 'x'}; expected a message in the shape "
            "of Chat Completions or Anthropic",
        ),
        (
            [{"role": "user", "content": {1, 2}}],
            "message 0: cannot be written as JSON: set is not JSON",
        ),
    ],
)
def test_an_invalid_message_is_named_in_the_error(messages: Any, error: str) -> None:
    for call in (estimate_tokens, build_final_prompt, summarize_context):
        assert error_text(InputError, messages, call=call) == error


def test_the_safety_factor_divides_budgets_and_not_counts() -> None:
    talk = [{"role": "user", "content": "How deep is the well?"}]
    half = build_final_prompt(talk, model="qwen3-coder", budget=1000, safety=2)
    assert half.usage.max_tokens == 500
    for factor in (1, 2):
        assert estimate_tokens(talk, "qwen3-coder", safety=factor) == half.token_count


@pytest.mark.parametrize(
    ("given", "error"),
    [
        (
            {"system": {"type": "text", "text": "Be brief."}},
            "system: expected a text or a list of blocks, found {'type': 'text'",
        ),
        ({"system": 5}, "system: expected a text or a list of blocks, found 5"),
        ({"tools": {"name": "read"}}, "tools: expected a list of schemas, found {'name': 'read'}"),
        ({"tools": '[{"name": "read"}]'}, "tools: expected a list of schemas, found [{"),
    ],
)
def test_a_system_prompt_or_tools_that_would_not_count_are_refused(
    given: dict[str, Any], error: str
) -> None:
    for call in (estimate_tokens, build_final_prompt):
        assert error_text(
            InputError,
            [{"role": "user", "content": [{"type": "text", "text": "x"}]}],
            call=call,
            **given,
        ).startswith(error)
    assert estimate_tokens(
        [{"role": "user", "content": [{"type": "text", "text": "x"}]}], system=(), tools=()
    )


def test_only_anthropic_has_a_separate_system_prompt() -> None:
    error = error_text(InputError, openai_turn(0), system="x", call=estimate_tokens)
    assert error == (
        "system is for Anthropic's messages only; "
        "in a list of Chat Completions, pass a system message"
    )
    plain = [{"role": "user", "content": "hello"}]
    assert (
        estimate_tokens(plain, system="x" * 400, **CHARS) >= estimate_tokens(plain, **CHARS) + 100
    )


@settings(max_examples=examples(150))
@given(conversations(), st.sampled_from(["openai", "anthropic"]), budgets, trims, st.booleans())
@example([{"role": "user", "texts": [""]}], "openai", 1, {}, False)
def test_s1_9_no_result_exceeds_the_budget_and_inputs_are_unchanged(
    talk: list[dict[str, Any]], shape: str, budget: int, options: dict[str, Any], summarizes: bool
) -> None:
    spelled = (openai_chat if shape == "openai" else anthropic).conversation(talk)
    messages: Messages = spelled["messages"]
    system, tools = spelled.get("system"), spelled.get("tools")
    options = {
        **options,
        "target": float(options.get("target", 1.0)),
        "summarize": summarizes,
        **CHARS,
    }
    given_to = copy.deepcopy((messages, system, tools, options))
    before = estimate_tokens(messages, system=system, tools=tools, **CHARS)
    try:
        enforced_limit = enforce_context_limit(
            messages, budget, system=system, tools=tools, **options
        )
    except ContextOverflowError as error:
        assert error.current_tokens > error.max_tokens == budget
        assert sum(message.tokens for message in error.irreducible) == error.current_tokens
    else:
        assert enforced_limit.token_count <= budget
        assert (
            estimate_tokens(enforced_limit.messages, system=system, tools=tools, **CHARS)
            == enforced_limit.token_count
        )
        assert enforced_limit.truncated == (enforced_limit.messages != messages)
        assert enforced_limit.truncated or before <= budget
        again = enforce_context_limit(
            enforced_limit.messages, budget, system=system, tools=tools, **options
        )
        assert again.messages == enforced_limit.messages
    assert (messages, system, tools, options) == given_to


@pytest.mark.parametrize("times", [1, 3])
@shapes
def test_s1_14_a_session_replayed_turn_by_turn_stays_within_its_budget(
    shape: str, times: int
) -> None:
    request = SHAPES[shape]
    talk = openai_session(12)[1:] if shape == "openai" else anthropic_session(12)
    messages: Messages = []
    peak = 0
    for message in talk * times:
        messages.append(message)
        if message["role"] == "assistant":
            continue
        prompt = build_final_prompt(
            messages,
            {"maxContextTokens": 3000, "reservedOutputTokens": 500, **CHARS},
            system=request.get("system"),
            tools=request["tools"],
        )
        peak = max(peak, prompt.token_count)
        assert prompt.token_count <= 2500
        calls, answers = results(prompt.messages)
        assert calls == answers
    assert peak > 1500


def test_the_api_is_typed_and_its_names_load_lazily() -> None:
    assert ctxtrim.tokenizers is tokenizers
    assert {"build_final_prompt", "tokenizers", "ContextOverflowError"} <= set(ctxtrim.__all__)


class Failing:
    """A summarizer whose answer is no reply, or that raises an error."""

    name = "failing"

    def __init__(self, answer: object) -> None:
        self.answer = answer

    def summarize(self, prompt: str, max_tokens: int) -> Any:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.mark.parametrize(
    ("answer", "trouble"),
    [
        (TimeoutError("no answer in 30 s"), "failing: TimeoutError: no answer in 30 s"),
        (ctxtrim.SummaryError("the quota is used up"), "failing: the quota is used up"),
        (None, "failing: expected a Reply or a text, found NoneType"),
        (ctxtrim.Reply(None), "failing: expected a Reply with a text, found NoneType"),  # type: ignore[arg-type]
    ],
)
def test_s1_6_rules_write_the_summary_after_any_failure(answer: object, trouble: str) -> None:
    messages, writer = openai_session(8), Failing(answer)
    summary = summarize_context(messages, summarizer=writer, **CHARS)
    assert (summary.by, summary.trouble) == ("facts", trouble)
    config = {"budget": 2000, "summarize": True, **CHARS}
    prompt = build_final_prompt(messages, config, summarizer=writer)
    assert prompt.within_budget
    assert prompt.summary
    assert f"{trouble}; using facts instead" in prompt.findings


def test_s1_6_no_summarizer_is_used_if_there_is_nothing_to_summarize() -> None:
    class Failing:
        name = "failing"

        def summarize(self, prompt: str, max_tokens: int) -> str:
            raise AssertionError(prompt)

    for messages in ([], [{"role": "user", "content": " "}]):
        summary = ctxtrim.summarize_context(messages, summarizer=Failing())
        assert (summary.summary, summary.by, summary.trouble) == ("", "facts", None)


def test_s1_6_a_summarizer_may_return_only_the_text() -> None:
    summary = summarize_context(openai_session(8), summarizer=Failing("Lamps."), **CHARS)
    assert (summary.by, summary.trouble) == ("failing", None)
    assert summary.summary.endswith("Lamps.")


class Unnamed:
    """A summarizer without the attribute `name`."""

    def summarize(self, prompt: str, max_tokens: int) -> str:
        return "Lamps." if max_tokens > 100 else ""


def test_s1_6_a_summarizer_without_a_name_has_that_of_its_type() -> None:
    writer: Any = Unnamed()
    summary = summarize_context(openai_session(8), summarizer=writer, **CHARS)
    assert (summary.by, summary.trouble) == ("Unnamed", None)
    summary = summarize_context(openai_session(8), summarizer=writer, summary_tokens=50, **CHARS)
    assert summary.trouble == "Unnamed: the summary is empty"


class Hostile:
    """A summarizer whose name and exception cannot be read."""

    @property
    def name(self) -> str:
        raise LookupError("no name")

    def summarize(self, prompt: str, max_tokens: int) -> str:
        class SilentError(Exception):
            def __str__(self) -> str:
                raise LookupError("no text")

        raise SilentError


class Asynchronous:
    name = "asynchronous"

    async def summarize(self, prompt: str, max_tokens: int) -> str:
        return "Lamps."


@pytest.mark.parametrize(
    ("writer", "trouble"),
    [
        (Hostile(), "Hostile: SilentError"),
        (
            Asynchronous(),
            "asynchronous: expected a Reply or a text, found a coroutine; define it with `def`",
        ),
    ],
)
def test_s1_6_no_summarizer_raises_an_exception_or_a_warning(writer: Any, trouble: str) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        summary = summarize_context(openai_session(8), summarizer=writer, **CHARS)
        gc.collect()
    assert (summary.by, summary.trouble, caught) == ("facts", trouble, [])


class Quarters:
    """A tokenizer that returns what a quarter of the length is, or something else."""

    def __init__(self, result: object = None) -> None:
        self.result = result

    def count(self, text: str) -> Any:
        return len(text) / 4 if self.result is None else self.result


def test_counts_of_own_tokenizers_are_rounded_up_or_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("ctxtrim.tokenizers.program_tokenizers.OWN", OWN)
    try:
        tokenizers.add("quarters", Quarters())
        assert tokenizers.count("abcdefg", "quarters") == 2
        for bad in (-5, "seven", float("nan"), float("inf")):
            tokenizers.add("bad", Quarters(bad))
            with pytest.raises(TokenizerError, match="tokenizer bad: expected a number of tokens"):
                tokenizers.count("abc", "bad")
    finally:
        OWN.clear()


def test_values_with_too_many_levels_are_refused() -> None:
    value: Any = "deep"
    for _ in range(100_000):  # newer versions of Python encode more than older ones
        value = [value]
    call = {"type": "tool_use", "id": "1", "name": "x", "input": {"value": value}}
    messages = [{"role": "user", "content": "go"}, {"role": "assistant", "content": [call]}]
    text = error_text(InputError, messages, 1000, call=enforce_context_limit)
    assert text == "message 1: too many nested values"


HI: Any = [{"role": "user", "content": "Hello."}]
WRONG_VALUES: dict[str, tuple[Any, tuple[Any, ...], dict[str, Any], str]] = {
    "config is a text": (
        build_final_prompt,
        (HI, "gpt-4o"),
        {},
        "build_final_prompt: expected a mapping of settings, found 'gpt-4o'",
    ),
    "config of a session is a text": (
        ctxtrim.compact,
        (HI, "gpt-4o"),
        {},
        "compact: expected a mapping of settings, found 'gpt-4o'",
    ),
    "key is a number": (
        build_final_prompt,
        (HI, {1: 2}),
        {},
        "build_final_prompt: 1: expected the name of a setting",
    ),
    "key in a block is a number": (
        ctxtrim.should_compact,
        (HI, {"compactor": {1: 2}}),
        {},
        "should_compact: compactor: 1: expected the name of a setting",
    ),
    "step is a text": (
        ctxtrim.truncate_old_tool_outputs,
        (HI,),
        {"current_step": "1k"},
        "truncate_old_tool_outputs: current_step: expected a whole number, found '1k'",
    ),
    "limit is a text": (
        ctxtrim.truncate_text,
        ("a",),
        {"max_lines": "1k"},
        "truncate_text: max_lines: expected a whole number from 0, found '1k'",
    ),
    "limit is negative": (
        ctxtrim.truncate_text,
        ("a",),
        {"max_bytes": -1},
        "truncate_text: max_bytes: expected a whole number from 0, found -1",
    ),
    "mode is unknown": (
        ctxtrim.truncate_text,
        ("a",),
        {"mode": "middle"},
        "truncate_text: mode: expected head, tail or head_tail, found 'middle'",
    ),
    "target is a text": (
        ctxtrim.trim_conversation,
        (HI, "2k"),
        {},
        "trim_conversation: target_tokens: expected a whole number, found '2k'",
    ),
    "target is missing": (
        ctxtrim.trim_conversation,
        (HI, None),
        {},
        "trim_conversation: target_tokens: expected a whole number, found None",
    ),
    "limit of a prompt is zero": (
        ctxtrim.enforce_context_limit,
        (HI, 0),
        {},
        "enforce_context_limit: max_input_tokens: expected at least 1, found 0",
    ),
    "name of a tokenizer is a number": (
        tokenizers.add,
        (5, Words),
        {},
        f"tokenizer 5: expected a name, and an object with count or encode, found {Words!r}",
    ),
}


@pytest.mark.parametrize("name", WRONG_VALUES)
def test_values_of_a_wrong_type_are_wrong_usage(name: str) -> None:
    call, values, options, text = WRONG_VALUES[name]
    assert error_text(UsageError, *values, call=call, **options) == text
