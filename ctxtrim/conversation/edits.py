"""The edits that a stage may make, and what each needs so that the format can write it.

::

    replace a text             a part with a `span`
    remove a part              a part with a `block`
    replace a part by a text   an attachment with a `text_block`
    add a text                 a transcript that `adds_texts`
    hide a message             a transcript that `hides`
    drop or insert a message, set its metadata   always
"""

from collections.abc import Mapping
from dataclasses import replace

from ctxtrim.errors import BUG, SelfCheckError
from ctxtrim.model import Message, Part, Transcript


def check(transcript: Transcript, stage: str) -> None:
    """Raise a `SelfCheckError` if a stage made an edit that the format cannot write."""
    read = transcript.source.messages
    for message in transcript.messages:
        original = None if message.index is None else read[message.index]
        reason = None if message is original else _refusal(transcript, original, message)
        if reason is not None:
            name = "an inserted message" if message.index is None else f"message {message.index}"
            raise SelfCheckError(f"{stage}: {name} {reason}, so nothing was written; {BUG}")


def _refusal(transcript: Transcript, original: Message | None, message: Message) -> str | None:
    """Why the format cannot write an edited or inserted message; None if it can."""
    was_visible = (True, True, None) if original is None else _visibility(original)
    if _visibility(message) != was_visible and not transcript.hides:
        return "is hidden, which its format cannot express"
    if original is None:
        return None
    kept = set(map(id, message.parts))
    by_span = {part.span or part.block: part for part in message.parts}
    for part in original.parts:
        if id(part) in kept or not _has_place(part):
            continue
        reason = _refusal_of(part, by_span.get(part.span or part.block))
        if reason is not None:
            return reason
    if transcript.adds_texts:
        return None
    known = set(map(id, original.parts))
    for part in message.parts:
        is_added = part.span is None and part.block is None and id(part) not in known
        if is_added and part not in original.parts:
            return "has a new text, for which its format has no place"
    return None


def _refusal_of(part: Part, new: Part | None) -> str | None:
    """Why the format cannot write another part, or none, in place of a part."""
    if new is None:
        reason = f"has lost a {part.kind} that cannot be removed alone"
        return reason if part.block is None else None
    if new.kind != part.kind:
        reason = f"has a {new.kind} instead of a {part.kind} that no text can replace"
        return reason if part.text_block is None else None
    if new.text != part.text and part.span is None:
        return f"has a new text in a {part.kind} that cannot be rewritten"
    return None


def _visibility(message: Message) -> tuple[bool, bool, str | None]:
    return message.agent_visible, message.user_visible, message.kind


def with_texts_for(message: Message, texts: Mapping[int, str]) -> tuple[Message, int]:
    """The message with texts instead of attachments, and the number of attachments that no text can
    replace.

    `texts` maps positions of parts to texts. A text becomes a separate part if the format has text
    blocks at that place, else a line after the preceding text. In a tool result it belongs to the
    result.
    """
    parts: list[Part] = []
    lines: dict[int, list[str]] = {}
    last: int | None = None
    stuck = 0
    for position, part in enumerate(message.parts):
        text = texts.get(position)
        is_replaceable = part.kind == "attachment" and part.block is not None and not part.sealed
        if text is None:
            if part.kind in ("text", "tool_result") and part.span is not None:
                last = len(parts)
            parts.append(part)
        elif is_replaceable and part.text_block is not None:
            parts.append(_text_part(message, text, part))
        elif is_replaceable and last is not None:
            lines.setdefault(last, []).append(text)
        else:
            parts.append(part)
            stuck += 1
    for position, added in lines.items():
        before = [parts[position].text] if parts[position].text else []
        parts[position] = replace(parts[position], text="\n".join((*before, *added)))
    if stuck == len(texts):
        return message, stuck
    if any(message.parts[position].text_block is not None for position in texts):
        parts = list(filter(_has_place, parts))
    return replace(message, parts=tuple(parts)), stuck


def _text_part(message: Message, text: str, attachment: Part) -> Part:
    """A text that replaces the block of an attachment.

    Its span is the block, so that later stages can edit it.
    """
    result = message.result if message.role == "tool" else None
    part = Part("text") if result is None else replace(result, wrapper=None)
    return replace(part, text=text, span=attachment.block, block=attachment.block, sealed=0)


def _has_place(part: Part) -> bool:
    """Whether a part is in the file. A result without text has an empty part that is not."""
    return (
        part.kind != "tool_result"
        or bool(part.text)
        or part.span is not None
        or part.block is not None
    )
