"""Remove reasoning that an edit makes invalid.

Some models sign their reasoning over all content before it. If anything before a block changes, the
provider rejects the block, and the remedy is to send the conversation without it. A block is
removed as a whole; a message that contains nothing else is dropped.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Literal, get_args

from msgspec.structs import replace

from ctxtrim.conversation.turns import current_loop, visible
from ctxtrim.findings import Finding
from ctxtrim.model import Message, Transcript
from ctxtrim.stage import Outcome, change_of

Thinking = Literal["keep", "strip-after-edit", "keep-current-loop", "strip"]
"""`keep`: all. `strip-after-edit`: remove reasoning after the first edit. `keep-current-loop`: keep
only reasoning of the current tool loop. `strip`: remove all.
"""
MODES: tuple[Thinking, ...] = get_args(Thinking)

# The models that check the prefix of their thinking. Source: Anthropic's page on preserved
# thinking; Fable 5.2 and Mythos 5.2 for every account, the others for newer ones.
_SIGNS_PREFIX = re.compile(r"fable-5[-.][12]|mythos-5[-.]2|(?:opus|sonnet|haiku)-5[-.]5")


@lru_cache
def thinking_of(model: str | None) -> Thinking:
    """The mode that a model needs: `strip-after-edit` if the model signs the prefix, otherwise
    `keep`.
    """
    return (
        "strip-after-edit" if model is not None and _SIGNS_PREFIX.search(model.lower()) else "keep"
    )


def without_invalid_reasoning(before: Transcript, outcome: Outcome, mode: Thinking) -> Outcome:
    """The outcome of a stage without the reasoning that its edits invalidate."""
    after = outcome.transcript
    start = _first_invalid(before, after, mode)
    if start is None:
        return outcome
    loop = current_loop(after.messages)
    end = loop or 0 if mode == "keep-current-loop" else len(after.messages)
    stripped = dict(_stripped(after, start, end))
    if not stripped:
        return outcome
    kept = []
    for position, message in enumerate(after.messages):
        rest = stripped.get(position, message)
        if rest is message or rest.parts:
            kept.append(rest)
    reason = "thinking: " + (
        "something before it has changed" if mode == "strip-after-edit" else mode
    )
    changes = [change_of(after.messages, position, "stripped", reason) for position in stripped]
    finding = _finding(after, stripped, reason, loop)
    return replace(
        outcome,
        transcript=replace(after, messages=tuple(kept)),
        changes=(*outcome.changes, *changes),
        findings=(*outcome.findings, finding),
    )


def _first_invalid(before: Transcript, after: Transcript, mode: Thinking) -> int | None:
    """The position from which reasoning is removed; None if there is none."""
    if mode == "keep" or (before.messages is after.messages and mode == "strip-after-edit"):
        return None
    if mode != "strip-after-edit":
        return 0
    for old_position, position in zip(
        visible(before.messages), visible(after.messages), strict=False
    ):
        old, new = before.messages[old_position], after.messages[position]
        if old is not new and (old.role, old.parts) != (new.role, new.parts):
            return position
    return None


def _stripped(transcript: Transcript, start: int, end: int) -> Iterator[tuple[int, Message]]:
    """The messages in a range that contain reasoning, each without it.

    Hidden messages are not changed.
    """
    for position in range(start, end):
        message = transcript.messages[position]
        if not message.agent_visible:
            continue
        parts = tuple(
            part for part in message.parts if part.kind != "reasoning" or part.block is None
        )
        if len(parts) < len(message.parts):
            yield position, replace(message, parts=parts)


def _finding(
    transcript: Transcript, stripped: dict[int, Message], reason: str, loop: int | None
) -> Finding:
    def blocks(position: int) -> int:
        return len(transcript.messages[position].parts) - len(stripped[position].parts)

    count = sum(map(blocks, stripped))
    current = sum(blocks(position) for position in stripped if loop is not None and position > loop)
    text = (
        f"{count} thinking block{'' if count == 1 else 's'} removed "
        f"({reason.removeprefix('thinking: ')})"
    )
    if current:
        text += (
            f", {current} of them after the current task: send the next request with thinking "
            "off or adaptive"
        )
    return Finding("thinking-stripped", "info", text)
