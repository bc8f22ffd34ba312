"""Qwen Code sessions: events that name their parent, one per line, with Gemini contents.

The live context is the path from the last event to the root. A `rewind` has the event that it
returns to as parent, so it discards everything after that event. Lines that share a uuid are one
message. A `chat_compression` contains the contents that replace everything before it, and an
`agent_bootstrap` those of its session with which a fork begins. Commands that the client answers
itself, titles, telemetry, snapshots and `toolCallResult` are never sent.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ctxtrim.formats.base import Edit, Format, Insertion, Site, layout_of_events, session
from ctxtrim.formats.event_links import (
    EventGraph,
    EventIndex,
    SessionEvent,
    main_session,
    with_parallel,
)
from ctxtrim.formats.fields import Located, elements, first_string, located, members, string
from ctxtrim.formats.gemini.contents import pair_by_order
from ctxtrim.formats.gemini.parts import (
    ROLES,
    content_value,
    insert_contents,
    is_media,
    messages_of,
)
from ctxtrim.formats.media_blocks import untyped_text
from ctxtrim.formats.message_lists import element_of
from ctxtrim.formats.message_parts import event_id
from ctxtrim.formats.usage import gemini_usage
from ctxtrim.model import Line, Message, Span, Transcript
from ctxtrim.model.request import Usage
from ctxtrim.text.json_paths import Path
from ctxtrim.text.records import JsonRecord, dump

_TYPES = ("user", "assistant", "tool_result", "system")
# subtypes of events outside the conversation
_SIDE_SUBTYPES = ("session_artifact_", "session_sources_", "managed_session_")
_HIDDEN_SUBTYPES = ("code_mode_tool_result", "realtime_message")
_PROMPT_SUBTYPES = (None, "mid_turn_user_message", "cron")  # of messages that a person wrote
_ENVELOPE = ("sessionId", "timestamp", "cwd", "version", "gitBranch", "isSidechain", "agentId")
_COMPRESSED = ("systemPayload", "compressedHistory")
_PROMPTS = ("systemPayload", "promptIds")  # parallel to the compressed history
_INHERITED = ("systemPayload", "history")
_HISTORIES = {"chat_compression": _COMPRESSED, "agent_bootstrap": _INHERITED}


class QwenEvent(SessionEvent, eq=False, gc=False):
    """One event of the session.

    `pieces`: the parts of its message; `history`: the contents of a compression, or those with
    which a fork begins.
    """

    kind: str | None = None
    subtype: str | None = None
    is_sidechain: bool = False
    is_conversation: bool = False
    pieces: Sequence[Located] = ()
    history: Sequence[Located] | None = None


def _event(value: dict[str, Any], span: Span) -> QwenEvent:
    """An event with its contents."""
    event = QwenEvent(value, span, string(value.get("uuid")), bool(value))
    event.kind, event.subtype = string(value.get("type")), string(value.get("subtype"))
    event.is_sidechain = value.get("isSidechain") is True
    is_side = (event.subtype or "").startswith(_SIDE_SUBTYPES)
    event.is_conversation = event.id is not None and not is_side
    if event.kind == "system":
        payload, key = _HISTORIES.get(event.subtype or "", ("", ""))
        history = members(value.get(payload)).get(key)
        if isinstance(history, list):
            event.history = located(history, span.inside(payload, key))
    elif event.kind in _TYPES and event.subtype not in _HIDDEN_SUBTYPES:
        parts = members(value.get("message")).get("parts")
        event.pieces = located(parts, span.inside("message", "parts"))
    event.is_context = bool(event.pieces)
    return event


def knows(value: object) -> bool:
    """Whether a value is an event of a known type with a message or a system payload."""
    if not isinstance(value, dict) or value.get("type") not in _TYPES:
        return False
    if not isinstance(value.get("uuid"), str):
        return False
    has_parts = isinstance(members(value.get("message")).get("parts"), list)
    return has_parts or (value["type"] == "system" and "systemPayload" in value)


def session_of(value: Mapping[str, Any]) -> str | None:
    """The id of the session that a line without a parent begins."""
    is_root = knows(value) and value.get("parentUuid", "") is None
    return string(value.get("sessionId")) if is_root and not value.get("isSidechain") else None


def _events(values: Sequence[Any]) -> list[QwenEvent]:
    """The events of some lines. Commands that the client answers itself are no context."""
    events = [
        _event(value, Span(line)) for line, value in enumerate(values) if isinstance(value, dict)
    ]
    message: QwenEvent | None = None  # the last one of the main conversation
    for event in events:
        if event.pieces and not event.is_sidechain:
            message = event
        elif event.history is not None:
            message = None
        elif event.subtype == "slash_command" and message is not None and message.kind == "user":
            command = members(event.value.get("systemPayload"))
            message.is_context = not _is_answered(message, command)
            message = None
    return events


def _is_answered(prompt: QwenEvent, command: dict[str, Any]) -> bool:
    """Whether a prompt is only a command that the client answered itself, so that it is not sent
    [QwenLM/qwen-code, packages/core/src/services, `SessionApiHistoryAccumulator`].
    """
    output = elements(command.get("outputHistoryItems"))
    is_result = command.get("phase") == "result" and command.get("sentToModel") is not True
    is_shown = bool(output) and all(members(item).get("type") == "assistant" for item in output)
    is_typed = [part for part, _ in prompt.pieces] == [{"text": command.get("rawCommand")}]
    return is_result and is_shown and is_typed and prompt.subtype is None


def _thread(events: Sequence[QwenEvent]) -> set[int]:
    """The events from the last one back to the last compression or the beginning of a fork, with
    all lines of each.
    """
    indices = [index for index, event in enumerate(events) if event.is_conversation]
    main_indices = main_session(events, indices)
    if not main_indices:
        return set()
    lookup = EventIndex(events)
    chain = set()
    for index in lookup.walk(main_indices[-1]) if lookup.is_linked else reversed(main_indices):
        chain.add(index)
        if events[index].history is not None:
            break
    uuids = {events[index].id for index in chain}
    return chain | {index for index in main_indices if events[index].id in uuids}


GRAPH = EventGraph(_event, _events, _thread)


def read(records: Iterable[JsonRecord], lines: Sequence[Line]) -> list[Transcript]:
    """The one conversation of the session: its live context, or a sidechain if there is nothing
    else.
    """
    events = _events([record.value for record in records])
    thread = [events[index] for index in sorted(_thread(events))]
    messages: list[Message] = []
    usages: list[Usage] = []
    groups: dict[str | None, list[QwenEvent]] = {}
    histories: set[str | None] = set()
    for event in thread:
        if event.is_context:
            groups.setdefault(event.id, []).append(event)
        elif event.history is not None and event.id not in histories:
            histories.add(event.id)  # the client reads the first line of an event
            messages += _history_messages(event.history, len(messages))
    for group in groups.values():
        usages += _usage(group, len(messages))
        messages += _messages(group, len(messages))
    pair_by_order(messages, 0)
    models = (event.value.get("model") or None for event in reversed(thread))
    ids = (event.value.get("sessionId") or None for event in thread)
    return session(
        messages, lines, model=first_string(models), id=first_string(ids), usages=tuple(usages)
    )


def _messages(group: Sequence[QwenEvent], index: int) -> list[Message]:
    """The messages of all lines of one event."""
    role = ROLES.get(string(group[0].value["message"].get("role")), "user")
    pieces = (piece for event in group for piece in event.pieces)
    is_injected = group[0].subtype not in _PROMPT_SUBTYPES
    return messages_of(
        role, pieces, tuple(event.span for event in group), index, is_injected=is_injected
    )


def _usage(group: Sequence[QwenEvent], index: int) -> Iterator[Usage]:
    """The recorded usage of an answer, from its last line that has one."""
    if group[0].kind == "assistant":
        for event in reversed(group):
            model = string(event.value.get("model"))
            usage = gemini_usage(event.value.get("usageMetadata"), index, model)
            if usage is not None:
                yield usage
                return


def _history_messages(history: Sequence[Located], index: int) -> list[Message]:
    """The messages of the contents of a compression or a fork."""
    messages: list[Message] = []
    for content, span in history:
        parts = content.get("parts") if isinstance(content, dict) else None
        if isinstance(parts, list):
            pieces = located(parts, span.inside("parts"))
            role = ROLES.get(string(content.get("role")), "user")
            messages += messages_of(role, pieces, (span,), index + len(messages))
    return messages


def owner(array: Path) -> Path | None:
    """A line is removed with the last part of its message, and so is a content in a compression or
    in the beginning of a fork.
    """
    if is_media(array):
        return array
    if array == ("message", "parts"):
        return ()
    is_history = array[:2] in _HISTORIES.values()
    return array[:-1] if array[-1] == "parts" and is_history else None


def insert(run: Sequence[Message], site: Site) -> Sequence[Insertion]:
    """Each message as an event, or as a content inside another one. See `insert_contents`."""
    return insert_contents(run, site, _content_around, ("parts",), _json_value)


def _content_around(span: Span) -> Span:
    return element_of(span, ("message", "parts"), ("parts",))


def _json_value(messages: Sequence[Message], neighbour: Any, number: int) -> dict[str, Any]:
    """Messages of one role as an event with the envelope of its neighbour, and a derived uuid."""
    content = content_value(messages)
    if not isinstance(neighbour, dict) or "uuid" not in neighbour:
        return content
    role = messages[0].role
    kind = {"tool": "tool_result", "assistant": "assistant"}.get(role, "user")
    value = {
        "uuid": event_id(neighbour["uuid"], dump(content), number),
        "parentUuid": None,
        "type": kind,
    }
    value |= {key: neighbour[key] for key in _ENVELOPE if key in neighbour}
    if role == "user" and any(message.is_injected for message in messages):
        value["subtype"] = "notification"
    return value | {"message": content}


def relink(edit: Edit) -> Edit:
    """The edit with updated links, and with prompt ids kept parallel to the contents of a
    compression.
    """
    return with_parallel(GRAPH.relink(edit), _COMPRESSED, _PROMPTS, None)


FORMAT = Format(
    "qwen",
    layout_of_events(knows),
    read,
    insert,
    owner=owner,
    relink=relink,
    must_alternate=True,
    text_block=untyped_text,
    session_of=session_of,
)
