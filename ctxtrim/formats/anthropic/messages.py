"""Anthropic Messages: a conversation per line, one message per line, or a whole document of either.

A conversation is `{"system"?, "messages": […], "tools"?, "tool_choice"?, "model"?, "id"?}`, also
inside logs of requests. The top-level system prompt is a message. A user element may contain
several messages: results, and the texts after them. Cursor and Droid write one element per line,
with the message under `message`. `detect` distinguishes these messages from OpenAI's,
`message_edits` writes them.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from ctxtrim.formats.anthropic import (
    CLINE_RESULT,
    CLINE_TAGS,
    DROID_SEALED,
    DROID_TEXT,
    ROO_LINKS,
    LinkedElement,
    NumberedElement,
    is_compaction,
    is_numbered,
    is_sealed,
    session_of,
)
from ctxtrim.formats.anthropic.blocks import block, is_injected, user_messages
from ctxtrim.formats.anthropic.detect import ROLES, claims, has_foreign, inner, knows
from ctxtrim.formats.bedrock import header
from ctxtrim.formats.fields import first_string, identifier, members, string
from ctxtrim.formats.media_blocks import text_block
from ctxtrim.formats.message_lists import Dialect, Element, Envelope, ListContents
from ctxtrim.formats.message_parts import content_parts, prompt_around
from ctxtrim.formats.request_options import anthropic_options, choice
from ctxtrim.formats.usage import anthropic_usage, is_complete
from ctxtrim.loading import lazy_function
from ctxtrim.model import Message, Part, Role, Span
from ctxtrim.text.json_paths import Path, each_element
from ctxtrim.text.records import dump

_BEDROCK = frozenset(("modelInput", "inputBodyJson"))
_REASONING = frozenset(("reasoning", "reasoning_content", "reasoning_details", "thinking"))
_DROID = frozenset((DROID_TEXT, DROID_SEALED))
"""Members of an answer with reasoning next to its content: in most programs, and in Droid."""
_OWN_MEMBERS = _REASONING | _DROID | {"messageId"}
"""The same, and the id of a message in Amp's threads."""


def read(elements: Iterable[Element], contents: ListContents) -> None:
    """Read the messages of each element. A `compaction` block replaces all messages before it."""
    start = len(contents.messages)
    before: list[Span] = []
    rows: list[NumberedElement] = []
    linked_elements: list[LinkedElement] = []
    for element in elements:
        value, span, whole = element
        message, role, keys = inner(value)
        is_row = is_numbered(value)
        if is_row:
            rows.append((element, len(contents.messages)))
        is_unsent = (is_row and _is_unsent(message)) or (role == "system" and _is_option(message))
        if role not in ROLES or is_unsent:
            linked_elements += _other(element, contents, start, before)
            continue
        content = message.get("content")
        inner_span = span.inside(*keys, "content")
        first = _after_compaction(content)
        if first:
            del contents.messages[start:]
            contents.usages.clear()
            contents.messages.append(
                _compaction(role, content, inner_span, first - 1, start, before)
            )
        messages = _messages(role, content, inner_span, whole, len(contents.messages), first)
        if not _OWN_MEMBERS.isdisjoint(message):
            messages = _with_members(role, messages, message, span.inside(*keys), contents)
        position = len(contents.messages)
        last = contents.messages[-1] if position > start else None
        if role == "user" and last is not None and _has_texts_as_results(content, last):
            from ctxtrim.formats.anthropic.cline import with_results

            messages = with_results(messages, last.calls, content or ())
        contents.messages += _marked(messages, message, last)
        before.append(whole)
        if not ROO_LINKS.isdisjoint(value):
            positions = range(position, len(contents.messages))
            linked_elements.append(LinkedElement(value, whole, positions))
        if role == "assistant":
            _note(message, contents)
    _leave_out(contents, rows, linked_elements)
    if any(call.call_id is None for message in contents.messages for call in message.calls):
        from ctxtrim.formats.anthropic.call_order import pair  # for calls without ids only

        pair(contents, start)


def _has_texts_as_results(content: Any, last: Message) -> bool:
    """Whether a content has results of Cline, which are texts, right after calls."""
    blocks = map(members, content if isinstance(content, list) and last.calls else ())
    return any(CLINE_RESULT.match(str(block.get("text"))) is not None for block in blocks)


def _other(
    element: Element, contents: ListContents, start: int, before: list[Span]
) -> Iterator[LinkedElement]:
    """Read an element that is no message of the API, or count it as unknown.

    It yields encrypted reasoning of Roo Code. `before`: the spans of the elements read so far.
    """
    value, _, whole = element
    message, role, _ = inner(value)
    if role == "info" and "messageId" in value:
        from ctxtrim.formats.anthropic.amp import add_info  # for few agents, as the next one

        add_info(element, contents, start, before)
        before.append(whole)
        return
    if is_sealed(value):
        from ctxtrim.formats.anthropic.roo_code import add_reasoning

        yield add_reasoning(value, whole, contents)
        before.append(whole)
    is_streamed = role is None and message.get("type") == "message_start"
    contents.uncounted += is_streamed or role not in (None, *ROLES)


def _with_members(
    role: Role,
    messages: Iterator[Message],
    element: dict[str, Any],
    span: Span,
    contents: ListContents,
) -> Iterator[Message]:
    """The messages of an element, with what the members of a program next to its content say."""
    if role == "assistant" and not _REASONING.isdisjoint(element):
        from ctxtrim.formats.anthropic import roo_code  # few agents need it

        messages = roo_code.with_reasoning(messages, element, span, contents)
    elif role == "assistant" and not _DROID.isdisjoint(element):
        from ctxtrim.formats.anthropic import droid

        messages = droid.with_reasoning(messages, element, span)
    if "messageId" in element:
        from ctxtrim.formats.anthropic import amp

        messages = amp.sent(messages, element, span, contents)
    return messages


def _marked(
    messages: Iterable[Message], element: Mapping[str, Any], last: Message | None
) -> Iterator[Message]:
    """The messages of an element, marked if no person typed them or if they continue a turn."""
    is_hidden = _is_hidden(element)
    for message in messages:
        if is_hidden:
            message = replace(message, is_injected=message.role == "user")
        elif message.role == "system" and takes_system(last):
            message = replace(message, continues=True)
        yield message


def _leave_out(
    contents: ListContents,
    rows: Sequence[NumberedElement],
    linked_elements: Sequence[LinkedElement],
) -> None:
    """Leave out what compactions of Droid and condensations of Roo Code replace."""
    if linked_elements:
        from ctxtrim.formats.anthropic.roo_code import link  # for Roo Code only

        link(contents, linked_elements)
    if any(is_compaction(element.value) for element, _ in rows):
        from ctxtrim.formats.anthropic.droid import compact  # for few sessions

        compact(contents, rows)


def _is_unsent(message: Mapping[str, Any]) -> bool:
    """Whether Droid never sends a message: it is for the person only, or has no content.

    [inference-sh/agentprotocol, `transcript/droid/droid.go`]
    """
    has_content = message.get("content") or message.get(DROID_TEXT)
    return message.get("visibility") == "user_only" or not has_content


def _is_option(message: Mapping[str, Any]) -> bool:
    """Whether a system message only sets the effort of later answers. It may be anywhere."""
    return not message.get("content") and "output_config" in message


def _is_hidden(message: Mapping[str, Any]) -> bool:
    """Whether Droid shows a message only to the model: the program wrote it."""
    return message.get("visibility") == "llm_only" or message.get("hiddenFromUserViews") is True


def takes_system(last: Message | None) -> bool:
    """Whether a system message may follow a message: after a prompt, or after results.

    Newer models accept it only there. [BerriAI/litellm, `mid_conversation_system.py`]
    """
    return last is not None and (last.continues or last.role in ("user", "tool"))


def _note(message: Mapping[str, Any], contents: ListContents) -> None:
    """Record the model and usage of an answer. Cline names the model next to the message."""
    info = members(message.get("modelInfo"))
    names = (message.get("model"), message.get("modelId"), info.get("modelId"), info.get("id"))
    contents.model = first_string((*names, contents.model))
    if "usage" in message and is_complete(message):
        contents.add_usage(anthropic_usage(message["usage"], len(contents.messages) - 1))


def _after_compaction(content: Any) -> int:
    """The index of the block after the last compaction; 0 without one.

    A failed compaction has no content.
    """
    if isinstance(content, list):
        for index in range(len(content) - 1, -1, -1):
            value = content[index]
            if (
                isinstance(value, dict)
                and value.get("type") == "compaction"
                and isinstance(value.get("content"), str)
            ):
                return index + 1
    return 0


def _compaction(
    role: Role, content: Any, inner_span: Span, position: int, index: int, before: Sequence[Span]
) -> Message:
    """The compaction message.

    It carries the spans of all messages before it: without it they would be live again. Changes of
    the tools before it count as their JSON.
    """
    span, value = inner_span.inside(position), content[position]
    parts = [Part("text", value["content"], span=span.inside("content"))]
    if value.get("tool_changes"):
        parts.append(Part("text", dump(value["tool_changes"]), source=span, stored=True))
    spans = (span, *(inner_span.inside(other) for other in range(position)), *before)
    return Message(role, tuple(parts), is_injected=True, is_summary=True, index=index, spans=spans)


def _messages(
    role: Role, content: Any, span: Span, whole: Span, index: int, first: int
) -> Iterator[Message]:
    """The messages in the content of an element, from block `first` on."""
    if role == "user" and isinstance(content, list) and content:
        messages = list(user_messages(content, span, index, first))
    elif not first:
        messages = [Message(role, _parts(content, span), index=index, spans=(whole,))]
    else:
        rest = tuple(span.inside(position) for position in range(first, len(content)))
        parts = _parts(content, span)[first:]
        messages = [Message(role, parts, index=index, spans=rest)] if rest else []
    for message in messages:
        yield replace(message, is_injected=True) if _is_client(message) else message


def _parts(content: Any, span: Span) -> tuple[Part, ...]:
    return content_parts(content, span, block)


def _is_client(message: Message) -> bool:
    """Whether the client wrote all texts of a user message."""
    texts = [part.text for part in message.parts if part.kind == "text"]
    if message.role != "user" or not texts or len(texts) < len(message.parts):
        return False
    if CLINE_RESULT.match(texts[0]):
        return not any(mark in text for text in texts for mark in CLINE_TAGS)
    return all(map(is_injected, texts))


def envelope(value: dict[str, Any], span: Span) -> Envelope:
    """The tools, tool choice, model, id and usage next to the messages, and the system prompt as a
    message.
    """
    tools = value.get("tools")
    return Envelope(
        dump(tools) if isinstance(tools, list) and tools else None,
        tool_choice=choice(value),
        model=string(value.get("model")),
        id=identifier(value.get("id")),
        usage=anthropic_usage(value.get("usage")),
        preamble=prompt_around(value, span, block),
        options=anthropic_options(value),
        strict_roles="elements" if _is_for_bedrock(value, span.path) else "",
    )


def _is_for_bedrock(request: Mapping[str, Any], path: Path) -> bool:
    """Whether a request is one to Amazon Bedrock, which rejects two messages of one role in a row
    [langchain-ai/langchain-aws#71, anthropics/anthropic-sdk-typescript#565].
    """
    version, model = request.get("anthropic_version"), request.get("model")
    is_versioned = isinstance(version, str) and version.startswith("bedrock-")
    is_named = isinstance(model, str) and "anthropic.claude" in model  # ids, and ARNs with them
    return is_versioned or is_named or not _BEDROCK.isdisjoint(path)


_EDITS = "ctxtrim.formats.anthropic.message_edits"
_REQUEST = "request.messages + response"  # Vertex AI, batches
_HELICONE = "request_body.messages + response_body"
_LOG = "input.inputBodyJson.messages + output.outputBodyJson"  # invocations of Bedrock
_ARGUMENTS = ("kwargs.messages", "input.messages")  # of traced calls
DIALECT = Dialect(
    "anthropic",
    knows,
    read,
    lazy_function(f"{_EDITS}:insert"),
    envelope,
    places=(
        "messages",
        "[*].messages",
        "",
        _REQUEST,
        each_element(_REQUEST),
        "params.messages",  # Message Batches
        "[*].params.messages",
        "requests[*].params.messages",
        "modelInput.messages + modelOutput",  # Bedrock, batches
        _LOG,
        each_element(_LOG),
        "request.body.messages + response.body",  # claude-trace
        _HELICONE,
        each_element(_HELICONE),
        "body.messages",  # logs of proxies
        "[*].body.messages",
    ),
    owner=lazy_function(f"{_EDITS}:owner"),
    takes_empty=True,
    claims=claims,
    other_places=(
        *((path,) for path in _ARGUMENTS),
        tuple(map(each_element, _ARGUMENTS)),
        ("result.message",),  # results of batches
    ),
    header=header,
    answers=(
        ("message",),
        ("modelOutput",),
        ("outputBodyJson",),
        ("response",),
        ("body",),
        ("response_body",),
    ),
    session_of=session_of,
    has_foreign=has_foreign,
    relink=lazy_function(f"{_EDITS}:relink"),
    must_alternate=True,
    text_block=text_block,
)
