"""Steps on their way out of a transcript: hidden where the format can say so, else dropped, digests in their place.

What stands where is settled at the end, when it is known who stands beside whom.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from ctxtrim.digests import Step
from ctxtrim.model import Message, Transcript
from ctxtrim.stage import Action, Change, Finding, change_of
from ctxtrim.summing import alternates, can_join, digest_message, is_digest, with_digests
from ctxtrim.turns import Shape, current_task

ARCHIVED = "tool_result_archived"
"""The kind of a result that was hidden."""


@dataclass
class Archiving:
    """Steps on their way out of a transcript, one after the other.

    Where user and assistant take turns, digests apart, no two prompts may come to stand side by side. `appends`:
    digests stand before the newest prompt, not where their steps were.
    """

    transcript: Transcript
    where: Shape
    appends: bool = False
    gone: set[int] = field(default_factory=set)
    texts: dict[int, list[str]] = field(default_factory=dict)  # by the place before which they stand

    def __post_init__(self) -> None:
        """Who stands beside whom, among those that the model sees."""
        messages = self.transcript.messages
        self._task = current_task(messages)
        self.takes_turns = alternates([one for one in messages if not is_digest(one)])
        seen = [
            place
            for place, one in enumerate(messages)
            if one.agent_visible and one.role != "system" and not is_digest(one)
        ]
        self._after: dict[int, int] = dict(pairwise(seen))
        self._before: dict[int, int] = {after: before for before, after in self._after.items()}
        self._ends = list(_ends(self.where.exchange))

    def can_take(self, step: Step) -> bool:
        """Whether a digest finds a place, and no two prompts would stand side by side."""
        if not self.takes_turns:
            return True
        messages = self.transcript.messages
        first = self._before.get(step.positions[0])
        last = self._after.get(step.positions[-1])
        beside = [messages[place] for place in (first, last) if place is not None and messages[place].role == "user"]
        if len(beside) == 2:
            return False
        if self.appends and self._task is not None:
            beside = [messages[self._task]]
        return self.transcript.hides or all(map(can_join, beside))

    def take(self, step: Step) -> None:
        """A step goes."""
        for place in step.positions:
            self.gone.add(place)
            before, after = self._before.pop(place, None), self._after.pop(place, None)
            if before is not None:
                self._after.pop(before, None)
            if after is not None:
                self._before.pop(after, None)
            if before is not None and after is not None:
                self._after[before], self._before[after] = after, before

    def put(self, text: str, step: Step) -> None:
        """A digest takes the place of what ends with a step."""
        self.texts.setdefault(self._place(step), []).append(text)

    def finish(self, reason: str) -> tuple[Transcript, list[Change]]:
        """The transcript with its digests, and what was done to each message."""
        found = self._settled()
        messages = tuple(message for message, _ in found)
        changes = [change_of(self.transcript.messages, place, "summarized", reason) for place in sorted(self.gone)]
        for place, (message, is_changed) in enumerate(found):
            if is_changed:
                action: Action = "inserted" if message.index is None else "merged"
                changes.append(change_of(messages, place, action, "a digest of what went"))
        return replace(self.transcript, messages=messages), changes

    def _place(self, step: Step) -> int:
        """The place before which a digest stands: where no exchange goes on, and no system message follows."""
        messages = self.transcript.messages
        if self.appends:
            return len(messages) if self._task is None else self._task
        place = step.positions[-1]
        while True:
            if self._ends[place] > place:
                place = self._ends[place]
            elif place + 1 < len(messages) and messages[place + 1].role == "system":
                place += 1
            else:
                return place + 1

    def _settled(self) -> list[tuple[Message, bool]]:
        """The messages as they shall be, and whether a digest was put there or joined to them."""
        hides, joins = self.transcript.hides, self.takes_turns and not self.transcript.hides
        out: list[tuple[Message, bool]] = []
        host: int | None = None
        waiting: list[str] = []
        gap = 0
        for place, message in enumerate((*self.transcript.messages, None)):
            if place in self.texts and joins:
                gap = gap if waiting else len(out)
                waiting += self.texts[place]
            else:
                out += ((digest_message(text, hides), True) for text in self.texts.get(place, ()))
            if place in self.gone and message is not None:
                out += [(_hidden(message), False)] if hides else []
                continue
            is_seen = message is None or (message.agent_visible and message.role != "system")
            is_changed = False
            if is_seen and waiting:
                digests, waiting = "\n\n".join(waiting), []
                if host is not None and out[host][0].role == "user":
                    out[host] = (with_digests(out[host][0], digests), True)
                elif message is not None and message.role == "user":
                    message, is_changed = with_digests(message, digests), True
                else:
                    out.insert(gap, (digest_message(digests, hides), True))
            if message is not None:
                host = len(out) if is_seen else host
                out.append((message, is_changed))
        return out


def fell_back(trouble: str) -> Finding:
    """What is said where a digest is not by the one who was asked for it."""
    return Finding("summary", "warning", f"{trouble}; lines about the results stand in its place")


def _hidden(message: Message) -> Message:
    return replace(message, agent_visible=False, kind=ARCHIVED if message.role == "tool" else message.kind)


def _ends(exchange: Sequence[int]) -> Iterator[int]:
    """For each place the last message of all exchanges that have begun by then."""
    last: Mapping[int, int] = {home: place for place, home in enumerate(exchange)}
    end = -1
    for home in exchange:
        end = max(end, last[home])
        yield end
