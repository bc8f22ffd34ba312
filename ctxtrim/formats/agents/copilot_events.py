"""The live conversation of a session of Copilot CLI."""

from collections.abc import Callable, Iterable, Sequence
from itertools import dropwhile
from typing import Any, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from ctxtrim.formats.agents.copilot_names import names_of
from ctxtrim.formats.base import session
from ctxtrim.formats.fields import elements, first_string, members, metadata_in, string
from ctxtrim.formats.media_blocks import inline_media, sealed_media
from ctxtrim.formats.message_parts import listed_calls, result_parts
from ctxtrim.model import Companion, Line, MediaKind, Message, Part, Role, Span, Transcript
from ctxtrim.model.request import RequestOptions
from ctxtrim.text.records import JsonRecord, dump

_BYTES = frozenset(("data", "assetId", "omittedReason"))
"""Members of attachments whose bytes are sent: the data, their place, or why they are absent."""
_OF_ANSWERS = ("assistant.", "tool.")
"""How events begin that name the model of an answer; others may name that of a subagent or of a
compaction."""
_REPEATED = "the prompts and the last skill, which Copilot CLI repeats next to a summary"
_PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".webp")


class _Event(NamedTuple):
    """An event of the main agent, its span, and the data in it with their span."""

    value: dict[str, Any]
    whole: Span
    data: dict[str, Any]
    span: Span


class _Session(Struct):
    """The live messages after the lines read so far, and other facts.

    `systems`: the system prompt and the instructions of the developer, by role and name.
    `checkpoint`: the number of messages at the start of the compaction that is not complete yet.
    `commands`: those that the person ran and that have no result yet, by the id of their call.
    `assets`: the attachments in events of their own, by id. `uses`: the ids of such attachments, by
    the place of their use.
    """

    systems: dict[str, Message] = field(default_factory=dict)
    messages: list[Message] = field(default_factory=list)
    model: str | None = None
    id: str | None = None
    callers: dict[str, int] = field(default_factory=dict)  # call id → position of its message
    checkpoint: int | None = None
    is_compacted: bool = False
    commands: dict[str, Message] = field(default_factory=dict)
    assets: dict[str, Part] = field(default_factory=dict)
    uses: dict[Span, str] = field(default_factory=dict)

    def take(self, value: dict[str, Any], line: int) -> None:
        """Apply one event, unless it is one of a subagent."""
        kind, data = value.get("type"), members(value.get("data"))
        if not isinstance(kind, str) or "parentToolCallId" in data or "agentId" in value:
            return
        answering = data.get("model") if kind.startswith(_OF_ANSWERS) else None
        names = (data.get("newModel"), answering, data.get("selectedModel"), self.model)
        self.model = first_string(names)
        if kind in _READERS:
            whole = Span(line)
            _READERS[kind](self, _Event(value, whole, data, whole.inside("data")))

    def add(self, message: Message) -> None:
        """Add a message at the end."""
        for call in message.calls:
            if call.call_id is not None:
                self.callers[call.call_id] = len(self.messages)
        self.messages.append(message)

    def restart(self, message: Message | None, kept: Sequence[Message] = ()) -> None:
        """Replace all messages by one, or by none, and the last ones that are kept."""
        self.messages, self.callers, self.commands = [], {}, {}
        self.checkpoint = None
        for each in (*([] if message is None else [message]), *kept):
            self.add(each)

    def after_checkpoint(self) -> list[Message]:
        """The messages since the start of the compaction.

        A result at their start needs the answer with its call, and what follows that answer.
        """
        start = len(self.messages) if self.checkpoint is None else self.checkpoint
        kept = self.messages[start:]
        if not kept or kept[0].role != "tool":
            return kept
        for position in range(start - 1, -1, -1):
            message = self.messages[position]
            if message.calls:
                return self.messages[position:]
            if message.role not in ("assistant", "tool"):
                break
        return list(dropwhile(lambda message: message.role == "tool", kept))


def _start(state: _Session, event: _Event) -> None:
    state.id = state.id or string(event.data.get("sessionId"))


def _resume(state: _Session, event: _Event) -> None:
    """A resumed session, unless it was still running: earlier reasoning is not sent again."""
    if event.data.get("sessionWasActive") is not True:
        state.messages = list(map(_without_reasoning, state.messages))


def _without_reasoning(message: Message) -> Message:
    parts = tuple(part for part in message.parts if part.kind != "reasoning")
    return message if len(parts) == len(message.parts) else replace(message, parts=parts)


def _system(state: _Session, event: _Event) -> None:
    """The system prompt, or instructions of the developer, which have a name."""
    is_developer = event.data.get("role") == "developer"
    key = f"developer:{event.data.get('name') or ''}" if is_developer else ""
    state.systems.pop(key, None)
    message = _text_alone("system", event, "content")
    if message is not None:
        state.systems[key] = message


def _text_alone(role: Role, event: _Event, key: str, **fields: Any) -> Message | None:
    """A message that is removed without its event, with other fields of `Message`; None without a
    text.
    """
    text, span = string(event.data.get(key)) or "", event.span.inside(key)
    if not text.strip():
        return None
    return Message(role, (Part("text", text, span=span),), spans=(span,), **fields)


def _prompt(state: _Session, event: _Event) -> None:
    """A prompt as the model reads it: with the tags that the client adds."""
    data, span = event.data, event.span
    key = "transformedContent" if string(data.get("transformedContent")) else "content"
    parts = [Part("text", string(data.get(key)) or "", span=span.inside(key))]
    values = [members(value) for value in elements(data.get("attachments"))]
    if values:
        names = names_of(values, list(map(_is_sent, values)))
        parts += [Part("text", names)] if names else []
        parts += _attachments(state, values, span.inside("attachments"))
    is_injected = not _is_typed(data)
    state.add(Message("user", tuple(parts), is_injected=is_injected, spans=(event.whole,)))


def _is_typed(data: dict[str, Any]) -> bool:
    """Whether the person typed a prompt, and neither the client nor another session wrote it."""
    is_own = data.get("isAutopilotContinuation") is True or "crossSession" in data
    return data.get("source") in ("user", None) and not is_own


def _attachments(state: _Session, values: Any, span: Span) -> list[Part]:
    """The attachments in a list whose bytes are sent."""
    parts = []
    for index, value in enumerate(map(members, elements(values))):
        if _is_sent(value):
            place, name = span.inside(index), string(value.get("assetId"))
            parts.append(_attachment(value, place))
            if name is not None and "data" not in value:
                state.uses[place] = name
    return parts


def _is_sent(value: dict[str, Any]) -> bool:
    """Whether the bytes of an attachment are sent; a prompt only names others."""
    return not _BYTES.isdisjoint(value) or _is_picture(value)


def _attachment(value: dict[str, Any], span: Span) -> Part:
    """An attachment; of unknown size if its bytes are elsewhere."""
    data = string(value.get("data"))
    kind: MediaKind = "image" if value.get("type") == "image" or _is_picture(value) else "file"
    media = inline_media(data, value.get("mimeType"), kind)
    return Part("attachment", media=media, source=span if data is None else span.inside("data"))


def _is_picture(value: dict[str, Any]) -> bool:
    """Whether an attachment has the path of an image."""
    return (string(value.get("path")) or "").lower().endswith(_PICTURES)


def _asset(state: _Session, event: _Event) -> None:
    name = string(event.data.get("assetId"))
    if name is not None:
        state.assets[name] = _attachment(event.data, event.span)


def _with_assets(message: Message, state: _Session) -> Message:
    """The message with the bytes of its attachments, which other events have."""
    parts = list(message.parts)
    for position, part in enumerate(parts):
        name = None if part.source is None else state.uses.get(part.source)
        asset = None if name is None else state.assets.get(name)
        if asset is not None:
            parts[position] = replace(part, media=asset.media, source=asset.source)
    return replace(message, parts=tuple(parts))


def _notification(state: _Session, event: _Event) -> None:
    """A message of the client: a notice with a text, but not of discovered instructions."""
    text = string(event.data.get("content"))
    if text and members(event.data.get("kind")).get("type") != "instruction_discovered":
        part = Part("text", text, span=event.span.inside("content"))
        state.add(Message("user", (part,), is_injected=True, spans=(event.whole,)))


def _answer(state: _Session, event: _Event) -> None:
    data, span = event.data, event.span
    parts: list[Part] = []
    if string(data.get("reasoningText")):
        parts.append(Part("reasoning", data["reasoningText"]))
    if string(data.get("encryptedContent")):
        parts.append(Part("reasoning", media=sealed_media(data["encryptedContent"])))
    if data.get("serverTools"):  # repeats answers of Anthropic, and has no known form
        home = span.inside("serverTools")
        parts.append(Part("text", dump(data["serverTools"]), source=home))
    if string(data.get("content")):
        parts.append(Part("text", data["content"], span=span.inside("content")))
    requests, home = data.get("toolRequests"), span.inside("toolRequests")
    parts += listed_calls(requests, home, "arguments", call_id="toolCallId")
    state.add(Message("assistant", tuple(parts), spans=(event.whole,)))


def _execution(state: _Session, event: _Event) -> None:
    """The start of a call: it is removed with the answer that made the call, or with the command of
    the person.
    """
    call_id = string(event.data.get("toolCallId")) or ""
    position, command = state.callers.get(call_id), state.commands.get(call_id)
    if command is not None:
        state.commands[call_id] = replace(command, spans=(*command.spans, event.whole))
    elif position is not None:
        message = state.messages[position]
        companions = (*message.companions, Companion(event.whole, "tool.execution_start"))
        state.messages[position] = replace(message, companions=companions)


def _command(state: _Session, event: _Event) -> None:
    """A command of the person (`!`), which is a message once it has a result.

    It counts as its JSON and is never edited: how the client writes it for the model is unknown.
    """
    call_id = string(event.data.get("toolCallId"))
    if call_id is not None:
        part = Part("text", dump(event.data))
        state.commands[call_id] = Message("user", (part,), is_injected=True, spans=(event.whole,))


def _result(state: _Session, event: _Event) -> None:
    data, span = event.data, event.span
    has_output = isinstance(data.get("result"), dict)
    member, key = ("result", "content") if has_output else ("error", "message")
    output = members(data.get(member))
    text = string(output.get(key))
    part = Part("text", text or "", span=None if text is None else span.inside(member, key))
    place = span.inside(member, "binaryResultsForLlm")
    attachments = _attachments(state, output.get("binaryResultsForLlm"), place)
    call_id = string(data.get("toolCallId"))
    command = state.commands.pop(call_id or "", None)
    if command is None and data.get("isUserRequested") is True:
        command = Message("user", (), is_injected=True)  # its request is not live
    if command is not None:
        parts = (*command.parts, replace(part, span=None), *attachments)
        state.add(replace(command, parts=parts, spans=(*command.spans, event.whole)))
        return
    success = data.get("success")
    is_error = not success if isinstance(success, bool) else None
    parts = result_parts([part, *attachments], call_id, None, is_error)
    state.add(Message("tool", parts, metadata=metadata_in(event.value), spans=(event.whole,)))


def _compaction_start(state: _Session, event: _Event) -> None:
    state.checkpoint = len(state.messages)


def _compaction(state: _Session, event: _Event) -> None:
    """A compaction: its summary replaces the messages before its start, unless it failed."""
    data, key = event.data, "summaryContent"
    if data.get("success") is True and string(data.get(key)):
        summary = _text_alone("user", event, key, is_injected=True, is_summary=True)
        state.restart(summary, state.after_checkpoint())
        state.is_compacted = True
    state.checkpoint = None


def _clearing(state: _Session, event: _Event) -> None:
    """A cleared context: only the system prompt and the first message after it are sent."""
    state.restart(_text_alone("user", event, "initialMessage"))
    state.is_compacted = False


_READERS: dict[str, Callable[[_Session, _Event], None]] = {
    "session.start": _start,
    "session.resume": _resume,
    "session.binary_asset": _asset,
    "session.compaction_start": _compaction_start,
    "session.compaction_complete": _compaction,
    "session.context_cleared": _clearing,
    "session.mode_notice_delivered": _notification,
    "system.message": _system,
    "system.notification": _notification,
    "user.message": _prompt,
    "assistant.message": _answer,
    "tool.user_requested": _command,
    "tool.execution_start": _execution,
    "tool.execution_complete": _result,
}


def read(records: Iterable[JsonRecord], lines: Sequence[Line]) -> list[Transcript]:
    """The one conversation of the session: its live context."""
    state = _Session()
    for line, record in enumerate(records):
        if isinstance(record.value, dict):
            state.take(record.value, line)
    if state.uses:
        state.messages = [_with_assets(message, state) for message in state.messages]
    systems = [state.systems[key] for key in sorted(state.systems)]
    context = [*systems, *state.messages]
    messages = [replace(message, index=index) for index, message in enumerate(context)]
    options = RequestOptions(unread=(_REPEATED,) if state.is_compacted else ())
    return session(messages, lines, model=state.model, id=state.id, options=options)
