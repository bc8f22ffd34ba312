"""Tool schemas as gpt-oss reads them: declarations as openai-harmony writes them.

openai-harmony (0.0.8) leaves out keywords that it does not know, so every schema can be written.
The description of an object occurs both before its name and before its type; that of a property
with `oneOf` occurs once.
"""

import json
from collections.abc import Iterator
from typing import Any

from ctxtrim.tokens.tool_schemas import namespace, parameters_of

_TYPES = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean"}


def render(tools: str) -> str | None:
    """Tool schemas (JSON text) as gpt-oss reads them.

    None if they are not a list of named functions.
    """
    try:
        declarations = [_declaration(tool.get("function", tool)) for tool in json.loads(tools)]
    except (AttributeError, KeyError, TypeError, RecursionError):
        return None
    return namespace(declarations)


def _declaration(function: dict[str, Any]) -> str:
    parameters, description = parameters_of(function), function.get("description") or ""
    lines = description.removesuffix("\n").replace("\r\n", "\n").split("\n") if description else ()
    takes = "" if parameters is None else f"_: {_type(parameters, '')}"
    return "\n".join(
        (*(f"// {line}" for line in lines), f"type {function['name']} = ({takes}) => any;\n")
    )


def _type(schema: Any, indent: str) -> str:
    """The type of a schema; `any` if it has no known type."""
    schema = schema if isinstance(schema, dict) else {}
    kind = schema.get("type")
    if isinstance(schema.get("oneOf"), list):
        return "".join(
            f"\n{indent} | {_nullable(variant, indent + '   ')}"
            f"{_remark(_text(variant, 'description'), variant, True)}"
            for variant in schema["oneOf"]
        )
    if isinstance(kind, list) and (kinds := [name for name in kind if isinstance(name, str)]):
        return " | ".join("number" if variant == "integer" else variant for variant in kinds)
    if kind == "object":
        return _object(schema, indent)
    if kind == "array":
        return f"{_type(schema['items'], indent)}[]" if "items" in schema else "Array<any>"
    if kind == "string" and isinstance(schema.get("enum"), list):
        return (
            " | ".join(f'"{value}"' for value in schema["enum"] if isinstance(value, str))
            or "string"
        )
    return _TYPES.get(kind, "any") if isinstance(kind, str) else "any"


def _nullable(schema: Any, indent: str) -> str:
    kind = _type(schema, indent)
    is_nullable = isinstance(schema, dict) and schema.get("nullable") is True
    return f"{kind} | null" if is_nullable and "null" not in kind else kind


def _object(schema: dict[str, Any], indent: str) -> str:
    description, properties, required = (
        _text(schema, "description"),
        schema.get("properties"),
        schema.get("required"),
    )
    lines = [f"{indent}// {description}"] if description is not None else []
    lines.append("{")
    for name, inner in properties.items() if isinstance(properties, dict) else ():
        is_required = isinstance(required, list) and name in required
        lines += _property(f"{indent}{name}{'' if is_required else '?'}:", inner, indent)
    return "\n".join((*lines, f"{indent}}}"))


def _property(name: str, schema: Any, indent: str) -> Iterator[str]:
    """The lines of a property: comments, name, type or union of types, and default."""
    schema = schema if isinstance(schema, dict) else {}
    title, description, examples = (
        _text(schema, "title"),
        _text(schema, "description"),
        schema.get("examples"),
    )
    variants = schema.get("oneOf")
    if title is not None:
        yield from (f"{indent}// {title}", f"{indent}//")
    if description is not None and "oneOf" not in schema:
        yield f"{indent}// {description}"
    if isinstance(examples, list) and examples:
        yield f"{indent}// Examples:"
        yield from (f'{indent}// - "{example}"' for example in examples if isinstance(example, str))
    if not isinstance(variants, list):
        default = _remark(None, schema) if "oneOf" not in schema else ""
        yield f"{name} {_nullable(schema, indent + '    ')},{default}"
        return
    has_description = description is not None and description != (
        _text(variants[0], "description") if variants else None
    )
    if has_description:
        yield f"{indent}// {description}"
    if "default" in schema:
        yield f"{indent}//{_remark(None, schema).removeprefix(' //')}"
    yield name
    for position, variant in enumerate(variants):
        remark = _text(variant, "description")
        if remark == description or (position == 0 and has_description):
            remark = None
        yield f"{indent} | {_nullable(variant, indent + '   ')}{_remark(remark, variant)}"
    yield f"{indent},"


def _remark(remark: str | None, schema: Any, is_quoted: bool = False) -> str:
    """The comment after a type: a remark and the default value.

    Enumeration values are bare unless `is_quoted`.
    """
    remarks = [] if remark is None else [remark]
    if isinstance(schema, dict) and "default" in schema:
        value, values = schema["default"], schema.get("enum")
        spelled = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        if isinstance(value, str):
            if not (isinstance(values, list) and values):
                spelled = f'"{value}"'  # without escapes
            elif not is_quoted:
                spelled = value
        remarks.append(f"default: {spelled}")
    return f" // {' '.join(remarks)}" if remarks else ""


def _text(schema: Any, key: str) -> str | None:
    value = schema.get(key) if isinstance(schema, dict) else None
    return value if isinstance(value, str) else None
