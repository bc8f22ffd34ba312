"""How OpenAI's models read tool schemas: as the declarations of a small namespace, not as JSON.

What the API adds to a prompt for its tools was worked out from its own counts by several people, whose findings are
followed here: hmarr/openai-chat-tokens, pamelafox/openai-messages-token-helper, n0isy/openai-tokens-count. On the 24
counts that the first two recorded, the tokens of this text and 6 more were never too few, and at most 10 too many.
"""

import json
from collections.abc import Iterator
from typing import Any

_TYPES = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}
_TOOL = {"type", "function"}
_FUNCTION = {"name", "description", "parameters"}
_SCHEMA = {"type", "description", "properties", "required", "enum", "items"}


class _UnknownError(Exception):
    """A keyword whose spelling nobody has measured."""


def rendered(tools: str) -> str | None:
    """Tool schemas (JSON text) as a model reads them; None where they use a keyword whose spelling is not known."""
    try:
        declarations = [_declaration(tool) for tool in json.loads(tools)]
    except (_UnknownError, AttributeError, KeyError, TypeError, RecursionError):
        return None
    return "\n".join(("# Tools\n\n## functions\n\nnamespace functions {\n", *declarations, "} // namespace functions"))


def _declaration(tool: dict[str, Any]) -> str:
    function = tool.get("function", tool)
    if (function is not tool and tool.keys() - _TOOL) or function.keys() - _FUNCTION:
        raise _UnknownError
    lines = list(_comment(function, ""))
    members = list(_members(function.get("parameters") or {}, ""))
    if members:
        lines += [f"type {function['name']} = (_: {{", *members, "}) => any;\n"]
    else:
        lines.append(f"type {function['name']} = () => any;\n")
    return "\n".join(lines)


def _members(schema: dict[str, Any], indent: str) -> Iterator[str]:
    """The properties of an object, a line or more each; those that are not required have a question mark."""
    required = schema.get("required") or ()
    for name, inner in (schema.get("properties") or {}).items():
        yield from _comment(inner, indent)
        yield f"{indent}{name}{'' if name in required else '?'}: {_type(inner, indent)},"


def _comment(schema: dict[str, Any], indent: str) -> Iterator[str]:
    for line in (schema.get("description") or "").split("\n"):
        if line or schema.get("description"):
            yield f"{indent}// {line}"


def _type(schema: dict[str, Any], indent: str) -> str:
    if schema.keys() - _SCHEMA:
        raise _UnknownError
    kind = schema.get("type")
    if "enum" in schema:
        return " | ".join(json.dumps(value, ensure_ascii=False) for value in schema["enum"])
    if kind is None:
        return "any"
    if kind == "array":
        return _array(schema, indent)
    if kind == "object":
        members = list(_members(schema, indent + "  "))
        return "\n".join(("{", *members, f"{indent}}}")) if members else "object"
    if kind not in _TYPES:
        raise _UnknownError
    return _TYPES[kind]


def _array(schema: dict[str, Any], indent: str) -> str:
    items = schema.get("items")
    if not items:
        return "any[]"
    inner = _type(items, indent)
    return f"Array<\n{inner}\n>" if items.get("type") == "object" else f"{inner}[]"
