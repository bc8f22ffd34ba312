"""Tool schemas: how they are spelled for the model, and what they cost."""

import json
from typing import Any

import pytest
from building import transcript, user

from ctxtrim.binding import Binding
from ctxtrim.schemas import rendered
from ctxtrim.tokenizers import tokenizer


def tool(name: str, description: str = "", parameters: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    function: dict[str, Any] = {"name": name} | ({"description": description} if description else {})
    return {"type": "function", "function": function | ({"parameters": parameters} if parameters else {}) | more}


LOAN = {
    "type": "object",
    "required": ["title", "copies"],
    "properties": {
        "title": {"type": "string", "description": "As it stands\non the cover"},
        "copies": {"type": "integer"},
        "state": {"enum": ["new", "worn"]},
        "reader": {"type": "object", "properties": {"name": {"type": "string", "description": "In full"}}},
        "parts": {"type": "array", "items": {"type": "string"}},
        "notes": {"type": "array", "items": {"type": "object", "properties": {"page": {"type": "number"}}}},
        "marks": {"type": "array"},
        "other": {},
        "box": {"type": "object"},
    },
}
DECLARED = """# Tools

## functions

namespace functions {

// Lend a piece
type lend = (_: {
// As it stands
// on the cover
title: string,
copies: number,
state?: "new" | "worn",
reader?: {
  // In full
  name?: string,
},
parts?: string[],
notes?: Array<
{
  page?: number,
}
>,
marks?: any[],
other?: any,
box?: object,
}) => any;

type close = () => any;

} // namespace functions"""


def test_schemas_are_spelled_as_declarations() -> None:
    assert rendered(json.dumps([tool("lend", "Lend a piece", LOAN), tool("close")])) == DECLARED


@pytest.mark.parametrize(
    "strange",
    [
        tool("f", strict=True),
        tool("f", parameters={"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}}}),
        tool("f", parameters={"type": "object", "properties": {"a": {"type": ["string", "null"]}}}),
        tool("f", parameters={"type": "object", "properties": {"a": {"type": "string", "pattern": "x"}}}),
        {"type": "custom", "custom": {"name": "f"}},
        "no tool",
    ],
)
def test_a_keyword_whose_spelling_nobody_knows_is_counted_as_the_json_it_is(strange: Any) -> None:
    tools = [tool("lend", "Lend a piece", LOAN), strange]
    assert rendered(json.dumps(tools)) is None
    assert schema_tokens(tools) == tokenizer("o200k_base").count(json.dumps(tools)) + 12


def test_declarations_cost_less_than_their_json() -> None:
    tools = [tool("lend", "Lend a piece", LOAN)]
    assert schema_tokens(tools) < tokenizer("o200k_base").count(json.dumps(tools))


def test_a_choice_among_the_tools_costs_something_too() -> None:
    tools = [tool("lend", "Lend a piece", LOAN)]
    free = schema_tokens(tools, tool_choice="auto")
    assert free == schema_tokens(tools)
    assert schema_tokens(tools, tool_choice="none") == free + 1
    forced = {"type": "function", "function": {"name": "lend"}}
    assert schema_tokens(tools, tool_choice=forced) == free + 7 + tokenizer("o200k_base").count("lend")


def test_claude_reads_json_and_instructions_by_the_choice() -> None:
    tools = [tool("close")]
    text = tokenizer("claude-v3").count(json.dumps(tools))
    for choice in (None, "auto", "none", {"type": "auto"}):
        assert schema_tokens(tools, "claude-sonnet-4-6", tool_choice=choice) == text + 497
    for choice in ("any", "required", {"type": "any"}, {"type": "tool", "name": "close"}):
        assert schema_tokens(tools, "claude-sonnet-4-6", tool_choice=choice) == text + 589


def test_the_tools_of_anthropic_bring_a_prompt_of_their_own() -> None:
    own = {"bash_20250124": 245, "text_editor_20250728": 700, "computer_20251124": 735 + 499, "custom": 0}
    for kind, prompt in own.items():
        tools = [{"type": kind, "name": "x"}]
        text = tokenizer("claude-v3").count(json.dumps(tools))
        assert schema_tokens(tools, "claude-sonnet-4") == text + 346 + prompt


def schema_tokens(tools: list[Any], model: str = "gpt-4o", **envelope: Any) -> int:
    talk = transcript([user("x")], tools=tools, **envelope)
    return Binding(tokenizer, model).bind(talk).counter.count(talk).tools_schema


@pytest.mark.parametrize(
    "function", [{"description": "x"}, {"name": "f", "parameters": [1]}, {"name": "f", "parameters": 3}]
)
def test_a_tool_that_is_none_is_counted_as_json(function: dict[str, Any]) -> None:
    tools = [{"type": "function", "function": function}]
    assert rendered(json.dumps(tools)) is None
    talk = transcript([user("x")], tools=tools)
    count = Binding(tokenizer, "gpt-4o").bind(talk).counter.count(talk)
    assert count.tools_schema == tokenizer("o200k_base").count(json.dumps(tools)) + 12


def test_a_schema_that_is_nested_deep_is_counted_in_some_way() -> None:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(450):
        schema = {"type": "object", "properties": {"a": schema}}
    tools = [tool("f", parameters=schema)]
    for model in ("gpt-4o", "gpt-oss-120b", "claude-sonnet-4-5"):
        talk = transcript([user("x")], tools=tools)
        assert Binding(tokenizer, model).bind(talk).counter.count(talk).tools_schema > 450 * 5
