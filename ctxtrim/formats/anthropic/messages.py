"""Anthropic Messages: a conversation per line, one message per line, or a whole document of either.

A conversation is `{"system"?, "messages": […], "tools"?, "tool_choice"?, "model"?, "id"?}`, also inside logs of
requests; the top-level system prompt is a message. An element of the user may hold several messages: results, and what
was said after them. Cursor and Droid write such elements one a line, with the message under `message`. How such
messages are told from OpenAI's is in `anthropic_signs`.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Any

from ctxtrim.formats.anthropic.blocks import block, is_injected, spelled, user_messages
from ctxtrim.formats.anthropic.detect import ROLES, claims, inner, is_foreign, knows
from ctxtrim.formats.base import Insertion, Site
from ctxtrim.formats.ids import made_id
from ctxtrim.formats.media_blocks import text_block
from ctxtrim.formats.message_lists import Dialect, Element, Envelope, Found
from ctxtrim.formats.parents import mend
from ctxtrim.formats.request_options import anthropic_options
from ctxtrim.formats.usage import anthropic_usage, is_complete
from ctxtrim.model import Message, Part, Role, Span
from ctxtrim.text.json_paths import Path
from ctxtrim.text.records import dump

PLACES = (
    "messages",
    "[*].messages",
    "",
    "request.messages",  # Vertex AI, batches
    "params.messages",  # Message Batches
    "requests[*].params.messages",
    "modelInput.messages",  # Bedrock, batches
    "request.body.messages",  # claude-trace
    "body.messages",  # logs of proxies
)
"""Where such lists are known to be."""

_CLINE = re.compile(r"\[[^\n]*\] Result:")  # how Cline writes results, as texts of the user
_CLINE_SAID = ("<task>", "<feedback>", "<answer>", "<user_message>")


def read(elements: Sequence[Element], found: Found) -> None:
    """The messages of each element; what a `compaction` block stands for is no context any more."""
    start = len(found.messages)
    before: list[Span] = []
    for value, at, whole in elements:
        message, role, keys = inner(value)
        if role not in ROLES:
            found.uncounted += role is not None
            continue
        content = message.get("content")
        where = at.inside(*keys, "content")
        first = _after_compaction(content)
        if first:
            del found.messages[start:]
            found.usages.clear()
            found.messages.append(_compacted(role, content, where, first - 1, start, before))
        found.messages += _messages(role, content, where, whole, len(found.messages), first)
        before.append(whole)
        if role == "assistant":
            _note(message, found)
    if any(call.call_id is None for one in found.messages for call in one.calls):
        found.messages[start:] = _by_order(found.messages[start:])


def _by_order(messages: Sequence[Message]) -> Iterator[Message]:
    """Messages with calls that have no id: a result that names no call before it answers one of those."""
    calls: set[str | None] = set()
    waiting = 0
    for message in messages:
        result = message.result
        if waiting and result is not None and result.call_id not in calls:
            waiting -= 1
            message = replace(message, parts=tuple(replace(part, call_id=None) for part in message.parts))
        ids = [call.call_id for call in message.calls]
        waiting += ids.count(None)
        calls.update(ids)
        yield message


def _note(message: Mapping[str, Any], found: Found) -> None:
    """Take in who answered, and what it cost; Cline names the model beside the message."""
    info = message.get("modelInfo")
    model = message.get("model", info.get("modelId") if isinstance(info, dict) else None)
    found.model = model if isinstance(model, str) else found.model
    if "usage" in message and is_complete(message):
        usage = anthropic_usage(message["usage"], len(found.messages) - 1)
        found.usages += [usage] if usage else []


def _after_compaction(content: Any) -> int:
    """The index of the block after the last compaction; 0 where there is none. A failed one has no content."""
    if isinstance(content, list):
        for index in range(len(content) - 1, -1, -1):
            one = content[index]
            if isinstance(one, dict) and one.get("type") == "compaction" and isinstance(one.get("content"), str):
                return index + 1
    return 0


def _compacted(role: Role, content: Any, where: Span, place: int, index: int, before: Sequence[Span]) -> Message:
    """What stands for all before it, which would be context again without it, so that it goes with it."""
    at = where.inside(place)
    part = Part("text", content[place]["content"], span=at.inside("content"))
    spans = (at, *(where.inside(other) for other in range(place)), *before)
    return Message(role, (part,), None, True, True, index=index, spans=spans)


def _messages(role: Role, content: Any, where: Span, whole: Span, index: int, first: int) -> Iterator[Message]:
    """The messages in the content of an element, from a block on."""
    if role == "user" and isinstance(content, list) and content:
        for message in user_messages(content, where, index, first):
            yield replace(message, is_injected=True) if _is_client(message) else message
    elif not first or first < len(content):
        parts = _parts(content, where, first)
        spans = (whole,) if not first else tuple(where.inside(place) for place in range(first, len(content)))
        message = Message(role, parts, index=index, spans=spans)
        yield replace(message, is_injected=True) if role == "user" and _is_client(message) else message


def _parts(content: Any, where: Span, first: int = 0) -> tuple[Part, ...]:
    if isinstance(content, str):
        return (Part("text", content, span=where),)
    if isinstance(content, list):
        return tuple(block(content[place], where.inside(place)) for place in range(first, len(content)))
    return () if content is None else (Part("text", dump(content)),)


def _is_client(message: Message) -> bool:
    """Whether what the user says is all the client's."""
    texts = [part.text for part in message.parts if part.kind == "text"]
    if message.role != "user" or not texts or len(texts) < len(message.parts):
        return False
    if _CLINE.match(texts[0]):
        return not any(mark in text for text in texts for mark in _CLINE_SAID)
    return all(map(is_injected, texts))


def envelope(value: dict[str, Any], at: Span) -> Envelope:
    """Tools, the choice among them, model, id and usage beside the messages, and the system prompt as a message."""
    tools, model, name, system = (value.get(key) for key in ("tools", "model", "id", "system"))
    home = at.inside("system")
    spoken = isinstance(system, (str, list)) and bool(system)
    return Envelope(
        dump(tools) if isinstance(tools, list) and tools else None,
        _choice(value.get("tool_choice")),
        model if isinstance(model, str) else None,
        name if isinstance(name, str) else None,
        anthropic_usage(value.get("usage")),
        (Message("system", _parts(system, home), index=0, spans=(home,)),) if spoken else (),
        anthropic_options(value),
    )


def _choice(choice: Any) -> str | None:
    """The name of the tool that must be called, or a word like `auto` and `none`."""
    if not isinstance(choice, dict):
        return None
    word = choice.get("name", choice.get("type"))
    return word if isinstance(word, str) else None


def owner(array: Path) -> Path | None:
    """An element goes when the last block of its content goes, and a system prompt with its last block."""
    if array[-1] == "system":
        return array
    if array[-1] != "content" or (array[-3:-2] == ("content",) and isinstance(array[-2], int)):  # that of a result
        return None
    return array[:-2] if array[-2:-1] == ("message",) else array[:-1]


def insert(run: Sequence[Message], site: Site) -> Sequence[Insertion]:
    """Results join those that they follow, or else precede; all others get elements of their own before what follows.

    Where these two are of one element it is cut in two, since texts side by side in one element are one message.
    """
    earlier, later = site.earlier, site.later
    here, there = _element(earlier), _element(later)
    results = list(takewhile(lambda one: one.role == "tool", run))
    rest = run[len(results) :]
    found: list[Insertion] = []
    host = next((one for one in (earlier, later) if one is not None and one.role == "tool"), None)
    if host is not None and (not rest or (host is earlier and here != there)):
        found = [Insertion(spelled(one), host.spans[0], is_after=host is earlier) for one in results]
        results = []
    near = here or there or _element(site.any) or _first(site.any)
    beside = site.value_of(near) or {}
    answer = [_spelled(results, beside)] if results else []
    others = [_spelled([one], beside, number) for number, one in enumerate(rest)]
    if later is not None and here is not None and here == there:
        return found + [Insertion(value, later.spans[0], cuts=True) for value in (*answer, *others)]
    found += [Insertion(value, here or near, is_after=here is not None or there is None) for value in answer]
    return found + [Insertion(value, there or near, is_after=there is None) for value in others]


def _element(message: Message | None) -> Span | None:
    """The element of the list that a message stands in; None for the system prompt, which stands beside the list."""
    if message is None or message.spans[0].path[-1:] == ("system",):
        return None
    line, path = message.spans[0]
    home = owner(path[:-1]) if path[-2:-1] == ("content",) else None
    return message.spans[0] if home is None else Span(line, home)


def _first(system: Message) -> Span:
    """Where the first element would stand, in a conversation that has only a system prompt."""
    line, path = system.spans[0]
    return Span(line, (*path[:-1], "messages", 0))


def _spelled(together: Sequence[Message], beside: Mapping[str, Any], number: int = 0) -> dict[str, Any]:
    """An element of results, or of one other message, with the message where the element beside it has it."""
    role = together[0].role if together[0].role in ROLES else "user"
    blocks = [spelled(one) for one in together]
    if not inner(beside)[2]:
        return {"role": role, "content": blocks if together[0].role == "tool" else blocks[0]["text"]}
    if "role" in beside:  # Cursor
        return {"role": role, "message": {"content": blocks}}
    name = made_id(beside.get("id"), dump(blocks), number)
    envelope = {key: beside[key] for key in ("type", "timestamp") if key in beside}
    return envelope | {"id": name, "parentId": None, "message": {"role": role, "content": blocks}}


DIALECT = Dialect(
    "anthropic", knows, read, envelope, owner, insert, PLACES, takes_empty=True, claims=claims, is_foreign=is_foreign,
    mend=mend, must_alternate=True, text_block=text_block,
)  # fmt: skip
