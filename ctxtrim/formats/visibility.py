"""Who sees a message: what a stage may change of it, in the formats that can say so."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ctxtrim.errors import BUG, SelfCheckError
from ctxtrim.formats.base import Format
from ctxtrim.model import Message, Span, Transcript

PLAIN = (True, True, None)
"""What holds of a message of which the file says nothing: the model and the person see it, and it is of no kind."""


def seen(message: Message) -> tuple[bool, bool, str | None]:
    """Whether the model sees a message, whether the person does, and its kind."""
    return message.agent_visible, message.user_visible, message.kind


def changes(
    dialect: Format, transcript: Transcript, value_of: Callable[[Span], Any]
) -> Iterable[tuple[Span, Mapping[str, Any]]]:
    """The members that spell a transcript's changes of visibility, by the spans of their objects.

    Where the dialect cannot spell them, a stage should have dropped what it hid: a `SelfCheckError`.
    """
    read = transcript.source.messages
    new = any(message.index is None and seen(message) != PLAIN for message in transcript.messages)
    changed = [
        (read[message.index], message)
        for message in transcript.messages
        if message.index is not None and seen(message) != seen(read[message.index])
    ]
    if dialect.visibility is None:
        if changed or new:
            raise SelfCheckError(f"{dialect.name} cannot say that a message is hidden, so nothing was written; {BUG}")
        return ()
    return dialect.visibility(changed, read, value_of) if changed else ()
