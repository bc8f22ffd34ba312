"""The edits that stages make, as values, and what each needs so that the format can write it.

::

    ReplaceText     a part with a `span`
    RemovePart      a part with a `block`
    ReplacePart     an attachment with a `text_block`, by a text
    AddText         a transcript whose format `adds_texts`
    SetVisibility   a transcript whose format `hides`
    SetMetadata     always possible, like dropping and inserting messages
    ChangePart      never possible, nor is another role or order of messages

The pipeline checks the edits of each stage; the format writes those of the last.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ctxtrim.errors import BUG, NotEditableError, SelfCheckError
from ctxtrim.model import VISIBLE, Message, Part, Span, Transcript


class ReplaceText(Struct, frozen=True):
    """The text of a part becomes that of a new part."""

    part: Part
    new: Part


class RemovePart(Struct, frozen=True):
    """A part is removed from its message."""

    part: Part


class ReplacePart(Struct, frozen=True):
    """A text replaces a part of another kind."""

    part: Part
    new: Part


class AddText(Struct, frozen=True):
    """A text is added before the block of the part that follows, else at that of a removed part.

    `block` is None if there is neither.
    """

    part: Part
    block: Span | None


class SetVisibility(Struct, frozen=True):
    """A message gets another visibility or kind; `message` is None for an inserted message."""

    message: Message | None
    new: Message


class SetMetadata(Struct, frozen=True):
    """A message gets other debug keys."""

    message: Message
    new: Message


class ChangePart(Struct, frozen=True):
    """A part gets another call id, error flag or attachment."""

    part: Part


MessageEdit = (
    ReplaceText | RemovePart | ReplacePart | AddText | SetVisibility | SetMetadata | ChangePart
)


def message_edits(message: Message | None, new: Message) -> Iterator[MessageEdit]:
    """The edits that turn a message as read into a new one; None for an inserted message."""
    if new.visibility != (VISIBLE if message is None else message.visibility):
        yield SetVisibility(message, new)
    if message is None:
        return
    yield from _part_edits(message, new)
    for position, part in enumerate(new.parts):
        if part.span is None and part.block is None and part not in message.parts:
            removed = [before for before in message.parts if before not in new.parts]
            blocks = (other.block for other in (*new.parts[position + 1 :], *removed))
            yield AddText(part, next((block for block in blocks if block is not None), None))
    if new.metadata != message.metadata:
        yield SetMetadata(message, new)


def _part_edits(message: Message, new: Message) -> Iterator[MessageEdit]:
    """The edits of the parts as read, which are found again by their place in the file."""
    for part, same in _counterparts(message, new):
        if same is part or not _is_in_file(part):
            continue
        if same is None:
            yield RemovePart(part)
        elif same.kind != part.kind:
            yield ReplacePart(part, same)
        elif _facts(same) != _facts(part):
            yield ChangePart(part)
        elif same.text != part.text:
            yield ReplaceText(part, same)


def _facts(part: Part) -> tuple[object, ...]:
    """The values of a part, besides its text, that a model reads."""
    return part.call_id, part.is_error, part.media


def _counterparts(message: Message, new: Message) -> Iterable[tuple[Part, Part | None]]:
    """The parts as read, each with the part that is now at its place, or None."""
    if len(message.parts) == len(new.parts) and all(map(_has_its_place, message.parts, new.parts)):
        return zip(message.parts, new.parts, strict=True)
    unchanged = set(map(id, new.parts))
    by_place = {part.span or part.block: part for part in new.parts if part.span or part.block}
    return (
        (part, part if id(part) in unchanged else by_place.get(part.span or part.block))
        for part in message.parts
    )


def _has_its_place(part: Part, new: Part) -> bool:
    return part is new or (part.span is not None and part.span is new.span)


def refusal(edit: MessageEdit, transcript: Transcript) -> str | None:
    """Why the format of a transcript cannot write an edit; None if it can."""
    match edit:
        case ReplaceText(part) if part.span is None:
            return f"has a new text in a {part.kind} that cannot be rewritten"
        case RemovePart(part) if part.block is None:
            return f"has lost a {part.kind} that cannot be removed alone"
        case ReplacePart(part, new) if part.text_block is None or part.block is None:
            return f"has a {new.kind} instead of a {part.kind} that no text can replace"
        case AddText(part) if part.kind != "text":
            return f"has a new {part.kind}; only texts can be added"
        case AddText() if not transcript.rules.adds_texts:
            return "has a new text, for which its format has no place"
        case ChangePart(part):
            return f"has a {part.kind} with another call id, error flag or attachment"
        case SetVisibility() if not transcript.rules.hides:
            return "is hidden, which its format cannot express"
    return None


def edits_of(
    transcript: Transcript, stage: str, bug: str = BUG
) -> Iterator[tuple[Message | None, Message, MessageEdit]]:
    """The edits of the messages of a transcript, each with the message as read and the new one.

    Raises a `SelfCheckError` at an edit that the format cannot write, or a `NotEditableError` if
    the transcript is locked. `stage` made the edits; `bug` ends the message of a mistake.
    """
    read = transcript.source.messages
    if transcript.locked and transcript.messages != read:
        raise NotEditableError(transcript.locked)
    for message in transcript.messages:
        original = None if message.index is None else read[message.index]
        if message is original or message == original:
            continue
        for edit in message_edits(original, message):
            reason = refusal(edit, transcript)
            if reason is not None:
                raise _mistake(stage, f"{_name(message)} {reason}", bug)
            yield original, message, edit


def check(transcript: Transcript, stage: str, bug: str = BUG) -> None:
    """Raise the errors of `edits_of`, and a `SelfCheckError` for messages that were not read, or
    that have another order or role.
    """
    last = -1
    for message in transcript.messages:
        if message.index is None:
            continue
        reason = _misplacement(message, message.index, last, transcript.source.messages)
        if reason is not None:
            raise _mistake(stage, f"{_name(message)} {reason}", bug)
        last = message.index
    for _ in edits_of(transcript, stage, bug):
        pass


def _misplacement(message: Message, index: int, last: int, read: Sequence[Message]) -> str | None:
    """Why a message cannot have its index after that of the last one; None if it can."""
    if not 0 <= index < len(read):
        return "was not read; a new message has the index None"
    if index == last:
        return "is repeated"
    if index < last:
        return f"comes after message {last}"
    if message.role != read[index].role:
        return f"has the role {message.role} instead of {read[index].role}"
    return None


def _name(message: Message) -> str:
    return "an inserted message" if message.index is None else f"message {message.index}"


def _mistake(stage: str, text: str, bug: str) -> SelfCheckError:
    return SelfCheckError(f"{stage}: {text}, so nothing was written; {bug}")


def with_texts_for(message: Message, texts: Mapping[int, str]) -> tuple[Message, int]:
    """The message with texts instead of attachments, and the number of attachments that no text can
    replace.

    `texts` maps positions of parts to texts. A text becomes a separate part if the format has text
    blocks at that place, else a line after the preceding text. In a tool result it belongs to the
    result. The result of a server tool stays, because its use needs it.
    """
    parts: list[Part] = []
    last: int | None = None  # the last text that can be rewritten
    stuck = 0
    for position, part in enumerate(message.parts):
        text = texts.get(position)
        is_attachment = part.kind == "attachment" and part.block is not None
        is_replaceable = is_attachment and not (part.sealed or part.server)
        if text is None:
            if part.kind in ("text", "tool_result") and part.span is not None:
                last = len(parts)
            parts.append(part)
        elif is_replaceable and part.text_block is not None:
            parts.append(_text_part(message, text, part))
        elif is_replaceable and last is not None:
            lines = filter(None, (parts[last].text, text))
            parts[last] = replace(parts[last], text="\n".join(lines))
        else:
            parts.append(part)
            stuck += 1
    if stuck == len(texts):
        return message, stuck
    if any(message.parts[position].text_block is not None for position in texts):
        parts = list(filter(_is_in_file, parts))
    return replace(message, parts=tuple(parts)), stuck


def _text_part(message: Message, text: str, attachment: Part) -> Part:
    """A text that replaces the block of an attachment.

    Its span is the block, so that later stages can edit it.
    """
    result = message.result if message.role == "tool" else None
    part = Part("text") if result is None else replace(result, wrapper=None)
    return replace(part, text=text, span=attachment.block, block=attachment.block, sealed=0)


def _is_in_file(part: Part) -> bool:
    """Whether a part is in the file. A result without text has an empty part that is not."""
    return (
        part.kind != "tool_result"
        or bool(part.text)
        or part.span is not None
        or part.block is not None
    )
