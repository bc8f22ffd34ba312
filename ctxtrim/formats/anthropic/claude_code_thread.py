"""The live events of a Claude Code session.

Every event names its parent. The live context is more than the path from the last message to the
root: results of parallel calls branch off that path, and so do the other lines of a message of
several lines. The search follows the parents from the last message to the last compaction. Then it
adds the lines that share a message id with the path, and the results that answer its calls.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
from typing import Any

from ctxtrim.formats.event_links import EventGraph, EventIndex, SessionEvent
from ctxtrim.formats.fields import elements, members, string
from ctxtrim.formats.usage import anthropic_usage, is_complete
from ctxtrim.model import Companion, Part, Span
from ctxtrim.model.request import Usage

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


_LINKS = ("parentUuid", "logicalParentUuid", "sourceToolAssistantUUID", "leafUuid")


class ClaudeEvent(SessionEvent):
    """One event of the session. It keeps what the conversation needs, and no other values.

    `kind` is its type; a summary with a user message counts as that message. `content` is that of
    its message if a model could read it, or the attachment. `calls` are the ids of its calls, and
    `results` those of the calls that it answers. `message_id` is shared by all lines of a model
    message, `model` is the model that it names, and `usage` the recorded usage of a complete
    answer. `speaks`: the event contains something that a model could read, although it may not be
    sent. `is_client`: the client wrote it; `is_summary`: as a summary of everything before.
    `is_compaction`: such a summary follows. `cleared`: the ids of calls whose results the client
    clears from the context; None if the event is not about that. `owner`: the id of the prompt or
    call that a snapshot or progress belongs to. `answer`: the index of the message.
    """

    __slots__ = (
        "answer", "calls", "cleared", "content", "is_client", "is_compaction", "is_sidechain",
        "is_summary", "kind", "message_id", "model", "owner", "results", "speaks", "usage",
    )  # fmt: skip

    def __init__(self, value: dict[str, Any], span: Span) -> None:
        super().__init__(value, span)
        self.value = {key: value[key] for key in _LINKS if key in value}
        self.is_sidechain = value.get("isSidechain") is True
        kind, message = value.get("type"), value.get("message")
        self.kind = "user" if kind == "summary" and message is not None else string(kind)
        self.is_compaction = value.get("subtype") == "compact_boundary"
        self.speaks = self.is_client = self.is_summary = False
        self.answer: int | None = None
        self.cleared: list[str] | None = None
        self.content: Any = None
        self.calls: tuple[object, ...] = ()
        self.results: tuple[object, ...] = ()
        self.message_id: str | None = None
        self.model: object = None
        self.owner: str | None = None
        self.usage: Usage | None = None
        if "microcompactMetadata" in value:
            self.cleared = _cleared(value["microcompactMetadata"])
        if self.kind == "progress":
            self.owner = string(value.get("parentToolUseID") or value.get("toolUseID"))
        elif self.kind in ("user", "assistant"):
            if isinstance(message, dict):
                self._take_message(value, message)
        elif self.kind == "attachment":
            self._take_attachment(value.get("attachment"))
        elif self.kind == "file-history-snapshot":
            self.owner = string(value.get("messageId"))

    def _take_message(self, value: dict[str, Any], message: dict[str, Any]) -> None:
        """Read what a model could read, and who wrote it."""
        content = message.get("content")
        self.model, self.message_id = message.get("model"), string(message.get("id"))
        self.speaks = isinstance(content, str)
        for block in elements(content):
            if isinstance(block, dict):
                self.speaks = True
                if block.get("type") == "tool_use":
                    self.calls = (*self.calls, block.get("id"))
                elif block.get("type") == "tool_result":
                    self.results = (*self.results, block.get("tool_use_id"))
        if not self.speaks:
            return
        self.content = content
        self.is_summary = bool(value.get("isCompactSummary"))
        self.is_client = self.is_summary or bool(value.get("isMeta"))
        is_hidden = value.get("isVisibleInTranscriptOnly") and not self.is_summary
        self.is_context = self.model != SYNTHETIC and not is_hidden
        if self.kind == "assistant" and is_complete(message) and is_complete(value):
            self.usage = anthropic_usage(message.get("usage"))

    def _take_attachment(self, attachment: object) -> None:
        if isinstance(attachment, dict) and attachment.get("type") in _VISIBLE:
            self.speaks = self.is_context = True
            self.content = attachment


def _cleared(details: object) -> list[str]:
    """The ids of the calls that a cleaning of the context names."""
    names = elements(members(details).get("compactedToolIds"))
    return [name for name in names if isinstance(name, str)]


def events_in(values: Iterable[Any]) -> Iterator[tuple[dict[str, Any], Span]]:
    """The events among the values of some lines, and their spans.

    A document contains them under `loglines`.
    """
    for line, value in enumerate(values):
        if isinstance(value, dict) and isinstance(value.get("loglines"), list):
            for index, item in enumerate(value["loglines"]):
                if isinstance(item, dict):
                    yield item, Span(line, ("loglines", index))
        elif isinstance(value, dict):
            yield value, Span(line)


def _thread(events: Sequence[ClaudeEvent]) -> set[int]:
    """The live events: those of the context, and those that link them."""
    speaking = [index for index, event in enumerate(events) if event.speaks]
    main = [index for index in speaking if not events[index].is_sidechain] or speaking
    if not main:
        return set()
    lookup = EventIndex(events)
    if lookup.is_linked:
        chain = set(takewhile(lambda index: not events[index].is_compaction, lookup.walk(main[-1])))
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
    calls = {name for index in chain for name in events[index].calls if isinstance(name, str)}
    chain.update(
        index
        for index in main
        if any(isinstance(name, str) and name in calls for name in events[index].results)
    )
    return chain


def _after_compaction(events: Sequence[ClaudeEvent]) -> int:
    return max((index + 1 for index, event in enumerate(events) if event.is_compaction), default=0)


def _home(span: Span) -> Span:
    """The span of the event that contains a message or block."""
    return Span(span.line, span.path[:2] if span.path[:1] == ("loglines",) else ())


class Companions:
    """The lines to remove with messages: file snapshots of prompts, progress of calls."""

    def __init__(self, events: Iterable[ClaudeEvent]) -> None:
        self._prompts: dict[str | None, list[Companion]] = {}
        self._calls: dict[str | None, list[Companion]] = {}
        for event in events:
            if event.kind == "progress":
                self._add(self._calls, event)
            elif event.kind == "file-history-snapshot":
                self._add(self._prompts, event)

    def _add(self, lines: dict[str | None, list[Companion]], event: ClaudeEvent) -> None:
        lines.setdefault(event.owner, []).append(Companion(event.span, str(event.kind)))

    def take(self, events: Sequence[ClaudeEvent], parts: Sequence[Part]) -> tuple[Companion, ...]:
        """The companions of a message that no message has yet."""
        if not self._prompts and not self._calls:
            return ()
        found: list[Companion] = []
        for event in events:
            if event.id in self._prompts and event.id is not None:
                found += self._prompts.pop(event.id)
        for part in parts:
            if part.kind == "tool_call" and part.call_id in self._calls:
                found += self._calls.pop(part.call_id)
        return tuple(found)


GRAPH = EventGraph(
    ClaudeEvent,
    lambda values: (ClaudeEvent(value, span) for value, span in events_in(values)),
    _thread,
    _home,
    links=_LINKS,
    lasting=("leafUuid",),  # may name an event of another session
)
