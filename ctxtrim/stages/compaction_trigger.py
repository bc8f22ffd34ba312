"""When a session is compacted: an estimate of its size, and the rule that decides.

::

    auto off                                             never
    a limit: window − reserve, else session tokens       at or above this many estimated tokens
    neither                                              at or above this many messages
"""

from typing import Literal

from msgspec import Struct

from ctxtrim.conversation.turns import visible
from ctxtrim.model import Message, Transcript

CHARACTERS = 4  # a token
IMAGE = 1200  # tokens
MAX_MESSAGES, SESSION_TOKENS, RESERVE = 50, 8000, 16_384
"""Defaults, in messages, tokens and tokens."""

TriggerRule = Literal["off", "tokens", "messages", "request"]


class Estimate(Struct, frozen=True):
    """The estimated tokens of a session.

    `recorded` of them are a provider's count; 0 without recorded usage.
    """

    tokens: int
    messages: int
    recorded: int = 0


class Trigger(Struct, frozen=True):
    """Whether a session is due for compaction, the deciding rule, and the reason in words."""

    is_due: bool
    rule: TriggerRule
    reason: str


def rough_tokens(message: Message) -> int:
    """The tokens of a message, estimated from the characters of texts, reasoning and calls.

    0 if hidden.
    """
    if not message.agent_visible:
        return 0
    characters = sum(len(part.spelled) for part in message.parts) + sum(
        len(call.name or "") for call in message.calls
    )
    return -(-characters // CHARACTERS) + IMAGE * sum(
        part.kind == "attachment" for part in message.parts
    )


def estimate(transcript: Transcript) -> Estimate:
    """The usage of the last valid answer plus an estimate of later messages; else an estimate of
    all messages.

    An answer is valid if it is complete and newer than the last summary. `trim` cannot use this
    estimate, because recorded usage does not shrink when messages are dropped.
    """
    from ctxtrim.metering.calibration import recorded_answers  # few runs estimate

    messages = transcript.messages
    seen = len(visible(messages))
    answers = recorded_answers(transcript, lambda model: True).answers
    if not answers:
        return Estimate(sum(map(rough_tokens, messages)), seen)
    position, usage = answers[-1]
    counted = usage.context_tokens(rough_tokens(messages[position]))
    return Estimate(counted + sum(map(rough_tokens, messages[position + 1 :])), seen, counted)


def effective_token_limit(known_room: int | None, session_tokens: int) -> int | None:
    """The tokens at which a session is compacted: the room for a prompt, else `session_tokens`;
    None for no limit.

    `known_room` is the window minus the reserve, None if the window is unknown; `session_tokens` 0
    is no limit.
    """
    if known_room is not None:
        return known_room
    return session_tokens if session_tokens > 0 else None


def should_compact(size: Estimate, limit: int | None, max_messages: int, *, auto: bool) -> Trigger:
    """The verdict of the first rule that applies."""
    if not auto:
        return Trigger(False, "off", "automatic compaction is off")
    if limit is not None:
        how = f"≈{size.tokens:,} tokens"
        if size.recorded:
            how += f", {size.recorded:,} of them recorded,"
        is_due = size.tokens >= limit
        return Trigger(is_due, "tokens", f"{how} {'>=' if is_due else '<'} the limit of {limit:,}")
    is_due = size.messages >= max_messages
    return Trigger(
        is_due,
        "messages",
        f"{size.messages:,} messages {'>=' if is_due else '<'} the limit of {max_messages:,}",
    )
