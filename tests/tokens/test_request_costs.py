"""The costs of a request besides its messages, and the tables with their sources."""

import json
from typing import Any

import pytest
from builders import call, result, says, transcript, user
from conftest import Run
from harness import read
from msgspec.structs import fields, replace

from ctxtrim.metering import Metering
from ctxtrim.tokenizers import tokenizer
from ctxtrim.tokenizers.claude_ctok import available
from ctxtrim.tokens.counter import Count
from ctxtrim.tokens.framing import Framing
from ctxtrim.tokens.models import find_model, framing_name
from ctxtrim.tokens.request import RequestFraming
from ctxtrim.tokens.vendors import TABLES

SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "required": {"type": "boolean"}},
    "required": ["city"],
    "additionalProperties": False,
}
SEEN = '{"type":"object","properties":{"city":{"type":"string"},"required":{"type":"boolean"}}}'
FORMAT = {"name": "place", "description": "A place", "schema": SCHEMA, "strict": True}
TEXT = f"# Response Formats\n\n## place\n\n// A place\n{SEEN}"
needs_ctok = pytest.mark.skipif(
    not available(), reason="ctok counts Claude on Python 3.12 and newer"
)


def count(request: dict[str, Any], model: str) -> Count:
    (talk,) = read(json.dumps(request | {"model": model}).encode())[0].transcripts
    return Metering(tokenizer, model).meter(talk).counter.count(talk)


def added(plain: dict[str, Any], more: dict[str, Any], model: str) -> int:
    """The tokens that some fields add to a request."""
    return count(plain | more, model).tokens - count(plain, model).tokens


def test_openai_writes_structured_output_as_a_heading_and_a_short_schema() -> None:
    text = tokenizer("o200k_base").count(TEXT)
    chat = {"response_format": {"type": "json_schema", "json_schema": FORMAT}}
    assert added({"messages": [user("x")]}, chat, "gpt-4o") == text + 11
    responses = {"text": {"format": {"type": "json_schema"} | FORMAT}}
    assert added({"input": "x", "store": False}, responses, "gpt-4o") == text + 1
    assert (
        added({"messages": [user("x")]}, {"response_format": {"type": "json_object"}}, "gpt-4o")
        == 0
    )
    assert count({"messages": [user("x")]} | chat, "gpt-4o").exactness == "bounded"


def test_json_without_a_schema_is_bounded_on_responses_where_none_was_recorded() -> None:
    wanted = {"type": "json_object"}
    chat, responses = {"messages": [user("x")]}, {"input": "x", "store": False}
    assert count(chat | {"response_format": wanted}, "gpt-4o").exactness == "exact"
    assert count(responses | {"text": {"format": {"type": "text"}}}, "gpt-4o").exactness == "exact"
    assert count(responses | {"text": {"format": wanted}}, "gpt-4o").exactness == "bounded"


def test_structured_output_without_a_schema_costs_as_with_an_empty_one() -> None:
    messages, named = {"messages": [user("x")]}, {"name": "place", "description": "A place"}

    def counted(json_schema: dict[str, Any]) -> Count:
        wanted = {"type": "json_schema", "json_schema": json_schema}
        return count(messages | {"response_format": wanted}, "gpt-4o")

    without, empty = counted(named), counted(named | {"schema": {}})
    assert without.tokens == empty.tokens > count(messages, "gpt-4o").tokens
    assert without.exactness == "bounded"


@pytest.mark.parametrize("text", ["Pier 4 is closed.", "Pier 4 is closed. " * 90])
def test_a_predicted_answer_costs_the_same_for_any_text(text: str) -> None:
    plain, none = {"messages": [user("x")]}, {"prediction": None}
    predicted = {"prediction": {"type": "content", "content": text}}
    assert added(plain, predicted, "gpt-4o") == 16
    assert count(plain | predicted, "gpt-4o").exactness == "bounded"
    assert count(plain | none, "gpt-4o") == count(plain, "gpt-4o")


@pytest.mark.parametrize(("number", "recorded"), [(1, 14), (2, 21), (50, 357)])
def test_messages_of_the_first_gpt_3_5_turbo_cost_as_in_its_last_months(
    number: int, recorded: int
) -> None:
    talk = [{"role": "system", "content": "x"}, *[user("x")] * (number - 1)]
    counted = count({"messages": talk}, "gpt-3.5-turbo-0301")
    assert (counted.tokens, counted.exactness) == (recorded, "bounded")


@pytest.mark.parametrize(
    ("model", "text", "recorded"),
    [
        ("o1-mini-2024-09-12", "say 1", 11),
        ("o1-preview-2024-09-12", "say 1", 11),
        ("grok-4", "Hello!", 686),
        ("grok-4-0709", "你是谁", 686),
    ],
)
def test_a_short_prompt_is_not_below_what_the_api_counted(
    model: str, text: str, recorded: int
) -> None:
    assert recorded <= count({"messages": [user(text)]}, model).tokens <= 1.05 * recorded


def test_grok_4_has_its_long_prompt_on_chat_completions_only() -> None:
    chat, responses = {"messages": [user("Hello!")]}, {"input": "Hello!", "store": False}
    assert count(chat, "grok-4").tokens - count(responses, "grok-4").tokens == 490


def test_a_property_with_the_name_of_a_keyword_is_a_property() -> None:
    inner = {"type": "object", "required": ["city"]}
    schema = {"type": "object", "properties": {"properties": inner}}
    wanted = {"type": "json_schema", "json_schema": {"name": "place", "schema": schema}}
    seen = '{"type":"object","properties":{"properties":{"type":"object"}}}'
    text = tokenizer("o200k_base").count(f"# Response Formats\n\n## place\n\n{seen}")
    plain = {"messages": [user("x")]}
    assert added(plain, {"response_format": wanted}, "gpt-4o") == text + 11


def test_a_request_with_tools_is_bounded() -> None:
    plain = {"messages": [user("x")]}
    tool = {"type": "function", "function": {"name": "look", "parameters": SCHEMA}}
    assert count(plain, "gpt-4o").exactness == "exact"
    assert count(plain | {"tools": [tool]}, "gpt-4o").exactness == "bounded"


def test_an_answer_in_the_history_costs_more_with_structured_output() -> None:
    chat = {"response_format": {"type": "json_schema", "json_schema": FORMAT}}
    talk = [user("x"), says("y"), user("z")]
    assert (
        added({"messages": talk}, chat, "gpt-4o")
        == added({"messages": [user("x")]}, chat, "gpt-4o") + 6
    )


@pytest.mark.parametrize("key", ["output_format", "output_config"])
@pytest.mark.parametrize(("model", "frame"), [("claude-sonnet-4-6", 82), ("claude-opus-4-7", 119)])
def test_anthropic_writes_structured_output_as_indented_json(
    key: str, model: str, frame: int
) -> None:
    wanted = {"type": "json_schema", "schema": SCHEMA}
    more = (
        {"output_format": wanted}
        if key == "output_format"
        else {"output_config": {"format": wanted}}
    )
    text = (
        Metering(tokenizer, model).meter(transcript([])).counter.text(json.dumps(SCHEMA, indent=2))
    )
    plain = {"system": "Be brief.", "messages": [user("x")]}
    assert added(plain, more, model) == text + (frame if available() else 119)


def test_an_api_like_that_of_openai_makes_a_tool_of_the_format_for_claude() -> None:
    chat = {"response_format": {"type": "json_schema", "json_schema": FORMAT}}
    responses = {"text": {"format": {"type": "json_schema"} | FORMAT}}
    own = {"output_format": {"type": "json_schema", "schema": SCHEMA}}
    model, messages = "claude-sonnet-4-6", {"messages": [user("x")]}
    tokens = added(messages, chat, model)
    assert tokens == added({"input": "x", "store": False}, responses, model)
    assert tokens > added(messages | {"system": "Be brief."}, own, model) + 500


def test_gemini_does_not_charge_for_structured_output() -> None:
    plain = {"contents": [{"role": "user", "parts": [{"text": "x"}]}]}
    assert added(plain, {"generationConfig": {"responseSchema": SCHEMA}}, "gemini-2.5-flash") == 0


@needs_ctok
@pytest.mark.parametrize(
    ("model", "mode", "tokens"),
    [
        ("claude-sonnet-4-5", "enabled", 33),
        ("claude-sonnet-4-6", "adaptive", 17),
        ("claude-opus-4-7", "adaptive", 0),
        ("claude-sonnet-4-6", "disabled", 0),
    ],
)
def test_thinking_of_anthropic_adds_a_prompt(model: str, mode: str, tokens: int) -> None:
    assert (
        added({"system": "s", "messages": [user("x")]}, {"thinking": {"type": mode}}, model)
        == tokens
    )


@needs_ctok
def test_options_of_anthropic_cost_once() -> None:
    plain = {"system": "s", "messages": [user("x")]}
    assert (
        added(
            plain,
            {"output_config": {"task_budget": {"type": "tokens", "total": 9}}},
            "claude-sonnet-4-6",
        )
        == 37
    )
    source = {"type": "text", "media_type": "text/plain", "data": "The ferry leaves at nine."}
    documents = [{"type": "document", "source": source}, {"type": "document", "source": source}]
    cited = [document | {"citations": {"enabled": True}} for document in documents]
    counts = [
        count(
            {"system": "s", "messages": [{"role": "user", "content": blocks}]}, "claude-sonnet-4-6"
        )
        for blocks in (documents, cited)
    ]
    assert [count.overhead.get("citations", 0) for count in counts] == [0, 560]
    assert counts[0].by_kind["attachment"] > 2 * 12


def test_the_mode_pro_has_no_known_rule() -> None:
    counted = count({"input": "x", "reasoning": {"mode": "pro"}}, "gpt-5.6-sol")
    assert counted.exactness == "estimated"
    assert counted.overhead["reasoning_mode"] >= 1550


def test_thinking_between_tools_was_never_recorded() -> None:
    mode = {"messages": [user("x")], "max_tokens": 9, "thinking": {"type": "between_tools"}}
    assert count(mode, "claude-opus-4-5").exactness == "estimated"


def test_the_mode_pro_costs_more_with_each_answer_in_the_history() -> None:
    pro = {"reasoning": {"mode": "pro"}}
    talk = [user("x"), says("y"), user("z"), says("y"), user("z")]
    first = added({"input": "x"}, pro, "gpt-5.6-sol")
    assert added({"input": talk, "store": False}, pro, "gpt-5.6-sol") == first + 2 * 110


@pytest.mark.parametrize(
    ("model", "request_body"),
    [
        ("gpt-4.1", {"input": "x", "tools": [{"type": "web_search"}]}),
        ("gpt-4o-search-preview", {"messages": [user("x")]}),
        ("gpt-4o-mini-search-preview-2025-03-11", {"messages": [user("x")]}),
        ("gpt-5-search-api", {"messages": [user("x")]}),
        (
            "gpt-5",
            {"messages": [user("x")], "tools": [{"type": "custom", "custom": {"name": "f"}}]},
        ),
        (
            "claude-sonnet-4-5",
            {"messages": [user("x")], "tools": [{"type": "web_search_20250305", "name": "s"}]},
        ),
        (
            "claude-sonnet-4-5",
            {"messages": [user("x")], "tools": [{"type": "memory_20250818", "name": "memory"}]},
        ),
        (
            "claude-sonnet-4-6",
            {
                "messages": [user("x")],
                "output_config": {"task_budget": {"total": 9}},
                "system": "s",
            },
        ),
        (
            "gpt-oss-20b",
            {
                "messages": [user("x")],
                "response_format": {"type": "json_schema", "json_schema": FORMAT},
            },
        ),
    ],
)
def test_a_constant_without_a_source_is_an_estimate(
    model: str, request_body: dict[str, Any]
) -> None:
    assert count(request_body, model).exactness == "estimated"


def test_messages_of_several_texts_are_bounded() -> None:
    """No recorded request shows what OpenAI counts between two texts of a message."""
    texts = [{"type": "text", "text": "How "}, {"type": "text", "text": "deep?"}]
    for number, label in ((1, "exact"), (2, "bounded")):
        message = {"role": "user", "content": texts[:number]}
        assert count({"messages": [message]}, "gpt-4o").exactness == label


@pytest.mark.parametrize(
    ("content", "label"),
    [
        ("a <| b |> c", "exact"),
        ("", "bounded"),
        ("Ends with <|endoftext|>", "bounded"),
        ("Ends with <|reserved_200001|>", "bounded"),
        ([{"type": "refusal", "refusal": "I can't."}], "bounded"),
        (None, "bounded"),
        ([], "bounded"),
    ],
)
def test_messages_that_were_never_recorded_are_bounded(content: Any, label: str) -> None:
    """The API may read the name of a special token as one token, which is less than its text."""
    talk = {"messages": [user("x"), {"role": "assistant", "content": content}, user("y")]}
    assert count(talk, "gpt-4o").exactness == label


@needs_ctok
def test_a_reconstructed_text_with_a_bound_is_not_a_bound(ctxtrim: Run) -> None:
    wanted = {"output_format": {"type": "json_schema", "schema": SCHEMA}}
    claude = {"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": [user("x")]} | wanted
    assert count(claude, "claude-sonnet-4-5").exactness == "reconstructed"
    gpt = {
        "model": "gpt-4o",
        "messages": [user("x")],
        "tools": [{"type": "function", "function": {"name": "f"}}],
    }
    for requests, mark in ((gpt,), "≤"), ((claude,), "≈"), ((gpt, claude), "≈"):
        data = b"".join(json.dumps(request).encode() + b"\n" for request in requests)
        assert mark in ctxtrim("count", stdin=data).out.decode().splitlines()[-1]


def test_tools_of_the_user_are_not_an_estimate() -> None:
    tools = [
        {"type": "custom", "name": "f", "input_schema": SCHEMA},
        {"name": "g", "input_schema": SCHEMA},
    ]
    counted = count({"messages": [user("x")], "tools": tools}, "claude-sonnet-4-5")
    assert counted.exactness == ("reconstructed" if available() else "bounded")
    assert "own_tools" not in counted.overhead


def test_reasoning_that_xai_keeps_is_counted_once_with_an_answer() -> None:
    talk = [user("x"), says("y"), user("z")]
    assert "kept_reasoning" not in count({"messages": [user("x")]}, "grok-4").overhead
    assert count({"messages": talk}, "grok-4").overhead["kept_reasoning"] == 290
    assert (
        count({"messages": [*talk, says("y"), user("z")]}, "grok-4").overhead["kept_reasoning"]
        == 290
    )
    assert "kept_reasoning" not in count({"messages": talk}, "grok-4.3").overhead


def test_a_hidden_answer_costs_nothing_around_the_messages() -> None:
    talk = transcript([user("x"), says("y"), user("z")])
    question, answer, more = talk.messages
    hidden = replace(talk, messages=(question, replace(answer, agent_visible=False), more))
    counter = Metering(tokenizer, "grok-4").meter(talk).counter
    assert "kept_reasoning" in counter.overhead(talk)
    assert "kept_reasoning" not in counter.overhead(hidden)


def test_encrypted_reasoning_has_a_cost() -> None:
    answer = says("y") | {
        "reasoning_details": [{"type": "reasoning.encrypted", "data": "A" * 1000}]
    }
    plain, sealed = (
        count({"messages": [user("x"), message]}, "gpt-5") for message in (says("y"), answer)
    )
    assert sealed.tokens - plain.tokens == 100
    assert sealed.exactness == "estimated"


def test_a_name_equal_to_the_role_costs_nothing() -> None:
    text = tokenizer("o200k_base").count
    counted = count(
        {"messages": [{"role": "user", "name": "user", "content": "Hi there"}]}, "gpt-4o"
    )
    assert counted.tokens == 3 + 4 + text("user") + text("Hi there")


def test_an_empty_text_next_to_calls_costs_nothing() -> None:
    """In gpt-oss each call is a separate message, and only a text has a message next to it."""

    def tokens(content: str | None) -> int:
        talk = [user("x"), call("a", name="f") | {"content": content}, result("a", "y")]
        return count({"messages": talk}, "gpt-oss-120b").tokens

    assert tokens("") == tokens(None) < tokens("I look.")


def test_calls_on_responses_are_items_without_a_wrapper() -> None:
    calls = [call("a", "b", name="f"), result("a", "x"), result("b", "y")]
    items = [
        *(
            {"type": "function_call", "call_id": name, "name": "f", "arguments": "{}"}
            for name in "ab"
        ),
        *(
            {"type": "function_call_output", "call_id": name, "output": text}
            for name, text in (("a", "x"), ("b", "y"))
        ),
    ]
    chat = count({"messages": calls}, "gpt-4o")
    responses = count({"input": items, "store": False}, "gpt-4o")
    assert chat.tokens - responses.tokens == 24


@pytest.mark.parametrize("kind", ["function_call", "custom_tool_call"])
def test_a_namespace_counts_before_each_name_of_its_call(kind: str) -> None:
    def counted(namespace: str | None) -> Count:
        asks = {"type": kind, "call_id": "a", "name": "find", "arguments": "{}"}
        answers = {"type": f"{kind}_output", "call_id": "a", "output": "x"}
        items = [asks | {"namespace": namespace}, answers]
        return count({"input": items, "store": False}, "gpt-4o")

    text = tokenizer("o200k_base").count
    named, plain = counted("mcp__harbour"), counted(None)
    assert named.tokens - plain.tokens == 2 * (text("mcp__harbour.find") - text("find")) > 0
    assert named.by_tool.keys() == plain.by_tool.keys()
    assert named.exactness == "bounded"


@pytest.mark.parametrize("name", TABLES)
def test_every_fact_has_a_source_and_sets_a_field(name: str) -> None:
    known = {field.name for of in (Framing, RequestFraming) for field in fields(of)}
    for field_name, fact in TABLES[name].items():
        assert field_name in known
        assert len(fact.source) > 10
        assert fact.pairs >= 0


def test_a_responses_request_uses_its_own_framing() -> None:
    model = find_model("gpt-5")
    assert model is not None
    assert framing_name(model, "exact", "responses") == "openai-gpt-5-responses"
    assert framing_name(model, "exact", "chat") == framing_name(model, "exact") == "openai-gpt-5"
