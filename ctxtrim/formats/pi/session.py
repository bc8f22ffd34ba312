"""pi sessions, one entry per line, and pi message lists; openclaw and other agents write the same.

Entries of type `message` contain a message. Extension messages (`custom_message`), summaries of
abandoned branches and the newest compaction are messages too; other entries describe the session.
Interrupted and failed answers are never sent again, so they are not read. The output of `pi --mode
json` has the messages in `message_end`; its other events repeat them. `thread` finds the live
entries, `messages` reads messages, `entry_edits` inserts messages and updates links.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ctxtrim.formats.base import Format, Layout, content_owner, session
from ctxtrim.formats.fields import elements, members, role_in, string
from ctxtrim.formats.list_format import list_format
from ctxtrim.formats.message_lists import ListContents
from ctxtrim.formats.pi import messages
from ctxtrim.formats.pi.messages import (
    ROLES,
    content_in,
    is_sent,
    knows,
    message_in,
    summary_in,
    usage_in,
)
from ctxtrim.formats.pi.prompt_changes import PromptChange, apply_prompt, prompt_change
from ctxtrim.formats.pi.thread import PiEntry, Thread, entries_in
from ctxtrim.formats.pi.visibility import visibility, with_visibility
from ctxtrim.formats.usage import is_complete
from ctxtrim.loading import lazy_function
from ctxtrim.model import Line, Message, Span, Transcript
from ctxtrim.model.request import Usage
from ctxtrim.text.json_paths import Path
from ctxtrim.text.records import JsonRecord

LISTS = list_format(messages.DIALECT)
"""The messages without a session, in lists or one per line."""

# By entry type: a key that no other format has in entries of that type.
_MARKS = {
    "session": "cwd",
    "compaction": "tokensBefore",
    "model_change": "modelId",
    "thinking_level_change": "thinkingLevel",
    "branch_summary": "fromId",
    "custom_message": "customType",
    "custom": "customType",
    "context_edit": "replacement",
}
_EDITABLE = ("message", "custom_message")
_EVENTS = ("agent_end", "turn_end", "message_start", "message_update")
"""Events of `pi --mode json` that repeat the messages of `message_end`."""


def sniff(value: object) -> Layout | None:
    """The layout of an entry, of an event of a stream, or of an element or list of messages."""
    if _is_entry(value) or _is_copy(value):
        return "events"
    return LISTS.sniff(value)


def _is_copy(value: object) -> bool:
    """Whether a value is an event of a stream that repeats messages."""
    if not isinstance(value, dict) or value.get("type") not in _EVENTS:
        return False
    copies = value.get("messages", [value.get("message")])
    return any(map(knows, elements(copies)))


def _is_entry(value: object) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("type"), str):
        return False
    if value["type"] in ("message", "message_end"):
        return knows(value.get("message"))
    return _MARKS.get(value["type"]) in value


def read(records: Iterable[JsonRecord], lines: Sequence[Line]) -> list[Transcript]:
    """The one conversation of the session: its live context; without entries, the conversations of
    message lists.
    """
    values = [record.value for record in records]
    if not any(map(_is_entry, values)):
        return LISTS.read(records, lines)
    entries = entries_in(values)
    thread = Thread(entries)
    contents = ListContents()
    prompt: list[PromptChange] = []
    kept_indices = (index for index in thread.kept if not _is_replaced(entries[index]))
    edits: dict[str | None, list[PiEntry]] = {}
    for edit in _edits(entries, thread):
        edits.setdefault(string(edit.value.get("targetId")), []).append(edit)
    if thread.start is not None:
        _add_start(entries[thread.start], contents, prompt)
    for index in (*kept_indices, *thread.after):
        entry = entries[index]
        if entry.id in edits and entry.kind in _EDITABLE:
            _add_edited(entry, edits[entry.id], contents)
        else:
            _add(entry, contents, prompt)
    apply_prompt(prompt, contents)
    return session(
        contents.messages,
        lines,
        tools=contents.tools,
        model=next(filter(None, map(_model, reversed(entries))), None),
        id=next((entry.id for entry in entries if entry.kind == "session"), None),
        uncounted=contents.uncounted,
        usages=tuple(_usages(entries, thread, contents.messages)),
    )


def _model(entry: PiEntry) -> str | None:
    """The model that an entry names."""
    message = entry.value.get("message")
    if not isinstance(message, dict):
        return string(entry.value.get("modelId"))
    return string(message.get("model")) if is_sent(message) else None


def _is_replaced(entry: PiEntry) -> bool:
    """Whether a compaction that keeps an entry replaces it: an older compaction, or a system
    message, of which it repeats what it left.

    [earendil-works/pi, `buildContextEntries` and `buildSessionProjection` of `session-manager.ts`]
    """
    return entry.kind == "compaction" or _is_prompt(entry.value.get("message"))


def _is_prompt(message: Any) -> bool:
    return members(message).get("role") == "system"


def _usages(
    entries: Sequence[PiEntry], thread: Thread, history: Sequence[Message]
) -> Iterator[Usage]:
    """The usages since the newest compaction or edit of the context.

    Older ones counted a context that no longer exists.
    """
    answers = {
        message.spans[0]: index
        for index, message in enumerate(history)
        if message.role == "assistant"
    }
    compaction_time = "" if thread.start is None else entries[thread.start].value.get("timestamp")
    edit_span = max((entry.span for entry in _edits(entries, thread)), default=Span(-1))
    for entry in (entries[index] for index in thread.after):
        if entry.span < edit_span:
            continue
        time = entry.value.get("timestamp")
        is_stale = (
            isinstance(time, str) and isinstance(compaction_time, str) and time <= compaction_time
        )
        if entry.span in answers and not is_stale:
            usage = usage_in(entry.value["message"], answers[entry.span])
            if usage is not None:
                yield usage


def _add_start(entry: PiEntry, contents: ListContents, prompt: list[PromptChange]) -> None:
    """Add the messages of the compaction at which the context starts: the system message that it
    repeats, its summary, and the messages that it keeps.
    """
    value, span = entry.value, entry.span
    if _prompt_of(value):
        prompt_span = span.inside("systemMessage")
        prompt += _add_message(_prompt_of(value), prompt_span, prompt_span, value, contents)
    if entry.kind == "compaction" and value.get("summary"):
        contents.add_summary(summary_in(value, span), span)
    for position, message in enumerate(elements(value.get("retainedTail"))):
        message_span = span.inside("retainedTail", position)
        if not _is_prompt(message):
            prompt += _add_message(message, message_span, message_span, message, contents)


def _add(entry: PiEntry, contents: ListContents, prompt: list[PromptChange]) -> None:
    """Add the message of an entry, if it has one."""
    value, span = entry.value, entry.span
    if entry.kind in ("message", "message_end"):
        prompt += _add_message(value.get("message"), span.inside("message"), span, value, contents)
        return
    if entry.kind == "custom_message" and is_sent(value):
        parts = content_in(value.get("content"), span.inside("content"), "user")
    elif entry.kind == "branch_summary" and value.get("summary"):
        parts = summary_in(value, span)
    else:
        return
    index = len(contents.messages)
    message = Message("user", parts, is_injected=True, index=index, spans=(span,))
    contents.messages.append(with_visibility(message, value))


def _edits(entries: Sequence[PiEntry], thread: Thread) -> Iterator[PiEntry]:
    """The live entries that replace the content of others, in order.

    [earendil-works/pi, `projectContextEntry` of `session-manager.ts`]
    """
    return (entries[index] for index in thread.path if entries[index].kind == "context_edit")


def _add_edited(entry: PiEntry, edits: Sequence[PiEntry], contents: ListContents) -> None:
    """Add the message of an entry with the content of its last edit, unless that leaves it out.

    All edits are removed with it.
    """
    last_edit, whole = edits[-1], entry.span
    replacement = last_edit.value.get("replacement")
    if not isinstance(replacement, dict):
        return
    start, span = len(contents.messages), last_edit.span.inside("replacement")
    if entry.kind == "custom_message":
        parts = content_in(replacement.get("content"), span.inside("content"), "user")
        contents.add("user", parts, is_injected=True)
    else:
        value = members(entry.value.get("message")) | {"content": replacement.get("content")}
        _add_message(value, span, whole, entry.value, contents)
    spans = (whole, *(edit.span for edit in edits))
    for index in range(start, len(contents.messages)):
        contents.change(index, spans=spans)


def _prompt_of(compaction: dict[str, Any]) -> dict[str, Any]:
    """The system message that a compaction repeats, with the tools next to it; empty without it."""
    message = members(compaction.get("systemMessage"))
    if message.get("role") != "system" or "toolsAdded" not in compaction:
        return message
    return message | {"toolsAdded": compaction["toolsAdded"]}


def _add_message(
    value: Any, span: Span, whole: Span, container: Any, contents: ListContents
) -> list[PromptChange]:
    """Add a message if it is sent; returns its change of the prompt or the tools."""
    if not isinstance(value, dict):
        return []
    role, index = role_in(value, "role", ROLES), len(contents.messages)
    if role is None:
        contents.uncounted += value.get("role") is not None
    elif is_sent(value) and (role != "assistant" or is_complete(value)):
        contents.messages.append(message_in(role, value, span, whole, index, container))
        return prompt_change(value, index)
    return []


def owner(array: Path) -> Path | None:
    """A message, or the entry that contains it, is removed with the last block of its content.

    The edit of a message stays.
    """
    if array[:1] == ("replacement",):
        return None
    return () if array == ("message", "content") else content_owner(array)


def session_of(value: Mapping[str, Any]) -> str | None:
    """The id of the session that a line begins."""
    return string(value.get("id")) if value.get("type") == "session" and "cwd" in value else None


_EDITS = "ctxtrim.formats.pi.entry_edits"
FORMAT = Format(
    "pi",
    sniff,
    read,
    lazy_function(f"{_EDITS}:insert"),
    owner=owner,
    relink=lazy_function(f"{_EDITS}:relink"),
    placed=LISTS.placed,
    visibility=visibility,
    session_of=session_of,
)
