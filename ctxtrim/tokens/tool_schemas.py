"""Tool schemas as OpenAI's models read them: declarations in a small namespace, not JSON.

The namespace and its comments follow hmarr/openai-chat-tokens,
pamelafox/openai-messages-token-helper and n0isy/openai-tokens-count. Recorded requests showed the
rest: nested objects are not indented; lines of a description are stripped; titles, descriptions,
defaults and bounds are comments; and a union has a line for each of its types.
`additionalProperties: false`, `strict`, `$schema` and the format of a property cost nothing. Empty
lines at the ends of a description are left out, and for gpt-4o all. No recorded request to a
reasoning model has others.

No request with schemas under `allOf`, `additionalProperties`, `patternProperties` or `prefixItems`
was recorded, nor with an `output_schema`. They cost as much as properties, because a bound must not
leave out their texts. All other keywords are comments with their JSON, for the same reason.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

_TYPES = {
    "string": "string",
    "integer": "number",
    "number": "number",
    "boolean": "boolean",
    "null": "null",
}
_UNIONS = ("anyOf", "oneOf", "allOf")
_CHOSEN = ("$ref", "enum", "const", *_UNIONS)  # the first of them is the type
_DEFINITIONS = ("$defs", "definitions")
_OF_OBJECTS = ("properties", "patternProperties", "additionalProperties")
_OF_ARRAYS = ("items", "prefixItems")
_READ = (
    "type", "title", "description", "default", "minimum", "maximum", "required", "format",
    "strict", "$schema",
)  # fmt: skip
_PARAMETERS = ("parameters", "input_schema", "inputSchema")  # OpenAI, Anthropic, MCP
EMPTY_LINE = "//"  # of a description
_NESTED = 40  # maximum depth of references; a schema may refer to itself
_REFERENCES = 1_000  # maximum references of a function; a tree doubles them at each depth


class _NoToolError(Exception):
    """The schemas are not a list of named functions, or have too many references."""


def render(tools: str, *, has_empty_lines: bool = False) -> str | None:
    """Tool schemas (JSON text) as a model reads them.

    None if they are not a list of named functions, or have too many references. `has_empty_lines`:
    an empty line between others in a description is an empty comment; else it is left out.
    """
    try:
        declarations = [_declaration(tool, has_empty_lines) for tool in json.loads(tools)]
    except (_NoToolError, AttributeError, KeyError, TypeError, OverflowError, RecursionError):
        return None
    return namespace(declarations)


def namespace(declarations: Sequence[str]) -> str:
    """The namespace with the declarations of functions, below its headings."""
    first, last = "# Tools\n\n## functions\n\nnamespace functions {\n", "} // namespace functions"
    return "\n".join((first, *declarations, last))


def parameters_of(function: dict[str, Any]) -> Any:
    """The schema of a function's parameters, in the shape of any API; None if it has none."""
    return next((function[key] for key in _PARAMETERS if key in function), None)


def _declaration(tool: dict[str, Any], has_empty_lines: bool) -> str:
    function = tool.get("function", tool)
    is_function = tool.get("type", "function") == "function" or "input_schema" in tool
    if not is_function or not isinstance(function["name"], str):
        raise _NoToolError
    parameters = parameters_of(function) or {}
    schema = _Schema(parameters, has_empty_lines)
    members = list(schema.members(parameters))
    comments = list(schema.description(function))
    others = _others(parameters, (*_OF_OBJECTS, *_DEFINITIONS))
    about = [*schema.description(parameters), *others, *schema.unresolved()]
    result = _result(function.get("output_schema"), has_empty_lines)
    if not members:
        return "\n".join((*comments, *about, f"type {function['name']} = () => {result};\n"))
    about = [*_title(parameters), *about, *members]
    end = f"}}) => {result};\n"
    return "\n".join((*comments, f"type {function['name']} = (_: {{", *about, end))


def _result(schema: Any, has_empty_lines: bool) -> str:
    """The type of a function's result; `any` without a schema."""
    if not isinstance(schema, dict) or not schema:
        return "any"
    return _Schema(schema, has_empty_lines).inner(schema)


class _Schema:
    """The parameters of one function. References name places in them.

    `has_empty_lines`: an empty line of a description is an empty comment.
    """

    def __init__(self, parameters: dict[str, Any], has_empty_lines: bool) -> None:
        self.has_empty_lines = has_empty_lines
        definitions = next(filter(None, map(parameters.get, _DEFINITIONS)), None)
        self.definitions = definitions if isinstance(definitions, dict) else {}
        self.root = parameters
        self.resolved: set[int] = set()
        self.depth = 0
        self.references = 0

    def members(self, schema: dict[str, Any]) -> Iterator[str]:
        """The properties of an object, one or more lines each.

        Optional properties have a question mark.
        """
        required = schema.get("required") or ()
        for name, inner in (schema.get("properties") or {}).items():
            inner = inner if isinstance(inner, dict) else {}
            yield from self.comments(inner)
            yield f"{name}{'' if name in required else '?'}: {self.type(inner)},"
        for name, inner in _patterns(schema):
            yield from self.comments(inner)
            yield f"[{_json(name)}]: {self.type(inner)},"

    def type(self, schema: dict[str, Any]) -> str:
        """The type of a schema; `any` without a type."""
        if "$ref" in schema:
            return self._referred(schema["$ref"])
        if "enum" in schema:
            return " | ".join(map(_json, schema["enum"]))
        if "const" in schema:
            return _json(schema["const"])
        for union in _UNIONS:
            if isinstance(schema.get(union), list):
                return (
                    "".join(f"\n | {self.inner(inner)}{_format(inner)}" for inner in schema[union])
                    + "\n"
                )
        kind = schema.get("type")
        if isinstance(kind, list):
            types = dict.fromkeys(kind)  # repeated types in nested schemas would multiply
            return " | ".join(self.type(schema | {"type": name}) for name in types)
        if kind == "array":
            first = schema.get("prefixItems")
            before = [f"{self.inner(item)}, " for item in first] if isinstance(first, list) else []
            return "".join(before) + self._array(schema.get("items"))
        if kind == "object":
            members = list(self.members(schema))
            return "\n".join(("{", *_title(schema), *members, "}")) if members else "object"
        return _TYPES.get(kind, "any") if isinstance(kind, str) else "any"

    def inner(self, schema: dict[str, Any]) -> str:
        """The type of a schema that is no property, with its comments."""
        text = self.type(schema)
        if text.startswith("{\n"):  # an object with its title
            return "\n".join(("{", *self.remarks(schema), text.removeprefix("{\n")))
        return "\n".join((*self.comments(schema), text))

    def _array(self, items: Any) -> str:
        """An array type.

        Objects with a property of several types cost about as much as their JSON.
        """
        if not isinstance(items, dict) or not items:
            return "any[]"
        properties = items.get("properties")
        inner = properties.values() if isinstance(properties, dict) else ()
        if any(
            isinstance(schema, dict) and isinstance(schema.get("type"), list) for schema in inner
        ):
            free = ("required", "additionalProperties")
            return f"{_json({key: items[key] for key in items if key not in free})}[]"
        return f"{self.inner(items)}[]"

    def _referred(self, reference: Any) -> str:
        definition = self._at(str(reference))
        if not isinstance(definition, dict) or self.depth >= _NESTED:
            return "any"
        self.references += 1
        if self.references > _REFERENCES:
            raise _NoToolError
        self.resolved.add(id(definition))
        self.depth += 1
        try:
            return self.inner(definition)
        finally:
            self.depth -= 1

    def _at(self, reference: str) -> Any:
        """The schema at a JSON pointer, or the definition of its last name; None without one."""
        names = [_unescaped(name) for name in reference.split("/")]
        place: Any = self.root
        for name in names[1:]:
            if isinstance(place, list):
                place = {str(index): schema for index, schema in enumerate(place)}
            place = place.get(name) if isinstance(place, dict) else None
        is_found = place is not None and len(names) > 1
        return place if is_found else self.definitions.get(names[-1])

    def unresolved(self) -> Iterator[str]:
        """The definitions that no type refers to, as a comment, because other keywords may."""
        others = {
            name: definition
            for name, definition in self.definitions.items()
            if id(definition) not in self.resolved
        }
        if others:
            yield f"// $defs: {_json(others)}"

    def comments(self, schema: dict[str, Any]) -> Iterator[str]:
        """The comment lines of a schema."""
        yield from _title(schema)
        yield from self.remarks(schema)

    def remarks(self, schema: dict[str, Any]) -> Iterator[str]:
        """The comment lines below the title: description, default, bounds and other keywords."""
        yield from self.description(schema)
        if "default" in schema:
            yield f"// default: {_json(schema['default'])}"
        for bound in ("minimum", "maximum"):
            if isinstance(schema.get(bound), (int, float)):
                yield f"// {bound}: {float(schema[bound])}"
        yield from _others(schema, _keywords_of_type(schema))

    def description(self, schema: dict[str, Any]) -> Iterator[str]:
        """The comment lines of a description."""
        description = schema.get("description")
        text = description.strip() if isinstance(description, str) else ""
        for line in map(str.strip, text.split("\n") if text else ()):
            if line:
                yield f"// {line}"
            elif self.has_empty_lines:
                yield EMPTY_LINE


def _keywords_of_type(schema: dict[str, Any]) -> Sequence[str]:
    """The keywords of which the type of a schema is made."""
    for keyword in _CHOSEN:
        if keyword in schema and (keyword not in _UNIONS or isinstance(schema[keyword], list)):
            return (keyword,)
    kinds = schema.get("type")
    kinds = kinds if isinstance(kinds, list) else [kinds]
    objects = _OF_OBJECTS if "object" in kinds else ()
    return (*objects, *_OF_ARRAYS) if "array" in kinds else objects


def _others(schema: dict[str, Any], read: Sequence[str]) -> Iterator[str]:
    """The keywords of a schema that are neither read nor without cost, with their JSON."""
    for keyword, value in schema.items():
        is_text = keyword not in _READ and keyword not in read
        if is_text and not isinstance(value, bool):
            yield f"// {keyword}: {_json(value)}"


def _patterns(schema: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The schemas of properties without a name of their own, by the pattern of their names."""
    patterns = schema.get("patternProperties")
    for name, inner in patterns.items() if isinstance(patterns, dict) else ():
        if isinstance(inner, dict):
            yield name, inner
    others = schema.get("additionalProperties")
    if isinstance(others, dict) and others:
        yield "*", others


def _title(schema: dict[str, Any]) -> Iterable[str]:
    return [f"// {schema['title']}"] if isinstance(schema.get("title"), str) else []


def _format(schema: Any) -> str:
    name = schema.get("format") if isinstance(schema, dict) else None
    return f" // format: {name}" if isinstance(name, str) else ""


def _unescaped(name: str) -> str:
    """A name in a JSON pointer without its escapes."""
    return name.replace("~1", "/").replace("~0", "~")


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
