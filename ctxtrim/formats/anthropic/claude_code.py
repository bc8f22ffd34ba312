"""Claude Code sessions: one event a line, or all of them in one document under `loglines`.

Only `message` is ever context: `toolUseResult`, `progress`, snapshots and summaries of other sessions are not. One
message of the model spreads over several lines that share a message id; one line of the user may hold several results.
Which lines are live is told in `claude_links`, how links are mended when a line goes in `links`.
"""

from collections.abc import Iterator, Sequence, Set
from dataclasses import replace
from itertools import pairwise
from typing import Any

from ctxtrim.formats.anthropic.blocks import block, is_injected, spelled, user_messages
from ctxtrim.formats.anthropic.claude_code_thread import (
    ENVELOPE,
    LINEAGE,
    SYNTHETIC,
    Event,
    events_in,
    is_compaction,
    with_companions,
)
from ctxtrim.formats.base import Format, Insertion, Layout, Mended, Site
from ctxtrim.formats.ids import made_id
from ctxtrim.formats.media_blocks import text_block
from ctxtrim.formats.usage import anthropic_usage, is_complete
from ctxtrim.model import Line, Message, Part, Source, Span, Transcript, Usage
from ctxtrim.text.json_paths import Path
from ctxtrim.text.records import Record, document, dump, split

CLEARED = "[Old tool result content cleared]"
"""What the client sends in the place of a result that it has cleared (a `microcompact_boundary` names them)."""

_TYPES = ("user", "assistant", "system", "progress", "attachment", "summary", "file-history-snapshot")


def sniff(value: object) -> Layout | None:
    """An event with the envelope's type and one of the keys that every event of it has, or a document of them."""
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
        return False  # Qwen Code's
    return kind in _TYPES and ("sessionId" in value or "leafUuid" in value or "snapshot" in value)


def read(records: Sequence[Record], lines: tuple[Line, ...]) -> list[Transcript]:
    """The one conversation of the session: its live context, or a sidechain's where there is nothing else."""
    events = list(events_in([record.value for record in records]))
    current = LINEAGE.live(events)
    messages = tuple(with_companions(tuple(_messages(current, _cleared(events))), events))
    if not messages:
        return []
    cut = max((event.span for event in events if _is_cut(event)), default=Span(-1))
    since = [event for event in current if event.span > cut]
    models = [event.message.get("model") for event in events if event.kind == "assistant"]
    model = next((name for name in reversed(models) if isinstance(name, str) and name != SYNTHETIC), None)
    session = next(
        (event.value["sessionId"] for event in events if isinstance(event.value.get("sessionId"), str)), None
    )
    return [
        Transcript(messages, Source(lines, messages), model=model, id=session, usages=tuple(_usages(since, messages)))
    ]


def _is_cut(event: Event) -> bool:
    """Whether what was recorded before counted a context that is no more: it was compacted, or results were cleared."""
    return is_compaction(event) or "microcompactMetadata" in event.value


def _usages(events: Sequence[Event], messages: Sequence[Message]) -> Iterator[Usage]:
    """What each answer recorded. All lines of a message repeat its usage, and the last of them has it right."""
    answers = {span: message.index for message in messages if message.role == "assistant" for span in message.spans}
    found: dict[int | None, Usage] = {}
    for event in events:
        is_answer = event.kind == "assistant" and is_complete(event.message) and is_complete(event.value)
        usage = anthropic_usage(event.message.get("usage")) if is_answer else None
        if usage is not None:
            answer = answers[event.span]
            found[answer] = replace(usage, message=answer, model=event.message.get("model"))
    return iter(found.values())


def owner(array: Path) -> Path | None:
    """A line goes when the last block of its content goes."""
    return array[:-2] if array[-2:] == ("message", "content") else None


def insert(run: Sequence[Message], site: Site) -> Sequence[Insertion]:
    """Each message as an event of its own; a result between two messages of one event as a block of its content."""
    earlier, later = site.earlier, site.later
    before = _event(earlier.spans[-1]) if earlier is not None else None
    after = _event(later.spans[0]) if later is not None else None
    if earlier is not None and later is not None and before is not None and before == after:
        near, cut = site.value_of(before), later.spans[0]
        return [
            Insertion(spelled(message), earlier.spans[-1], is_after=True)
            if message.role == "tool"
            else Insertion(_event_of(message, near, number), cut, cuts=True)
            for number, message in enumerate(run)
        ]
    is_after = after is None or (run[0].role == "tool" and before is not None)
    where = (before if is_after else after) or _event(site.any.spans[0])
    near = site.value_of(where)
    return [Insertion(_event_of(message, near, number), where, is_after) for number, message in enumerate(run)]


def _event(span: Span) -> Span:
    """The event that a message, or a block of one, stands in."""
    return Span(span.line, span.path[: span.path.index("message")]) if "message" in span.path else span


def _event_of(message: Message, near: dict[str, Any], number: int) -> dict[str, Any]:
    """An event with the envelope of the one beside it; its uuid, where those have any, of what it says and where."""
    said = spelled(message)
    content = said["text"] if message.result is None else [said]
    role = "assistant" if message.role == "assistant" else "user"
    value: dict[str, Any] = {"parentUuid": None} if "uuid" in near else {}
    value |= {key: near[key] for key in ENVELOPE if key in near}
    value |= {"type": role, "message": {"role": role, "content": content}}
    if "uuid" in near:
        value["uuid"] = made_id(near["uuid"], dump(content), number)
    return value | {"isCompactSummary": True, "isVisibleInTranscriptOnly": True} if message.is_summary else value


def mend(lines: Sequence[Line], removed: Set[Span], kept: Set[Span], inserted: Sequence[Insertion]) -> Mended:
    """As `Lineage.mend`. An event that is cut in two keeps what stands before the cut; the rest is one of its own."""
    cuts = {one.where: _event(one.where) for one in inserted if one.cuts}
    if not cuts:
        return LINEAGE.mend(lines, removed, kept, inserted)
    gone, news = set(removed), [one for one in inserted if not one.cuts]
    values = [record.value for record in (document(line.data) or split(line.data, 1)[0] for line in lines)]
    events = {event.span: event for event in events_in(values)}
    for home in dict.fromkeys(cuts.values()):
        content = events[home].message["content"]
        places = sorted(int(where.path[-1]) for where in cuts if cuts[where] == home)
        for first, end in pairwise((*places, len(content))):
            where = home.inside("message", "content", first)
            news += [
                replace(one, where=home, is_after=True, cuts=False)
                for one in inserted
                if one.where == where and one.cuts
            ]
            blocks = [home.inside("message", "content", place) for place in range(first, end)]
            rest = [content[int(block.path[-1])] for block in blocks if block not in removed]
            news.append(Insertion(_rest_of(events[home].value, rest), home, is_after=True))
            gone.update(blocks)
    return LINEAGE.mend(lines, gone, kept, news)


def _rest_of(value: dict[str, Any], content: Sequence[Any]) -> dict[str, Any]:
    """An event like another one with other content, without what only the results in that one have."""
    like = {key: value[key] for key in value if key not in ("toolUseResult", "sourceToolAssistantUUID")}
    return like | {
        "uuid": made_id(value.get("uuid"), dump(content)),
        "message": value["message"] | {"content": list(content)},
    }


FORMAT = Format("claude-code", sniff, read, owner, insert, mend, must_alternate=True, text_block=text_block)


def _cleared(events: Sequence[Event]) -> set[str]:
    """The calls whose results the client has cleared from its context."""
    cleared: set[str] = set()
    for event in events:
        details = event.value.get("microcompactMetadata")
        if isinstance(details, dict) and isinstance(details.get("compactedToolIds"), list):
            cleared.update(name for name in details["compactedToolIds"] if isinstance(name, str))
    return cleared


def _messages(events: Sequence[Event], cleared: set[str]) -> Iterator[Message]:
    """The messages of the live events, each where its first line stands."""
    spread: dict[str, list[Event]] = {}
    for event in events:
        if event.kind == "assistant" and event.message_id:
            spread.setdefault(event.message_id, []).append(event)
    index = 0
    for event in events:
        if event.kind == "assistant":
            together = spread.get(event.message_id) or [event] if event.message_id else [event]
            if together[0] is not event:
                continue
            parts = tuple(part for one in together for part in _content(one))
            yield Message("assistant", parts, index=index, spans=tuple(one.span for one in together))
            index += 1
        elif event.kind == "attachment":
            yield _attachment(event, index)
            index += 1
        else:
            for message in _user(event, index, cleared):
                yield message
                index += 1


def _attachment(event: Event, index: int) -> Message:
    part = Part("text", dump(event.value["attachment"]))
    return Message("user", (part,), None, True, index=index, spans=(event.span,))


def _user(event: Event, index: int, cleared: set[str]) -> Iterator[Message]:
    """The messages of a user line."""
    content = event.message.get("content")
    if isinstance(content, str):
        part = Part("text", content, span=event.span.inside("message", "content"))
        yield Message("user", (part,), None, *_origin(event, content), index=index, spans=(event.span,))
        return
    where = event.span.inside("message", "content")
    for message in user_messages(content if isinstance(content, list) else (), where, index):
        if message.role == "tool":
            yield _cleared_if_named(message, cleared)
        else:
            text = next((part.text for part in message.parts if part.kind == "text"), "")
            by_client, is_summary = _origin(event, text)
            yield replace(message, is_injected=True, is_summary=is_summary) if by_client else message


def _cleared_if_named(message: Message, cleared: set[str]) -> Message:
    result = message.result
    if result is None or result.call_id not in cleared:
        return message
    return replace(message, parts=(replace(result, text=CLEARED, span=None, block=None),))


def _origin(event: Event, text: str) -> tuple[bool, bool]:
    """Whether the client wrote it, and whether it stands for all that was said before."""
    is_summary = bool(event.value.get("isCompactSummary"))
    return is_summary or bool(event.value.get("isMeta")) or is_injected(text), is_summary


def _content(event: Event) -> Iterator[Part]:
    """The parts of one assistant line."""
    content = event.message.get("content")
    if isinstance(content, str):
        yield Part("text", content, span=event.span.inside("message", "content"))
    for position, value in enumerate(content if isinstance(content, list) else ()):
        yield block(value, event.span.inside("message", "content", position))
