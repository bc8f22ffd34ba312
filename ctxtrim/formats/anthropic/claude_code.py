"""Claude Code sessions: one event per line, or all events in one document under `loglines`.

Only `message` is sent to the model: `toolUseResult`, `progress`, snapshots and summaries of other
sessions are not. One message of the model spans several lines with the same message id. One user
line may contain several results. `claude_code_thread` finds the live lines, `event_links` updates
their links.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from msgspec.structs import replace

from ctxtrim.formats.anthropic.blocks import block, is_injected, json_value, user_messages
from ctxtrim.formats.anthropic.claude_code_thread import (
    ENVELOPE,
    GRAPH,
    SYNTHETIC,
    ClaudeEvent,
    events_in,
    is_compaction,
    with_companions,
)
from ctxtrim.formats.base import Edit, Format, Insertion, Layout, Site, session
from ctxtrim.formats.fields import elements, first_string, members
from ctxtrim.formats.ids import event_id
from ctxtrim.formats.media_blocks import text_block
from ctxtrim.formats.usage import answers_by_span, anthropic_usage, is_complete
from ctxtrim.model import Line, Message, Part, Span, Transcript
from ctxtrim.model.request import Usage
from ctxtrim.text.json_paths import Path
from ctxtrim.text.records import JsonRecord, dump

CLEARED = "[Old tool result content cleared]"
"""The text that the client sends for a cleared result (named by a `microcompact_boundary`)."""

_TYPES = (
    "user", "assistant", "system", "progress", "attachment", "summary", "file-history-snapshot",
)  # fmt: skip


def sniff(value: object) -> Layout | None:
    """Whether a value is an event, by its type and one of the keys of every event, or a document of
    events.
    """
    if isinstance(value, dict) and isinstance(value.get("loglines"), list):
        return "events" if any(_is_event(item) for item in value["loglines"][:8]) else None
    return "events" if _is_event(value) else None


def _is_event(value: object) -> bool:
    if not isinstance(value, dict):
        return False
    kind, message = value.get("type"), value.get("message")
    if kind in ("user", "assistant"):
        return isinstance(message, dict) and "content" in message and "parts" not in message
    if "systemPayload" in value or (isinstance(message, dict) and "parts" in message):
        return False  # an event of Qwen Code
    return kind in _TYPES and ("sessionId" in value or "leafUuid" in value or "snapshot" in value)


def read(records: Sequence[JsonRecord], lines: tuple[Line, ...]) -> list[Transcript]:
    """The one conversation of the session: its live context, or a sidechain if there is nothing
    else.
    """
    events = list(events_in([record.value for record in records]))
    current = GRAPH.live(events)
    messages = tuple(with_companions(tuple(_messages(current, _cleared(events))), events))
    cut = max((event.span for event in events if _is_cut(event)), default=Span(-1))
    since = [event for event in current if event.span > cut]
    models = [event.message.get("model") for event in events if event.kind == "assistant"]
    return session(
        messages,
        lines,
        model=first_string(name for name in reversed(models) if name != SYNTHETIC),
        id=first_string(event.value.get("sessionId") for event in events),
        usages=tuple(_usages(since, messages)),
    )


def _is_cut(event: ClaudeEvent) -> bool:
    """Whether earlier usage is outdated because the client compacted the context or cleared
    results.
    """
    return is_compaction(event) or "microcompactMetadata" in event.value


def _usages(events: Sequence[ClaudeEvent], messages: Sequence[Message]) -> Iterator[Usage]:
    """The usage of each answer.

    Every line of a message repeats its usage; the last line has the right one.
    """
    answers = answers_by_span(messages)
    found: dict[int | None, Usage] = {}
    for event in events:
        is_answer = (
            event.kind == "assistant" and is_complete(event.message) and is_complete(event.value)
        )
        usage = anthropic_usage(event.message.get("usage")) if is_answer else None
        if usage is not None:
            answer = answers[event.span]
            found[answer] = replace(usage, message=answer, model=event.message.get("model"))
    return iter(found.values())


def owner(array: Path) -> Path | None:
    """A line is removed with the last block of its content."""
    return array[:-2] if array[-2:] == ("message", "content") else None


def insert(run: Sequence[Message], site: Site) -> Sequence[Insertion]:
    """Each message as an event.

    A result between two messages of one event becomes a block of its content.
    """
    earlier, later = site.earlier, site.later
    before = _event(earlier.spans[-1]) if earlier is not None else None
    after = _event(later.spans[0]) if later is not None else None
    if earlier is not None and later is not None and before is not None and before == after:
        neighbour, cut = site.value_of(before), later.spans[0]
        return [
            Insertion(json_value(message), earlier.spans[-1], is_after=True)
            if message.role == "tool"
            else Insertion(_event_of(message, neighbour, number), cut, cuts=True)
            for number, message in enumerate(run)
        ]
    is_after = site.follows(run)
    span = (before if is_after else after) or _event(site.any.spans[0])
    neighbour = site.value_of(span)
    return [
        Insertion(_event_of(message, neighbour, number), span, is_after)
        for number, message in enumerate(run)
    ]


def _event(span: Span) -> Span:
    """The span of the event that contains a message or block."""
    return (
        Span(span.line, span.path[: span.path.index("message")]) if "message" in span.path else span
    )


def _event_of(message: Message, neighbour: dict[str, Any], number: int) -> dict[str, Any]:
    """An event with the envelope of its neighbour.

    Its uuid is derived from its content and position.
    """
    block = json_value(message)
    content = block["text"] if message.result is None else [block]
    role = "assistant" if message.role == "assistant" else "user"
    value: dict[str, Any] = {"parentUuid": None} if "uuid" in neighbour else {}
    value |= {key: neighbour[key] for key in ENVELOPE if key in neighbour}
    value |= {"type": role, "message": {"role": role, "content": content}}
    if "uuid" in neighbour:
        value["uuid"] = event_id(neighbour["uuid"], dump(content), number)
    return (
        value | {"isCompactSummary": True, "isVisibleInTranscriptOnly": True}
        if message.is_summary
        else value
    )


def relink(edit: Edit) -> Edit:
    """The edit with updated links.

    The first half of a split event keeps its uuid; the rest is a new event.
    """
    cuts = {insertion.span: _event(insertion.span) for insertion in edit.inserted if insertion.cuts}
    if not cuts:
        return GRAPH.relink(edit)
    dropped = set(edit.removed)
    additions = [insertion for insertion in edit.inserted if not insertion.cuts]
    events = {event.span: event for event in events_in(edit.values)}
    for home in dict.fromkeys(cuts.values()):
        content = events[home].message["content"]
        places = sorted(int(span.path[-1]) for span in cuts if cuts[span] == home)
        for first, end in pairwise((*places, len(content))):
            span = home.inside("message", "content", first)
            additions += [
                replace(insertion, span=home, is_after=True, cuts=False)
                for insertion in edit.inserted
                if insertion.span == span and insertion.cuts
            ]
            blocks = [home.inside("message", "content", position) for position in range(first, end)]
            rest = [content[int(block.path[-1])] for block in blocks if block not in edit.removed]
            additions.append(Insertion(_rest_of(events[home].value, rest), home, is_after=True))
            dropped.update(blocks)
    return GRAPH.relink(replace(edit, removed=dropped, inserted=additions))


def _rest_of(value: dict[str, Any], content: Sequence[Any]) -> dict[str, Any]:
    """A copy of an event with other content, without the fields that belong only to its results."""
    like = {
        key: value[key] for key in value if key not in ("toolUseResult", "sourceToolAssistantUUID")
    }
    return like | {
        "uuid": event_id(value.get("uuid"), dump(content)),
        "message": value["message"] | {"content": list(content)},
    }


FORMAT = Format(
    "claude-code", sniff, read, owner, insert, relink, must_alternate=True, text_block=text_block
)


def _cleared(events: Sequence[ClaudeEvent]) -> set[str]:
    """The ids of calls whose results the client has cleared from the context."""
    cleared: set[str] = set()
    for event in events:
        details = event.value.get("microcompactMetadata")
        if details is not None:
            names = elements(members(details).get("compactedToolIds"))
            cleared.update(name for name in names if isinstance(name, str))
    return cleared


def _messages(events: Sequence[ClaudeEvent], cleared: set[str]) -> Iterator[Message]:
    """The messages of the live events, each at its first line."""
    spread: dict[str, list[ClaudeEvent]] = {}
    for event in events:
        if event.kind == "assistant" and event.message_id:
            spread.setdefault(event.message_id, []).append(event)
    index = 0
    for event in events:
        if event.kind == "assistant":
            together = spread.get(event.message_id) or [event] if event.message_id else [event]
            if together[0] is not event:
                continue
            parts = tuple(part for message in together for part in _content(message))
            yield Message(
                "assistant", parts, index=index, spans=tuple(message.span for message in together)
            )
            index += 1
        elif event.kind == "attachment":
            yield _attachment(event, index)
            index += 1
        else:
            for message in _user(event, index, cleared):
                yield message
                index += 1


def _attachment(event: ClaudeEvent, index: int) -> Message:
    part = Part("text", dump(event.value["attachment"]))
    return Message("user", (part,), None, True, index=index, spans=(event.span,))


def _user(event: ClaudeEvent, index: int, cleared: set[str]) -> Iterator[Message]:
    """The messages of a user line."""
    content = event.message.get("content")
    if isinstance(content, str):
        part = Part("text", content, span=event.span.inside("message", "content"))
        yield Message(
            "user", (part,), None, *_origin(event, content), index=index, spans=(event.span,)
        )
        return
    span = event.span.inside("message", "content")
    for message in user_messages(elements(content), span, index):
        if message.role == "tool":
            yield _cleared_if_named(message, cleared)
        else:
            text = next((part.text for part in message.parts if part.kind == "text"), "")
            by_client, is_summary = _origin(event, text)
            yield (
                replace(message, is_injected=True, is_summary=is_summary) if by_client else message
            )


def _cleared_if_named(message: Message, cleared: set[str]) -> Message:
    result = message.result
    if result is None or result.call_id not in cleared:
        return message
    return replace(message, parts=(replace(result, text=CLEARED, span=None, block=None),))


def _origin(event: ClaudeEvent, text: str) -> tuple[bool, bool]:
    """Whether the client wrote a text, and whether it is a summary of everything before."""
    is_summary = bool(event.value.get("isCompactSummary"))
    return is_summary or bool(event.value.get("isMeta")) or is_injected(text), is_summary


def _content(event: ClaudeEvent) -> Iterator[Part]:
    """The parts of one assistant line."""
    content = event.message.get("content")
    if isinstance(content, str):
        yield Part("text", content, span=event.span.inside("message", "content"))
    for position, value in enumerate(elements(content)):
        yield block(value, event.span.inside("message", "content", position))
