"""Tool schemas: their text for the model, and their cost."""

import json
from typing import Any

import pytest
from builders import transcript, user
from harness import read

from ctxtrim.metering import Metering
from ctxtrim.tokenizers import tokenizer
from ctxtrim.tokenizers.claude_ctok import available
from ctxtrim.tokens.tool_schemas import render


def tool(
    name: str, description: str = "", parameters: dict[str, Any] | None = None, **more: Any
) -> dict[str, Any]:
    function: dict[str, Any] = {"name": name} | (
        {"description": description} if description else {}
    )
    return {
        "type": "function",
        "function": function | ({"parameters": parameters} if parameters else {}) | more,
    }


LOAN = {
    "type": "object",
    "title": "lend_args",
    "required": ["title", "copies"],
    "additionalProperties": False,
    "properties": {
        "title": {
            "type": "string",
            "description": "As it stands\n\n   on the cover",
            "title": "Title",
        },
        "copies": {"type": "integer", "minimum": 1, "maximum": 9, "default": 2},
        "state": {"enum": ["new", "worn"]},
        "due": {"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}], "title": "Due"},
        "reader": {
            "type": "object",
            "properties": {"name": {"type": "string", "description": "In full"}},
        },
        "parts": {"type": "array", "items": {"type": "string"}},
        "notes": {
            "type": "array",
            "items": {"type": "object", "properties": {"page": {"type": "number"}}},
        },
        "shelf": {"$ref": "#/$defs/Shelf"},
        "phone": {"type": ["string", "null"], "pattern": "[0-9]+"},
        "marks": {"type": "array"},
        "other": {},
        "box": {"type": "object"},
    },
    "$defs": {"Shelf": {"type": "object", "title": "Shelf", "properties": {"row": {"const": 3}}}},
}
DECLARED = """# Tools

## functions

namespace functions {

// Lend a piece
type lend = (_: {
// lend_args
// Title
// As it stands
// on the cover
title: string,
// default: 2
// minimum: 1.0
// maximum: 9.0
copies: number,
state?: "new" | "worn",
// Due
due?:@
 | string // format: date
 | null
,
reader?: {
// In full
name?: string,
},
parts?: string[],
notes?: {
page?: number,
}[],
shelf?: {
// Shelf
row?: 3,
},
// pattern: "[0-9]+"
phone?: string | null,
marks?: any[],
other?: any,
box?: object,
}) => any;

type close = () => any;

} // namespace functions""".replace("@", " ")


def test_schemas_are_written_as_declarations() -> None:
    assert (
        render(json.dumps([tool("lend", "Lend a piece", LOAN, strict=True), tool("close")]))
        == DECLARED
    )


@pytest.mark.parametrize(
    "strange", [{"type": "custom", "custom": {"name": "f"}}, "no tool", {"type": "function"}]
)
def test_a_tool_without_a_function_is_counted_as_json(strange: Any) -> None:
    tools = [tool("lend", "Lend a piece", LOAN), strange]
    assert render(json.dumps(tools)) is None
    assert schema_tokens(tools) == tokenizer("o200k_base").count(json.dumps(tools)) + 12


@pytest.mark.parametrize("place", ["properties", "items"])
def test_a_bound_beyond_floats_is_counted_as_json(place: str) -> None:
    number = {"type": "integer", "maximum": 10**400}
    inner = number if place == "properties" else {"type": "array", "items": number}
    parameters = {"type": "object", "properties": {"n": inner}}
    tool = {"type": "function", "function": {"name": "f", "parameters": parameters}}
    assert render(json.dumps([tool])) is None


def test_objects_with_a_property_of_several_types_in_an_array_are_written_as_json() -> None:
    items = {
        "type": "object",
        "properties": {"tool": {"type": ["string", "null"]}},
        "required": ["tool"],
    }
    declared = render(
        json.dumps(
            [tool("plan", parameters={"properties": {"steps": {"type": "array", "items": items}}})]
        )
    )
    assert declared is not None
    assert (
        'steps?: {"type":"object","properties":{"tool":{"type":["string","null"]}}}[],' in declared
    )


@pytest.mark.parametrize("key", ["anyOf", "oneOf", "allOf"])
def test_the_texts_of_combined_schemas_count(key: str) -> None:
    shelf = {"type": "object", "properties": {"row": {"type": "string", "description": "A to K"}}}
    parameters = {
        "properties": {"shelf": {key: [{"$ref": "#/$defs/Shelf"}]}},
        "$defs": {"Shelf": shelf},
    }
    assert "// A to K\nrow?: string," in (render(json.dumps([tool("f", "", parameters)])) or "")


@pytest.mark.parametrize(
    "shelves",
    [
        {"type": "object", "additionalProperties": {"$ref": "#/$defs/Shelf"}},
        {"type": "object", "patternProperties": {"^[A-K]$": {"$ref": "#/$defs/Shelf"}}},
        {"type": "array", "prefixItems": [{"$ref": "#/$defs/Shelf"}]},
    ],
)
def test_the_texts_of_schemas_without_a_name_count(shelves: dict[str, Any]) -> None:
    shelf = {"type": "object", "properties": {"row": {"type": "string", "description": "A to K"}}}
    parameters = {"properties": {"shelves": shelves}, "$defs": {"Shelf": shelf}}
    assert "// A to K\nrow?: string," in (render(json.dumps([tool("f", "", parameters)])) or "")


COLOUR = {"type": "string", "title": "Colour", "description": "Of the cover", "enum": ["red"]}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array", "items": COLOUR},
        {"type": "array", "prefixItems": [COLOUR]},
        {"anyOf": [COLOUR, {"type": "null"}]},
        {"$ref": "#/$defs/Colour"},
        {"type": "array", "items": {"$ref": "#/$defs/Colour"}},
        {"type": "object", "properties": {"of": COLOUR}, "oneOf": [{"required": ["of"]}]},
        {"type": "array", "contains": COLOUR},
        {"type": "object", "propertyNames": COLOUR},
        {"not": COLOUR},
        {"if": COLOUR, "then": COLOUR},
        {"properties": {"of": COLOUR}},
    ],
)
def test_the_texts_of_schemas_count_wherever_they_are(schema: dict[str, Any]) -> None:
    plain = {"type": "object", "properties": {"colour": schema}, "$defs": {"Colour": COLOUR}}
    declared = render(json.dumps([tool("f", "", plain)])) or ""
    assert "Colour" in declared and "Of the cover" in declared


def test_the_texts_of_parameters_count() -> None:
    parameters = {"type": "object", "description": "Of a book", "anyOf": [{"required": ["isbn"]}]}
    declared = render(json.dumps([tool("f", "Find", parameters)])) or ""
    comments = '// Of a book\n// anyOf: [{"required":["isbn"]}]\n'
    assert f"// Find\n{comments}type f = () => any;" in declared
    parameters["properties"] = {"isbn": {"type": "string"}}
    declared = render(json.dumps([tool("f", "Find", parameters)])) or ""
    assert f"// Find\ntype f = (_: {{\n{comments}isbn?: string,\n}}) => any;" in declared


@pytest.mark.parametrize(("model", "each"), [("gpt-4o", 0), ("o3-mini", 3), ("gpt-5", 3)])
@pytest.mark.parametrize("api", ["chat", "responses"])
def test_empty_lines_of_descriptions_cost_tokens_for_reasoning_models(
    model: str, each: int, api: str
) -> None:
    """Without a recorded request, they may not cost less than public logs show."""

    def tokens(separator: str, end: str = "") -> int:
        about = end + separator.join(("Look around.", "* north", "* south")) + end
        inner = {"type": "string", "description": separator.join(("Where to", "look"))}
        tools = [tool("look", about, {"type": "object", "properties": {"place": inner}})]
        if api == "responses":
            tools = [{"type": "function", **tools[0]["function"]}]
        place = "input" if api == "responses" else "messages"
        data = json.dumps({"model": model, place: [user("x")], "tools": tools}).encode()
        (talk,) = read(data)[0].transcripts
        return Metering(tokenizer, model).meter(talk).counter.tokens(talk)

    added = tokens("\n\n") - tokens("\n")
    assert added == 0 if each == 0 else added >= 3 * each
    assert tokens("\n \n") == tokens("\n\n")
    assert tokens("\n", end="\n\n") == tokens("\n")


def test_the_schema_of_a_result_counts_as_the_type_of_the_result() -> None:
    found = {"type": "object", "properties": {"row": {"type": "number", "description": "Shelf"}}}
    wanted = "=> {\n// Shelf\nrow?: number,\n};\n"
    for parameters in ({}, {"properties": {"isbn": {"type": "string"}}}):
        assert wanted in (
            render(json.dumps([tool("find", "", parameters, output_schema=found)])) or ""
        )
    assert "=> any;" in (render(json.dumps([tool("find", output_schema=None)])) or "")


def test_only_descriptions_lose_empty_lines() -> None:
    parameters = {"properties": {"p": {"title": "x\n//\ny", "description": "a\n\nb"}}}
    assert "// x\n//\ny\n// a\n// b\np?" in (render(json.dumps([tool("f", "", parameters)])) or "")


def test_repeated_types_of_nested_schemas_do_not_multiply() -> None:
    inner: dict[str, Any] = {"type": "string"}
    for _ in range(40):
        inner = {"type": ["object", "object"], "properties": {"next": inner}}
    declared = render(json.dumps([tool("f", "", {"properties": {"first": inner}})])) or ""
    assert declared.count("next") == 40


BERTH = {"type": "object", "properties": {"pier": {"type": "string", "description": "Its letter"}}}


@pytest.mark.parametrize(
    "reference",
    [
        {"$ref": "#/properties/first"},
        {"anyOf": [{"$ref": "#/properties/first"}, {"type": "null"}]},
        {"type": "array", "items": {"$ref": "#/properties/first"}},
        {"$ref": "#/properties/both/anyOf/1"},
        {"$ref": "#/$defs/a~1b"},
        {"$ref": "#/definitions/a~1b"},
    ],
)
def test_a_reference_to_any_place_counts_as_the_schema_there(reference: dict[str, Any]) -> None:
    """As zod-to-json-schema writes them for schemas that occur twice."""
    properties = {"first": BERTH, "both": {"anyOf": [{"type": "null"}, BERTH]}, "last": reference}
    parameters = {"properties": properties, "$defs": {"a/b": BERTH}}
    assert (render(json.dumps([tool("f", "", parameters)])) or "").count("// Its letter") == 3


@pytest.mark.parametrize(
    "parameters",
    [
        {"$ref": "#/definitions/f", "definitions": {"f": BERTH}},
        {"type": "object", "anyOf": [{"$ref": "#/$defs/f"}], "$defs": {"f": BERTH}},
        {"properties": {"p": {"not": {"$ref": "#/$defs/f"}}}, "$defs": {"f": BERTH}},
        {
            "properties": {
                "p": {
                    "type": "array",
                    "items": {
                        "properties": {
                            "a": {"type": ["string", "null"]},
                            "b": {"$ref": "#/$defs/f"},
                        }
                    },
                }
            },
            "$defs": {"f": BERTH, "g": {"type": "string"}},
        },
    ],
    ids=["root", "union", "keyword", "array"],
)
def test_a_definition_that_no_type_refers_to_is_a_comment(parameters: dict[str, Any]) -> None:
    assert "Its letter" in (render(json.dumps([tool("f", "", parameters)])) or "")


def test_a_schema_that_refers_to_itself_ends() -> None:
    tree = {"type": "object", "properties": {"child": {"$ref": "#/$defs/Tree"}}}
    declared = render(json.dumps([tool("grow", parameters=tree | {"$defs": {"Tree": tree}})]))
    assert declared is not None
    assert declared.count("child") < 100


def test_a_schema_that_refers_to_itself_twice_is_counted_as_json() -> None:
    node = {"$ref": "#/$defs/Node"}
    tree = {"type": "object", "properties": {"left": node, "right": node}}
    tools = [tool("grow", parameters=tree | {"$defs": {"Node": tree}}), tool("close")]
    assert render(json.dumps(tools)) is None
    assert schema_tokens(tools) == tokenizer("o200k_base").count(json.dumps(tools)) + 12


def test_declarations_cost_less_than_their_json() -> None:
    tools = [tool("lend", "Lend a piece", LOAN)]
    assert schema_tokens(tools) < tokenizer("o200k_base").count(json.dumps(tools))


def test_a_tool_choice_adds_tokens() -> None:
    tools = [tool("lend", "Lend a piece", LOAN)]
    free = schema_tokens(tools, tool_choice="auto")
    assert free == schema_tokens(tools)
    assert schema_tokens(tools, tool_choice="none") == free + 1
    forced = {"type": "function", "function": {"name": "lend"}}
    assert schema_tokens(tools, tool_choice=forced) == free + 7 + tokenizer("o200k_base").count(
        "lend"
    )


def test_claude_tools_cost_json_and_instructions_by_choice() -> None:
    tools = [tool("close")]
    text = tokenizer("claude-v3").count(json.dumps(tools))
    each = 4 if available() else 6
    for choice in (None, "auto", "none", {"type": "auto"}):
        assert schema_tokens(tools, "claude-sonnet-4-6", tool_choice=choice) == text + each + 497
    for choice in ("any", "required", {"type": "any"}):
        assert schema_tokens(tools, "claude-sonnet-4-6", tool_choice=choice) == text + each + 589
    named = 8 + tokenizer("claude-v3").count("close")
    choice = {"type": "tool", "name": "close"}
    assert (
        schema_tokens(tools, "claude-sonnet-4-6", tool_choice=choice) == text + each + 589 + named
    )


def test_anthropic_tools_add_a_prompt() -> None:
    own = {
        "bash_20250124": 245,
        "text_editor_20250728": 700,
        "computer_20251124": 735 + 499 + 60,
        "computer_20250124": 735 + 499 + 20,
        "memory_20250818": 1_060,
        "custom": 0,
    }
    for kind, prompt in own.items():
        tools = [{"type": kind, "name": "x"}]
        text = tokenizer("claude-v3").count(json.dumps(tools))
        assert (
            schema_tokens(tools, "claude-sonnet-4")
            == text + 313 + (4 if available() else 6) + prompt
        )


@pytest.mark.parametrize("model", ["claude-sonnet-4-6", "gpt-4o"])
def test_provider_keys_cost_nothing(model: str) -> None:
    plain = {"name": "close", "description": "Close the book", "input_schema": {"type": "object"}}
    marked = plain | {"strict": True, "cache_control": {"type": "ephemeral"}}
    assert schema_tokens([marked], model) == schema_tokens([plain], model)


@pytest.mark.parametrize("model", ["gpt-4o", "gpt-oss-120b"])
@pytest.mark.parametrize("key", ["parameters", "input_schema", "inputSchema"])
def test_parameters_count_the_same_in_the_shape_of_every_api(model: str, key: str) -> None:
    flat = {"name": "lend", "description": "Lend a book", key: LOAN}
    expected = schema_tokens([tool("lend", "Lend a book", LOAN)], model)
    assert schema_tokens([flat], model) == expected
    if key == "input_schema":
        assert schema_tokens([flat | {"type": "custom"}], model) == expected


def test_gpt_5_adds_a_prompt_for_tools_on_chat_completions_alone() -> None:
    """36 of 36 recorded requests: 80 to 84 tokens more than the declarations."""
    tools = [tool("close")]
    declared = tokenizer("o200k_base").count(render(json.dumps(tools)) or "")
    assert schema_tokens(tools, "gpt-5") == declared + 84
    data = json.dumps({"model": "gpt-5", "input": "x", "tools": tools}).encode()
    (talk,) = read(data)[0].transcripts
    assert Metering(tokenizer, "gpt-5").meter(talk).counter.count(talk).tools_schema == declared + 4
    assert schema_tokens(tools, "o4-mini") == declared + 5


def schema_tokens(tools: list[Any], model: str = "gpt-4o", **envelope: Any) -> int:
    talk = transcript([user("x")], tools=tools, **envelope)
    return Metering(tokenizer, model).meter(talk).counter.count(talk).tools_schema


@pytest.mark.parametrize(
    "function",
    [{"description": "x"}, {"name": "f", "parameters": [1]}, {"name": "f", "parameters": 3}],
)
def test_an_invalid_tool_is_counted_as_json(function: dict[str, Any]) -> None:
    tools = [{"type": "function", "function": function}]
    assert render(json.dumps(tools)) is None
    talk = transcript([user("x")], tools=tools)
    count = Metering(tokenizer, "gpt-4o").meter(talk).counter.count(talk)
    assert count.tools_schema == tokenizer("o200k_base").count(json.dumps(tools)) + 12


def test_a_deeply_nested_schema_is_counted() -> None:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(450):
        schema = {"type": "object", "properties": {"a": schema}}
    tools = [tool("f", parameters=schema)]
    for model in ("gpt-4o", "gpt-oss-120b", "claude-sonnet-4-5"):
        talk = transcript([user("x")], tools=tools)
        assert Metering(tokenizer, model).meter(talk).counter.count(talk).tools_schema > 450 * 4
