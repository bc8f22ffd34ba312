"""Schemas of arguments as JSON Schema: Gemini, BFCL and others name types in their own way."""

from typing import Any

from ctxtrim.formats.fields import elements, members, string

_UNIONS = ("anyOf", "oneOf", "allOf")
_REFUSED_KEYWORDS = (*_UNIONS, "enum", "not")
"""Keywords that OpenAI refuses at the top of a schema; Anthropic refuses the unions."""
_SCHEMA_MAPS = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
"""Members that map names to schemas; a name may be that of a keyword, such as `default`."""
_VALUE_KEYWORDS = (
    "enum", "const", "default", "example", "examples", "required", "description", "title",
)  # fmt: skip
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
_JSON_TYPES = ("object", "array", "string", "integer", "number", "boolean", "null")


def object_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema of an object as JSON Schema."""
    json_schema = _schema(_resolved(schema, schema))
    if json_schema.get("type") != "object":
        json_schema["type"] = "object"
    return json_schema if "properties" in json_schema else {**json_schema, "properties": {}}


def _resolved(schema: dict[str, Any], root: dict[str, Any]) -> dict[str, Any]:
    """The schema, with the definition in its root that it refers to."""
    group, _, name = (string(schema.get("$ref")) or "").removeprefix("#/").partition("/")
    definition = members(members(root.get(group)).get(name))
    if not definition:
        return schema
    return definition | {key: value for key, value in schema.items() if key != "$ref"}


def has_unions(schema: dict[str, Any]) -> bool:
    """Whether a schema of an object has keywords at the top that OpenAI or Anthropic refuse."""
    return any(key in schema for key in _REFUSED_KEYWORDS)


def without_unions(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema of an object without alternatives, with the properties of all of them."""
    flat_schema = {key: value for key, value in schema.items() if key not in _REFUSED_KEYWORDS}
    properties: dict[str, Any] = {}
    required_names = _required(schema)
    for union in _UNIONS:
        for inner in elements(schema.get(union)):
            part = _resolved(members(inner), schema)
            properties |= members(part.get("properties"))
            if union == "allOf":
                required_names += _required(part)
    flat_schema["properties"] = properties | members(schema.get("properties"))
    if required_names:
        flat_schema["required"] = list(dict.fromkeys(required_names))
    return flat_schema


def _required(schema: dict[str, Any]) -> list[str]:
    return [name for name in elements(schema.get("required")) if isinstance(name, str)]


def _schema(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema with the type names of JSON Schema, without members that are null."""
    json_schema: dict[str, Any] = {}
    for key, value in schema.items():
        is_missing = value is None and key not in _MAY_BE_NULL
        if not is_missing and not (key == "nullable" and isinstance(value, bool)):
            json_schema[key] = _member(key, value)
    types = _types(json_schema.get("type"))
    if types and schema.get("nullable") is True and "null" not in types:
        types.append("null")
    if types:
        json_schema["type"] = types if len(types) > 1 else types[0]
    else:
        json_schema.pop("type", None)
    if "array" in types and not ("items" in json_schema or "prefixItems" in json_schema):
        json_schema["items"] = {}  # any item; OpenAI refuses arrays without
    return json_schema


def _member(key: str, value: Any) -> Any:
    """The value of a member, with the schemas inside it."""
    if key in _VALUE_KEYWORDS:
        return value
    if isinstance(value, list):
        return [_schema(inner) if isinstance(inner, dict) else inner for inner in value]
    if not isinstance(value, dict):
        return value
    if key not in _SCHEMA_MAPS:
        return _schema(value)
    schemas = {}
    for name, inner in value.items():
        schemas[name] = _schema(inner) if isinstance(inner, dict) else inner
    return schemas


def _types(kind: Any) -> list[Any]:
    """The types of a schema; none if it accepts any type."""
    kinds = kind if isinstance(kind, list) else [kind]
    return [_type(name) for name in kinds if name not in (None, "any")]


def _type(kind: Any) -> Any:
    """The name of a type in JSON Schema; the type itself if it is unknown."""
    name = kind.lower() if isinstance(kind, str) else kind
    name = _TYPES.get(name, name) if isinstance(name, str) else name
    return name if name in _JSON_TYPES else kind
