"""Match stored summaries to conversations by content, because ids repeat between files.

A stored summary belongs to a transcript that contains the summary itself, or the last message that
it covers. In the second case the transcript has the same system and opening prompt, or starts later
in the same conversation.
"""

import hashlib
from collections import Counter
from collections.abc import Sequence, Set
from dataclasses import dataclass

from ctxtrim.model import Message
from ctxtrim.summaries import markers

KEPT = 256
"""The maximum number of covered messages that an entry stores, newest first."""
_DIGITS = 16  # hexadecimal digits of a fingerprint


@dataclass(frozen=True, slots=True)
class Identity:
    """The data that identifies a transcript in a summary store.

    `name` is its id, else its path and position, in which case `is_place` is true. `opening` is the
    fingerprint of its system and opening prompt. `messages` are the fingerprints of all messages as
    read, empty for system messages. `summaries` are the texts of the summaries in it.
    """

    name: str
    is_place: bool
    opening: str
    messages: tuple[str, ...]
    summaries: tuple[str, ...]

    @property
    def key(self) -> str:
        """The key of its entry in a store."""
        return self.name if self.is_place else f"{self.name}#{self.opening}"

    def covered_until(self, index: int) -> tuple[str, ...]:
        """The fingerprints of the last messages up to an index, at most `KEPT`."""
        return tuple(fingerprint for fingerprint in self.messages[: index + 1] if fingerprint)[
            -KEPT:
        ]

    def owns(self, content: str, opening: str, covered: Sequence[str]) -> bool:
        """Whether a stored summary belongs to this transcript.

        `content` is its text, `opening` the fingerprint of the conversation as first seen, and
        `covered` are the fingerprints of the last messages that it covers.
        """
        if markers.with_title(content) in self.summaries:
            return True
        if not covered or covered[-1] not in self.messages:
            return False
        return opening == self.opening or self._starts_within(covered)

    def kept(self, covered: Sequence[str], indices: Set[int]) -> tuple[str, ...]:
        """The fingerprints of the messages up to the last covered one that a summary does not
        cover. `indices` are those of the messages that it covers.
        """
        until = self._until(covered)
        return tuple(fingerprint for index, fingerprint in until if index not in indices)

    def indices(self, covered: Sequence[str], kept: Sequence[str]) -> frozenset[int]:
        """The indices of the messages of this transcript that a stored summary covers.

        Of equal messages, the last ones were kept.
        """
        known = None if len(covered) == KEPT else set(covered)
        left, indices = Counter(kept), set()
        for index, fingerprint in reversed(self._until(covered)):
            if left[fingerprint] > 0:
                left[fingerprint] -= 1
            elif known is None or fingerprint in known:
                indices.add(index)
        return frozenset(indices)

    def _starts_within(self, covered: Sequence[str]) -> bool:
        """Whether all messages up to the last covered one are covered.

        Another conversation with the same id has other messages before an identical one.
        """
        last = self._until(covered)[-len(covered) :]
        return {fingerprint for _, fingerprint in last}.issubset(covered)

    def _until(self, covered: Sequence[str]) -> list[tuple[int, str]]:
        """The indices and fingerprints of all messages up to the last covered one; none if that is
        not in this transcript.
        """
        if not covered or covered[-1] not in self.messages:
            return []
        end = len(self.messages) - self.messages[::-1].index(covered[-1])
        until = enumerate(self.messages[:end])
        return [(index, fingerprint) for index, fingerprint in until if fingerprint]


def identity(
    messages: Sequence[Message], transcript_id: str | None, path: str, line: int, index: int
) -> Identity:
    """The identity of a transcript: its messages as read, its id, and its place (`line` of the
    file, from 1).
    """
    prompts = [message for message in messages if message.role == "user" and not message.is_summary]
    opening = next((message for message in prompts if not message.is_injected), None)
    start = [message for message in messages if message.role == "system" and not message.continues]
    start += [opening] if opening is not None else prompts[:1]
    return Identity(
        transcript_id if transcript_id is not None else f"{path}#{line}.{index}",
        transcript_id is None,
        _digest(*map(fingerprint, start)),
        tuple("" if message.role == "system" else fingerprint(message) for message in messages),
        tuple(summary for message in messages if (summary := _summary(message)) is not None),
    )


def fingerprint(message: Message) -> str:
    """A short hash of the role of a message and of all that the model reads of it."""
    parts = (
        text
        for part in message.parts
        for text in (part.kind, part.name or "", part.call_id or "", part.text)
    )
    return _digest(message.role, *parts)


def _summary(message: Message) -> str | None:
    """The summary that a message is or begins with."""
    if message.role != "user":
        return None
    for part in message.parts:
        if part.kind == "text" and markers.is_titled(part.text):
            return markers.leads_of(part.text).summary
    return None


def _digest(*texts: str) -> str:
    digest = hashlib.sha256()
    for text in texts:
        data = text.encode(errors="surrogatepass")
        digest.update(b"%d:" % len(data) + data)
    return digest.hexdigest()[:_DIGITS]
