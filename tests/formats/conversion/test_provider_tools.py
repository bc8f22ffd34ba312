"""Tools that a provider defines, wraps or groups in a way of its own."""

from typing import Any

import pytest
from conftest import Run
from conversions import converted, each_target, transcript_of

from ctxtrim.formats.conversion import TARGETS

Value = dict[str, Any]
SCHEMA = {"type": "object", "properties": {"berth": {"type": "integer"}}}
SEARCH = {"googleSearch": {}}


def request(*tools: Value) -> Value:
    return {"messages": [{"role": "user", "content": "Look."}], "tools": list(tools)}


def responses(*tools: Value) -> Value:
    """A request of OpenAI Responses."""
    return {"model": "gpt-5.4", "input": [{"role": "user", "content": "Look."}], "tools": [*tools]}


def gemini(*tools: Value) -> Value:
    return {"contents": [{"role": "user", "parts": [{"text": "Look."}]}], "tools": list(tools)}


def tools_of(source: Value, to: str) -> Any:
    """The tools of a converted request, and the kinds of its findings."""
    found = converted(transcript_of(source), to)
    return found.value.get("tools"), found.kinds


@pytest.mark.parametrize(
    "tool",
    [SEARCH, {"google_search": {}}, {"urlContext": {}}, {"code_execution": {}},
     {"retrieval": {"vertexRagStore": {}}}, {"mcpServers": [{"name": "port"}]}],
)  # fmt: skip
def test_tools_of_google_stay_in_gemini_alone(tool: Value) -> None:
    for to in TARGETS:
        kept = [tool] if to == "gemini" else None
        assert tools_of(gemini(tool), to) == (kept, {} if kept else {"lost tool schema": 1})


def test_a_tool_of_google_next_to_functions_stays_in_gemini() -> None:
    functions = {"functionDeclarations": [{"name": "look", "parametersJsonSchema": SCHEMA}]}
    found = tools_of(gemini(functions | SEARCH | {"retrieval": None}), "gemini")
    assert found == ([functions, SEARCH], {})


@pytest.mark.parametrize(
    "tool",
    [{"type": "web_search"}, {"type": "web_search_2025_08_26"}, {"type": "apply_patch"},
     {"type": "programmatic_tool_calling"}, {"type": "mcp", "server_label": "port"}],
)  # fmt: skip
def test_tools_of_openai_stay_in_responses_alone(tool: Value) -> None:
    for to in TARGETS:
        kept = [tool] if to == "openai-responses" else None
        assert tools_of(responses(tool), to) == (kept, {} if kept else {"lost tool schema": 1})


@each_target
@pytest.mark.parametrize(
    "tool",
    [{"systemTool": {"name": "nova_grounding"}}, {"cachePoint": {"type": "default"}},
     {"berths": {}}, {"type": "berths", "name": "look"}, {"type": "namespace", "tools": []}],
)  # fmt: skip
def test_unknown_tools_are_lost_and_listed(to: str, tool: Value) -> None:
    assert tools_of(request(tool), to) == (None, {"lost tool schema": 1})


@each_target
@pytest.mark.parametrize(
    "tool",
    [{"toolSpec": {"name": "look", "inputSchema": {"json": SCHEMA}}},
     {"ToolSpecification": {"name": "look", "input_schema": {"json": SCHEMA}}}],
)  # fmt: skip
def test_functions_of_bedrock_and_kiro_are_functions(to: str, tool: Value) -> None:
    function = {"type": "function", "function": {"name": "look", "parameters": SCHEMA}}
    assert tools_of(request(tool), to) == (tools_of(request(function), to)[0], {})


@each_target
def test_a_session_of_kiro_keeps_its_functions(ctxtrim: Run, to: str) -> None:
    ran = ctxtrim("convert", "--to", to, "fixtures/kiro.json")
    assert (b"execute_bash" in ran.out, b"ToolSpecification" in ran.out) == (True, False)
    assert "tool schema" not in ran.err


LOOK = {"type": "function", "name": "look", "description": "Look.", "parameters": SCHEMA}
PATCH = {"type": "custom", "name": "patch"}
PORT = {"type": "namespace", "name": "port", "description": "The port.", "tools": [LOOK, PATCH]}


def test_namespaces_stay_in_responses() -> None:
    sea = PORT | {"name": "sea"}
    note = LOOK | {"name": "note"}
    tools = [note, PORT, sea, {"type": "web_search"}]
    assert tools_of(responses(*tools), "openai-responses") == (tools, {})


@pytest.mark.parametrize("to", ["openai-chat", "anthropic", "gemini"])
def test_the_tools_of_a_namespace_have_none_elsewhere(to: str) -> None:
    tools, kinds = tools_of(responses(PORT), to)
    assert tools == tools_of(responses(LOOK, PATCH), to)[0]
    assert kinds["lost tool namespace"] == 2


def test_tools_of_codex_are_written_as_the_api_has_them() -> None:
    look = {"name": "look", "description": "Look.", "inputSchema": SCHEMA, "deferLoading": True}
    port = {"type": "namespace", "name": "port", "description": "The port."}
    dynamic = [look | {"name": "note"}, port | {"tools": [look | {"type": "function"}]}]
    written = LOOK | {"strict": False}
    assert tools_of(responses(*dynamic), "openai-responses") == (
        [written | {"name": "note"}, port | {"tools": [written]}],
        {"lost tool setting": 2},
    )
