"""Replace messages by a summary or digests: the positions of the texts, and the changes of each
message.

::

    system · old · old · prompt · answer             system · [summary] · prompt · answer
    prompt · step · step · step · answer             prompt · [digests] · step · answer

If roles must alternate, a summary becomes the leading text of the next prompt, and digests become
the leading text of the next answer. A prompt never begins with digests, because the person did not
type them.
"""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

from msgspec.structs import replace

from ctxtrim.conversation.alternation import is_alternating
from ctxtrim.conversation.protection import is_sealed_summary
from ctxtrim.conversation.turns import shape
from ctxtrim.model import Message, Transcript
from ctxtrim.stages.placement.leads import (
    can_lead,
    digest_message,
    has_summary,
    is_digest,
    leads,
    summary_message,
    with_leads,
)

ARCHIVED = "tool_result_archived"
"""The kind of a result that is hidden because a digest replaces it."""


@dataclass(frozen=True)
class Replaced:
    """A transcript after replacement, and the positions of messages that were inserted or got a
    leading text.
    """

    transcript: Transcript
    touched: tuple[int, ...]


def replace_messages(
    transcript: Transcript,
    dropped: Set[int],
    summary: str | None = None,
    digests: Mapping[int, str] | None = None,
    *,
    alternates: bool,
) -> Replaced:
    """The transcript without some messages, with a summary after the first system messages and
    after what only the provider can read, and digests in place.

    `dropped` are positions. `digests` are texts by the position of the next message; the messages
    that they replace are hidden if the format can hide messages. An earlier summary is replaced.
    `alternates`: whether roles alternated before any message was shortened or dropped.
    """
    messages: Sequence[Message | None] = transcript.messages
    start = _after_sealed(transcript.messages, dropped)
    if summary is not None:
        messages = [_without_summary(message) for message in transcript.messages]
    hides = digests is not None and transcript.rules.hides
    joins = digests_lead_answers(transcript)
    rewrite = _Rewrite(hides, transcript.rules.adds_texts)
    for position, message in enumerate(messages):
        if digests and position in digests:
            rewrite.digests.append(digests[position])
        if message is None or position in dropped:
            if message is not None and hides:
                rewrite.messages.append(_hidden(message))
            continue
        if message.agent_visible and message.role != "system":
            lead = summary if position >= start else None
            message = rewrite.before(message, lead, alternates or joins, joins)
            summary = summary if lead is None else None
        rewrite.messages.append(message)
    if digests and len(messages) in digests:
        rewrite.digests.append(digests[len(messages)])
    rewrite.flush()
    if summary is not None:
        rewrite.insert(summary_message(summary))
    return Replaced(replace(transcript, messages=tuple(rewrite.messages)), tuple(rewrite.touched))


class _Rewrite:
    """The messages so far, and the digests to insert before the next visible message."""

    def __init__(self, hides: bool, adds_texts: bool) -> None:
        self.hides = hides
        self.adds_texts = adds_texts
        self.messages: list[Message] = []
        self.touched: list[int] = []
        self.digests: list[str] = []

    def insert(self, message: Message) -> None:
        self.touched.append(len(self.messages))
        self.messages.append(message)

    def before(
        self, message: Message, summary: str | None, alternates: bool, joins: bool
    ) -> Message:
        """Insert the texts before a message, or return the message with them as leading texts."""
        own = leads(message)
        if summary is not None:
            if alternates and message.role == "user" and can_lead(message, self.adds_texts):
                self.touched.append(len(self.messages))
                return with_leads(message, summary, own.digests)
            self.insert(summary_message(summary))
        if self.digests and joins:
            if is_digest(message):
                return message  # an older digest is not a turn of the person; the answer follows it
            if message.role == "assistant" and can_lead(message, self.adds_texts):
                self.touched.append(len(self.messages))
                texts = self.digests if own.digests is None else [*self.digests, own.digests]
                self.digests = []
                return with_leads(message, digests="\n\n".join(texts))
        self.flush()
        return message

    def flush(self) -> None:
        """Insert the pending digests as one message."""
        if self.digests:
            self.insert(digest_message("\n\n".join(self.digests), self.hides))
            self.digests = []


def digests_lead_answers(transcript: Transcript) -> bool:
    """Whether digests become the leading text of answers, because a message between them and a
    prompt would break the order of roles.
    """
    return transcript.rules.must_alternate and not transcript.rules.hides


def alternates_without_digests(messages: Sequence[Message]) -> bool:
    """Whether user and assistant alternate, ignoring digests, which are inserted next to
    prompts.
    """
    return is_alternating(shape([message for message in messages if not is_digest(message)]))


def _after_sealed(messages: Sequence[Message], dropped: Set[int]) -> int:
    """The position after the last kept summary that only the provider can read; 0 without one."""
    for position in range(len(messages) - 1, -1, -1):
        if position not in dropped and is_sealed_summary(messages[position]):
            return position + 1
    return 0


def _without_summary(message: Message) -> Message | None:
    """A message without its leading summary; None if it is a summary. Hidden messages stay, and
    summaries that only the provider can read.
    """
    if not (message.agent_visible and has_summary(message)) or is_sealed_summary(message):
        return message
    if message.is_summary:
        return None
    return with_leads(message, digests=leads(message).digests)


def _hidden(message: Message) -> Message:
    return replace(
        message, agent_visible=False, kind=ARCHIVED if message.role == "tool" else message.kind
    )
