"""Mend what is broken between calls and results, and nothing else.

A result that answers no call goes. A call that got no result goes too, or gets an answer that says so; one that may
still wait for its result stays. A message that is left with nothing in it goes.
"""

from collections.abc import Iterator, Set
from dataclasses import dataclass, replace

from ctxtrim.conversation import pins
from ctxtrim.conversation.turns import Shape
from ctxtrim.model import Message, Part, Transcript
from ctxtrim.stage import Change, Outcome, change_of, setting
from ctxtrim.structure import checks
from ctxtrim.structure.rule import Conversation
from ctxtrim.tokens import Budget
from ctxtrim.tokens.counter import Counter

ANSWER = "[no result recorded]"
"""What an answer says that nobody gave."""


@dataclass(frozen=True)
class Repair:
    """Deterministic and minimal: a transcript whose calls and results are in order is left alone."""

    counter: Counter
    budget: Budget
    repair: str = setting(
        "drop", "Calls without a result: drop them or synthesize one.", choices=("drop", "synthesize")
    )
    pin: tuple[str, ...] = setting((), pins.PIN, check=pins.check)

    def __call__(self, transcript: Transcript) -> Outcome:
        """Changes name the messages that went, lost a call or were inserted."""
        where = self.counter.shape(transcript.messages)
        talk = Conversation(transcript.messages, where, records_calls=transcript.records_calls)
        held = pins.pinned(transcript.messages, where, self.pin)
        orphans = {breach.position for breach in checks.result_without_call(talk)} - held.keys()
        waiting = {breach.position for breach in checks.call_without_result(talk)}
        if self.repair == "drop":
            waiting -= held.keys()
        lost = [(position, call) for position, call in where.unanswered if position in waiting]
        if not orphans and not lost:
            return Outcome(transcript)
        found = list(self._mended(transcript, where, orphans, lost))
        messages = tuple(message for message, _ in found if message is not None)
        return Outcome(replace(transcript, messages=messages), tuple(change for _, change in found if change))

    def _mended(
        self, transcript: Transcript, where: Shape, orphans: Set[int], lost: list[tuple[int, Part]]
    ) -> Iterator[tuple[Message | None, Change | None]]:
        """Each message as it is to be, None where it goes, with what was done."""
        messages = transcript.messages
        unanswered: dict[int, list[Part]] = {}
        for position, call in lost:
            unanswered.setdefault(position, []).append(call)
        for position, message in enumerate(messages):
            if position in orphans:
                yield None, change_of(messages, position, "repaired", "dropped: it answers no call before it")
            elif position in unanswered and self.repair == "drop":
                yield self._without(transcript, position, unanswered[position])
            else:
                yield message, None
            home = where.exchange[position]
            is_last = position + 1 == len(messages) or where.exchange[position + 1] != home
            if is_last and self.repair == "synthesize":
                for call in unanswered.pop(home, ()):
                    yield _answer(call), Change(None, "repaired", f"call {call.call_id} had no result", position + 1)

    def _without(self, transcript: Transcript, position: int, calls: list[Part]) -> tuple[Message | None, Change]:
        """A message without some of its calls; none where nothing else is in it."""
        message = transcript.messages[position]
        gone = {id(call) for call in calls}
        parts = tuple(part for part in message.parts if id(part) not in gone)
        names = ", ".join(f"{call.call_id} of {call.name}" for call in calls)
        if all(part.kind == "reasoning" or (part.kind == "text" and not part.text.strip()) for part in parts):
            what = f"dropped: nothing is left of it without call {names}, which has no result"
            return None, change_of(transcript.messages, position, "repaired", what)
        what = f"without call {names}, which has no result"
        return replace(message, parts=parts), change_of(transcript.messages, position, "repaired", what)


def _answer(call: Part) -> Message:
    name = call.name if call.call_id is None else None  # where there are no ids, the name may have to do
    return Message("tool", (Part("tool_result", ANSWER, call.call_id, call.name),), name)
