"""Tool schemas in a conversion."""

import math
from typing import Any

import pytest
from conversions import converted, each_target, transcript_of

SCHEMA = {"type": "object", "properties": {"berth": {"type": "integer"}}, "required": ["berth"]}
ABOUT = "Look at a berth."
SPELLED: dict[str, list[dict[str, Any]]] = {
    "openai-chat": [
        {"type": "function", "function": {
            "name": "look", "description": ABOUT, "parameters": SCHEMA}}
    ],
    "anthropic": [{"name": "look", "description": ABOUT, "input_schema": SCHEMA}],
    "gemini": [
        {"functionDeclarations": [
            {"name": "look", "description": ABOUT, "parametersJsonSchema": SCHEMA}]}
    ],
    "openai-responses": [
        {"type": "function", "name": "look", "description": ABOUT, "parameters": SCHEMA,
         "strict": False}
    ],
}  # fmt: skip


def request(source: str, tools: list[dict[str, Any]]) -> dict[str, Any]:
    """A request of a provider with tools."""
    if source == "gemini":
        return {"contents": [{"role": "user", "parts": [{"text": "Look."}]}], "tools": tools}
    key = "input" if source == "openai-responses" else "messages"
    return {key: [{"role": "user", "content": "Look."}], "tools": tools}


@each_target
@pytest.mark.parametrize("source", SPELLED)
def test_schemas_of_every_provider_become_those_of_every_other(source: str, to: str) -> None:
    found = converted(transcript_of(request(source, SPELLED[source])), to)
    assert found.value["tools"] == SPELLED[to]
    assert found.findings == ()


def test_types_of_gemini_are_those_of_json_schema() -> None:
    parameters = {
        "type": "OBJECT",
        "properties": {"berth": {"type": "INTEGER", "nullable": True}, "type": {"type": "STRING"}},
    }
    tools = [{"functionDeclarations": [{"name": "look", "parameters": parameters}]}]
    found = converted(transcript_of(request("gemini", tools)), "anthropic")
    assert found.value["tools"][0]["input_schema"] == {
        "type": "object",
        "properties": {"berth": {"type": ["integer", "null"]}, "type": {"type": "string"}},
    }


def schema_of(parameters: Any) -> Any:
    """The schema of a tool for Anthropic."""
    tools = [{"type": "function", "function": {"name": "look", "parameters": parameters}}]
    found = converted(transcript_of(request("openai-chat", tools)), "anthropic")
    assert found.findings == ()
    return found.value["tools"][0]["input_schema"]


@pytest.mark.parametrize(
    "name", ["description", "default", "required", "example", "enum", "const", "nullable", "title"]
)
@pytest.mark.parametrize("home", ["properties", "patternProperties", "$defs"])
def test_a_property_may_have_the_name_of_a_keyword(home: str, name: str) -> None:
    parameters = {"type": "OBJECT", "properties": {}, home: {name: {"type": "STRING"}}}
    assert schema_of(parameters)[home] == {name: {"type": "string"}}


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("tuple", {"type": "array", "items": {}}),
        ("list", {"type": "array", "items": {}}),
        ("dict", {"type": "object"}),
        ("str", {"type": "string"}),
        ("String", {"type": "string"}),
        ("int", {"type": "integer"}),
        ("float", {"type": "number"}),
        ("bool", {"type": "boolean"}),
        ("any", {}),
        (["STRING", "null"], {"type": ["string", "null"]}),
        ("berth", {"type": "berth"}),
    ],
    ids=str,
)
def test_types_of_other_languages_are_those_of_json_schema(kind: Any, expected: Any) -> None:
    parameters = {"type": "object", "properties": {"berth": {"type": kind}}}
    assert schema_of(parameters)["properties"]["berth"] == expected


def test_members_of_a_schema_that_are_null_are_missing() -> None:
    assert schema_of({"type": "object", "properties": None, "required": None}) == {
        "type": "object",
        "properties": {},
    }
    berth = {"type": "string", "default": None}
    assert schema_of({"type": "object", "properties": {"berth": berth}})["properties"] == {
        "berth": berth
    }


def test_arrays_have_items() -> None:
    parameters = {"type": "object", "properties": {"berths": {"type": ["array", "null"]}}}
    assert schema_of(parameters)["properties"]["berths"]["items"] == {}


def test_a_schema_that_refers_to_a_definition_is_that_definition() -> None:
    parameters = {"$ref": "#/$defs/Look", "$defs": {"Look": SCHEMA}}
    assert schema_of(parameters) == SCHEMA | {"$defs": {"Look": SCHEMA}}


NAMED = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


@each_target
@pytest.mark.parametrize(
    ("union", "required"), [("anyOf", ["deck"]), ("oneOf", ["deck"]), ("allOf", ["deck", "name"])]
)
def test_alternatives_at_the_top_of_a_schema_are_properties_except_in_gemini(
    to: str, union: str, required: list[str]
) -> None:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {"deck": {"type": "integer"}},
        "required": ["deck"],
        union: [{"$ref": "#/$defs/Named"}, {"properties": {"berth": {"type": "integer"}}}],
        "$defs": {"Named": NAMED},
    }
    tools = [{"name": "look", "input_schema": schema}]
    found = converted(transcript_of(request("anthropic", tools)), to)
    if to == "gemini":
        assert found.value["tools"][0]["functionDeclarations"][0]["parametersJsonSchema"] == schema
        assert found.findings == ()
        return
    tool = found.value["tools"][0]
    inner = tool.get("input_schema") or (tool.get("function") or tool)["parameters"]
    assert inner.keys() == {"type", "properties", "required", "$defs"}
    assert inner["properties"].keys() == {"deck", "name", "berth"}
    assert inner["required"] == required
    assert found.kinds == {"changed tool schema": 1}


def test_a_schema_of_alternatives_alone_stays_in_gemini() -> None:
    tools = [{"name": "look", "input_schema": {"oneOf": [SCHEMA, NAMED]}}]
    found = converted(transcript_of(request("anthropic", tools)), "gemini")
    schema = found.value["tools"][0]["functionDeclarations"][0]["parametersJsonSchema"]
    assert schema["oneOf"] == [SCHEMA, NAMED]


def test_values_in_a_schema_stay() -> None:
    berth = {"type": "string", "enum": ["STRING"], "default": {"type": "STRING"}}
    parameters = {"type": "object", "properties": {"berth": berth}}
    assert schema_of(parameters) == parameters


def test_a_schema_with_many_levels_is_converted() -> None:
    schema: dict[str, Any] = {"type": "STRING"}
    for _ in range(240):
        schema = {"type": "OBJECT", "properties": {"x": schema}}
    assert "STRING" not in str(schema_of(schema))


def test_a_tool_that_a_provider_defines_is_kept_by_it_alone() -> None:
    bash = {"type": "bash_20250124", "name": "bash"}
    source = transcript_of(request("anthropic", [bash, *SPELLED["anthropic"]]))
    assert converted(source, "anthropic").value["tools"] == [*SPELLED["anthropic"], bash]
    chat = converted(source, "openai-chat")
    assert chat.value["tools"] == SPELLED["openai-chat"]
    assert [finding.message for finding in chat.findings] == [
        "the tool bash_20250124 is defined by its provider"
    ]


@each_target
def test_tools_have_unique_names(to: str) -> None:
    other = {"type": "function", "function": {"name": "look", "description": "Another."}}
    tools = SPELLED["openai-chat"]
    found = converted(transcript_of(request("openai-chat", [*tools, other])), to)
    assert found.value["tools"] == SPELLED[to]
    assert found.kinds == {"lost tool schema": 1}
    again = converted(transcript_of(request("openai-chat", [*tools, *tools])), to)
    assert again.value["tools"] == SPELLED[to]
    assert again.kinds == {"changed tool schema": 1}


GRAMMAR = {"syntax": "lark", "definition": "start: WORD"}
CUSTOM: dict[str, list[dict[str, Any]]] = {
    "openai-chat": [
        {"type": "custom", "custom": {
            "name": "patch", "description": ABOUT,
            "format": {"type": "grammar", "grammar": GRAMMAR}}},
        {"type": "custom", "custom": {"name": "note"}},
    ],
    "openai-responses": [
        {"type": "custom", "name": "patch", "description": ABOUT,
         "format": {"type": "grammar", **GRAMMAR}},
        {"type": "custom", "name": "note"},
    ],
}  # fmt: skip


@pytest.mark.parametrize("to", CUSTOM)
@pytest.mark.parametrize("source", CUSTOM)
def test_custom_tools_stay_custom_in_both_apis_of_openai(source: str, to: str) -> None:
    found = converted(transcript_of(request(source, CUSTOM[source])), to)
    assert found.value["tools"] == CUSTOM[to]
    assert found.findings == ()


def test_a_custom_tool_is_a_function_for_other_providers() -> None:
    source = transcript_of(request("openai-responses", CUSTOM["openai-responses"]))
    found = converted(source, "anthropic")
    text = {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}
    assert found.value["tools"] == [
        {"name": "patch", "description": ABOUT, "input_schema": text},
        {"name": "note", "input_schema": text},
    ]
    assert found.kinds == {"changed tool schema": 2, "lost grammar": 1}


def test_a_number_that_json_does_not_have_is_listed() -> None:
    schema = {"type": "object", "properties": {"berth": {"type": "number", "maximum": math.inf}}}
    tools = [{"name": "look", "input_schema": schema}]
    found = converted(transcript_of(request("anthropic", tools)), "openai-chat")
    assert found.kinds == {"lost number": 1}


def test_a_name_that_a_target_refuses_is_replaced_in_schemas_and_calls() -> None:
    call = {"id": "a", "type": "function", "function": {"name": "port.look", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "Look."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "a", "content": "free"},
    ]
    tools = [{"type": "function", "function": {"name": "port.look", "parameters": SCHEMA}}]
    found = converted(transcript_of({"messages": messages, "tools": tools}), "anthropic")
    assert found.value["tools"][0]["name"] == "port_look"
    assert found.value["messages"][1]["content"][0]["name"] == "port_look"
    assert found.kinds["changed tool name"] == 2
    assert converted(found.source, "gemini").kinds["changed tool name"] == 0


def test_anthropic_gets_schemas_for_calls_without_any() -> None:
    call = {"id": "a", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "Look."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "a", "content": "free"},
    ]
    found = converted(transcript_of({"messages": messages}), "anthropic")
    assert [tool["name"] for tool in found.value["tools"]] == ["look"]
    assert found.kinds == {"changed tool schema": 1}


@each_target
def test_functions_next_to_tools_are_tools(to: str) -> None:
    tools = SPELLED["openai-chat"]
    functions = [tool["function"] for tool in tools]
    others = [{"name": "note"}]
    found = converted(transcript_of(request("openai-chat", tools) | {"functions": others}), to)
    function = {"type": "function", "function": {"name": "note"}}
    expected = converted(transcript_of(request("openai-chat", [*tools, function])), to)
    assert (found.value, found.findings) == (expected.value, ())
    again = converted(transcript_of(request("openai-chat", tools) | {"functions": functions}), to)
    assert again.value["tools"] == SPELLED[to]
    assert again.kinds == {"changed tool schema": 1}
