"""Readers, one per API, of the request fields that cost tokens besides messages and tools."""

from collections.abc import Iterator, Mapping
from typing import Any

from ctxtrim.model import OutputFormat, RequestOptions
from ctxtrim.text.records import dump

Fields = Mapping[str, Any]


def chat_options(fields: Fields) -> RequestOptions:
    """OpenAI Chat Completions: `response_format` with a `json_schema`; `json_object` costs nothing.

    Compatible APIs, such as DeepSeek's, also have `thinking`.
    """
    wanted = _object(_object(fields.get("response_format")).get("json_schema"))
    is_thinking = _object(fields.get("thinking")).get("type") == "enabled"
    return RequestOptions("chat", _output(wanted, "schema"), "enabled" if is_thinking else None)


def responses_options(fields: Fields) -> RequestOptions:
    """OpenAI Responses: `text.format` with a schema, and `reasoning.mode`."""
    wanted = _object(_object(fields.get("text")).get("format"))
    mode = _object(fields.get("reasoning")).get("mode")
    return RequestOptions("responses", _output(wanted, "schema"), "pro" if mode == "pro" else None)


def anthropic_options(fields: Fields) -> RequestOptions:
    """Anthropic: `output_format` or `output_config.format`, `thinking`, `task_budget`, citations.

    Requests to Claude through an OpenAI-compatible API look the same except for `response_format`.
    """
    if "response_format" in fields:
        return chat_options(fields)
    config = _object(fields.get("output_config"))
    wanted = _object(fields.get("output_format")) or _object(config.get("format"))
    thinking = _object(fields.get("thinking")).get("type")
    return RequestOptions(
        "anthropic",
        _output(wanted, "schema"),
        thinking if thinking in ("enabled", "adaptive") else None,
        task_budget="task_budget" in config,
        citations=any(
            _object(block.get("citations")).get("enabled") is True for block in _blocks(fields)
        ),
    )


def gemini_options(fields: Fields) -> RequestOptions:
    """Gemini: `responseSchema` in the generation config, in camel or snake case."""
    config = _object(_either(fields, "generationConfig", "generation_config"))
    for schema in (
        "responseSchema",
        "response_schema",
        "responseJsonSchema",
        "response_json_schema",
    ):
        if schema in config:
            return RequestOptions("gemini", _output(config, schema))
    return RequestOptions("gemini")


def _output(wanted: Fields, key: str) -> OutputFormat | None:
    schema = wanted.get(key)
    if not isinstance(schema, dict):
        return None
    name, about = wanted.get("name"), wanted.get("description")
    return OutputFormat(
        dump(schema), name if isinstance(name, str) else "", about if isinstance(about, str) else ""
    )


def _blocks(fields: Fields) -> Iterator[Fields]:
    """The content blocks of Anthropic's messages."""
    messages = fields.get("messages")
    for message in messages if isinstance(messages, list) else ():
        content = _object(message).get("content")
        yield from (
            (block for block in content if isinstance(block, dict))
            if isinstance(content, list)
            else ()
        )


def _either(fields: Fields, *keys: str) -> Any:
    return next((fields[key] for key in keys if key in fields), None)


def _object(value: Any) -> Fields:
    return value if isinstance(value, dict) else {}
