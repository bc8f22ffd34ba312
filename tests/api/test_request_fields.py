"""`request=`: further fields of a request count as in a file."""

import json
from typing import Any

import pytest
from conftest import Run

from ctxtrim import (
    ContextOverflowError,
    InputError,
    Pipeline,
    UsageError,
    build_final_prompt,
    compact,
    enforce_context_limit,
    estimate_tokens,
    fits,
    summarize_context,
    trim_conversation,
    with_recovery,
)
from ctxtrim.summaries.markers import END, OMITTED

SCHEMA = {
    "type": "object",
    "properties": {f"depth_{number}": {"type": "number"} for number in range(40)},
}
FUNCTION = {"name": "look", "description": "Look around.", "parameters": SCHEMA}
TOOL = {"type": "function", "function": FUNCTION}
OUTPUT = {"type": "json_schema", "json_schema": {"name": "depths", "schema": SCHEMA}}
CHAT: dict[str, Any] = {"model": "gpt-4o"}
CLAUDE: dict[str, Any] = {"model": "claude-sonnet-4-5", "max_tokens": 2000, "system": "Be brief."}
CLAUDE_TOOLS = {"tools": [{"name": "look", "description": "Look.", "input_schema": SCHEMA}]}
FORMAT = {"type": "json_schema", "schema": SCHEMA}
REQUESTS: dict[str, dict[str, Any]] = {
    "response_format": CHAT | {"response_format": OUTPUT},
    "functions": CHAT | {"functions": [FUNCTION]},
    "function_call": CHAT | {"functions": [FUNCTION], "function_call": {"name": "look"}},
    "tools": CHAT | {"tools": [TOOL]},
    "tool_choice": CHAT | {"tools": [TOOL], "tool_choice": "required"},
    "thinking of a chat": {"model": "deepseek-chat", "thinking": {"type": "enabled"}},
    "prediction": CHAT | {"prediction": {"type": "content", "content": "Three metres."}},
    "web_search_options": CHAT | {"web_search_options": {}},
    "system": CLAUDE,
    "output_format": CLAUDE | {"output_format": FORMAT},
    "output_config": CLAUDE | {"output_config": {"format": FORMAT, "task_budget": {"total": 9}}},
    "thinking": CLAUDE | {"thinking": {"type": "enabled", "budget_tokens": 1024}},
    "tool_choice of Claude": CLAUDE | CLAUDE_TOOLS | {"tool_choice": {"type": "any"}},
    "mcp_servers": CLAUDE | {"mcp_servers": [{"type": "url", "url": "https://x", "name": "y"}]},
}
TALK: list[dict[str, Any]] = [
    {"role": "user", "content": "How deep is the harbour? " * 20},
    {"role": "assistant", "content": "Two metres at low tide. " * 20},
    {"role": "user", "content": "And at high tide?"},
]


def counted(ctxtrim: Run, messages: Any, request: dict[str, Any]) -> Any:
    """The row of the command line for a request."""
    ran = ctxtrim("count", "--json", stdin=json.dumps(request | {"messages": messages}).encode())
    (row,) = json.loads(ran.out)["transcripts"]
    return row


@pytest.mark.parametrize("name", REQUESTS)
def test_a_request_counts_as_in_a_file(ctxtrim: Run, name: str) -> None:
    request = REQUESTS[name]
    row = counted(ctxtrim, TALK, request)
    tokens = row["tokens"]
    assert estimate_tokens(TALK, request=request) == tokens
    of_pipeline = Pipeline().run(TALK, request=request).row
    assert (of_pipeline.count.tokens, of_pipeline.count.exactness) == (tokens, row["exactness"])
    messages = [finding["message"] for finding in row["findings"]]
    assert [finding.message for finding in of_pipeline.findings] == messages
    assert summarize_context(TALK, request=request).original_tokens == tokens
    assert compact(TALK, request=request).tokens_before == tokens
    assert build_final_prompt(TALK, request=request).token_count == tokens
    for budget, is_enough in ((tokens, True), (tokens - 1, False)):
        assert bool(fits(TALK, request=request, budget=budget)) is is_enough
        assert enforce_context_limit(TALK, budget, request=request).truncated is not is_enough
        assert (trim_conversation(TALK, budget, request=request) == TALK) is is_enough


def test_system_and_tools_are_the_same_in_the_request_and_next_to_it() -> None:
    fields = {"system": "Be brief.", **CLAUDE_TOOLS}
    model = CLAUDE["model"]
    assert estimate_tokens(TALK, model, request=fields) == estimate_tokens(TALK, model, **fields)
    assert trim_conversation(TALK, 2000, request=fields) == TALK


@pytest.mark.parametrize("name", ["response_format", "output_format"])
def test_a_prompt_fits_with_the_fields_it_is_sent_with(ctxtrim: Run, name: str) -> None:
    request = REQUESTS[name]
    budget = estimate_tokens(TALK, request=request) - 10
    pipeline = Pipeline("trim", budget=budget)
    assert pipeline.run(TALK).messages == TALK
    prompt = pipeline.run(TALK, request=request).messages
    assert prompt == TALK[2:]
    assert counted(ctxtrim, prompt, request)["tokens"] <= budget
    with pytest.raises(ContextOverflowError):
        pipeline = Pipeline("trim", budget=60)
        pipeline.run(TALK, request=request)


def test_a_refused_prompt_leaves_room_for_the_fields() -> None:
    request = REQUESTS["response_format"]
    fixed = estimate_tokens([], request=request)
    sent: list[Any] = []

    def send(prompt: list[Any]) -> str:
        sent.append(prompt)
        if len(sent) == 1:
            raise ValueError(f"This model's maximum context length is {fixed + 60} tokens.")
        return "done"

    assert with_recovery(send, TALK, request=request, reserve=1) == "done"
    (last,) = sent[1]
    assert last["content"] == f"{OMITTED}{END}{TALK[2]['content']}"
    assert estimate_tokens(sent[1], request=request) <= fixed + 60


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"request": [CHAT]}, UsageError, "request: expected an object, found [{'model': "),
        (
            {"request": {"messages": []}},
            UsageError,
            "request: the messages are a separate argument; remove `messages`",
        ),
        (
            {"request": {"tools": [TOOL]}, "tools": [TOOL]},
            UsageError,
            "tools is given twice; remove it from request",
        ),
        (
            {"request": {"response_format": dict}},
            InputError,
            "response_format: cannot be written as JSON: dict is a class; pass its JSON schema",
        ),
        (
            {"request": {"system": "Be brief."}},
            InputError,
            "system is for Anthropic's messages only",
        ),
    ],
)
def test_a_field_that_would_not_count_is_an_error(
    arguments: dict[str, Any], error: type[Exception], text: str
) -> None:
    with pytest.raises(error) as caught:
        estimate_tokens([*TALK, {"role": "tool", "tool_call_id": "a", "content": "b"}], **arguments)
    assert str(caught.value).startswith(text)
