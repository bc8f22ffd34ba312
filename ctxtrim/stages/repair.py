"""`repair`: fix the pairing of calls and results, and nothing else.

A result without a call is dropped. A call without a result is dropped too, or gets a result that
says so; a call that may still wait for its result is kept. A message that becomes empty is dropped,
unless the next message continues its reasoning.
"""

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from msgspec.structs import replace

from ctxtrim.conversation import pins
from ctxtrim.conversation.tool_results import call_label
from ctxtrim.conversation.turns import Shape, visible
from ctxtrim.errors import NotEditableError
from ctxtrim.model import Message, Part, Transcript
from ctxtrim.stage import Change, Outcome, Stage, change_of, setting
from ctxtrim.stages import common_settings
from ctxtrim.stages.structure import checks
from ctxtrim.stages.structure.rule import checked

ANSWER = "[no result recorded]"
"""The text of a synthesized result."""


@dataclass(frozen=True)
class Repair(Stage):
    """Drop or complete calls without a result.

    Deterministic and minimal: a transcript with valid pairing is not changed.
    """

    repair: str = setting(
        "drop",
        "Drop calls without a result, or synthesize a result.",
        choices=("drop", "synthesize"),
    )
    pin: tuple[str, ...] = common_settings.pin()

    @staticmethod
    def idle(settings: Mapping[str, Any]) -> str:
        """Why nothing changes."""
        unpinned = " that is not pinned" if settings["pin"] else ""
        return f"no call or result to repair{unpinned}"

    def __call__(self, transcript: Transcript) -> Outcome:
        """Changes name the messages that were dropped, lost a call or were inserted.

        Raises a `NotEditableError` for a call that the format cannot remove from its message.
        """
        shape = self.counter.shape(transcript.messages)
        conversation = checked(transcript, shape)
        protected = pins.pinned(shape, self.pin).keys()
        orphans = {breach.position for breach in checks.result_without_call(conversation)}
        orphans -= protected
        waiting = {breach.position for breach in checks.call_without_result(conversation)}
        if self.repair == "drop":
            waiting -= protected
        unanswered: dict[int, list[Part]] = {}
        for position, call in shape.unanswered:
            if position in waiting:
                unanswered.setdefault(position, []).append(call)
        if not orphans and not unanswered:
            return Outcome(transcript)
        repaired = list(self._repaired(transcript, shape, orphans, unanswered))
        messages = tuple(message for message, _ in repaired if message is not None)
        changes = tuple(change for _, change in repaired if change)
        return Outcome(replace(transcript, messages=messages), changes)

    def _repaired(
        self,
        transcript: Transcript,
        shape: Shape,
        orphans: Set[int],
        unanswered: dict[int, list[Part]],
    ) -> Iterator[tuple[Message | None, Change | None]]:
        """Each message with its change; None for a dropped message.

        Hidden messages between a call and its results do not separate them.
        """
        messages = transcript.messages
        following = dict(pairwise(visible(messages)))
        has_names = any(message.role == "tool" and message.name for message in messages)
        for position, message in enumerate(messages):
            after = following.get(position)
            if position in orphans:
                reason = "dropped: it answers no call before it"
                yield None, change_of(messages, position, "repaired", reason)
            elif position in unanswered and self.repair == "drop":
                is_continued = after is not None and messages[after].continues
                yield self._without(transcript, position, unanswered[position], is_continued)
            else:
                yield message, None
            call_position = shape.caller[position]
            is_last = after is None or shape.caller[after] != call_position
            if is_last and self.repair == "synthesize":
                for call in unanswered.pop(call_position, ()):
                    reason = f"call {call_label(call)} had no result"
                    yield _answer(call, has_names), Change(None, "repaired", reason, position + 1)

    def _without(
        self, transcript: Transcript, position: int, calls: list[Part], is_continued: bool
    ) -> tuple[Message | None, Change]:
        """A message without some of its calls; None if nothing else is in it and no other message
        continues it.
        """
        message = transcript.messages[position]
        removed = {id(call) for call in calls}
        parts = tuple(part for part in message.parts if id(part) not in removed)
        names = ", ".join(map(call_label, calls))
        if not is_continued and all(
            part.kind == "reasoning" or (part.kind == "text" and not part.text.strip())
            for part in parts
        ):
            reason = f"dropped: empty without call {names}, which has no result"
            return None, change_of(transcript.messages, position, "repaired", reason)
        if any(call.block is None for call in calls):
            raise NotEditableError(
                f"call {names} has no result and cannot be removed from its message"
            )
        reason = f"without call {names}, which has no result"
        change = change_of(transcript.messages, position, "repaired", reason)
        return replace(message, parts=parts), change


def _answer(call: Part, has_name: bool) -> Message:
    """A result for a call; `has_name`: with a name, as other results of the transcript."""
    is_identified = call.call_id is not None  # else the name identifies the call
    name = call.name if has_name or not is_identified else None
    return Message("tool", (Part("tool_result", ANSWER, call.call_id, call.name),), name)
