"""When a session is compacted: an estimate of what it holds, and the rule that decides.

::

    auto off                                             never
    a limit: window − reserve, else max tokens           when the estimated tokens reach it
    neither                                              when there are as many messages as may be
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ctxtrim.calibration import recorded
from ctxtrim.model import Message, Transcript

CHARACTERS = 4  # a token
IMAGE = 1200  # tokens
MAX_MESSAGES, MAX_TOKENS, RESERVE = 50, 8000, 16_384
"""What holds where nothing is said: messages, and tokens."""

Rule = Literal["off", "tokens", "messages", "asked"]


@dataclass(frozen=True, slots=True)
class Estimate:
    """About how many tokens a session holds; `recorded` of them were counted by the provider, 0 where none were."""

    tokens: int
    messages: int
    recorded: int = 0


@dataclass(frozen=True, slots=True)
class Trigger:
    """Whether a session is to be compacted, by which rule, and that in words."""

    is_due: bool
    rule: Rule
    reason: str


def rough(message: Message) -> int:
    """The tokens of a message by its characters: of texts, reasoning and calls with their names; 0 if it is hidden."""
    if not message.agent_visible:
        return 0
    characters = sum(len(part.spelled) for part in message.parts) + sum(len(call.name or "") for call in message.calls)
    return -(-characters // CHARACTERS) + IMAGE * sum(part.kind == "attachment" for part in message.parts)


def estimate(transcript: Transcript) -> Estimate:
    """What the last valid answer recorded, and about how much follows it; else about how much there is.

    An answer is valid that came to its end and is newer than the last summary. No measure to trim by: what was recorded
    does not shrink when messages go.
    """
    messages = transcript.messages
    visible = sum(message.agent_visible for message in messages)
    answers = recorded(transcript, lambda model: True).answers
    if not answers:
        return Estimate(sum(map(rough, messages)), visible)
    place, usage = answers[-1]
    counted = usage.held(rough(messages[place]))
    return Estimate(counted + sum(map(rough, messages[place + 1 :])), visible, counted)


def effective_token_limit(window: int | None, reserve: int = RESERVE, max_tokens: int = MAX_TOKENS) -> int | None:
    """The tokens at which a session is compacted: what the window leaves, else the most tokens; None: no limit.

    `window`: None where it is not known; 0 as `max_tokens` is none.
    """
    if window is not None and window > reserve:
        return window - reserve
    return max_tokens if max_tokens > 0 else None


def should_compact(found: Estimate, limit: int | None, max_messages: int = MAX_MESSAGES, auto: bool = True) -> Trigger:
    """The verdict, by the first rule that has something to say."""
    if not auto:
        return Trigger(False, "off", "automatic compaction is off")
    if limit is not None:
        how = f"≈{found.tokens} tokens" + (f", {found.recorded} of them recorded," if found.recorded else "")
        is_due = found.tokens >= limit
        return Trigger(is_due, "tokens", f"{how} {'>=' if is_due else '<'} the limit of {limit}")
    is_due = found.messages >= max_messages
    return Trigger(
        is_due, "messages", f"{found.messages} messages {'>=' if is_due else '<'} the most of {max_messages}"
    )


def kept_from(
    messages: Sequence[Message], exchange: Sequence[int], costs: Sequence[int], tokens: int, count: int
) -> int:
    """Where what is kept begins: the last messages of so many tokens, else so many last messages, whole exchanges.

    The last exchange always is. `exchange` and `costs` are parallel to the messages; hidden messages do not count.
    """
    visible = [place for place, message in enumerate(messages) if message.agent_visible]
    if not visible:
        return len(messages)
    start, spent = visible[-1], 0
    if tokens > 0:
        for place in reversed(visible):
            spent += costs[place]
            if spent > tokens:
                break
            start = place
    elif count > 0:
        start = visible[max(0, len(visible) - count)]
    return exchange[start]
