"""The events of a Claude Code session: the messages of each line, and the events that it names.

A result is on its line twice, in `message` and in `toolUseResult`, and many lines are progress. So
an event keeps the parts of its message, and drops its JSON value.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Self

from msgspec import UNSET
from msgspec.structs import replace

from ctxtrim.formats.anthropic.blocks import as_written, block, is_injected, user_messages
from ctxtrim.formats.event_links import SessionEvent
from ctxtrim.formats.fields import elements, inside, members, string
from ctxtrim.formats.usage import anthropic_usage, is_complete
from ctxtrim.model import Message, Part, Span
from ctxtrim.model.request import Usage

_CONTENT = ("message", "content")
ABOVE = "parentUuid"
"""The field that names the parent of an event."""

LINKS = ("logicalParentUuid", "sourceToolAssistantUUID", "leafUuid")
"""The fields that name other events than the parent."""

_NO_LINKS: dict[str, Any] = {}  # of most events

PRESERVED = ("preservedMessages", "preservedSegment", "preserved_messages", "preserved_segment")
"""The fields of a compaction that name the messages that it preserves: in sessions and streams."""

SYNTHETIC = "<synthetic>"
"""The model name of messages that the client generates. They are never sent."""


class ClaudeEvent(SessionEvent, eq=False, gc=False):
    """One event of the session, without the values that no model reads.

    - `parent`: the name of its parent; its `value` has only the other fields that name events
    - `line_parent`: the parent that the line names, if the client gives the event another one
    - `kind`: its type; a summary with a user message counts as that message
    - `speaks`: it contains something that a model could read, although it may not be sent
    - `parts`: those of a line of an answer; `messages`: those of another event, without indices
    - `calls`: the ids of its calls; `results`: those of the calls that it answers
    - `message_id`: the id that all lines of an answer share; `answer`: the index of the message
    - `model`: the model that it names; `usage`: the recorded usage of a complete answer
    - `is_synthetic`: a line of a stream that no person typed
    - `is_compaction`: the client summarized everything before
    - `compaction`: the links of a compaction to messages that it preserves
    - `snipped`: the ids of events that the client removes from the context
    - `cleared`: the ids of calls whose results the client clears from the context, if it does
    - `replacements`: the texts that the client sends for results, by the ids of their calls
    - `snapshot`: a recorded system prompt and its tools
    - `owner`: the id of the prompt or call that a snapshot or progress belongs to
    """

    parent: object = UNSET
    kind: str | None = None
    is_sidechain: bool = False
    speaks: bool = False
    is_synthetic: bool = False
    is_compaction: bool = False
    compaction: dict[str, Any] = _NO_LINKS
    line_parent: object = UNSET
    parts: tuple[Part, ...] = ()
    messages: tuple[Message, ...] = ()
    calls: tuple[str | None, ...] = ()
    results: tuple[str | None, ...] = ()
    message_id: str | None = None
    model: object = None
    usage: Usage | None = None
    answer: int | None = None
    snipped: tuple[str, ...] = ()
    cleared: list[str] | None = None
    replacements: dict[str, str] | None = None
    snapshot: dict[str, Any] | None = None
    owner: str | None = None

    def link(self, field: str) -> object:
        """The value of a field that names an event; `UNSET` without the field."""
        return self.parent if field == ABOVE else self.value.get(field, UNSET)

    def linked(self, links: dict[str, Any]) -> Self:
        """The event with other values in fields that name events."""
        parent = links.get(ABOVE, self.parent)
        return replace(self, parent=parent, value=self.value | links)

    def read_message(self, value: dict[str, Any], message: dict[str, Any]) -> None:
        """Read what a model could read."""
        content = message.get("content")
        self.model, self.message_id = message.get("model"), string(message.get("id"))
        if isinstance(content, list):
            self.speaks = dict in map(type, content)
        else:
            self.speaks = isinstance(content, str)
        if not self.speaks:
            return
        is_summary = bool(value.get("isCompactSummary"))
        is_hidden = value.get("isVisibleInTranscriptOnly") and not is_summary
        is_hidden = is_hidden or value.get("isVirtual")  # only the screen shows it
        self.is_context = self.model != SYNTHETIC and not is_hidden
        path = self.span.path
        content_span = Span(self.span.line, (*path, *_CONTENT) if path else _CONTENT)
        if self.kind == "assistant":
            self.parts = as_written(_parts(content, content_span), value.get("wireToolInputs"))
            self.calls = tuple([part.call_id for part in self.parts if part.kind == "tool_call"])
            if is_complete(message) and is_complete(value):
                self.usage = anthropic_usage(message.get("usage"))
        else:
            self.is_synthetic = value.get("isSynthetic") is True
            is_of_client = is_summary or self.is_synthetic or _is_generated(value)
            self._take_user(content, content_span, is_of_client, is_summary)

    def _take_user(
        self, content: Any, content_span: Span, is_of_client: bool, is_summary: bool
    ) -> None:
        """Read the messages of a user line, marked if the client wrote them."""
        if isinstance(content, str):
            part = Part("text", content, span=content_span)
            messages = [Message("user", (part,), spans=(self.span,))]
        else:
            messages = list(user_messages(content, content_span, 0))
        for position, message in enumerate(messages):
            if message.role == "user" and (is_of_client or is_injected(message.first_text)):
                messages[position] = replace(message, is_injected=True, is_summary=is_summary)
        self.messages = tuple(messages)
        self.results = tuple(
            [message.parts[0].call_id for message in messages if message.role == "tool"]
        )

    def read_attachment(self, value: dict[str, Any]) -> None:
        """Read what the client sends, if it sends it."""
        attachment = value.get("attachment")
        if not isinstance(attachment, dict):
            return
        if attachment.get("type") == "prompt_snapshot":
            self.snapshot = attachment
            return
        # imported here: most formats, and old sessions, have no attachments
        from ctxtrim.formats.anthropic.claude_code_attachments import attachment_message

        message = attachment_message(attachment, value.get("rendered"), self.span)
        if message is not None:
            self.speaks = self.is_context = True
            self.messages = (replace(message, spans=(self.span,)),)

    def read_system(self, value: dict[str, Any]) -> None:
        """Read the output of a local command, and what a compaction does with other events.

        The client sends the output as text of the user. [Claude Code, `normalizeMessagesForAPI`]
        """
        subtype, content = value.get("subtype"), value.get("content")
        self.is_compaction = subtype == "compact_boundary"
        if "microcompactMetadata" in value:
            self.cleared = _cleared_ids(value["microcompactMetadata"])
        if "snipMetadata" in value:
            names = elements(members(value["snipMetadata"]).get("removedUuids"))
            self.snipped = tuple([name for name in names if isinstance(name, str)])
        if subtype == "local_command" and isinstance(content, str):
            self.speaks = self.is_context = True
            part = Part("text", content, span=self.span.inside("content"))
            self.messages = (Message("user", (part,), is_injected=True, spans=(self.span,)),)
        if self.is_compaction:
            metadata = members(value.get("compactMetadata") or value.get("compact_metadata"))
            links = {key: metadata[key] for key in PRESERVED if isinstance(metadata.get(key), dict)}
            self.compaction = links or _NO_LINKS


def event_of(value: dict[str, Any], span: Span) -> ClaudeEvent:
    """An event with what the conversation needs of a JSON value."""
    links = _NO_LINKS
    for key in LINKS:
        if key in value:
            links = links | {key: value[key]}
    event = ClaudeEvent(links, span, string(value.get("uuid")), bool(value))
    event.parent = value.get(ABOVE, UNSET)
    kind, message = value.get("type"), value.get("message")
    event.kind = kind = "user" if kind == "summary" and message is not None else string(kind)
    is_of_subagent = isinstance(value.get("parent_tool_use_id"), str)  # only in streams
    event.is_sidechain = value.get("isSidechain") is True or is_of_subagent
    if kind in ("user", "assistant"):
        if isinstance(message, dict):
            event.read_message(value, message)
    elif kind == "attachment":
        event.read_attachment(value)
    elif kind == "content-replacement":
        event.replacements = _replacements(value)
    elif "subtype" in value:
        event.read_system(value)
    else:
        event.owner = _owner(kind, value)
    return event


def _is_generated(value: dict[str, Any]) -> bool:
    """Whether a user line is hidden from the person, or names another origin: a task that ended,
    another session, a coordinator, a continuation after a limit. The prompt of a program counts as
    that of a person.
    """
    if value.get("isMeta"):
        return True
    origin = members(value.get("origin")).get("kind") or "human"
    return origin != "human" or value.get("promptSource") == "system"


def _owner(kind: str | None, value: dict[str, Any]) -> str | None:
    """The id of the prompt or call that a line belongs to; None for most lines.

    A delta adds a file to the snapshot of a prompt, whose id it names.
    """
    if kind == "progress":
        return string(value.get("parentToolUseID") or value.get("toolUseID"))
    if kind == "file-history-snapshot":
        return string(value.get("messageId"))
    if kind == "file-history-delta":
        return string(value.get("snapshotMessageId") or value.get("messageId"))
    return None


def _replacements(value: dict[str, Any]) -> dict[str, str] | None:
    """The texts that the client sends for results, by the ids of their calls.

    Those of a subagent are None. [Claude Code, `replaceToolResultContents`]
    """
    if value.get("agentId") is not None:
        return None
    items = map(members, elements(value.get("replacements")))
    return {
        item["toolUseId"]: item["replacement"]
        for item in items
        if isinstance(item.get("toolUseId"), str) and isinstance(item.get("replacement"), str)
    }


def _parts(content: Any, span: Span) -> tuple[Part, ...]:
    """The parts of a line of an answer."""
    if isinstance(content, str):
        return (Part("text", content, span=span),)
    return tuple([block(value, inside(span, position)) for position, value in enumerate(content)])


def _cleared_ids(details: object) -> list[str]:
    """The ids of the calls whose results a boundary says are cleared."""
    names = elements(members(details).get("compactedToolIds"))
    return [name for name in names if isinstance(name, str)]


def events_in(values: Iterable[Any]) -> Iterator[tuple[dict[str, Any], Span]]:
    """The events among the values of some lines, and their spans.

    A document is an array of them, or contains them under `loglines`.
    """
    for line, value in enumerate(values):
        events = event_list(value)
        if events is not None:
            keys = () if isinstance(value, list) else ("loglines",)
            for index, event in enumerate(events):
                if isinstance(event, dict):
                    yield event, Span(line, (*keys, index))
        elif isinstance(value, dict):
            yield value, Span(line)


def event_list(value: object) -> list[Any] | None:
    """The list that a document of events is or contains; None for any other value."""
    if isinstance(value, dict):
        value = value.get("loglines")
    return value if isinstance(value, list) else None


def event_around(span: Span) -> Span:
    """The span of the event that contains a message or block."""
    first = span.path[:1]
    if first == ("loglines",):
        return Span(span.line, span.path[:2])
    return Span(span.line, first if first and isinstance(first[0], int) else ())
