"""The texts that messages begin with or consist of: summaries and digests, which replace other messages.

::

    [summary] END [digests] END own text of the prompt        user messages
    [digests] END own text of the answer                      assistant messages

Each may be missing. A text that a message consists of makes it a message of the client, not of the person.
"""

from dataclasses import replace
from typing import NamedTuple

from ctxtrim.model import Message, Part
from ctxtrim.summaries import markers


class Leads(NamedTuple):
    """A summary, digests and the rest of a text, None for each that is missing."""

    summary: str | None
    digests: str | None
    own: str | None


def leads(message: Message) -> Leads:
    """The summary and the digests that a message begins with, and the rest of its text."""
    place = _place(message)
    if place is None:
        return Leads(None, None, "")
    summary, digests, own = markers.pieces(message.parts[place].text)
    if message.role != "user" and summary is not None:  # only digests are put there, so the model wrote it
        return Leads(None, None, message.parts[place].text)
    return Leads(summary, digests, own)


def summary_message(text: str) -> Message:
    """A summary as a message of its own."""
    return Message("user", (Part("text", text),), is_injected=True, is_summary=True)


def digest_message(text: str, hides: bool) -> Message:
    """Digests as a message of their own; where the format `hides` messages, the person does not see it."""
    if hides:
        return Message("user", (Part("text", text),), is_injected=True, user_visible=False, kind="tool_summary")
    return Message("user", (Part("text", text),), is_injected=True)


def has_summary(message: Message) -> bool:
    """Whether a message is a summary, or begins with one."""
    return message.is_summary or leads(message).summary is not None


def is_digest(message: Message) -> bool:
    """Whether a user message consists of digests."""
    found = leads(message)
    return message.role == "user" and found.summary is None and found.digests is not None and found.own is None


def apart(message: Message) -> list[Message]:
    """A message as its summary, its digests and the rest, each a message; titles of summaries are left out."""
    place = _place(message)
    if place is None:
        return [message]
    if message.is_summary:
        return [_with_text(message, place, markers.untitled(message.parts[place].text))]
    summary, digests, own = leads(message)
    found = [] if summary is None else [summary_message(markers.untitled(summary))]
    if digests is not None and (own is not None or message.role != "user"):
        return [*found, digest_message(digests, hides=False), with_leads(message)]
    rest = digests if own is None else own
    if rest is None:
        return found
    return [*found, message if not found else _with_text(message, place, rest)]


def with_leads(message: Message, summary: str | None = None, digests: str | None = None) -> Message:
    """A message that begins with these texts and no others. A text part is added where it has none that can change."""
    place = _place(message)
    if place is None:
        return _with_part(message, digests or "")
    own = leads(message).own
    if own == "" and message.role == "assistant":
        own = None
    texts = [text for text in (summary, digests, own) if text is not None]
    part = message.parts[place]
    if not texts and (part.span is None or part.block is not None) and len(message.parts) > 1:
        return replace(message, parts=(*message.parts[:place], *message.parts[place + 1 :]))
    return _with_text(message, place, markers.END.join(texts))


def without_compaction(message: Message) -> Message:
    """A message without the summary and the digest that a compaction left."""
    place = _place(message)
    if place is None:
        return message
    summary, digests, own = leads(message)
    is_compaction = digests is not None and digests.startswith(markers.DIGEST)
    if message.is_summary:
        return _with_text(message, place, "")
    if summary is None and not is_compaction:
        return message
    rest = [text for text in (None if is_compaction else digests, own) if text is not None]
    return _with_text(message, place, markers.END.join(rest))


def can_lead(message: Message, adds_texts: bool) -> bool:
    """Whether a message can begin with a summary or digests; `adds_texts`: its format can add a text to an answer."""
    if _place(message) is not None:
        return True
    if not adds_texts:
        return False
    first = next((part for part in message.parts if part.kind != "reasoning"), None)
    return message.role == "assistant" and first is not None and first.block is not None


def _place(message: Message) -> int | None:
    """The position of the first text of a prompt or an answer, where it can be rewritten and no call precedes it."""
    if message.role not in ("user", "assistant"):
        return None
    for place, part in enumerate(message.parts):
        if part.kind == "tool_call" and message.role == "assistant":
            return None
        if part.kind == "text" and (part.span is not None or message.index is None or _is_added(part)):
            return place
    return None


def _is_added(part: Part) -> bool:
    """Whether a text part holds the digests that an earlier stage added to an answer."""
    return part.block is None and markers.is_digest(part.text)


def _with_text(message: Message, place: int, text: str) -> Message:
    parts = (replace(part, text=text) if at == place else part for at, part in enumerate(message.parts))
    return replace(message, parts=tuple(parts))


def _with_part(message: Message, text: str) -> Message:
    """A message with one more text, after its reasoning and before everything else."""
    if not text:
        return message
    kinds = [part.kind for part in message.parts]
    place = next((at for at, kind in enumerate(kinds) if kind != "reasoning"), len(kinds))
    return replace(message, parts=(*message.parts[:place], Part("text", text), *message.parts[place:]))
