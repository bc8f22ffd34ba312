"""Readers, one per API, of the request fields that cost tokens besides messages and tools."""

from collections.abc import Iterator, Mapping
from typing import Any

from ctxtrim.formats.fields import elements, members, string
from ctxtrim.model.request import OutputFormat, RequestOptions
from ctxtrim.text.records import dump

Fields = Mapping[str, Any]


def chat_options(fields: Fields) -> RequestOptions:
    """OpenAI Chat Completions: `response_format` with a `json_schema`; `json_object` costs nothing.

    Compatible APIs, such as DeepSeek's, also have `thinking`.
    """
    wanted = members(members(fields.get("response_format")).get("json_schema"))
    is_thinking = members(fields.get("thinking")).get("type") == "enabled"
    return RequestOptions("chat", _output(wanted, "schema"), "enabled" if is_thinking else None)


def responses_options(fields: Fields) -> RequestOptions:
    """OpenAI Responses: `text.format` with a schema, and `reasoning.mode`."""
    wanted = members(members(fields.get("text")).get("format"))
    mode = members(fields.get("reasoning")).get("mode")
    return RequestOptions("responses", _output(wanted, "schema"), "pro" if mode == "pro" else None)


def anthropic_options(fields: Fields) -> RequestOptions:
    """Anthropic: `output_format` or `output_config.format`, `thinking`, `task_budget`, citations.

    Requests to Claude through an OpenAI-compatible API look the same except for `response_format`.
    """
    if "response_format" in fields:
        return chat_options(fields)
    config = members(fields.get("output_config"))
    wanted = members(fields.get("output_format")) or members(config.get("format"))
    thinking = members(fields.get("thinking")).get("type")
    return RequestOptions(
        "anthropic",
        _output(wanted, "schema"),
        thinking if thinking in ("enabled", "adaptive") else None,
        task_budget="task_budget" in config,
        citations=any(
            members(block.get("citations")).get("enabled") is True for block in _blocks(fields)
        ),
    )


def gemini_options(fields: Fields) -> RequestOptions:
    """Gemini: `responseSchema` in the generation config, in camel or snake case."""
    config = members(fields.get("generationConfig", fields.get("generation_config")))
    schema = next((key for key in _SCHEMAS if key in config), "")
    return RequestOptions("gemini", _output(config, schema))


_SCHEMAS = ("responseSchema", "response_schema", "responseJsonSchema", "response_json_schema")


def _output(wanted: Fields, key: str) -> OutputFormat | None:
    schema = wanted.get(key)
    if not isinstance(schema, dict):
        return None
    name, about = string(wanted.get("name")), string(wanted.get("description"))
    return OutputFormat(dump(schema), name or "", about or "")


def _blocks(fields: Fields) -> Iterator[Fields]:
    """The content blocks of Anthropic's messages."""
    for message in elements(fields.get("messages")):
        content = elements(members(message).get("content"))
        yield from (block for block in content if isinstance(block, dict))
