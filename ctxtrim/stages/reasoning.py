"""Remove reasoning that an edit makes invalid.

Some models sign their reasoning over all content before it. If anything before a block changes, the
provider rejects the block, and the remedy is to send the conversation without it. A block is
removed as a whole; a message that contains nothing else is dropped.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple, get_args

from msgspec.structs import replace

from ctxtrim.conversation.tasks import current_loop
from ctxtrim.conversation.turns import visible
from ctxtrim.errors import mismatch
from ctxtrim.findings import Finding
from ctxtrim.model import Message, Transcript
from ctxtrim.stage import FitsBudget, Outcome, Stage, change_of
from ctxtrim.text.numbers import several

ReasoningMode = Literal["keep", "strip-after-edit", "keep-current-loop", "strip"]
"""`keep`: all. `strip-after-edit`: remove reasoning after the first edit. `keep-current-loop`: keep
only reasoning of the current tool loop. `strip`: remove all.
"""
MODES: tuple[ReasoningMode, ...] = get_args(ReasoningMode)

_ATTEMPTS = 4  # to find the first edit, which may be earlier without the reasoning after another

# The models that check the prefix of their thinking. Source: Anthropic's page on preserved
# thinking; Fable 5.2 and Mythos 5.2 for every account, the others for newer ones.
_SIGNS_PREFIX = re.compile(r"fable-5[-.][12]|mythos-5[-.]2|(?:opus|sonnet|haiku)-5[-.]5")


@lru_cache
def mode_for(model: str | None) -> ReasoningMode:
    """The mode that a model needs: `strip-after-edit` if the model signs the prefix, otherwise
    `keep`.
    """
    if model is not None and _SIGNS_PREFIX.search(model.lower()):
        return "strip-after-edit"
    return "keep"


def run_stage(stage: Stage, transcript: Transcript, mode: ReasoningMode) -> Outcome:
    """The outcome of a stage, without the reasoning that its edits invalidate.

    A stage that fits a budget does not count that reasoning, so that it drops no more than it must.
    Raises `UsageError` if a stage of a program returns something else.
    """
    replacements: dict[int, Message] = {}
    if mode != "keep" and isinstance(stage, FitsBudget) and stage.exceeds(transcript):
        replacements = _replacements(stage, transcript, mode)
        stage = stage.without_reasoning(replacements)
    outcome = stage(transcript)
    if not isinstance(outcome, Outcome):
        raise mismatch(f"stage class {type(stage).__name__}", "an Outcome", outcome)
    if mode == "keep":
        return outcome
    outcome = without_invalid_reasoning(transcript, outcome, mode, replacements)
    stuck = _stuck(outcome.transcript, mode)
    if stuck is None:
        return outcome
    return replace(outcome, findings=(*outcome.findings, stuck))


def _replacements(
    stage: FitsBudget, transcript: Transcript, mode: ReasoningMode
) -> dict[int, Message]:
    """By position, the messages without the reasoning that the edits of a stage invalidate."""
    if mode != "strip-after-edit":
        return _without_reasoning(transcript, 0, mode)
    replacements: dict[int, Message] = {}
    start = len(transcript.messages)
    for _ in range(_ATTEMPTS):
        edit = stage.without_reasoning(replacements).first_edit(transcript)
        if edit is None or edit >= start:
            break
        start = edit
        replacements = _without_reasoning(transcript, start, mode)
    return replacements


def without_invalid_reasoning(
    before: Transcript,
    outcome: Outcome,
    mode: ReasoningMode,
    replacements: Mapping[int, Message],
) -> Outcome:
    """The outcome of a stage without the reasoning that its edits invalidate.

    `replacements`: by position in `before`, the messages from which the stage removed the
    reasoning, unless it dropped them.
    """
    after = outcome.transcript
    start = _first_invalid(before, after, mode)
    invalid = {} if start is None else _without_reasoning(after, start, mode)
    final = _without_emptied(_with(after, invalid), replacements)
    kept = {message.index for message in final.messages}
    removed = {
        position: message
        for position, message in replacements.items()
        if message.index in kept or not message.parts
    }
    if not removed and not invalid:
        return outcome
    stripped = [*_each_stripped(before, removed), *_each_stripped(after, invalid)]
    reason = "something before it has changed" if mode == "strip-after-edit" else mode
    changes = [
        change_of(entry.transcript.messages, entry.position, "stripped", f"thinking: {reason}")
        for entry in stripped
    ]
    if mode == "strip-after-edit" and _is_first_edit(before, final, stripped[0]):
        changes[0] = replace(changes[0], reason="thinking: removed to fit the budget")
    return replace(
        outcome,
        transcript=final,
        changes=(*outcome.changes, *changes),
        findings=(*outcome.findings, _finding(stripped, reason)),
    )


class _Stripped(NamedTuple):
    """A message of a transcript, by its position, and the message without reasoning.

    `is_current`: it comes after the current task.
    """

    transcript: Transcript
    position: int
    message: Message
    is_current: bool

    @property
    def blocks(self) -> int:
        """The number of removed blocks."""
        return len(self.transcript.messages[self.position].parts) - len(self.message.parts)


def _each_stripped(transcript: Transcript, rest: Mapping[int, Message]) -> Iterator[_Stripped]:
    """The messages of a transcript that lost their reasoning; `rest`: what is left, by position."""
    loop = current_loop(transcript.messages)
    for position, message in rest.items():
        yield _Stripped(transcript, position, message, loop is not None and position > loop)


def _with(transcript: Transcript, stripped: Mapping[int, Message]) -> Transcript:
    """The transcript with messages that lost their reasoning; empty ones are left out."""
    if not stripped:
        return transcript
    kept = []
    for position, message in enumerate(transcript.messages):
        rest = stripped.get(position, message)
        if rest is message or rest.parts:
            kept.append(rest)
    return replace(transcript, messages=tuple(kept))


def _without_emptied(transcript: Transcript, replacements: Mapping[int, Message]) -> Transcript:
    """The transcript without messages that had nothing but removed reasoning."""
    emptied = {message.index for message in replacements.values() if not message.parts}
    if not emptied:
        return transcript
    kept = tuple(message for message in transcript.messages if message.index not in emptied)
    return replace(transcript, messages=kept)


def _is_first_edit(before: Transcript, final: Transcript, first: _Stripped) -> bool:
    """Whether nothing before a message of `before` has changed."""
    if first.transcript is not before:
        return False
    place = visible(before.messages).index(first.position)
    kept = visible(final.messages)[:place]
    earlier = visible(before.messages)[:place]
    return [final.messages[at] for at in kept] == [before.messages[at] for at in earlier]


def _first_invalid(before: Transcript, after: Transcript, mode: ReasoningMode) -> int | None:
    """The position from which reasoning is removed; None if there is none."""
    if mode != "strip-after-edit":
        return 0
    if before.messages is after.messages:
        return None
    for old_position, position in zip(
        visible(before.messages), visible(after.messages), strict=False
    ):
        old, new = before.messages[old_position], after.messages[position]
        if old is not new and (old.role, old.parts) != (new.role, new.parts):
            return position
    return None


def _without_reasoning(
    transcript: Transcript, start: int, mode: ReasoningMode
) -> dict[int, Message]:
    """The messages from a position on that contain reasoning, each without it.

    Hidden messages are not changed, nor are answers in data for training.
    """
    replacements = {}
    for position in range(start, _end(transcript, mode)):
        message = transcript.messages[position]
        if not message.agent_visible or message.is_training_answer:
            continue
        parts = tuple(
            part for part in message.parts if part.kind != "reasoning" or part.block is None
        )
        if len(parts) < len(message.parts):
            replacements[position] = replace(message, parts=parts)
    return replacements


def _end(transcript: Transcript, mode: ReasoningMode) -> int:
    """The position up to which reasoning may be removed."""
    if mode == "keep-current-loop":
        return current_loop(transcript.messages) or 0
    return len(transcript.messages)


def _stuck(transcript: Transcript, mode: ReasoningMode) -> Finding | None:
    """The warning that reasoning stays although the mode removes it; None if none stays."""
    if mode == "strip-after-edit":
        return None
    count = sum(
        any(part.kind == "reasoning" for part in message.parts)
        for message in transcript.messages[: _end(transcript, mode)]
        if message.agent_visible and not message.is_training_answer
    )
    if not count:
        return None
    text = f"{several(count, 'answer')} kept reasoning: it cannot be removed alone"
    return Finding("thinking-kept", "warning", text, transcript.line)


def _finding(stripped: Sequence[_Stripped], reason: str) -> Finding:
    count = sum(entry.blocks for entry in stripped)
    current = sum(entry.blocks for entry in stripped if entry.is_current)
    text = f"{several(count, 'thinking block')} removed ({reason})"
    if current:
        text += (
            f", {current} of them after the current task: send the next request with thinking "
            "off or adaptive"
        )
    return Finding("thinking-stripped", "info", text)
