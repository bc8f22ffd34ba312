"""Messages with an attribute for each field, as Traceloop and OpenInference write them.

::

    gen_ai.prompt.0.role                 gen_ai.completion.0.tool_calls.0.arguments       Traceloop
    llm.input_messages.0.message.role    llm.output_messages.0.message.content        OpenInference

A message is removed with all its attributes; the numbers of the others stay. No message is added.
"""

from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from ctxtrim.formats.fields import role_in, string
from ctxtrim.formats.media_blocks import media_of, text_or_block
from ctxtrim.formats.message_lists import Envelope
from ctxtrim.formats.message_parts import call_part, content_parts, result_parts
from ctxtrim.formats.traces.attributes import Attribute, Attributes
from ctxtrim.formats.traces.genai_messages import ROLES
from ctxtrim.formats.traces.requests import Field, LoggedRequest, opened
from ctxtrim.loading.lazy_pattern import lazy_pattern
from ctxtrim.model import Message, Part, Role, Span
from ctxtrim.text.records import dump

_NAME = lazy_pattern(
    r"(?P<list>gen_ai\.prompt|gen_ai\.completion|llm\.input_messages|llm\.output_messages)"
    r"\.(?P<number>\d+)\.(?:message\.)?(?P<field>.+)"
)
_BLOCK = lazy_pattern(r"contents\.(\d+)\.message_content\.(text|image\.image\.url)")
_CALL = lazy_pattern(r"tool_calls\.(\d+)\.(?:tool_call\.)?(?:function\.)?(id|name|arguments)")
_TOOL = lazy_pattern(
    r"(?:llm\.request\.functions\.(\d+)\.(\w+)|llm\.tools\.(\d+)\.tool\.json_schema)"
)
_ANSWERS = ("gen_ai.completion", "llm.output_messages")

_Fields = dict[str, Attribute]


def flat_request(
    span: Span, trace: str | None, found: Attributes, facts: Envelope
) -> LoggedRequest | None:
    """The request in some attributes; None if there are none of a message."""
    lists: dict[tuple[bool, int], _Fields] = {}
    for name, attribute in found.by_name.items():
        match = _NAME.fullmatch(name)
        if match is not None:
            key = match["list"] in _ANSWERS, int(match["number"])
            lists.setdefault(key, {})[match["field"]] = attribute
    if not lists:
        return None
    answer = len(facts.preamble) + sum(not is_answer for is_answer, _ in lists)
    messages = list(facts.preamble)
    for key in sorted(lists):
        messages.append(_message(lists[key], key[0], len(messages)))
    has_usage = facts.usage is not None and answer < len(messages)
    usages = (replace(facts.usage, message=answer),) if facts.usage and has_usage else ()
    envelope = facts | Envelope(tools=_tools(found))
    return LoggedRequest(span, trace, tuple(messages), answer, envelope, usages)


def _message(fields: _Fields, is_answer: bool, index: int) -> Message:
    """The message with some fields. All its attributes are removed with it."""
    name = fields.get("role")
    known = role_in({"role": name.value}, "role", ROLES) if name else None
    role: Role = known or ("assistant" if is_answer else "user")
    parts = tuple(_texts(fields))
    if role == "tool":
        call_id = next((fields[key].value for key in ("tool_call_id", "id") if key in fields), None)
        parts = result_parts(parts, string(call_id))
    first = next(iter(fields.values()))  # a text, which takes no debug keys
    spans = (first.span, *(attribute.whole for attribute in fields.values()))
    return Message(role, (*parts, *_calls(fields)), index=index, spans=spans)


def _texts(fields: _Fields) -> Iterator[Part]:
    """The content: a text, blocks as JSON in a string, or an attribute for each block."""
    content = fields.get("content")
    if content is not None and content.value:
        value, span = opened(Field(content.value, content.span))
        yield from content_parts(value, span, text_or_block)
    blocks = {int(match[1]): match[0] for name in fields if (match := _BLOCK.fullmatch(name))}
    for number in sorted(blocks):
        block = fields[blocks[number]]
        if blocks[number].endswith("url"):
            image = {"type": "image_url", "image_url": {"url": block.value}}
            yield Part("attachment", media=media_of(image))
        else:
            yield Part("text", str(block.value), span=block.span)


def _calls(fields: _Fields) -> Iterator[Part]:
    calls: dict[int, dict[str, Attribute]] = {}
    for name, attribute in fields.items():
        match = _CALL.fullmatch(name)
        if match is not None:
            calls.setdefault(int(match[1]), {})[match[2]] = attribute
    for number in sorted(calls):
        values = {key: attribute.value for key, attribute in calls[number].items()}
        arguments = calls[number].get("arguments")
        span = arguments.span if arguments else None
        yield call_part(values.get("arguments"), values.get("id"), values.get("name"), span, None)


def _tools(found: Attributes) -> str | None:
    """The tools: a schema each, or their fields."""
    tools: dict[int, Any] = {}
    for name, attribute in found.by_name.items():
        match = _TOOL.fullmatch(name)
        if match is None:
            continue
        value = opened(Field(attribute.value, attribute.span)).value
        if match[1] is None:
            tools[int(match[3])] = value
        else:
            tools.setdefault(int(match[1]), {})[match[2]] = value
    return dump([tools[number] for number in sorted(tools)]) if tools else None
