"""Where the digests of removed steps are inserted, and which steps can be removed for that."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from ctxtrim.conversation.alternation import has_late_system
from ctxtrim.conversation.elements import elements
from ctxtrim.conversation.tasks import current_task
from ctxtrim.conversation.turns import Shape, visible
from ctxtrim.model import Transcript
from ctxtrim.stages.placement.digest_writer import Step
from ctxtrim.stages.placement.leads import can_lead, is_digest
from ctxtrim.stages.placement.message_replacement import (
    alternates_without_digests,
    digests_lead_answers,
)


class DigestSites:
    """The positions of the digests of removed steps.

    If the order of roles needs it, the next visible message must be an answer that can begin with
    the digests. `dropped`: the positions of the removed messages. `alternates`: whether roles
    alternate as read. `joins`: digests lead answers. `appends`: digests come before the newest
    prompt if they do not.
    """

    def __init__(self, transcript: Transcript, shape: Shape, appends: bool) -> None:
        messages = transcript.messages
        self.dropped: set[int] = set()
        self.alternates = alternates_without_digests(messages)
        self.joins = digests_lead_answers(transcript)
        self._transcript = transcript
        is_ordered = self.alternates or transcript.strict_roles or has_late_system(messages)
        self._needs_answer = self.joins and is_ordered
        task = current_task(messages) if appends and not self.joins else None
        # nothing comes before the summary of a client's compaction
        self._task = None if task is None or messages[task].is_summary else task
        seen = []
        for position in visible(messages):
            if messages[position].role != "system" and not is_digest(messages[position]):
                seen.append(position)
        self._after: dict[int, int] = dict(pairwise(seen))
        self._before = {after: before for before, after in self._after.items()}
        self._ends = list(_ends(shape.exchange))
        self._neighbours: dict[int, list[int]] = {}
        for element in elements(messages) if transcript.strict_roles == "elements" else ():
            self._neighbours.update(dict.fromkeys(element.positions, element.positions))

    def replaceable(self, old: Iterable[Step], excess: int) -> tuple[list[Step], list[Step]]:
        """Drop the oldest steps until `excess` results are dropped; return these steps, and the
        steps whose digest has no place.

        A step right before a dropped step can be dropped too: their digests have the same place.
        """
        replaced: list[Step] = []
        blocked: list[Step] = []
        for step in old:
            if excess <= 0:
                break
            blocked.append(step)
            while blocked and excess > 0 and self._has_place(blocked[-1]):
                replaced.append(blocked.pop())
                self.dropped.update(replaced[-1].positions)
                excess -= len(replaced[-1].results)
        replaced.sort(key=lambda step: step.positions[0])
        return replaced, blocked

    def _has_place(self, step: Step) -> bool:
        """Whether the digest of a step can be inserted."""
        strict = self._transcript.strict_roles
        if not self.joins and strict == "runs":
            return not self._follows_result(step)
        if not self._needs_answer:
            return True
        if strict and not self._is_alone(step):
            return False
        messages = self._transcript.messages
        after = self._after.get(step.positions[-1])
        is_lone_result = messages[step.exchange].role == "tool"  # separates answers
        if after is None or is_lone_result:
            return False
        answer = messages[after]
        adds_texts = self._transcript.rules.adds_texts
        leads_answer = answer.role == "assistant" and can_lead(answer, adds_texts)
        return after in self.dropped or leads_answer

    def _follows_result(self, step: Step) -> bool:
        """Whether the digest of a step comes right after a result.

        Steps are dropped in order: if the one before is, its digest has the same place.
        """
        before = self._before.get(step.positions[0])
        if before is None or before in self.dropped:
            return False
        return self._transcript.messages[before].role == "tool"

    def _is_alone(self, step: Step) -> bool:
        """Whether the elements of a step contain no other messages, which would stay."""
        return all(
            neighbour in step.positions
            for position in step.positions
            for neighbour in self._neighbours.get(position, ())
        )

    def position(self, step: Step) -> int:
        """The position of the message before which a digest is inserted.

        It starts a new exchange, and is not a system message.
        """
        messages = self._transcript.messages
        if self._task is not None:
            return self._task
        position = step.positions[-1]
        while True:
            if self._ends[position] > position:
                position = self._ends[position]
            elif position + 1 < len(messages) and messages[position + 1].role == "system":
                position += 1
            else:
                return position + 1


def _ends(exchanges: Sequence[int]) -> Iterator[int]:
    """For each position, the last message of all exchanges that have started by then."""
    last = {exchange: position for position, exchange in enumerate(exchanges)}
    end = -1
    for exchange in exchanges:
        end = max(end, last[exchange])
        yield end
