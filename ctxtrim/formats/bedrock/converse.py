"""The messages of the Converse API, and new messages among them.

A user element may contain several messages, as in Anthropic's API: each `toolResult` is a tool
result, and each run of other blocks is a message. Cache points are not sent to the model.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import starmap
from typing import Any

from msgspec.structs import replace

from ctxtrim.formats.anthropic import message_edits
from ctxtrim.formats.anthropic.messages import takes_system
from ctxtrim.formats.base import Insertion, Site
from ctxtrim.formats.bedrock import is_empty, knows, message_in, strands
from ctxtrim.formats.block_messages import add_messages
from ctxtrim.formats.fields import elements, first_string, located, members, role_in, string
from ctxtrim.formats.media_blocks import inline_media, untyped_text
from ctxtrim.formats.message_lists import Element, Envelope, ListContents
from ctxtrim.formats.message_parts import (
    SYSTEM_PROMPTS,
    call_part,
    json_part,
    result_parts,
    text_of,
)
from ctxtrim.formats.request_options import anthropic_options
from ctxtrim.formats.usage import bedrock_usage
from ctxtrim.model import Message, Part, Role, Span
from ctxtrim.model.request import RequestOptions
from ctxtrim.text.json_paths import Path
from ctxtrim.text.records import dump, value_in

_ROLES: dict[object, Role] = {"user": "user", "assistant": "assistant", "system": "system"}
_MEDIA = {"image": "image", "video": "video", "audio": "audio", "document": "application"}
"""Members with media, and the first halves of their media types."""
_MESSAGE_KEYS = ("message", "redact_message")
_TEXT_FORMATS = ("csv", "html", "md", "txt")
_STORED_PROMPT = ":prompt/"
"""In the ARN of a prompt that Bedrock stores, which may name a model, a system prompt and tools."""


def read(items: Iterable[Element], contents: ListContents) -> None:
    """Read the messages of each element."""
    for value, span, _ in items:
        message, keys = message_in(value)
        role = role_in(message, "role", _ROLES)
        if role is not None and is_empty(value):
            contents.add(role, (), span)
            continue
        if role is None or not knows(value):
            contents.uncounted += "role" in message
            continue
        start = len(contents.messages)
        add_content(role, message["content"], span.inside(*keys, "content"), contents)
        if role == "system" and start and takes_system(contents.messages[start - 1]):
            contents.change(start, continues=True)
        if strands.is_summary(span):
            for position in range(start, len(contents.messages)):
                contents.change(position, is_injected=True, is_summary=True)
        if role == "assistant":
            usage = members(message.get("metadata")).get("usage")
            contents.add_usage(bedrock_usage(usage, len(contents.messages) - 1))


def add_content(role: Role, content: Sequence[Any], home: Span, contents: ListContents) -> None:
    """Add the messages of a content, a list of blocks at `home`."""
    read_part = _part if role == "assistant" else _user_part
    add_messages(role, located(content, home), contents, read_part, _result)


def _part(value: Any, span: Span) -> Part | None:
    """A block of an answer; any other block than those of the API counts as its JSON."""
    block = members(value)
    if block.keys() == {"cachePoint"}:
        return None
    call = block.get("toolUse")
    if isinstance(call, dict):
        arguments = dump(call.get("input"))
        return call_part(arguments, call.get("toolUseId"), call.get("name"), None, span)
    for key in ("reasoningContent", "reasoning"):
        if isinstance(block.get(key), dict):
            return _reasoning(block[key], span)
    return _content(value, span)


def _user_part(value: Any, span: Span) -> Part | None:
    """A block of the user; only the model makes calls."""
    part = _part(value, span)
    return part if part is None or part.kind != "tool_call" else json_part(value, span)


def _reasoning(value: dict[str, Any], span: Span) -> Part:
    """Reasoning with its text, or encrypted; the signature of a text is not sent to the model.

    Strands Agents in TypeScript writes the members of `reasoningText` next to `redactedContent`.
    """
    inner = members(value.get("reasoningText")) or value
    text = string(inner.get("text")) or ""
    sealed = len(string(inner.get("signature")) or "") if not text else 0
    data = _data(value.get("redactedContent"))
    return Part("reasoning", text, block=span, sealed=sealed + len(data or ""))


def _content(value: Any, span: Span) -> Part:
    """A text or an attachment of a message or a result."""
    block = members(value)
    if isinstance(block.get("text"), str):
        return Part("text", block["text"], span=span.inside("text"), block=span)
    guard = members(block.get("guardContent"))
    guard_text = members(guard.get("text"))
    if isinstance(guard_text.get("text"), str):
        home = span.inside("guardContent", "text", "text")
        return Part("text", guard_text["text"], span=home, block=span)
    if isinstance(guard.get("image"), dict):
        return _attachment("image", guard, span)
    if "json" in block:
        return json_part(block["json"], span)
    kind = next((key for key in _MEDIA if isinstance(block.get(key), dict)), None)
    return json_part(value, span) if kind is None else _attachment(kind, block, span)


def _attachment(kind: str, block: Mapping[str, Any], span: Span) -> Part:
    """An attachment. A document with texts counts as its JSON."""
    inner = block[kind]
    source, name = members(inner.get("source")), string(inner.get("format")) or ""
    if kind == "document" and ("text" in source or "content" in source):
        return Part("attachment", dump(block), block=span, text_block=untyped_text)
    mime = f"text/{name}" if name in _TEXT_FORMATS else f"{_MEDIA[kind]}/{name}"
    media = inline_media(_data(source.get("bytes")), mime)
    return Part("attachment", media=media, block=span, text_block=untyped_text)


def _data(value: Any) -> str | None:
    """Bytes in base64; Strands Agents writes them as an object."""
    return string(value) or string(members(value).get("data"))


def _result(value: Any, span: Span) -> tuple[Part, ...]:
    """The parts of a result; none of another block."""
    answer = members(value).get("toolResult")
    if not isinstance(answer, dict):
        return ()
    status, home = answer.get("status"), span.inside("toolResult", "content")
    is_error = status == "error" if isinstance(status, str) else None
    parts = [_content(*block) for block in located(answer.get("content"), home)]
    return result_parts(parts, string(answer.get("toolUseId")), is_error=is_error)


def envelope(value: dict[str, Any], span: Span) -> Envelope:
    """The system prompt as a message, the tools and their choice, model, id and usage.

    `additionalModelRequestFields` are fields of the API of the model, such as Anthropic's.
    """
    config = members(value.get("toolConfig"))
    fields = members(value.get("additionalModelRequestFields"))
    return Envelope(
        _tools([*elements(config.get("tools")), *elements(fields.get("tools"))]),
        tool_choice=_choice(config.get("toolChoice")),
        model=first_string((value.get("modelId"), value.get("model"))),
        id=first_string((value.get("requestId"), value.get("recordId"), value.get("id"))),
        usage=bedrock_usage(value.get("usage")),
        preamble=_system(value, span),
        options=_options(value, fields),
    )


def _options(request: Mapping[str, Any], fields: dict[str, Any]) -> RequestOptions:
    """The thinking and the structured output of a request, and whether Bedrock stores a prompt."""
    output: Any = request.get("outputConfig")
    for key in ("textFormat", "structure", "jsonSchema"):
        output = members(output).get(key)
    if isinstance(output, dict):  # its schema is JSON in a string
        schema = value_in(string(output.get("schema")) or "")
        fields = fields | {"output_format": output | {"schema": schema}}
    if "reasoning_config" in fields:
        fields = {"thinking": fields["reasoning_config"]} | fields
    options = anthropic_options(fields)
    if _STORED_PROMPT in (string(request.get("modelId")) or ""):
        options = options | RequestOptions(hidden=("modelId",))
    return options


def _system(value: Mapping[str, Any], span: Span) -> tuple[Message, ...]:
    """The message with the system prompt, if there is one."""
    key = next((key for key in SYSTEM_PROMPTS if value.get(key)), None)
    if key is None:
        return ()
    home, prompt = span.inside(key), value[key]
    if isinstance(prompt, str):
        parts: tuple[Part, ...] = (Part("text", prompt, span=home),)
    else:
        parts = tuple(filter(None, starmap(_part, located(prompt, home))))
    return (Message("system", parts, index=0, spans=(home,)),) if parts else ()


def _tools(values: Iterable[Any]) -> str | None:
    """The tool schemas as Anthropic spells them, which `convert` reads too; None without tools."""
    tools = [_tool(members(value)) for value in values]
    tools = [tool for tool in tools if "cachePoint" not in tool]
    return dump(tools) if tools else None


def _tool(tool: dict[str, Any]) -> dict[str, Any]:
    schema = members(tool.get("toolSpec"))
    if not schema:
        return tool
    fields = {key: schema[key] for key in ("name", "description") if key in schema}
    return fields | {"input_schema": members(members(schema.get("inputSchema")).get("json"))}


def _choice(choice: Any) -> str | None:
    """The name of the tool that must be called, or `auto` or `any`."""
    tool_choice = members(choice)
    return string(members(tool_choice.get("tool")).get("name")) or next(iter(tool_choice), None)


def owner(array: Path) -> Path | None:
    """The owner of an array as in Anthropic's API; a result stays without a text."""
    is_stable = array[-2:-1] in (("toolResult",), ("source",))
    return None if is_stable else message_edits.owner(array)


def insert(run: Sequence[Message], site: Site) -> list[Insertion]:
    """New messages where Anthropic's API takes them, as Converse writes them."""
    site = strands.list_site(run, site)
    record = _new_record(site)

    def element(messages: Sequence[Message], neighbour: Any, number: int) -> dict[str, Any]:
        role = "user" if messages[0].role == "tool" else messages[0].role
        message = {"role": role, "content": list(map(_block, messages))}
        return {"message": message, **record} if "message" in neighbour else message

    return [
        replace(insertion, reopened=_reopened(insertion.span, site))
        for insertion in message_edits.insert_as(run, site, _block, element)
    ]


def _block(message: Message) -> dict[str, Any]:
    """A new message as a block: a result or a text."""
    text, result = untyped_text(text_of(message.parts)), message.result
    if result is None:
        return text
    answer = {"toolUseId": result.call_id, "content": [text]}
    if result.is_error is not None:
        answer["status"] = "error" if result.is_error else "success"
    return {"toolResult": answer}


def _reopened(span: Span, site: Site) -> dict[str, Any]:
    """The members around a message of Strands Agents that is split. One half has its number."""
    record, key = _record_around(span, site)
    if "message_id" not in record:
        return {}
    return {name: record[name] for name in record if name != key} | {"message_id": None}


def _new_record(site: Site) -> dict[str, Any]:
    """What Strands Agents writes around a message of the list. A new message has no number."""
    record, _ = _record_around(site.last.spans[0], site)
    fields = {name: record[name] for name in record if name not in _MESSAGE_KEYS}
    return fields | {"message_id": None} if "message_id" in fields else fields


def _record_around(span: Span, site: Site) -> tuple[dict[str, Any], str]:
    """The object around the message at a span, and the key of the message; without one, the value
    at the span and an empty key.
    """
    for depth, key in enumerate(span.path):
        if key in _MESSAGE_KEYS:
            return members(site.value_of(Span(span.line, span.path[:depth]))), str(key)
    return members(site.value_of(span)), ""
