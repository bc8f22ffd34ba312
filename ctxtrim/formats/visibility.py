"""Visibility of messages: the changes that a stage may make, in formats that can record them."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ctxtrim.errors import BUG, SelfCheckError
from ctxtrim.formats.base import Format
from ctxtrim.model import Message, Span, Transcript

PLAIN = (True, True, None)
"""The default visibility: the model and the person see the message, and it has no kind."""


def visibility_of(message: Message) -> tuple[bool, bool, str | None]:
    """Whether the model sees a message, whether the person does, and its kind."""
    return message.agent_visible, message.user_visible, message.kind


def changes(
    dialect: Format, transcript: Transcript, value_of: Callable[[Span], Any]
) -> Iterable[tuple[Span, Mapping[str, Any]]]:
    """The members that record changed visibility, by the spans of their objects.

    Raises a `SelfCheckError` if the format cannot record it: a stage must then drop the message
    instead.
    """
    read = transcript.source.messages
    new = any(
        message.index is None and visibility_of(message) != PLAIN for message in transcript.messages
    )
    changed = [
        (read[message.index], message)
        for message in transcript.messages
        if message.index is not None
        and visibility_of(message) != visibility_of(read[message.index])
    ]
    if dialect.visibility is None:
        if changed or new:
            raise SelfCheckError(
                f"{dialect.name} cannot mark a message as hidden; nothing was written; {BUG}"
            )
        return ()
    return dialect.visibility(changed, read, value_of) if changed else ()
