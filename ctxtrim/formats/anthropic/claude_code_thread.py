"""The live events of a Claude Code session.

Every event names its parent. The live context is more than the path from the last message to the
root: results of parallel calls branch off that path, and so do the other lines of a message of
several lines. The search follows the parents from the last message to the last compaction. Then it
adds the lines that share a message id with the path, and the results that answer its calls.
"""

from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import Any

from msgspec.structs import replace

from ctxtrim.formats.event_links import EventGraph, EventIndex, SessionEvent
from ctxtrim.formats.fields import elements, string
from ctxtrim.model import Companion, Message, Span

ENVELOPE = (
    "isSidechain", "userType", "cwd", "sessionId", "session_id", "version", "gitBranch", "slug",
    "entrypoint", "agentId", "sessionKind", "timestamp",
)  # fmt: skip
"""The keys that an inserted event copies from its neighbour. This avoids reading the clock."""

SYNTHETIC = "<synthetic>"
"""The model name of messages that the client generates. They are never sent."""

# Attachments that the client sends to the model.
_VISIBLE = (
    "file", "queued_command", "edited_text_file", "nested_memory", "skill_listing",
    "invoked_skills", "plan_mode", "hook_additional_context", "hook_blocking_error",
    "todo_reminder", "task_reminder", "compact_file_reference", "total_tokens_reminder",
    "selected_lines_in_ide", "opened_file_in_ide", "diagnostics", "mcp_resource",
)  # fmt: skip


class ClaudeEvent(SessionEvent):
    """One event of the session, with the facts that are needed often.

    `kind` is its type; a summary with a user message counts as that message. `message` is empty if
    the event has none. `message_id` is shared by all lines of one model message. `speaks`: the
    event contains something that a model could read, although it may not be sent.
    """

    __slots__ = ("is_sidechain", "kind", "message", "message_id", "speaks")

    def __init__(self, value: dict[str, Any], span: Span) -> None:
        super().__init__(value, span)
        self.is_sidechain = value.get("isSidechain") is True
        kind, message = value.get("type"), value.get("message")
        self.kind = "user" if kind == "summary" and message is not None else string(kind)
        self.message: dict[str, Any] = message if isinstance(message, dict) else {}
        self.message_id = string(self.message.get("id"))
        if self.kind == "attachment":
            attachment = value.get("attachment")
            self.speaks = self.is_context = (
                isinstance(attachment, dict) and attachment.get("type") in _VISIBLE
            )
            return
        content = self.message.get("content") if self.kind in ("user", "assistant") else None
        self.speaks = isinstance(content, str) or (
            isinstance(content, list) and any(isinstance(block, dict) for block in content)
        )
        is_hidden = value.get("isVisibleInTranscriptOnly") and not value.get("isCompactSummary")
        self.is_context = self.speaks and self.message.get("model") != SYNTHETIC and not is_hidden


def events_in(values: Sequence[Any]) -> Iterator[ClaudeEvent]:
    """The events among the values of some lines. A document contains them under `loglines`."""
    for line, value in enumerate(values):
        if isinstance(value, dict) and isinstance(value.get("loglines"), list):
            for index, item in enumerate(value["loglines"]):
                if isinstance(item, dict):
                    yield ClaudeEvent(item, Span(line, ("loglines", index)))
        elif isinstance(value, dict):
            yield ClaudeEvent(value, Span(line))


def _thread(events: Sequence[ClaudeEvent]) -> set[int]:
    """The live events: those of the context, and those that link them."""
    speaking = [index for index, event in enumerate(events) if event.speaks]
    main = [index for index in speaking if not events[index].is_sidechain] or speaking
    if not main:
        return set()
    lookup = EventIndex(events)
    if lookup.is_linked:
        chain = set(
            takewhile(lambda index: not is_compaction(events[index]), lookup.walk(main[-1]))
        )
    else:
        chain = set(range(_after_compaction(events), len(events)))
    side = events[main[-1]].is_sidechain
    chain = {index for index in chain if events[index].is_sidechain == side}
    first = min(chain, default=0)
    main = [
        index for index in main if index > first
    ]  # compacted events stay out, even if they share an id
    ids = {events[index].message_id for index in chain if events[index].kind == "assistant"} - {
        None
    }
    chain.update(
        index
        for index in main
        if events[index].message_id in ids and events[index].kind == "assistant"
    )
    calls = {name for index in chain for name in _field_values(events[index], "tool_use", "id")}
    chain.update(
        index
        for index in main
        if not calls.isdisjoint(_field_values(events[index], "tool_result", "tool_use_id"))
    )
    return chain


def is_compaction(event: ClaudeEvent) -> bool:
    """Whether an event is a compaction: the client summarized everything before it."""
    return event.value.get("subtype") == "compact_boundary"


def _after_compaction(events: Sequence[ClaudeEvent]) -> int:
    return max((index + 1 for index, event in enumerate(events) if is_compaction(event)), default=0)


def _field_values(event: ClaudeEvent, kind: str, field: str) -> list[str]:
    """The values of a field of all blocks of a kind."""
    names = (
        block.get(field)
        for block in elements(event.message.get("content"))
        if isinstance(block, dict) and block.get("type") == kind
    )
    return [name for name in names if isinstance(name, str)]


def _home(span: Span) -> Span:
    """The span of the event that contains a message or block."""
    return Span(span.line, span.path[:2] if span.path[:1] == ("loglines",) else ())


def with_companions(
    messages: Sequence[Message], events: Sequence[ClaudeEvent]
) -> Iterator[Message]:
    """The messages with their companion lines: file snapshots of a prompt, progress of a call."""
    prompts: dict[str | None, list[Companion]] = {}
    calls: dict[str | None, list[Companion]] = {}
    for event in events:
        if event.kind == "file-history-snapshot":
            prompts.setdefault(string(event.value.get("messageId")), []).append(
                Companion(event.span, event.kind)
            )
        elif event.kind == "progress":
            call = event.value.get("parentToolUseID") or event.value.get("toolUseID")
            calls.setdefault(string(call), []).append(Companion(event.span, event.kind))
    if not prompts and not calls:
        yield from messages
        return
    uuids = {event.span: event.id for event in events if event.id is not None}
    for message in messages:
        names = dict.fromkeys(uuids.get(span) for span in message.spans)
        found = [
            companion for name in names if name is not None for companion in prompts.pop(name, ())
        ]
        found += [companion for call in message.calls for companion in calls.pop(call.call_id, ())]
        yield replace(message, companions=tuple(found)) if found else message


GRAPH = EventGraph(
    ClaudeEvent,
    events_in,
    _thread,
    _home,
    links=("parentUuid", "logicalParentUuid", "sourceToolAssistantUUID", "leafUuid"),
    lasting=("leafUuid",),  # may name an event of another session
)
