"""Anthropic Messages: a conversation per line, one message per line, or a whole document of either.

A conversation is `{"system"?, "messages": […], "tools"?, "tool_choice"?, "model"?, "id"?}`, also
inside logs of requests. The top-level system prompt is a message. A user element may contain
several messages: results, and the texts after them. Cursor and Droid write one element per line,
with the message under `message`. `detect` distinguishes these messages from OpenAI's.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any

from msgspec.structs import replace

from ctxtrim.errors import NotEditableError
from ctxtrim.formats.anthropic.blocks import block, is_injected, json_value, user_messages
from ctxtrim.formats.anthropic.detect import (
    ANSWERS,
    OTHER_PLACES,
    PLACES,
    ROLES,
    ROO_LINKS,
    LinkedValue,
    NumberedElement,
    claims,
    has_foreign,
    inner,
    is_compaction,
    is_numbered,
    is_sealed,
    knows,
)
from ctxtrim.formats.base import BEFORE_SUMMARY, Edit, Insertion, Site
from ctxtrim.formats.bedrock import header
from ctxtrim.formats.fields import first_string, members, string
from ctxtrim.formats.media_blocks import text_block
from ctxtrim.formats.message_lists import Dialect, Element, Envelope, ListContents, sent_site
from ctxtrim.formats.message_parts import content_parts, event_id, system_prompt
from ctxtrim.formats.request_options import anthropic_options
from ctxtrim.formats.usage import anthropic_usage, is_complete
from ctxtrim.model import Message, Part, Role, Span
from ctxtrim.text.json_paths import Path
from ctxtrim.text.records import dump

_CLINE = re.compile(r"\[[^\n]*\] Result:")  # how Cline writes results, in user texts
_CLINE_SAID = ("<task>", "<feedback>", "<answer>", "<user_message>")
_INSIDE = (("message",), ("redact_message",))  # the second: Strands Agents
_REASONING = frozenset(("reasoning", "reasoning_content", "reasoning_details", "thinking"))


def read(elements: Iterable[Element], found: ListContents) -> None:
    """Read the messages of each element. A `compaction` block replaces all messages before it."""
    start = len(found.messages)
    before: list[Span] = []
    rows: list[NumberedElement] = []
    linked: list[LinkedValue] = []
    for element in elements:
        value, span, whole = element
        message, role, keys = inner(value)
        is_row = is_numbered(value)
        if is_row:
            rows.append((element, len(found.messages)))
        if role not in ROLES or (is_row and _is_unsent(message)):
            if is_sealed(value):
                from ctxtrim.formats.anthropic.roo_code import add_reasoning  # for few agents

                linked.append((value, whole, add_reasoning(value, whole, found)))
                before.append(whole)
            is_streamed = role is None and message.get("type") == "message_start"
            found.uncounted += is_streamed or role not in (None, *ROLES)
            continue
        content = message.get("content")
        inner_span = span.inside(*keys, "content")
        first = _after_compaction(content)
        if first:
            del found.messages[start:]
            found.usages.clear()
            found.messages.append(_compacted(role, content, inner_span, first - 1, start, before))
        messages = _messages(role, content, inner_span, whole, len(found.messages), first)
        if role == "assistant" and not _REASONING.isdisjoint(message):
            from ctxtrim.formats.anthropic.roo_code import with_reasoning  # for few agents

            messages = with_reasoning(messages, message, span.inside(*keys))
        position = len(found.messages)
        last = found.messages[-1] if position > start else None
        found.messages += _marked(messages, message, last)
        before.append(whole)
        if not ROO_LINKS.isdisjoint(value):
            linked.append((value, whole, range(position, len(found.messages))))
        if role == "assistant":
            _note(message, found)
    _leave_out(found, rows, linked)
    if any(call.call_id is None for message in found.messages for call in message.calls):
        from ctxtrim.formats.anthropic.call_order import by_order  # for calls without ids only

        found.messages[start:] = by_order(found.messages[start:])


def _marked(
    messages: Iterable[Message], element: Mapping[str, Any], last: Message | None
) -> Iterator[Message]:
    """The messages of an element, marked if no person typed them or if they continue a turn."""
    is_hidden = _is_hidden(element)
    for message in messages:
        if is_hidden:
            message = replace(message, is_injected=message.role == "user")
        elif message.role == "system" and _takes_system(last):
            message = replace(message, continues=True)
        yield message


def _leave_out(
    found: ListContents,
    rows: Sequence[NumberedElement],
    linked: Sequence[LinkedValue],
) -> None:
    """Leave out what compactions of Droid and condensations of Roo Code replace."""
    if linked:
        from ctxtrim.formats.anthropic.roo_code import link  # for Roo Code only

        link(found, linked)
    if any(is_compaction(element.value) for element, _ in rows):
        from ctxtrim.formats.anthropic.droid import compact  # for few sessions

        compact(found, rows)


def _is_unsent(message: Mapping[str, Any]) -> bool:
    """Whether Droid never sends a message: it is for the person only, or has no content.

    [inference-sh/agentprotocol, `transcript/droid/droid.go`]
    """
    has_content = message.get("content") or message.get("chatCompletionReasoningContent")
    return message.get("visibility") == "user_only" or not has_content


def _is_hidden(message: Mapping[str, Any]) -> bool:
    """Whether Droid shows a message only to the model: the program wrote it."""
    return message.get("visibility") == "llm_only" or message.get("hiddenFromUserViews") is True


def _takes_system(last: Message | None) -> bool:
    """Whether a system message may follow a message: after a prompt, or after results.

    Newer models accept it only there. [BerriAI/litellm, `mid_conversation_system.py`]
    """
    return last is not None and (last.continues or last.role in ("user", "tool"))


def _note(message: Mapping[str, Any], found: ListContents) -> None:
    """Record the model and usage of an answer. Cline names the model next to the message."""
    names = (
        message.get("model"),
        message.get("modelId"),
        members(message.get("modelInfo")).get("modelId"),
    )
    found.model = first_string((*names, found.model))
    if "usage" in message and is_complete(message):
        usage = anthropic_usage(message["usage"], len(found.messages) - 1)
        found.usages += [usage] if usage else []


def _after_compaction(content: Any) -> int:
    """The index of the block after the last compaction; 0 without one.

    A failed compaction has no content.
    """
    if isinstance(content, list):
        for index in range(len(content) - 1, -1, -1):
            block = content[index]
            if (
                isinstance(block, dict)
                and block.get("type") == "compaction"
                and isinstance(block.get("content"), str)
            ):
                return index + 1
    return 0


def _compacted(
    role: Role, content: Any, inner_span: Span, position: int, index: int, before: Sequence[Span]
) -> Message:
    """The compaction message.

    It carries the spans of all messages before it: without it they would be live again.
    """
    span = inner_span.inside(position)
    part = Part("text", content[position]["content"], span=span.inside("content"))
    spans = (span, *(inner_span.inside(other) for other in range(position)), *before)
    return Message(role, (part,), is_injected=True, is_summary=True, index=index, spans=spans)


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
    if _CLINE.match(texts[0]):
        return not any(mark in text for text in texts for mark in _CLINE_SAID)
    return all(map(is_injected, texts))


def envelope(value: dict[str, Any], span: Span) -> Envelope:
    """The tools, tool choice, model, id and usage next to the messages, and the system prompt as a
    message.
    """
    tools = value.get("tools")
    return Envelope(
        dump(tools) if isinstance(tools, list) and tools else None,
        tool_choice=_choice(value.get("tool_choice")),
        model=string(value.get("model")),
        id=string(value.get("id")),
        usage=anthropic_usage(value.get("usage")),
        preamble=system_prompt(value.get("system") or None, span.inside("system"), block),
        options=anthropic_options(value),
    )


def _choice(choice: Any) -> str | None:
    """The name of the tool that must be called, or a word like `auto` or `none`."""
    if not isinstance(choice, dict):
        return None
    return string(choice.get("name", choice.get("type")))


def owner(array: Path) -> Path | None:
    """An element is removed with the last block of its content, and a system prompt with its last
    block.
    """
    if array[-1] == "system":
        return array
    is_result = array[-3:-2] == ("content",) and isinstance(array[-2], int)
    if array[-1] != "content" or is_result:
        return None
    return array[:-2] if array[-2:-1] in _INSIDE else array[:-1]


def insert(run: Sequence[Message], site: Site) -> Sequence[Insertion]:
    """Results join the results before or after them.

    Other messages become elements before the next message. If the messages before and after share
    an element, it is split: adjacent texts in one element would be one message.
    """
    site = sent_site(site, _element)
    earlier, later = site.earlier, site.later
    before, after = _element(earlier), _element(later)
    if after is not None and is_compaction(site.value_of(after)):
        raise NotEditableError(BEFORE_SUMMARY)
    results = list(takewhile(lambda message: message.role == "tool", run))
    rest = run[len(results) :]
    found: list[Insertion] = []
    host = next(
        (message for message in (earlier, later) if message is not None and message.role == "tool"),
        None,
    )
    if host is not None and (not rest or (host is earlier and before != after)):
        found = [
            Insertion(json_value(message), host.spans[0], is_after=host is earlier)
            for message in results
        ]
        results = []
    near = before or after or _element(site.any) or _first(site.any)
    neighbour = site.value_of(near) or {}
    answer = [_json_value(results, neighbour)] if results else []
    others = [_json_value([message], neighbour, number) for number, message in enumerate(rest)]
    if later is not None and before is not None and before == after:
        return found + [Insertion(value, later.spans[0], cuts=True) for value in (*answer, *others)]
    found += [
        Insertion(value, before or near, is_after=before is not None or after is None)
        for value in answer
    ]
    return found + [Insertion(value, after or near, is_after=after is None) for value in others]


def _element(message: Message | None) -> Span | None:
    """The span of the element that contains a message.

    None for the system prompt, which is outside the list.
    """
    if message is None or message.spans[0].path[-1:] == ("system",):
        return None
    line, path = message.spans[0].line, message.spans[0].path
    element_path = owner(path[:-1]) if path[-2:-1] == ("content",) else None
    return message.spans[0] if element_path is None else Span(line, element_path)


def _first(system: Message) -> Span:
    """The span of the first element, for a conversation with only a system prompt."""
    line, path = system.spans[0].line, system.spans[0].path
    return Span(line, (*path[:-1], "messages", 0))


def _json_value(
    together: Sequence[Message], neighbour: Mapping[str, Any], number: int = 0
) -> dict[str, Any]:
    """An element of results, or of one other message, in the form of the neighbouring element."""
    role = together[0].role if together[0].role in ROLES else "user"
    blocks = [json_value(message) for message in together]
    if not inner(neighbour)[2] and not is_compaction(neighbour):
        return {
            "role": role,
            "content": blocks if together[0].role == "tool" else blocks[0]["text"],
        }
    if "role" in neighbour:  # Cursor
        return {"role": role, "message": {"content": blocks}}
    name = event_id(neighbour.get("id"), dump(blocks), number)
    envelope = {"type": "message"} if "type" in neighbour else {}
    envelope |= {key: neighbour[key] for key in ("timestamp",) if key in neighbour}
    return envelope | {"id": name, "parentId": None, "message": {"role": role, "content": blocks}}


def relink(edit: Edit) -> Edit:
    """The edit with updated links, if elements name their parents as Droid writes them."""
    is_linked = any(isinstance(value, dict) and "parentId" in value for value in edit.values)
    if not is_linked:
        return edit
    from ctxtrim.formats.anthropic.droid import GRAPH  # for its sessions only

    return GRAPH.relink(edit)


DIALECT = Dialect(
    "anthropic", knows, read, insert, envelope, owner, PLACES, takes_empty=True, claims=claims,
    other_places=OTHER_PLACES, header=header, answers=ANSWERS,
    has_foreign=has_foreign, relink=relink, must_alternate=True, text_block=text_block,
)  # fmt: skip
