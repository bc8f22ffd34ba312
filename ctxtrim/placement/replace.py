"""Replace messages by a summary or by digests: where these texts stand, and what is done to each message.

::

    system · old · old · prompt · answer             system · [summary] · prompt · answer
    prompt · step · step · step · answer             prompt · [digests] · step · answer

Where roles must alternate, a summary becomes the leading text of the prompt after it, and digests become the leading
text of the answer after them. A prompt never begins with digests: the person did not type them.
"""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace

from ctxtrim.conversation.turns import is_alternating, shape
from ctxtrim.model import Message, Transcript
from ctxtrim.placement.leads import can_lead, digest_message, has_summary, is_digest, leads, summary_message, with_leads

ARCHIVED = "tool_result_archived"
"""The kind of a result that is hidden because a digest replaces it."""


@dataclass(frozen=True)
class Replaced:
    """A transcript with texts in place of messages; the positions of messages that were inserted or begin with one."""

    transcript: Transcript
    touched: tuple[int, ...]


def replace_messages(
    transcript: Transcript,
    gone: Set[int],
    summary: str | None = None,
    digests: Mapping[int, str] | None = None,
    alternates: bool | None = None,
) -> Replaced:
    """The transcript without some messages, with a summary after the first system messages and digests where they were.

    `gone` are positions. `digests` are texts by the position of the message that they precede; messages that they
    replace are hidden where the format can say so. An earlier summary is replaced. `alternates`: whether roles
    alternated before any message was shortened or dropped, None to look.
    """
    if alternates is None:
        alternates = takes_turns(transcript.messages)
    messages: list[Message | None] = list(transcript.messages)
    if summary is not None:
        messages = [None if one is None or one.is_summary else _without_summary(one) for one in messages]
    hides = digests is not None and transcript.hides
    joins = transcript.must_alternate and not transcript.hides
    found = _Placed(hides, transcript.adds_texts)
    for place, message in enumerate(messages):
        if digests and place in digests:
            found.digests.append(digests[place])
        if message is None or place in gone:
            if message is not None and hides:
                found.messages.append(_hidden(message))
            continue
        if message.agent_visible and message.role != "system":
            message = found.before(message, summary, alternates or joins, joins)
            summary = None
        found.messages.append(message)
    if digests and len(messages) in digests:
        found.digests.append(digests[len(messages)])
    found.flush()
    if summary is not None:
        found.insert(summary_message(summary))
    return Replaced(replace(transcript, messages=tuple(found.messages)), tuple(found.touched))


class _Placed:
    """The messages so far, and the digests that wait for the next visible one."""

    def __init__(self, hides: bool, adds_texts: bool) -> None:
        self.hides = hides
        self.adds_texts = adds_texts
        self.messages: list[Message] = []
        self.touched: list[int] = []
        self.digests: list[str] = []

    def insert(self, message: Message) -> None:
        self.touched.append(len(self.messages))
        self.messages.append(message)

    def before(self, message: Message, summary: str | None, alternates: bool, joins: bool) -> Message:
        """Put the texts before a message, or return it with them as its leading texts."""
        own = leads(message)
        if summary is not None and alternates and message.role == "user" and can_lead(message, False):
            self.touched.append(len(self.messages))
            return with_leads(message, summary, own.digests)
        if summary is not None:
            self.insert(summary_message(summary))
        if self.digests and joins and is_digest(message):
            return message  # an older digest, which is no turn of the person: the answer comes after it
        if self.digests and joins and message.role == "assistant" and can_lead(message, self.adds_texts):
            self.touched.append(len(self.messages))
            texts = [*self.digests, *([own.digests] if own.digests is not None else [])]
            self.digests = []
            return with_leads(message, digests="\n\n".join(texts))
        self.flush()
        return message

    def flush(self) -> None:
        """Insert the digests that wait as one message."""
        if self.digests:
            self.insert(digest_message("\n\n".join(self.digests), self.hides))
            self.digests = []


def takes_turns(messages: Sequence[Message]) -> bool:
    """Whether user and assistant take turns, digests apart: these are inserted next to prompts."""
    some = [message for message in messages if not is_digest(message)]
    return is_alternating(some, shape(some))


def _without_summary(message: Message) -> Message:
    """A message without the summary that it begins with."""
    return with_leads(message, digests=leads(message).digests) if has_summary(message) else message


def _hidden(message: Message) -> Message:
    return replace(message, agent_visible=False, kind=ARCHIVED if message.role == "tool" else message.kind)
