"""Tool schemas without a provider: OpenAI, Anthropic, Gemini, MCP and flat declarations."""

import json
from collections.abc import Iterator
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ctxtrim.formats.conversion.block_members import NO_MEMBERS, BlockMembers, members_of_tool
from ctxtrim.formats.conversion.json_schema import object_schema
from ctxtrim.formats.fields import elements, members, string
from ctxtrim.text.records import value_in

_SCHEMAS = (
    "parameters", "input_schema", "inputSchema", "parametersJsonSchema", "parameters_json_schema",
)  # fmt: skip
_WRAPPERS = ("function", "toolSpec", "ToolSpecification")
"""The members with a function: of OpenAI, Bedrock and Kiro."""
_DECLARATIONS = ("functionDeclarations", "function_declarations")
EMPTY: dict[str, Any] = {"type": "object", "properties": {}}
"""The JSON schema of a tool without parameters."""
CUSTOM: dict[str, Any] = {
    "type": "object",
    "properties": {"input": {"type": "string"}},
    "required": ["input"],
}
"""The JSON schema of a custom tool as a function."""


class Namespace(Struct, frozen=True):
    """A group of tools, as OpenAI Responses and Codex have it."""

    name: str
    description: str


class Tool(Struct, frozen=True):
    """A function that the model may call: `schema` is the JSON schema of its arguments.

    `is_custom`: a custom tool of OpenAI, whose argument is a text; `grammar` is the format of this
    text as Responses writes it. `schema` is then that of a function with the text as its `input`.
    `members` are other members of the tool. `is_of_responses`: a tool as OpenAI Responses writes
    it. `namespace` is the group of the tool.
    """

    name: str
    schema: dict[str, Any]
    description: str | None = None
    is_custom: bool = False
    grammar: dict[str, Any] | None = None
    members: BlockMembers = NO_MEMBERS
    is_of_responses: bool = False
    namespace: Namespace | None = None

    @property
    def head(self) -> dict[str, Any]:
        """The name and the description, as all APIs write them."""
        description = {} if self.description is None else {"description": self.description}
        return {"name": self.name, **description}


def tools_in(text: str) -> Iterator[Tool | dict[str, Any]]:
    """The tools in JSON text; the JSON value itself for a tool that its provider defines."""
    value = json.loads(text)
    for tool in value if isinstance(value, list) else [value]:
        if isinstance(tool, str):  # JSON in a string
            tool = value_in(tool)
        if isinstance(tool, dict):
            yield from _tools(tool)


def _tools(tool: dict[str, Any]) -> Iterator[Tool | dict[str, Any]]:
    """The tools in an element of a list of tools: declarations, a namespace, or one tool."""
    keys = [key for key in _DECLARATIONS if key in tool]
    if keys:
        for key in keys:
            for declaration in map(members, elements(tool[key])):
                yield from _function(declaration, declaration)
        rest = {key: value for key, value in tool.items() if key not in keys}
        rest = {key: value for key, value in rest.items() if value not in (None, [])}
        if rest:
            yield rest
        return
    if tool.get("type") == "namespace" and elements(tool.get("tools")):
        yield from _of_namespace(tool)
        return
    functions = (members(tool.get(key)) for key in _WRAPPERS)
    yield from _function(next(filter(None, functions), tool), tool)


def _of_namespace(tool: dict[str, Any]) -> Iterator[Tool | dict[str, Any]]:
    """The tools of a namespace."""
    name, description = string(tool.get("name")), string(tool.get("description"))
    namespace = Namespace(name or "", description or "")
    for inner in map(members, elements(tool.get("tools"))):
        for declaration in _function(inner, inner):
            if isinstance(declaration, Tool):
                declaration = replace(declaration, namespace=namespace)
            yield declaration


def _function(function: dict[str, Any], tool: dict[str, Any]) -> Iterator[Tool | dict[str, Any]]:
    """One function, or a tool without a name or of another type."""
    custom_tool = _custom(tool)
    if custom_tool is not None:
        yield custom_tool
        return
    name, kind = string(function.get("name")), tool.get("type", "function")
    is_known = kind in ("function", "custom", "object") and "custom" not in tool
    if name is None or not is_known or "format" in tool:
        yield tool
        return
    yield Tool(
        name,
        object_schema(_schema(function)),
        string(function.get("description")),
        members=members_of_tool(tool | function),
        is_of_responses=_is_of_responses(tool),
    )


def _schema(function: dict[str, Any]) -> dict[str, Any]:
    """The JSON schema of a function; that of Bedrock and Kiro is in a member `json`."""
    schemas = (members(function.get(key)) for key in _SCHEMAS)
    schema = next(filter(None, schemas), {})
    return members(schema["json"]) if schema.keys() == {"json"} else schema


def _is_of_responses(tool: dict[str, Any]) -> bool:
    """Whether a function is written as in OpenAI Responses: with a type, and no object in it."""
    return tool.get("type") == "function" and "parameters" in tool


def _custom(tool: dict[str, Any]) -> Tool | None:
    """A custom tool, as Chat Completions or Responses writes it; None for other tools."""
    inner = members(tool.get("custom")) or tool
    name = string(inner.get("name"))
    has_schema = any(key in inner for key in _SCHEMAS)  # Anthropic's functions may be custom
    if tool.get("type") != "custom" or has_schema or name is None:
        return None
    form = members(inner.get("format"))
    grammar = None
    if form.get("type") == "grammar":
        grammar = {"type": "grammar"} | members(form.get("grammar", form))
    return Tool(
        name,
        CUSTOM,
        string(inner.get("description")),
        is_custom=True,
        grammar=grammar,
        members=members_of_tool(tool | inner),
        is_of_responses=inner is tool,
    )
