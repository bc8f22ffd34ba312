"""What becomes of thinking when a conversation is edited.

Some models sign their thinking over everything before it: once anything before a block has changed, the provider
refuses the block, and the remedy is to send the conversation without it. A block goes whole or not at all; a message
that held nothing else goes with it.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Literal, get_args

from ctxtrim.conversation.turns import current_task
from ctxtrim.model import Message, Transcript
from ctxtrim.stage import Finding, Outcome, change_of

Thinking = Literal["keep", "strip-after-edit", "keep-current-loop", "strip"]
"""`keep` all; `strip-after-edit`: what stands after the first edit goes; `keep-current-loop`: only what follows the
newest prompt stays; `strip` all."""
MODES: tuple[Thinking, ...] = get_args(Thinking)

# The models that check the prefix of their thinking. Source: Anthropic's page on preserved thinking; Fable 5.2 and
# Mythos 5.2 for every account, the others for newer ones.
_SIGNS_PREFIX = re.compile(r"fable-5[-.][12]|mythos-5[-.]2|(?:opus|sonnet|haiku)-5[-.]5")


def thinking_of(model: str | None) -> Thinking:
    """What a model needs: those that sign the prefix lose what stands after an edit, all others keep everything."""
    return "strip-after-edit" if model is not None and _SIGNS_PREFIX.search(model.lower()) else "keep"


def settled(before: Transcript, outcome: Outcome, mode: Thinking) -> Outcome:
    """The outcome of a stage with the thinking that its edits leave valid."""
    after = outcome.transcript
    start = _first_to_go(before, after, mode)
    if start is None:
        return outcome
    task = current_task(after.messages)
    stripped = dict(_stripped(after, start, len(after.messages) if mode != "keep-current-loop" else task or 0))
    if not stripped:
        return outcome
    kept = tuple(
        stripped.get(place, message) for place, message in enumerate(after.messages) if _has_rest(stripped.get(place))
    )
    reason = "thinking: " + ("something before it has changed" if mode == "strip-after-edit" else mode)
    changes = [change_of(after.messages, place, "stripped", reason) for place in stripped]
    found = _told(after, stripped, reason, task)
    whole = replace(after, messages=kept)
    return replace(outcome, transcript=whole, changes=(*outcome.changes, *changes), findings=(*outcome.findings, found))


def _first_to_go(before: Transcript, after: Transcript, mode: Thinking) -> int | None:
    """The position from which thinking goes; None where none does."""
    if mode == "keep" or (before.messages is after.messages and mode == "strip-after-edit"):
        return None
    if mode != "strip-after-edit":
        return 0
    sent = [message for message in before.messages if message.agent_visible]
    places = [place for place, message in enumerate(after.messages) if message.agent_visible]
    pairs = zip(sent, places, strict=False)
    return next((place for old, place in pairs if not _is_same(old, after.messages[place])), None)


def _is_same(old: Message, new: Message) -> bool:
    """Whether a model reads the same."""
    return old is new or (old.role, old.parts) == (new.role, new.parts)


def _stripped(transcript: Transcript, start: int, end: int) -> Iterator[tuple[int, Message]]:
    """The messages in a stretch that lose thinking, as they are without it; what is hidden is not sent anyway."""
    for place in range(start, end):
        message = transcript.messages[place]
        if not message.agent_visible:
            continue
        parts = tuple(part for part in message.parts if part.kind != "reasoning" or part.block is None)
        if len(parts) < len(message.parts):
            yield place, replace(message, parts=parts)


def _has_rest(message: Message | None) -> bool:
    return message is None or bool(message.parts)


def _told(transcript: Transcript, stripped: dict[int, Message], reason: str, task: int | None) -> Finding:
    def blocks(place: int) -> int:
        return len(transcript.messages[place].parts) - len(stripped[place].parts)

    number = sum(map(blocks, stripped))
    current = sum(blocks(place) for place in stripped if task is not None and place > task)
    text = f"{number} thinking block{'' if number == 1 else 's'} removed ({reason.removeprefix('thinking: ')})"
    if current:
        text += f", {current} of them after the current task: send the next request with thinking off or adaptive"
    return Finding("thinking-stripped", "info", text)
