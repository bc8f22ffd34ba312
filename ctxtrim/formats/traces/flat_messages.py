"""Messages with an attribute for each field, as Traceloop and OpenInference write them.

::

    gen_ai.prompt.0.role                 gen_ai.completion.0.tool_calls.0.arguments       Traceloop
    llm.input_messages.0.message.role    llm.output_messages.0.message.content        OpenInference

A message is removed with all its attributes; the numbers of the others stay. No message is added.
A content of Traceloop may be JSON with the blocks of Anthropic's API or of Converse: each result is
a message. OpenInference's content with an attribute for each block is read by `flat_contents`; for
the OpenAI Agents SDK it also writes the text of an answer as its content.
Sources: `instrumentation/anthropic/span_utils.py`, `instrumentation/bedrock/span_utils.py` and
`instrumentation/openai_agents/_hooks.py` of traceloop/openllmetry;
`instrumentation/anthropic/_wrappers.py` of Arize-ai/openinference.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from ctxtrim.formats.anthropic import blocks as anthropic
from ctxtrim.formats.fields import elements, members, string
from ctxtrim.formats.media_blocks import text_or_block
from ctxtrim.formats.message_lists import Envelope, ListContents
from ctxtrim.formats.message_parts import content_parts, result_parts
from ctxtrim.formats.traces import flat_contents, genai_messages
from ctxtrim.formats.traces.attributes import Attribute, Attributes
from ctxtrim.formats.traces.requests import LoggedRequest, LogRecord, opened, request_of
from ctxtrim.loading import lazy_pattern
from ctxtrim.model import Companion, Message, Part, Role, Span
from ctxtrim.text.records import dump

_NAME = lazy_pattern(
    r"(?P<list>gen_ai\.prompt|gen_ai\.completion|llm\.input_messages|llm\.output_messages)"
    r"\.(?P<number>\d+)\.(?:message\.)?(?P<field>.+)"
)
_CALL = lazy_pattern(
    r"tool_calls\.(\d+)\.(?:tool_call\.)?(?:function\.)?(id|name|arguments|reasoning_signature)"
)
_TOOL = lazy_pattern(
    r"(?:llm\.request\.functions\.(\d+)\.(\w+)|llm\.tools\.(\d+)\.tool\.json_schema)"
)
_THOUGHT = lazy_pattern(r"thinking\.\d+\.content")
_SIGNATURE = "reasoning_signature"
_CALL_IDS = ("tool_call_id", "id")
_ROLES: dict[object, Role] = {**genai_messages.ROLES, "function": "tool"}
_ANSWERS = ("gen_ai.completion", "llm.output_messages")
_CONTENTS = ("content", "user")  # the second: prompts of text completions
_BLOCKS = ("tool_use", "tool_result", "thinking", "redacted_thinking")
_CONVERSE = frozenset(("toolUse", "toolResult", "reasoningContent"))

_Fields = dict[str, Attribute]


def flat_request(record: LogRecord, attributes: Attributes) -> LoggedRequest | None:
    """The request in some attributes; None if there are none of a message."""
    lists: dict[tuple[bool, int], _Fields] = {}
    for name, attribute in attributes.by_name.items():
        match = _NAME.fullmatch(name)
        if match is not None:
            key = match["list"] in _ANSWERS, int(match["number"])
            lists.setdefault(key, {})[match["field"]] = attribute
    contents = ListContents(list(record.facts.preamble))
    for is_answer, number in sorted(lists):
        if not is_answer:
            _read(lists[is_answer, number], "user", contents)
    answer = len(contents.messages)
    for fields in _answers([lists[key] for key in sorted(lists) if key[0]]):
        _read(fields, "assistant", contents)
    facts = record.facts | Envelope(tools=_tools(attributes))
    return request_of(replace(record, facts=facts), contents, answer)


def _answers(completions: Sequence[_Fields]) -> list[_Fields]:
    """The fields of each message of an answer.

    Thinking joins the completion after it. Of several choices only the first is read; the others
    are removed with it. Choices of a text have a reason why they end; blocks and items of an answer
    have none.
    """
    answers: list[_Fields] = []
    thoughts: _Fields = {}
    for number, fields in enumerate(completions):
        role = fields["role"].value if "role" in fields else None
        if role == "thinking":
            thoughts |= {f"thinking.{number}.{name}": fields[name] for name in fields}
        elif answers and "finish_reason" in fields and not _calls(fields):
            answers[0] |= {f"choice.{number}.{name}": fields[name] for name in fields}
        else:
            answers.append(fields | thoughts)
            thoughts = {}
    return [*answers, thoughts] if thoughts else answers


def _read(fields: _Fields, speaker: Role, contents: ListContents) -> None:
    """Add the messages in some fields; without a role, they are the speaker's."""
    name = fields.get("role")
    role = _ROLES.get(string(name.value), speaker) if name else speaker
    if role == "user" and "tool_call_id" in fields:  # a result for Anthropic
        role = "tool"
        blocks = {key: fields[key] for key in fields if key.startswith("contents.")}
        if blocks and "content" in fields:  # the prompt after it
            prompt = {key: fields[key] for key in fields if key not in blocks}
            _add(role, prompt, contents)
            role, fields = "user", blocks
    _add(role, fields, contents)


def _add(role: Role, fields: _Fields, contents: ListContents) -> None:
    """Add the messages in some fields of one role."""
    contents.uncounted += flat_contents.has_unknown(fields)
    content = next((fields[key] for key in _CONTENTS if key in fields), None)
    value, span = (opened(content.value), content.span) if content else (None, Span(0))
    index = len(contents.messages)
    messages = list(_in_blocks(role, value, span, index))
    if role == "user" and len(messages) > 1:
        contents.messages += messages
        return
    if messages:
        role, parts = messages[0].role, messages[0].parts
    else:
        parts = content_parts(value or None, span, text_or_block)
    blocks = tuple(flat_contents.content_parts_of(fields))
    copies: tuple[Companion, ...] = ()
    if content and any(part.kind == "text" and part.text == content.value for part in blocks):
        parts, copies = (), (Companion(content.whole, "content", is_copy=True),)
    parts = (*_thoughts(fields), *parts, *blocks)
    calls = _calls(fields)
    ids = {call.call_id for call in calls}
    parts = tuple(part for part in parts if part.kind != "tool_call" or part.call_id not in ids)
    if role == "tool" and not messages:
        call_id = next((fields[key].value for key in _CALL_IDS if key in fields), None)
        tool_name = string(fields["name"].value) if "name" in fields else None
        parts = result_parts(parts, string(call_id), tool_name)
    if value == [] and not parts and not calls:
        return  # its messages were removed
    start = next(iter(fields.values())).span  # of a text, which takes no debug keys
    wholes = (attribute.whole for attribute in fields.values())
    contents.add(role, (*parts, *calls), start, *wholes, companions=copies)


def _in_blocks(role: Role, content: Any, span: Span, index: int) -> Iterator[Message]:
    """The messages in a list of blocks of Anthropic's API or of Converse; none in other contents.

    An answer is one message.
    """
    blocks = [members(block) for block in elements(content)]
    if any(block.get("type") in _BLOCKS for block in blocks):
        if role == "user":
            yield from anthropic.user_messages(content, span, index)
        else:
            yield Message(role, content_parts(content, span, anthropic.block))
    elif not all(map(_CONVERSE.isdisjoint, blocks)):
        from ctxtrim.formats.bedrock import converse  # for spans of Bedrock only

        contents = ListContents()
        converse.add_content(role, content, span, contents)
        for message in contents.messages:
            yield replace(message, index=index + (message.index or 0))


def _thoughts(fields: _Fields) -> Iterator[Part]:
    """The reasoning in completions of their own."""
    for name, attribute in fields.items():
        if _THOUGHT.fullmatch(name) and string(attribute.value):
            yield Part("reasoning", attribute.value, block=attribute.whole)


def _calls(fields: _Fields) -> list[Part]:
    """The calls with attributes of their own."""
    calls: dict[int, _Fields] = {}
    for name, attribute in fields.items():
        match = _CALL.fullmatch(name)
        if match is not None:
            calls.setdefault(int(match[1]), {})[match[2]] = attribute
    parts = []
    for number in sorted(calls):
        values = {key: attribute.value for key, attribute in calls[number].items()}
        identity, signature = (values.get("id"), values.get("name")), values.get(_SIGNATURE)
        parts.append(flat_contents.call(*identity, calls[number].get("arguments"), signature))
    if "function_call_name" in fields:
        arguments = fields.get("function_call_arguments_json")
        parts.append(flat_contents.call(None, fields["function_call_name"].value, arguments))
    return parts


def _tools(attributes: Attributes) -> str | None:
    """The tools: a schema each, or their fields."""
    tools: dict[int, Any] = {}
    for name, attribute in attributes.by_name.items():
        match = _TOOL.fullmatch(name)
        if match is None:
            continue
        value = opened(attribute.value)
        if match[1] is None:
            tools[int(match[3])] = value
        else:
            tools.setdefault(int(match[1]), {})[match[2]] = value
    return dump([tools[number] for number in sorted(tools)]) if tools else None
