"""Claude Code sessions: one event per line, or all events in one document under `loglines`.

Only `message` is sent to the model: `toolUseResult`, `progress`, snapshots and summaries of other
sessions are not. One message of the model spans several lines with the same message id. One user
line may contain several results. `claude_code_events` reads the lines, `claude_code_thread` finds
the live ones, `event_links` updates their links.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, pairwise
from typing import Any

from msgspec.structs import replace

from ctxtrim.formats.agents import knows_cursor
from ctxtrim.formats.anthropic.blocks import json_value
from ctxtrim.formats.anthropic.claude_code_events import (
    ABOVE,
    SYNTHETIC,
    ClaudeEvent,
    event_around,
    event_list,
    event_of,
    events_in,
)
from ctxtrim.formats.anthropic.claude_code_thread import GRAPH, as_loaded
from ctxtrim.formats.base import Edit, Format, Insertion, Site, layout_of_events, session
from ctxtrim.formats.fields import elements, first_string, located, stream_session, string
from ctxtrim.formats.lines import LineBlock
from ctxtrim.formats.media_blocks import text_block
from ctxtrim.formats.message_lists import insert_around
from ctxtrim.formats.message_parts import event_id
from ctxtrim.model import Companion, Line, Message, Part, Span, Transcript
from ctxtrim.model.request import RequestOptions, Usage
from ctxtrim.text.json_paths import Path
from ctxtrim.text.records import JsonRecord, dump

CLEARED = "[Old tool result content cleared]"
"""The text that the client sends for a cleared result (named by a `microcompact_boundary`)."""

_TYPES = (
    "user", "assistant", "system", "progress", "attachment", "summary", "file-history-snapshot",
)  # fmt: skip
_ENVELOPE = (
    "isSidechain", "userType", "cwd", "sessionId", "session_id", "version", "gitBranch", "slug",
    "entrypoint", "agentId", "sessionKind", "timestamp",
)  # fmt: skip
"""The keys that an inserted event copies from its neighbour. This avoids reading the clock."""

_KEPT = 64 << 20  # maximum bytes of a session whose events are kept in memory for an edit
_FORK = "fork-context-ref"
"""The type of the first line of a subagent that continues the conversation of its parent."""

_HEAD = 32  # events of a document inspected to detect it; those of hooks come first


def knows(value: object) -> bool:
    """Whether a value is an event, which has a known type and a key of such events, or a document
    of events.
    """
    events = event_list(value)
    candidates = [value] if events is None else events[:_HEAD]
    return any(map(_is_event, candidates))


def _is_event(value: object) -> bool:
    if not isinstance(value, dict):
        return False
    kind, message = value.get("type"), value.get("message")
    if kind in ("user", "assistant"):
        is_message = isinstance(message, dict) and "content" in message and "parts" not in message
        return is_message and not knows_cursor(value)
    if "systemPayload" in value or (isinstance(message, dict) and "parts" in message):
        return False  # an event of Qwen Code
    if kind == _FORK:
        return "parentSessionId" in value
    return kind in _TYPES and ("sessionId" in value or "leafUuid" in value or "snapshot" in value)


def session_of(value: Mapping[str, Any]) -> str | None:
    """The id of the session that a line begins: it has no parent, or is the first of a stream.

    A compaction has no parent either, but belongs to the session before it.
    """
    stream_id = stream_session(value)
    if stream_id is not None:
        return stream_id
    if value.get(ABOVE, "") is not None or "uuid" not in value or value.get("isSidechain"):
        return None
    is_compaction = "logicalParentUuid" in value or value.get("subtype") == "compact_boundary"
    return None if is_compaction else string(value.get("sessionId"))


def read(records: Iterable[JsonRecord], lines: Sequence[Line]) -> list[Transcript]:
    """The one conversation of the session: its live context, or a sidechain if there is nothing
    else.
    """
    events: list[ClaudeEvent] = []
    name: str | None = None
    base: str | None = None
    for value, span in events_in(record.value for record in records):
        if not events and value.get("type") == _FORK:
            base = string(value.get("parentSessionId"))
        events.append(event_of(value, span))
        name = string(value.get("sessionId")) if name is None else name
    events = as_loaded(events)
    live_events = GRAPH.live(events)
    snapshots = _snapshots(live_events, events)
    messages = _messages(live_events, events, snapshots)
    models = (event.model for event in reversed(events) if event.kind == "assistant")
    is_small = isinstance(lines, LineBlock) and len(lines.data) <= _KEPT
    return session(
        messages,
        lines,
        events=events if is_small else None,
        model=first_string(model for model in models if model != SYNTHETIC),
        id=name,
        tools=_tools(snapshots),
        usages=tuple(_usages(live_events, events)),
        options=RequestOptions(base=None if any(event.is_compaction for event in events) else base),
    )


class _Companions:
    """The lines to remove with messages: file snapshots of prompts, progress of calls."""

    def __init__(self, events: Iterable[ClaudeEvent]) -> None:
        self._prompts: dict[str | None, list[ClaudeEvent]] = {}
        self._calls: dict[str | None, list[ClaudeEvent]] = {}
        for event in events:
            if event.kind == "progress":
                self._calls.setdefault(event.owner, []).append(event)
            elif event.owner is not None:
                self._prompts.setdefault(event.owner, []).append(event)

    def take(self, events: Sequence[ClaudeEvent], parts: Sequence[Part]) -> tuple[Companion, ...]:
        """The companions of a message that no message has yet."""
        if not self._prompts and not self._calls:
            return ()
        lines: list[ClaudeEvent] = []
        for event in events:
            lines += self._prompts.pop(event.id, ())
        for part in parts:
            if part.kind == "tool_call":
                lines += self._calls.pop(part.call_id, ())
        return tuple([Companion(line.span, str(line.kind)) for line in lines])


def _messages(
    live_events: Sequence[ClaudeEvent],
    events: Sequence[ClaudeEvent],
    snapshots: Sequence[ClaudeEvent],
) -> list[Message]:
    """The messages of the live events, each at its first line."""
    client_texts = _client_texts(events)
    companions = _Companions(events)
    events_by_id: dict[str, list[ClaudeEvent]] = {}
    for event in live_events:
        if event.kind == "assistant" and event.message_id:
            events_by_id.setdefault(event.message_id, []).append(event)
    messages = list(_prompt(snapshots))
    for event in live_events:
        if event.kind == "assistant":
            answer_events = events_by_id[event.message_id] if event.message_id else [event]
            if answer_events[0] is event:
                messages.append(_answer(answer_events, len(messages), companions))
        event_messages, event.messages = event.messages, ()  # copied, and not needed any more
        for message in event_messages:
            lines = companions.take((event,), ()) if message.spans == (event.span,) else ()
            message = replace(message, index=len(messages), companions=lines)
            messages.append(_with_client_text(message, client_texts) if client_texts else message)
    return messages


def _client_texts(events: Sequence[ClaudeEvent]) -> dict[str, str]:
    """The texts that the client sends for results, by the ids of their calls."""
    texts: dict[str, str] = {}
    for event in events:
        if event.replacements:
            texts |= event.replacements
    for event in events:
        if event.cleared:
            texts |= dict.fromkeys(event.cleared, CLEARED)
    return texts


def _prompt(snapshots: Sequence[ClaudeEvent]) -> Iterator[Message]:
    """The system prompt of the last snapshot, if there is one; the client sends it again.

    Its spans are those of all snapshots.
    """
    for event in snapshots[-1:]:
        texts = elements((event.snapshot or {}).get("systemPrompt"))
        parts = tuple([Part("text", text) for text in texts if isinstance(text, str)])
        spans = tuple([snapshot.span for snapshot in reversed(snapshots)])
        if parts:
            yield Message("system", parts, index=0, spans=spans)


def _tools(snapshots: Sequence[ClaudeEvent]) -> str | None:
    """The tools of the last snapshot with tools. The first snapshot of a session has none."""
    for event in reversed(snapshots):
        tools = elements((event.snapshot or {}).get("tools"))
        if tools:
            return dump([_tool(tool) for tool in tools])
    return None


def _tool(tool: Any) -> Any:
    """A tool as it is sent, with its schema under the name of the API."""
    if not isinstance(tool, dict) or "schema" not in tool:
        return tool
    rest = {key: tool[key] for key in tool if key != "schema"}
    return {**rest, "input_schema": tool["schema"]}


def _snapshots(
    live_events: Sequence[ClaudeEvent], events: Sequence[ClaudeEvent]
) -> list[ClaudeEvent]:
    """The snapshots of the prompt of the main session, or of the subagent of the live events."""
    if not live_events:
        return []
    is_sidechain = live_events[-1].is_sidechain
    snapshots = [event for event in events if event.snapshot and event.is_sidechain == is_sidechain]
    return sorted(snapshots, key=lambda event: event.span)


def _answer(events: Sequence[ClaudeEvent], index: int, companions: _Companions) -> Message:
    """A message of the model, from all of its lines."""
    parts = tuple(chain.from_iterable([event.parts for event in events]))
    for event in events:
        event.answer = index
    spans = tuple(event.span for event in events)
    lines = companions.take(events, parts)
    return Message("assistant", parts, index=index, spans=spans, companions=lines)


def _with_client_text(message: Message, client_texts: Mapping[str, str]) -> Message:
    """A result with the text that the client sends for it, which cannot be edited."""
    result = message.result
    text = None if result is None else client_texts.get(result.call_id or "")
    if result is None or text is None:
        return message
    return replace(message, parts=(replace(result, text=text, span=None, block=None),))


def _usages(live_events: Sequence[ClaudeEvent], events: Sequence[ClaudeEvent]) -> Iterator[Usage]:
    """The usage of each answer since the client last changed the context before it.

    Every line of a message repeats its usage; the last line has the right one.
    """
    cuts = (
        event.span
        for event in events
        if event.is_compaction or event.snipped or event.cleared is not None
    )
    cut = max(cuts, default=Span(-1))
    usages: dict[int | None, Usage] = {}
    for event in live_events:
        if event.usage is not None and event.span > cut:
            model = string(event.model)
            usages[event.answer] = replace(event.usage, message=event.answer, model=model)
    return iter(usages.values())


def owner(array: Path) -> Path | None:
    """A line is removed with the last block of its content."""
    is_content = array[-2:] in (("message", "content"), ("attachment", "prompt"))
    return array[:-2] if is_content else None


def insert(run: Sequence[Message], site: Site) -> Sequence[Insertion]:
    """Each message as an event.

    A result between two messages of one event becomes a block of its content.
    """
    earlier = site.earlier
    if earlier is not None and earlier.role == "system":
        earlier = None  # the snapshot of a prompt, which may be anywhere in the file
    insertions = insert_around(run, replace(site, earlier=earlier), event_around, _event_of)
    for number, message in enumerate(run):
        if earlier is not None and message.role == "tool" and insertions[number].cuts:
            last_block = earlier.spans[-1]
            insertions[number] = Insertion(json_value(message), last_block, is_after=True)
    return insertions


def _event_of(message: Message, neighbour: dict[str, Any], number: int) -> dict[str, Any]:
    """An event with the envelope of its neighbour.

    Its uuid is derived from its content and position.
    """
    block = json_value(message)
    content = block["text"] if message.result is None else [block]
    role = "assistant" if message.role == "assistant" else "user"
    value: dict[str, Any] = {"parentUuid": None} if "parentUuid" in neighbour else {}
    value |= {key: neighbour[key] for key in _ENVELOPE if key in neighbour}
    value |= {"type": role, "message": {"role": role, "content": content}}
    if "uuid" in neighbour:
        value["uuid"] = event_id(neighbour["uuid"], dump(content), number)
    if message.is_summary:
        value |= {"isCompactSummary": True, "isVisibleInTranscriptOnly": True}
    return value


def relink(edit: Edit) -> Edit:
    """The edit with updated links.

    The first half of a split event keeps its uuid; the rest is a new event.
    """
    additions: list[Insertion] = []
    cuts: dict[Span, dict[int, list[Insertion]]] = {}  # by their event and the index of their block
    for insertion in edit.inserted:
        if insertion.cuts:
            event_cuts = cuts.setdefault(event_around(insertion.span), {})
            event_cuts.setdefault(int(insertion.span.path[-1]), []).append(insertion)
        else:
            additions.append(insertion)
    if not cuts:
        return GRAPH.relink(edit)
    removed_spans = set(edit.removed)
    for event_span, event_cuts in cuts.items():
        value = edit.value_at(event_span)
        blocks = located(value["message"]["content"], event_span.inside("message", "content"))
        for start, end in pairwise((*sorted(event_cuts), len(blocks))):
            additions += [
                replace(insertion, span=event_span, is_after=True, cuts=False)
                for insertion in event_cuts[start]
            ]
            rest = [block for block, span in blocks[start:end] if span not in edit.removed]
            additions.append(Insertion(_rest_of(value, rest), event_span, is_after=True))
            removed_spans.update(span for _, span in blocks[start:end])
    return GRAPH.relink(replace(edit, removed=removed_spans, inserted=additions))


def _rest_of(value: dict[str, Any], content: Sequence[Any]) -> dict[str, Any]:
    """A copy of an event with other content, without the fields that belong only to its results."""
    result_fields = ("toolUseResult", "sourceToolAssistantUUID")
    return {key: value[key] for key in value if key not in result_fields} | {
        "uuid": event_id(value.get("uuid"), dump(content)),
        "message": value["message"] | {"content": list(content)},
    }


FORMAT = Format(
    "claude-code",
    layout_of_events(knows),
    read,
    insert,
    owner=owner,
    relink=relink,
    must_alternate=True,
    text_block=text_block,
    session_of=session_of,
)
