"""pi's sessions, one entry a line, and its message lists; openclaw and other agents write the same.

Entries of type `message` hold a message; what an extension sends (`custom_message`), the summary of a branch that was
left and the newest compaction are messages too, all others say something about the session. An answer that was
interrupted or failed is never sent again, so it is no context. Which entries are live, and which links are mended when
some go, is told in `pi_links`; what a message is, in `pi_messages`.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from ctxtrim.formats.base import Format, Insertion, Layout, Site
from ctxtrim.formats.message_lists import Found, list_format
from ctxtrim.formats.pi import messages
from ctxtrim.formats.pi.messages import ROLES, content_in, is_sent, knows, message_in, spelled, summary_in, usage_in
from ctxtrim.formats.pi.thread import Entry, Thread, compaction_of, entries_in, entry_of, mend
from ctxtrim.formats.pi.visibility import visibility, with_visibility
from ctxtrim.formats.usage import is_complete
from ctxtrim.formats.visibility import PLAIN, seen
from ctxtrim.model import Line, Message, Source, Span, Transcript, Usage
from ctxtrim.text.json_paths import Path
from ctxtrim.text.records import Record

LISTS = list_format(messages.DIALECT)
"""The messages alone, in lists or one a line."""

# By the type of an entry: a key that no other format's entries of that type have.
_MARKS = {
    "session": "cwd",
    "compaction": "tokensBefore",
    "model_change": "modelId",
    "thinking_level_change": "thinkingLevel",
    "branch_summary": "fromId",
    "custom_message": "customType",
    "custom": "customType",
}
_SPEAKING = ("message", "custom_message", "branch_summary", "compaction")


def sniff(value: object) -> Layout | None:
    """An entry, or whatever a list of messages is."""
    return "events" if _is_entry(value) else LISTS.sniff(value)


def _is_entry(value: object) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("type"), str):
        return False
    if value["type"] == "message":
        return knows(value.get("message"))
    return _MARKS.get(value["type"]) in value


def read(records: Sequence[Record], lines: tuple[Line, ...]) -> list[Transcript]:
    """The one conversation of the session: its live context. Without any entry, what the lists of messages hold."""
    values = [record.value for record in records]
    if not any(map(_is_entry, values)):
        return LISTS.read(records, lines)
    entries = entries_in(values)
    thread = Thread(entries)
    found = Found()
    first = [] if thread.compaction is None else [thread.compaction]
    for index in (*first, *thread.kept, *thread.after):
        _add(entries[index], found, is_first=index == thread.compaction)
    if not found.messages and not found.uncounted:
        return []
    messages = tuple(found.messages)
    return [
        Transcript(
            messages,
            Source(lines, messages),
            model=next((name for name in map(_model, reversed(entries)) if name), None),
            id=next((entry.id for entry in entries if entry.kind == "session"), None),
            uncounted=found.uncounted,
            usages=tuple(_usages(entries, thread, messages)),
        )
    ]


def _model(entry: Entry) -> str | None:
    """The model that an entry names."""
    message = entry.value.get("message")
    name = message.get("model") if isinstance(message, dict) else entry.value.get("modelId")
    return name if isinstance(name, str) else None


def _usages(entries: Sequence[Entry], thread: Thread, messages: Sequence[Message]) -> Iterator[Usage]:
    """What the answers recorded since the newest compaction; those before it counted a context that is no more."""
    answers = {message.spans[0]: index for index, message in enumerate(messages) if message.role == "assistant"}
    compacted = "" if thread.compaction is None else entries[thread.compaction].value.get("timestamp")
    for entry in (entries[index] for index in thread.after):
        stamp = entry.value.get("timestamp")
        is_stale = isinstance(stamp, str) and isinstance(compacted, str) and stamp <= compacted
        if entry.span in answers and not is_stale:
            usage = usage_in(entry.value["message"], answers[entry.span])
            if usage is not None:
                yield usage


def _add(entry: Entry, found: Found, *, is_first: bool) -> None:
    """Take in what an entry says to the model; the compaction that comes first may hold messages of its own."""
    value, span, index = entry.value, entry.span, len(found.messages)
    if entry.kind == "message":
        _add_message(value.get("message"), span.inside("message"), span, value, found)
    elif entry.kind == "custom_message" and is_sent(value):
        parts = tuple(content_in(value.get("content"), span.inside("content"), "user"))
        message = Message("user", parts, None, is_injected=True, index=index, spans=(span,))
        found.messages.append(with_visibility(message, value))
    elif entry.kind in ("branch_summary", "compaction") and value.get("summary"):
        parts = summary_in(value, span)
        message = Message("user", parts, None, True, is_first, index=index, spans=(span,))
        found.messages.append(with_visibility(message, value) if entry.kind == "branch_summary" else message)
    tail = value.get("retainedTail") if is_first else None
    for place, message in enumerate(tail if isinstance(tail, list) else ()):
        where = span.inside("retainedTail", place)
        _add_message(message, where, where, message, found)


def _add_message(value: Any, at: Span, whole: Span, home: Any, found: Found) -> None:
    """Take in a message that is sent."""
    if not isinstance(value, dict):
        return
    kind = value.get("role")
    role = ROLES.get(kind) if isinstance(kind, str) else None
    if role is None:
        found.uncounted += kind is not None
    elif is_sent(value) and (role != "assistant" or is_complete(value)):
        found.messages.append(message_in(role, value, at, whole, len(found.messages), home))


def owner(array: Path) -> Path | None:
    """A message, or the entry that holds it, goes when the last block of its content goes."""
    return () if array == ("message", "content") else messages.owner(array)


def insert(run: Sequence[Message], site: Site) -> Sequence[Insertion]:
    """Each message as an entry of its own; a summary that comes first as a compaction.

    Between two messages that a compaction holds, a message is one of those.
    """
    last = _entry_at(site.any.spans[0], site)
    if last.get("type") not in _SPEAKING:
        return messages.insert(run, site)
    earlier, later = site.earlier, site.later
    found: list[Insertion] = []
    is_after = later is None or (run[0].role == "tool" and earlier is not None)
    where = (earlier or site.any).spans[-1] if later is None or is_after else later.spans[0]
    near = _entry_at(where, site)
    is_compaction = near.get("type") == "compaction"
    is_summary = run[0].role == "user" and ((run[0].is_summary and seen(run[0]) == PLAIN) or is_compaction)
    if earlier is None and (is_summary or (is_compaction and not where.path)):
        newest = {key: last[key] for key in ("timestamp",) if key in last}
        text = "".join(part.text for part in run[0].parts) if is_summary else ""
        found.append(Insertion(compaction_of(text, near | newest), Span(where.line), is_after))
        run = run[1:] if is_summary else run
    for number, message in enumerate(run):
        if where.path[:1] == ("retainedTail",):
            found.append(Insertion(_message_of(message, site.value_of(where), site), where, is_after))
        else:
            body = {"type": "message", "message": _message_of(message, near.get("message"), site)}
            found.append(Insertion(entry_of(body, near, number), Span(where.line), is_after))
    return found


def _entry_at(span: Span, site: Site) -> dict[str, Any]:
    """The entry that a span is in; an empty one where there is none."""
    value = site.value_of(Span(span.line))
    return value if isinstance(value, dict) else {}


def _message_of(message: Message, near: Any, site: Site) -> dict[str, Any]:
    value = spelled(message, near if isinstance(near, dict) else {}, site)
    if not message.is_summary or seen(message) != PLAIN:
        return value
    del value["content"]
    text = "".join(part.text for part in message.parts)
    return value | {"role": "compactionSummary", "summary": text, "tokensBefore": 0}


FORMAT = Format("pi", sniff, read, owner, insert, mend, placed=LISTS.placed, visibility=visibility)
