"""Schemas of arguments as JSON Schema: Gemini, BFCL and others name types in their own way."""

from typing import Any

from ctxtrim.formats.fields import elements, members, string

_UNIONS = ("anyOf", "oneOf", "allOf")
_REFUSED = (*_UNIONS, "enum", "not")  # by OpenAI, at the top; Anthropic refuses the unions
_NAMED = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
"""Members that map names to schemas; a name may be that of a keyword, such as `default`."""
_VALUES = ("enum", "const", "default", "example", "examples", "required", "description", "title")
"""Members that contain values, not schemas."""
_MAY_BE_NULL = ("const", "default", "example")
_TYPES = {
    "dict": "object",
    "list": "array",
    "tuple": "array",
    "str": "string",
    "int": "integer",
    "float": "number",
    "bool": "boolean",
}
_KNOWN = ("object", "array", "string", "integer", "number", "boolean", "null")


def object_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema of an object as JSON Schema."""
    found = _schema(_resolved(schema, schema))
    if found.get("type") != "object":
        found["type"] = "object"
    return found if "properties" in found else {**found, "properties": {}}


def _resolved(schema: dict[str, Any], root: dict[str, Any]) -> dict[str, Any]:
    """A schema; the definition in its root that it refers to, if it does."""
    group, _, name = (string(schema.get("$ref")) or "").removeprefix("#/").partition("/")
    definition = members(members(root.get(group)).get(name))
    if not definition:
        return schema
    return definition | {key: value for key, value in schema.items() if key != "$ref"}


def has_unions(schema: dict[str, Any]) -> bool:
    """Whether a schema of an object has keywords at the top that OpenAI or Anthropic refuse."""
    return any(key in schema for key in _REFUSED)


def without_unions(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema of an object with the properties of all its alternatives, and without these."""
    found = {key: value for key, value in schema.items() if key not in _REFUSED}
    properties: dict[str, Any] = {}
    required = _required(schema)
    for union in _UNIONS:
        for inner in elements(schema.get(union)):
            part = _resolved(members(inner), schema)
            properties |= members(part.get("properties"))
            if union == "allOf":
                required += _required(part)
    found["properties"] = properties | members(schema.get("properties"))
    return found | ({"required": list(dict.fromkeys(required))} if required else {})


def _required(schema: dict[str, Any]) -> list[str]:
    return [name for name in elements(schema.get("required")) if isinstance(name, str)]


def _schema(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema with the type names of JSON Schema, without members that are null."""
    found: dict[str, Any] = {}
    for key, value in schema.items():
        is_missing = value is None and key not in _MAY_BE_NULL
        if not is_missing and not (key == "nullable" and isinstance(value, bool)):
            found[key] = _member(key, value)
    types = _types(found.get("type"))
    if types and schema.get("nullable") is True and "null" not in types:
        types.append("null")
    if types:
        found["type"] = types if len(types) > 1 else types[0]
    else:
        found.pop("type", None)
    if "array" in types and not ("items" in found or "prefixItems" in found):
        found["items"] = {}  # any item; OpenAI refuses arrays without
    return found


def _member(key: str, value: Any) -> Any:
    """The value of a member, with the schemas inside it."""
    if key in _VALUES:
        return value
    if isinstance(value, list):
        return [_schema(inner) if isinstance(inner, dict) else inner for inner in value]
    if not isinstance(value, dict):
        return value
    if key not in _NAMED:
        return _schema(value)
    found = {}
    for name, inner in value.items():
        found[name] = _schema(inner) if isinstance(inner, dict) else inner
    return found


def _types(kind: Any) -> list[Any]:
    """The types of a schema; none if it accepts any type."""
    kinds = kind if isinstance(kind, list) else [kind]
    return [_type(each) for each in kinds if each is not None and each != "any"]


def _type(kind: Any) -> Any:
    """The name of a type in JSON Schema; the type itself if it is unknown."""
    name = kind.lower() if isinstance(kind, str) else kind
    name = _TYPES.get(name, name) if isinstance(name, str) else name
    return name if name in _KNOWN else kind
