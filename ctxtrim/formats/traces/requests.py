"""Reads a logged request: its messages, and the answer next to them, in the dialect of its API.

Input and output are messages, objects around them (requests and responses of providers), JSON in a
string, or a plain text.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from ctxtrim.formats import bedrock
from ctxtrim.formats.anthropic import messages as anthropic
from ctxtrim.formats.anthropic.blocks import block as anthropic_block
from ctxtrim.formats.fields import elements, members
from ctxtrim.formats.gemini import contents as gemini
from ctxtrim.formats.message_lists import Dialect, Element, Envelope, ListContents
from ctxtrim.formats.message_parts import content_parts
from ctxtrim.formats.openai import chat as openai_chat
from ctxtrim.formats.openai import responses as openai_responses
from ctxtrim.formats.traces import genai_messages, langchain_messages
from ctxtrim.model import Message, Part, Role, Span
from ctxtrim.model.request import Usage
from ctxtrim.text.records import value_in

_DIALECTS = (
    genai_messages.DIALECT,
    langchain_messages.DIALECT,
    bedrock.DIALECT,
    anthropic.DIALECT,
    openai_responses.DIALECT,
    openai_chat.DIALECT,
    gemini.DIALECT,
)
_LISTS = ("messages", "contents", "input", "prompts", "prompt")
"""Members of a request that contain its messages."""
_ANSWERS = (
    "choices", "generations", "candidates", "message", "messages", "output", "response", "content",
)  # fmt: skip
"""Members of a response that contain its answer."""
_BLOCKS = ("thinking", "redacted_thinking", "tool_use", "server_tool_use", "web_search_tool_result")
"""Blocks of an answer of Anthropic, besides texts."""


class Field(NamedTuple):
    """A value of a record, and its location."""

    value: Any
    span: Span


class LoggedRequest(Struct, frozen=True):
    """A request to a model, as a program logged it.

    `span` locates its record. `trace` is the id of its trace, None if it has none. `answer` is the
    index of the first message of the answer; the messages before it were sent. `envelope` has its
    tools, model and id. `is_around`: the record is around requests, such as the run of an agent;
    it counts only if its trace has no other records. `locked`: why it is not edited, or empty.
    """

    span: Span
    trace: str | None
    messages: tuple[Message, ...]
    answer: int
    envelope: Envelope
    usages: tuple[Usage, ...] = ()
    uncounted: int = 0
    is_around: bool = False
    locked: str = ""


class _Body(Struct):
    """Elements of one side of a request, or the `text` or the list of `blocks` that it is;
    `around`: the object around the elements.
    """

    elements: list[Element] = field(default_factory=list)
    text: Field | None = None
    blocks: Field | None = None
    around: Field | None = None


def logged_request(
    span: Span, trace: str | None, sent: Sequence[Field], received: Field, facts: Envelope
) -> LoggedRequest | None:
    """A request with its answer; None if it has neither.

    `sent`: the fields with its messages, of which the first may be system instructions. `facts`:
    what the record says about it.
    """
    prompts = [_sent(each) for each in sent]
    answered = _Body()
    _received(received, answered)
    around = next((body.around for body in prompts if body.around is not None), None)
    values = [element.value for body in (*prompts, answered) for element in body.elements]
    dialect = dialect_of(values, around.value if around else {})
    envelope = facts
    if dialect is not None and around is not None:
        envelope = dialect.envelope(*around) | facts
    found = ListContents(list(envelope.preamble))
    for body in prompts:
        _read(dialect, body, "user", found)
    answer = len(found.messages)
    _read(dialect, answered, "assistant", found)
    if not found.messages and not found.uncounted:
        return None
    usages = [usage for usage in found.usages if usage.message != answer]
    if envelope.usage is not None and answer < len(found.messages):
        usages.append(replace(envelope.usage, message=answer))
    elif len(usages) < len(found.usages):
        usages.append(found.usages[-1])
    return LoggedRequest(
        span, trace, tuple(found.messages), answer, envelope, tuple(usages), found.uncounted
    )


def dialect_of(values: Sequence[Any], around: Mapping[str, Any]) -> Dialect | None:
    """The dialect of some messages; None if no dialect knows any of them.

    `around`: the object around them, which shows it if a stage dropped all of them.
    """
    for dialect in _DIALECTS:
        if dialect.claims is not None:
            if dialect.claims(values, around):
                return dialect
        elif any(map(dialect.knows, values)):
            return dialect
    if values:
        return None
    return openai_responses.DIALECT if "input" in around else openai_chat.DIALECT


def _read(dialect: Dialect | None, body: _Body, role: Role, found: ListContents) -> None:
    """Add the messages of one side of a request."""
    if body.text is not None:
        text, span = body.text
        part = Part("text", text, span=span)
        found.messages.append(Message(role, (part,), index=len(found.messages), spans=(span,)))
    if body.blocks is not None:
        blocks, span = body.blocks
        found.add(role, content_parts(blocks, span, anthropic_block), {}, span)
    if dialect is not None:
        dialect.read(body.elements, found)
    else:
        found.uncounted += len(body.elements)


def opened(content: Field) -> Field:
    """The content of a field: the value of JSON in a string, else the value itself."""
    value = value_in(content.value) if isinstance(content.value, str) else None
    return content if value is None else Field(value, content.span)


def _sent(content: Field) -> _Body:
    """The messages of a request."""
    value, span = opened(content)
    if isinstance(value, str):
        return _Body(text=Field(value, span)) if value else _Body()
    if isinstance(value, list):
        if value and isinstance(value[0], list | str):  # a batch
            return _sent(Field(value[0], span.inside(0)))
        return _Body(list(_elements(value, span)))
    key = next((key for key in _LISTS if isinstance(members(value).get(key), list | str)), None)
    if key is None:
        return _Body([Element(value, span, span)] if is_message(value) else [])
    inner = _sent(Field(value[key], span.inside(key)))
    inner.around = Field(value, span)
    return inner


def _received(content: Field, found: _Body) -> None:
    """Add the elements of an answer. Of several choices only the first is read."""
    value, span = opened(content)
    if isinstance(value, str):
        if value:
            found.text = Field(value, span)
    elif isinstance(value, list) and value and all(map(_is_block, value)):
        found.blocks = Field(value, span)
    elif isinstance(value, list):
        is_choice = any(isinstance(each, list) or not is_message(each) for each in value)
        for index, each in enumerate(value[:1] if is_choice else value):
            _received(Field(each, span.inside(index)), found)
    elif is_message(value):
        found.elements.append(Element(value, span, span))
    elif isinstance(value, dict):
        key = next((key for key in (*_ANSWERS, "text") if value.get(key)), None)
        if key is not None:
            _received(Field(value[key], span.inside(key)), found)


def is_message(value: Any) -> bool:
    """Whether a value is a message or an item, not an object around them."""
    if not isinstance(value, dict):
        return False
    if value.get("type") == "ChatGeneration" or "choices" in value or "generations" in value:
        return False
    return "role" in value or "lc" in value or isinstance(value.get("type"), str)


def _is_block(value: Any) -> bool:
    """Whether a value is a block of the content of an answer."""
    block = members(value)
    kind = block.get("type")
    if kind == "text":
        return isinstance(block.get("text"), str) and "role" not in block
    return kind in _BLOCKS


def _elements(values: Sequence[Any], span: Span) -> Iterator[Element]:
    for index, value in enumerate(values):
        yield Element(value, span.inside(index), span.inside(index))


def nested(value: Any, span: Span, keys: Sequence[str]) -> Iterator[Field]:
    """The objects of an export: those of its lists, and those inside them under some keys."""
    pending = [Field(value, span)]
    while pending:
        each = pending.pop()
        if isinstance(each.value, dict):
            yield each
            inside = [
                Field(each.value[key], each.span.inside(key)) for key in keys if key in each.value
            ]
        else:
            inside = [
                Field(item, each.span.inside(index))
                for index, item in enumerate(elements(each.value))
                if isinstance(item, dict | list)
            ]
        pending += reversed(inside)
